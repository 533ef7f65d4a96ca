//! Accounts as text for the terminal.

use super::{AccountsBy, NamedAccounts, content, words};
use crate::format;
use crate::table::column::Column;
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// Writes where the CPU time of each recording went: users and their quanta, why quanta ended, and
/// the time billed by ticks. Each table has at most `most` rows; one more row has the time of the
/// others.
pub fn accounts_text(
    recordings: &[NamedAccounts],
    by: AccountsBy,
    most: usize,
    options: &TableOptions,
) -> String {
    let texts: Vec<String> =
        recordings.iter().map(|named| one(named, by, most, options.width)).collect();
    texts.join("\n")
}

fn one(named: &NamedAccounts, by: AccountsBy, most: usize, width: usize) -> String {
    let accounts = &named.accounts;
    let mut text = format!("{}\n\n", format::printable(&named.label));
    text.push_str(&wrapped(&words::headline(accounts), "", width));
    for sentence in words::remainders(accounts) {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text.push('\n');
    text.push_str(&explained(content::usage(accounts, by, most), width));
    text.push_str("\nWhy quanta ended\n");
    text.push_str(&explained(content::ends(accounts, by, most), width));
    text.push('\n');
    text.push_str(&wrapped(&words::tick(accounts), "", width));
    let mut legend = String::new();
    for clock in words::clocks(accounts) {
        let columns = content::billing(accounts, by, most, clock);
        if !columns.is_empty() {
            // The tables of all clocks have the same columns, those of simulated ticks some more.
            legend = self::legend(&columns, width);
            text.push_str(&format!("\n{}\n{}", words::billing(clock), grid(columns, width)));
        }
    }
    text + &legend
}

/// A table, and below it what its columns contain.
fn explained(columns: Vec<Column>, width: usize) -> String {
    let legend = legend(&columns, width);
    grid(columns, width) + &legend
}

/// What the columns contain whose heads do not say so, in a line.
fn legend(columns: &[Column], width: usize) -> String {
    let explained = columns.iter().filter(|column| column.is_shown() && !column.meaning.is_empty());
    let words: Vec<String> =
        explained.map(|column| format!("{}: {}", column.head, column.meaning)).collect();
    match words.is_empty() {
        true => String::new(),
        false => wrapped(&format!("{}.", words.join("; ")), "  ", width),
    }
}

#[cfg(test)]
mod tests {
    use tactus_explain::account::{AccountOptions, TickRate, account};
    use tactus_record::file::RecordingFile;

    use super::*;
    use crate::accounts::section::AccountsView;
    use crate::page::accounts_page;

    /// The accounts of a recorded real session.
    fn named(recording: &str) -> NamedAccounts {
        named_at("blame", recording, &[1000])
    }

    fn named_at(folder: &str, recording: &str, rates: &[u32]) -> NamedAccounts {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data");
        let path = format!("{data}/{folder}/{recording}");
        let mut source = RecordingFile::open(path.as_ref()).expect("a golden recording opens");
        let rates = rates.iter().filter_map(|hertz| TickRate::new(*hertz)).collect();
        let options = AccountOptions { rates };
        let accounts = account(&mut source, &options).expect("a golden recording is whole");
        NamedAccounts { label: recording.to_owned(), accounts }
    }

    fn shown(recording: &str, by: AccountsBy, width: usize) -> String {
        accounts_text(&[named(recording)], by, 3, &TableOptions::of_width(width))
    }

    #[test]
    fn accounts_of_a_recording_at_110() {
        let text = shown("kernel-section.tactusrec", AccountsBy::Program, 110);
        insta::assert_snapshot!(text);
    }

    /// Programs like those of Etsion 2003, and the tick rates of its Table 3.
    #[test]
    fn programs_billed_as_in_the_paper_at_110() {
        let named = named_at("billing", "programs.tactusrec", &[100, 1000]);
        let text = accounts_text(&[named], AccountsBy::Program, 5, &TableOptions::of_width(110));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn accounts_by_thread_at_70() {
        let text = shown("deadline-throttling.tactusrec", AccountsBy::Thread, 70);
        insta::assert_snapshot!(text);
        for line in text.lines() {
            assert!(line.chars().count() <= 70, "{line}");
        }
    }

    #[test]
    fn a_page_draws_every_clock() {
        let recordings = [named("timer-storm.tactusrec")];
        let view = AccountsView::of(&recordings).expect("there is one");
        let clocks = &view.recordings[0].clocks;
        assert_eq!(clocks.len(), 2);
        assert!(clocks.iter().all(|clock| clock.panels.iter().all(|svg| svg.contains("<circle"))));
        assert!(view.recordings[0].lengths.as_ref().is_some_and(|svg| svg.contains("<path")));
        let page = accounts_page("a <name>", &recordings, vec!["Deterministic time".to_owned()])
            .expect("it can be put together");
        assert!(!page.contains("<name>") && !page.contains("<script"), "{page}");
        assert!(accounts_page("", &[], Vec::new()).is_err());
    }
}
