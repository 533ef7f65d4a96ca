//! Cuts the golden recording of billing out of a recording made by `tactus record`:
//! `cargo run -p tactus-explain --example golden_billing -- RECORDING OUTPUT`.

use std::path::PathBuf;

use tactus_model::recording::Recording;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

#[path = "../tests/support/cut.rs"]
mod cut;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(source), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: golden_billing RECORDING OUTPUT".into());
    };
    let mut whole = Recording::collect(&mut RecordingFile::open(&source)?)?;
    // Only the CPU of the programs.
    whole.about.cpus = [0].into_iter().collect();
    whole.events.retain(|event| event.cpu == 0);
    let last = whole.events.last().ok_or("the recording has no events of CPU 0")?.at;
    let from = last - Nanos::from_millis(1200);
    let kept = cut::cut(&whole, from, from + Nanos::from_secs(1));
    std::fs::write(target, tactus_record::file::to_bytes(&kept))?;
    Ok(())
}
