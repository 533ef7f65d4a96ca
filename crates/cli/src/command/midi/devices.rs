//! `tactus midi devices`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_sys::serial_port;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::stdout;

/// List what can be an input or an output.
///
/// Raw MIDI devices of the sound system, and serial ports with a UART. `pty` is always possible.
///
/// Example: tactus midi devices --json
#[derive(Args)]
pub(super) struct DevicesArguments {
    /// Print JSON: one object a line
    #[arg(long)]
    json: bool,
}

/// A device that is there.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Found {
    kind: &'static str,
    path: PathBuf,
    /// What it calls itself.
    name: Option<String>,
}

pub(super) fn run(arguments: &DevicesArguments) -> CommandResult {
    let found = list(Path::new("/"));
    let mut out = stdout();
    for device in &found {
        if arguments.json {
            write_line(device)?;
        } else {
            let Found { kind, path, name } = device;
            let name = name.as_deref().unwrap_or_default();
            writeln!(out, "{}", format!("{kind:8}  {:24}  {name}", path.display()).trim_end())?;
        }
    }
    if !arguments.json && found.is_empty() {
        writeln!(out, "no MIDI devices and no serial ports; `pty` makes a pseudo-terminal")?;
    }
    Ok(out.flush()?)
}

/// The devices of a machine, or of a simulated tree in a test.
fn list(root: &Path) -> Vec<Found> {
    let entries = fs::read_dir(root.join("dev/snd")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("midi"))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_char_device() || kind.is_file()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let raw = paths.into_iter().map(|path| {
        let name = name_of(root, &path);
        Found { kind: "raw MIDI", path, name }
    });
    let serial = serial_port::free(root).into_iter();
    raw.chain(serial.map(|path| Found { kind: "serial", path, name: None })).collect()
}

/// The first line of `/proc/asound/card0/midi0` for `midiC0D0`: the name of the device.
fn name_of(root: &Path, device: &Path) -> Option<String> {
    let file = device.file_name()?.to_str()?;
    let (card, number) = file.strip_prefix("midiC")?.split_once('D')?;
    let about = root.join(format!("proc/asound/card{card}/midi{number}"));
    let about = fs::read_to_string(about).ok()?;
    about.lines().next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_devices_have_the_names_of_the_sound_system() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("dev/snd/midiC1D0", "");
        write("dev/snd/pcmC1D0p", "");
        write("proc/asound/card1/midi0", "Virtual Raw MIDI\n\nOutput 0\n");
        write("sys/class/tty/ttyS0/type", "4\n");
        let found = list(root.path());
        let raw = Found {
            kind: "raw MIDI",
            path: root.path().join("dev/snd/midiC1D0"),
            name: Some("Virtual Raw MIDI".to_owned()),
        };
        let serial = Found { kind: "serial", path: root.path().join("dev/ttyS0"), name: None };
        assert_eq!(found, [raw, serial]);
    }
}
