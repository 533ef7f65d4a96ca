//! Records the system into a file for a while and prints the accounts.
//!
//! Usage: `record SECONDS FILE [perf|tracefs]`.

use std::path::PathBuf;

use tactus_model::recording::Mechanism;
use tactus_model::time::Nanos;
use tactus_record::live::{Control, Keep, Options, RecordError, RecordEvent, Source, record};

fn main() -> Result<(), RecordError> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let file: PathBuf = arguments.next().unwrap_or_else(|| "system.tactusrec".to_owned()).into();
    let source = match arguments.next().map(|word| word.parse::<Mechanism>()) {
        Some(word) => Source::Only(word.expect("a mechanism")),
        None => Source::Auto,
    };
    let options = Options { source, keep: Keep::File(file), ..Options::default() };
    let duration = Some(Nanos::from_secs(seconds));
    let recorded = record(options, &[], duration, &Control::new(), |event| {
        if let RecordEvent::Started(about) = event {
            eprintln!("recording CPUs {}", about.cpus);
        }
    });
    let summary = recorded
        .inspect_err(|error| {
            if let Some(fix) = error.fix() {
                eprintln!("fix: {fix}");
            }
        })?
        .summary;
    for absent in &summary.absent {
        eprintln!("absent: {}: {}", absent.event, absent.reason);
    }
    for shortfall in &summary.shortfalls {
        eprintln!("not granted: {}: {}", shortfall.asked, shortfall.reason);
    }
    for account in summary.accounts.iter().filter(|account| account.read > 0) {
        print!("{:<44} {:>10} read", account.event, account.read);
        match account.count {
            Some(count) => println!(
                " + {} lost + {} unwritten = {}",
                count.lost,
                account.unwritten(),
                count.counted
            ),
            None => println!(),
        }
    }
    for account in &summary.cpus {
        println!(
            "CPU {}: {} read + {} lost + {} unwritten = {}",
            account.cpu,
            account.read,
            account.lost,
            account.unwritten(),
            account.counted
        );
    }
    println!(
        "{} events in {}, {} lost in {} windows, {:?}",
        summary.cost.events,
        summary.length(),
        summary.lost(),
        summary.loss_windows,
        summary.cost
    );
    Ok(())
}
