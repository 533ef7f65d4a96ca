//! The progress of a kernel build.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use tactus_kernels::BuildEvent;
use tactus_model::time::Nanos;
use tactus_report::format;

use crate::json_lines::write_line;
use crate::quietness::Quietness;

/// Draws a bar if standard error is a terminal, and writes a line every 10 % otherwise. With
/// `json`, it also writes lines of JSON.
pub(crate) struct Building {
    bar: ProgressBar,
    terminal: bool,
    json: bool,
    quietness: Quietness,
    /// The last progress written, in tenths.
    written: Mutex<Option<u64>>,
}

impl Building {
    pub(crate) fn new(json: bool, quietness: Quietness) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self {
            bar: ProgressBar::with_draw_target(Some(1), quietness.target()).with_style(style),
            terminal: std::io::stderr().is_terminal(),
            json,
            quietness,
            written: Mutex::new(None),
        }
    }

    /// Shows `event`.
    pub(crate) fn show(&self, event: &BuildEvent<'_>) {
        let is_news = self.is_news(event);
        if self.json && is_news {
            // If the reader is gone, the build continues nevertheless.
            let _ = write_line(event);
        }
        match event {
            BuildEvent::Compiling { objects, of, .. }
            | BuildEvent::Waiting { objects, of, .. }
            | BuildEvent::Program { packages: objects, of, .. }
                if self.terminal =>
            {
                self.bar.set_length(*of);
                self.bar.set_position(*objects);
                self.bar.set_message(format::printable(&text(event)));
            }
            _ if is_news => self.line(&text(event)),
            _ => {}
        }
        if matches!(event, BuildEvent::Built { .. } | BuildEvent::ProgramBuilt { .. }) {
            self.bar.finish_and_clear();
        }
    }

    /// Whether an event adds to the earlier ones if each is a line.
    fn is_news(&self, event: &BuildEvent<'_>) -> bool {
        let tenth = match event {
            BuildEvent::Compiling { objects, of, .. }
            | BuildEvent::Waiting { objects, of, .. }
            | BuildEvent::Program { packages: objects, of, .. } => {
                Some(objects * 10 / (*of).max(1))
            }
            _ => None,
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = tenth.is_none() || *written != tenth;
        *written = tenth;
        is_news
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| self.quietness.note(format_args!("{text}")));
    }
}

fn text(event: &BuildEvent<'_>) -> String {
    let span = |seconds: u64| format::span(Nanos::from_secs(seconds));
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match event {
        BuildEvent::Fetching { package, bytes: None } => format!("fetching {package}"),
        BuildEvent::Fetching { package, bytes: Some(bytes) } => {
            format!("fetching {package}, {}", megabytes(*bytes))
        }
        BuildEvent::FetchingLists { architecture } => {
            format!("fetching the lists of Debian's packages for {architecture}, about 14 MB")
        }
        BuildEvent::Unpacking { version } => {
            format!("unpacking and patching Linux {version}, 1.7 GB")
        }
        BuildEvent::Waiting { kernel, objects, of } => {
            format!("{kernel}: another process is building it, {objects} of about {of} objects")
        }
        BuildEvent::Compiling { kernel, objects, of, seconds_left } => {
            let left = seconds_left.map(|left| format!(", {} left", span(left)));
            format!("{kernel}: {objects} of about {of} objects{}", left.unwrap_or_default())
        }
        BuildEvent::Program { architecture, packages, of, seconds_left } => {
            let left = seconds_left.map(|left| format!(", about {} left", span(left)));
            format!(
                "building the program that runs in guests for {architecture}: {packages} of {of} \
                 packages{}",
                left.unwrap_or_default()
            )
        }
        BuildEvent::ProgramBuilt { architecture, seconds } => format!(
            "the program that runs in guests for {architecture} is built: {}",
            span(*seconds)
        ),
        BuildEvent::Built { kernel, seconds, compiled, image_bytes, freed_bytes, .. } => format!(
            "{kernel}: built: {compiled} objects in {}, image {}; removed {} of object files",
            span(*seconds),
            megabytes(*image_bytes),
            megabytes(*freed_bytes)
        ),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::kernel::Architecture;

    use super::*;

    fn compiling(objects: u64) -> BuildEvent<'static> {
        BuildEvent::Compiling { kernel: "built", objects, of: 846, seconds_left: Some(125) }
    }

    #[test]
    fn every_tenth_of_a_build_is_one_line() {
        let building = Building::new(false, Quietness::default());
        let news: Vec<u64> =
            (0..=846).filter(|objects| building.is_news(&compiling(*objects))).collect();
        assert_eq!(news.len(), 11);
        assert_eq!(&news[..3], [0, 85, 170]);
    }

    #[test]
    fn events_have_texts() {
        let built = BuildEvent::Built {
            kernel: "built+hz=1000",
            seconds: 624,
            compiled: 766,
            objects: 846,
            image_bytes: 2_913_280,
            freed_bytes: 176_000_000,
        };
        let waiting = BuildEvent::Waiting { kernel: "built", objects: 10, of: 846 };
        let program = BuildEvent::Program {
            architecture: Architecture::Arm64,
            packages: 30,
            of: 60,
            seconds_left: Some(40),
        };
        for (event, expected) in [
            (
                program,
                "building the program that runs in guests for arm64: 30 of 60 packages, about 40 s \
                 left",
            ),
            (waiting, "built: another process is building it, 10 of about 846 objects"),
            (compiling(423), "built: 423 of about 846 objects, 2 min 5 s left"),
            (
                built,
                "built+hz=1000: built: 766 objects in 10 min 24 s, image 2.9 MB; removed 176.0 MB of \
                 object files",
            ),
        ] {
            // Figures and their units are joined by a narrow space.
            assert_eq!(text(&event).replace('\u{202f}', " "), expected);
        }
    }
}
