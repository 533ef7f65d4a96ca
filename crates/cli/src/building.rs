//! The progress of what is built before a run.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use tactus_app::BuildEvent;
use tactus_kernels::KernelBuildEvent;
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
        match progress(event) {
            Some((done, of)) if self.terminal => {
                self.bar.set_length(of);
                self.bar.set_position(done);
                self.bar.set_message(format::printable(&text(event)));
            }
            _ if is_news => self.line(&text(event)),
            _ => {}
        }
        let is_over = matches!(
            event,
            BuildEvent::Kernel(KernelBuildEvent::Built { .. }) | BuildEvent::ProgramBuilt { .. }
        );
        if is_over {
            self.bar.finish_and_clear();
        }
    }

    /// Whether an event adds to the earlier ones if each is a line.
    fn is_news(&self, event: &BuildEvent<'_>) -> bool {
        let tenth = progress(event).map(|(done, of)| done * 10 / of.max(1));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = tenth.is_none() || *written != tenth;
        *written = tenth;
        is_news
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| self.quietness.note(format_args!("{text}")));
    }
}

/// How many parts are built, and how many there are, while something is built.
fn progress(event: &BuildEvent<'_>) -> Option<(u64, u64)> {
    use KernelBuildEvent::{Compiling, Waiting};
    match event {
        BuildEvent::Kernel(Compiling { objects, of, .. } | Waiting { objects, of, .. }) => {
            Some((*objects, *of))
        }
        BuildEvent::Program { packages, of, .. } => Some((*packages, *of)),
        BuildEvent::Kernel(_) | BuildEvent::ProgramBuilt { .. } => None,
    }
}

fn span(seconds: u64) -> String {
    format::span(Nanos::from_secs(seconds))
}

fn text(event: &BuildEvent<'_>) -> String {
    match event {
        BuildEvent::Kernel(event) => kernel_text(event),
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
    }
}

fn kernel_text(event: &KernelBuildEvent<'_>) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match event {
        KernelBuildEvent::Fetching { package, bytes: None } => format!("fetching {package}"),
        KernelBuildEvent::Fetching { package, bytes: Some(bytes) } => {
            format!("fetching {package}, {}", megabytes(*bytes))
        }
        KernelBuildEvent::FetchingLists { architecture } => {
            format!("fetching the lists of Debian's packages for {architecture}, about 14 MB")
        }
        KernelBuildEvent::Unpacking { version } => {
            format!("unpacking and patching Linux {version}, 1.7 GB")
        }
        KernelBuildEvent::Waiting { kernel, objects, of } => {
            format!("{kernel}: another process is building it, {objects} of about {of} objects")
        }
        KernelBuildEvent::Compiling { kernel, objects, of, seconds_left } => {
            let left = seconds_left.map(|left| format!(", {} left", span(left)));
            format!("{kernel}: {objects} of about {of} objects{}", left.unwrap_or_default())
        }
        KernelBuildEvent::Built { kernel, seconds, compiled, image_bytes, freed_bytes, .. } => {
            format!(
                "{kernel}: built: {compiled} objects in {}, image {}; removed {} of object files",
                span(*seconds),
                megabytes(*image_bytes),
                megabytes(*freed_bytes)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::kernel::Architecture;

    use super::*;

    fn compiling(objects: u64) -> BuildEvent<'static> {
        BuildEvent::Kernel(KernelBuildEvent::Compiling {
            kernel: "built",
            objects,
            of: 846,
            seconds_left: Some(125),
        })
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
        let built = BuildEvent::Kernel(KernelBuildEvent::Built {
            kernel: "built+hz=1000",
            seconds: 624,
            compiled: 766,
            objects: 846,
            image_bytes: 2_913_280,
            freed_bytes: 176_000_000,
        });
        let waiting =
            BuildEvent::Kernel(KernelBuildEvent::Waiting { kernel: "built", objects: 10, of: 846 });
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
