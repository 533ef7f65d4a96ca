//! Accounts on a page.

use tactus_explain::account::{Account, Accounts, TickClock};
use tactus_stats::LatencyHistogram;

use super::{AccountsBy, NamedAccounts, content, words};
use crate::page::view::Table;
use crate::svg::billing::{self, Billed};
use crate::svg::percentiles::Curve;
use crate::svg::quanta;
use crate::svg::style::CurveStyle;

/// The most programs in a table.
const ROWS: usize = 12;

/// The most programs that are drawn.
const DRAWN: usize = 6;

/// The accounts of a run or of recordings on a page.
pub(crate) struct AccountsView {
    pub(crate) recordings: Vec<RecordingView>,
}

/// The accounts of one recording.
pub(crate) struct RecordingView {
    pub(crate) label: String,
    pub(crate) headline: String,
    pub(crate) remainders: Vec<String>,
    pub(crate) usage: Table,
    /// SVG elements.
    pub(crate) lengths: Option<String>,
    pub(crate) ends: Table,
    pub(crate) tick: String,
    pub(crate) clocks: Vec<ClockView>,
    /// Whether it is open at first.
    pub(crate) is_open: bool,
    /// Whether it is printed.
    pub(crate) is_printed: bool,
}

/// The time billed by the ticks of one clock.
pub(crate) struct ClockView {
    pub(crate) head: String,
    pub(crate) table: Table,
    /// SVG elements.
    pub(crate) panels: Vec<String>,
}

impl AccountsView {
    /// The view, or `None` if there is nothing to show.
    pub(crate) fn of(recordings: &[NamedAccounts]) -> Option<Self> {
        let views = recordings.iter().enumerate();
        let recordings: Vec<RecordingView> =
            views.map(|(number, named)| RecordingView::of(named, number == 0)).collect();
        (!recordings.is_empty()).then_some(Self { recordings })
    }

    /// Prints only the recordings with these labels; on a screen all are shown.
    pub(crate) fn printing(mut self, labels: &[String]) -> Self {
        for recording in &mut self.recordings {
            recording.is_printed = labels.contains(&recording.label);
        }
        self
    }
}

impl RecordingView {
    fn of(named: &NamedAccounts, is_open: bool) -> Self {
        let accounts = &named.accounts;
        let by = AccountsBy::Program;
        Self {
            label: named.label.clone(),
            headline: words::headline(accounts),
            remainders: words::remainders(accounts),
            usage: Table::of(content::usage(accounts, by, ROWS)),
            lengths: lengths(accounts),
            ends: Table::of(content::ends(accounts, by, ROWS)),
            tick: words::tick(accounts),
            clocks: words::clocks(accounts)
                .into_iter()
                .map(|clock| ClockView {
                    head: words::billing(clock),
                    table: Table::of(content::billing(accounts, by, ROWS, clock)),
                    panels: scatters(accounts, clock),
                })
                .filter(|view| !view.table.is_empty())
                .collect(),
            is_open,
            is_printed: true,
        }
    }
}

/// The distribution of effective quanta of the programs that used most time.
fn lengths(accounts: &Accounts) -> Option<String> {
    let programs = accounts.programs.iter().filter(|program| program.quanta.count > 0);
    let curves: Vec<Curve> = programs
        .take(DRAWN)
        .enumerate()
        .map(|(number, program)| Curve {
            name: program.name.clone(),
            style: CurveStyle::numbered(number),
            points: cumulative(program),
        })
        .collect();
    (!curves.is_empty()).then(|| quanta::panel("", &curves).inline())
}

/// The share of the quanta that are at most as long as each duration.
pub(crate) fn cumulative(program: &Account) -> Vec<(f64, tactus_model::time::Nanos)> {
    let histogram = LatencyHistogram::from_record(&program.quanta);
    let (all, longest) = (histogram.count().max(1) as f64, program.quanta.max);
    let mut seen = 0;
    let buckets = histogram.buckets().map(|bucket| {
        seen += bucket.count;
        (seen as f64 / all, bucket.high.min(longest))
    });
    [(0.0, program.quanta.min)].into_iter().chain(buckets).collect()
}

fn scatters(accounts: &Accounts, clock: TickClock) -> Vec<String> {
    let programs: Vec<Billed<'_>> = accounts
        .programs
        .iter()
        .filter(|program| program.quanta.count > 0)
        .take(DRAWN)
        .enumerate()
        .filter_map(|(number, program)| {
            let style = CurveStyle::numbered(number);
            Some(Billed { name: &program.name, style, billing: program.billing(clock)? })
        })
        .collect();
    let reach = billing::reach(&programs);
    programs.iter().map(|billed| billing::panel(billed, reach).inline()).collect()
}
