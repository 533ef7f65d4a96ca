//! What others can see of a job: its marks in the kernel's trace, and what it did that it must
//! not.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tactus_lint::Guard;
use tactus_model::result::Shortfall;
use tactus_sys::tracefs::PLACES;

/// How the jobs of a thread are observed.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) marks: Option<Marks>,
    pub(crate) guard: Option<Guard>,
}

impl Observed {
    /// Does a job.
    #[inline]
    pub(crate) fn run<T>(&mut self, job: impl FnOnce() -> T) -> T {
        self.begin();
        let _ends = Ends(self);
        job()
    }

    /// A job begins. The marks are written outside of the watched section.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if let Some(marks) = &self.marks {
            marks.write(&marks.begin);
        }
        if let Some(guard) = &mut self.guard {
            guard.begin();
        }
    }

    /// The job that has begun ends.
    #[inline]
    pub(crate) fn end(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.end();
        }
        if let Some(marks) = &self.marks {
            marks.write(&marks.end);
        }
    }
}

/// The job ends when this is dropped, after a panic too.
struct Ends<'o>(&'o mut Observed);

impl Drop for Ends<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Marks the jobs of a thread in the kernel's trace, by the lines that `tactus why` knows.
#[derive(Debug)]
pub(crate) struct Marks {
    file: File,
    begin: String,
    end: String,
}

impl Marks {
    /// Opens the trace for the thread with this name.
    pub(crate) fn open(name: &str) -> Result<Self, Shortfall> {
        let open = |place| File::options().write(true).open(Path::new(place).join("trace_marker"));
        let [usual, other] = PLACES;
        let file = open(usual).or_else(|error| open(other).map_err(|_| shortfall(&error)))?;
        let line = |what| format!("tactus: job {what} {name}\n");
        Ok(Self { file, begin: line("begin"), end: line("end") })
    }

    fn write(&self, line: &str) {
        // The kernel refuses lines while its tracing is off, when nobody reads them.
        let _ = (&self.file).write(line.as_bytes());
    }
}

fn shortfall(error: &io::Error) -> Shortfall {
    let [place, _] = PLACES;
    Shortfall {
        asked: "marks of jobs".to_owned(),
        granted: "none".to_owned(),
        reason: format!("cannot open {place}/trace_marker: {error}"),
        fix: Some(format!("sudo chmod a+x {place} && sudo chmod a+w {place}/trace_marker")),
    }
}
