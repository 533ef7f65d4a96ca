//! What the examples share: options, a server of their own, figures.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tactus_model::random::SplitMix64;
use tactus_streamd::{LocalServer, Measure, Offered, Settings};
use tactus_toolkit::rehearsal::UNLIMITED;
use tactus_toolkit::{
    Client, HeardInput, Lead, Moment, Nanos, Performance, Played, ReactionId, Report, Row, Score,
    Stage, Wanted, rehearse,
};

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Connect to the server on this socket, usually /run/tactus/streamd.sock. Without it, the
    /// example runs a server of its own, whose devices only measure.
    #[arg(long)]
    socket: Option<PathBuf>,
    /// Perform in virtual time: at once, without a server.
    #[arg(long, conflicts_with = "socket")]
    rehearse: bool,
    /// Print a row for each item: its due time and its receipt.
    #[arg(long)]
    table: Option<Table>,
    /// Write the inputs to this file.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Repeat the inputs of this file.
    #[arg(long)]
    replay: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Table {
    Csv,
    Json,
}

/// What was performed.
pub struct Performed {
    /// The rows of the items that have receipts.
    pub rows: Vec<Row>,
    /// Why it did not come to its end, such as a server that has ended; to be returned when all
    /// that was finished is written.
    pub ended: anyhow::Result<()>,
}

/// Performs a score with inputs for its reactions.
pub fn perform(
    options: &Options,
    name: &str,
    score: Score,
    inputs: Vec<(ReactionId, OwnedFd)>,
) -> anyhow::Result<Performed> {
    if let Some(path) = &options.replay {
        score.replay(&read_inputs(path)?)?;
    }
    let mut own = None;
    let (performance, played, ended) = if options.rehearse {
        let (performance, played) = rehearsed(score)?;
        (performance, played, Ok(()))
    } else {
        let socket = match &options.socket {
            Some(socket) => socket.clone(),
            None => own.insert(own_server(&score)?).socket(),
        };
        performed(&socket, name, score, inputs)?
    };
    if let Some(mut own) = own {
        own.end()?;
    }
    if let Some(path) = &options.record {
        let file = BufWriter::new(File::create(path).context(path.display().to_string())?);
        serde_json::to_writer(file, &performance.score().inputs_so_far())?;
    }
    let mut rows: Vec<Row> = played.iter().map(|played| Row::new(played, &performance)).collect();
    rows.sort_by(|row, other| (row.due_ns, &row.label).cmp(&(other.due_ns, &other.label)));
    print(options.table, &rows)?;
    let totals = performance.totals();
    eprintln!("{} items: {:?}", totals.written, totals.outcomes);
    if totals.inputs > 0 {
        eprintln!("{} inputs, {} of them late", totals.inputs, totals.late_inputs);
    }
    if !options.rehearse {
        let lead = performance.present_lead().as_micros_f64() / 1e3;
        eprintln!("look-ahead at the end: {lead:.1} ms");
    }
    Ok(Performed { rows, ended })
}

fn read_inputs(path: &Path) -> anyhow::Result<Vec<HeardInput>> {
    let file = File::open(path).context(path.display().to_string())?;
    Ok(serde_json::from_reader(BufReader::new(file))?)
}

fn rehearsed(score: Score) -> anyhow::Result<(Performance, Vec<Played>)> {
    let lead = Nanos::from_millis(100);
    let origin = Moment::from_nanos(lead.as_nanos());
    let mut all = [Performance::new(score, Lead::Fixed(lead), origin)];
    let mut rehearsed = rehearse(&mut all, UNLIMITED, &mut SplitMix64::new(0))?;
    let [performance] = all;
    performance.take_faults().iter().for_each(|fault| eprintln!("warning: {fault}"));
    Ok((performance, rehearsed.played.remove(0)))
}

fn performed(
    socket: &Path,
    name: &str,
    score: Score,
    inputs: Vec<(ReactionId, OwnedFd)>,
) -> anyhow::Result<(Performance, Vec<Played>, anyhow::Result<()>)> {
    let wanted = Wanted { payload_bytes: 512, ..Wanted::named(name) };
    let mut stage = Stage::new(Client::connect(socket, &wanted)?, score, Lead::Measured)?;
    stage.watch(|task| eprintln!("warning: task '{task}' runs for a second without waiting"));
    for (reaction, source) in inputs {
        stage.listen(reaction, source)?;
    }
    let mut all = Vec::new();
    let ended = stage.run(|report| match report {
        Report::Played(played) => all.push(played.clone()),
        Report::Fault(fault) => eprintln!("warning: {fault}"),
        Report::SourceEnded(_) => eprintln!("warning: a source of inputs has ended"),
    });
    Ok((stage.into_performance(), all, ended.map_err(Into::into)))
}

fn print(table: Option<Table>, rows: &[Row]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match table {
        Some(Table::Csv) => {
            writeln!(out, "{}", Row::COLUMNS)?;
            rows.iter().try_for_each(|row| writeln!(out, "{}", row.csv()))?;
        }
        Some(Table::Json) => writeln!(out, "{}", serde_json::to_string_pretty(rows)?)?,
        None => {}
    }
    Ok(())
}

/// A server for this process alone, whose devices only measure.
fn own_server(score: &Score) -> anyhow::Result<LocalServer> {
    let mut offered: Vec<Offered> = Vec::new();
    for stream in score.streams().iter() {
        let (name, spec) = (stream.device.clone(), "measure".to_owned());
        if offered.iter().all(|other| other.name != name) {
            offered.push(Offered { name, spec, sink: Box::new(Measure) });
        }
    }
    Ok(LocalServer::start(offered, Vec::new(), Settings::ORDINARY)?)
}

/// Median, 99th percentile and worst of durations, as a text; the nearest ranks.
pub fn figures(mut durations: Vec<Nanos>) -> String {
    durations.sort_unstable();
    let Some(last) = durations.len().checked_sub(1) else { return "none".to_owned() };
    let micros = |index: usize| format!("{:.1} us", durations[index].as_micros_f64());
    let [p50, p99, worst] = [last / 2, last * 99 / 100, last].map(micros);
    format!("p50 {p50}, p99 {p99}, worst {worst}")
}
