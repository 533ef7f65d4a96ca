//! The command that is watched, with the processes that it starts.

use std::ffi::OsString;
use std::process::{self, Child, ExitStatus};

use tactus_model::recording::ThreadId;
use tactus_record::live::RecordError;
use tactus_sys::process::{adopt_orphans, reap_any_child};

use super::{News, threads};
use crate::Result;
use crate::target::Status;

/// A command that was started.
#[derive(Debug)]
pub(super) struct Command {
    /// Its status is taken by [`Command::reap`], with those of all children.
    child: Child,
    /// How often it had slept when it had begun its program: executing a program can sleep.
    pub(super) sleeps: u64,
    /// How it ended.
    pub(super) ended: Option<ExitStatus>,
}

impl Command {
    /// Starts a command. From now on, this process adopts the processes whose parents end.
    pub(super) fn start(
        program: &OsString,
        arguments: &[OsString],
        on_news: &mut impl FnMut(News),
    ) -> Result<Self> {
        adopt_orphans().map_err(RecordError::from)?;
        let failed =
            |error| RecordError::Command { command: program.to_string_lossy().into_owned(), error };
        let child = process::Command::new(program).args(arguments).spawn().map_err(failed)?;
        let thread = i32::try_from(child.id()).ok();
        let sleeps = thread.and_then(Status::of).map_or(0, |status| status.sleeps);
        threads::await_name(child.id(), program);
        on_news(News::Started(child.id()));
        Ok(Self { child, sleeps, ended: None })
    }

    /// Whether this is the first thread of the command.
    pub(super) fn is(&self, thread: ThreadId) -> bool {
        u32::try_from(thread.0) == Ok(self.child.id())
    }

    /// Takes the ends of the children of this process; returns whether there are no more. Each
    /// process that the command has started is one of them after the end of its parent.
    pub(super) fn reap(&mut self, on_news: &mut impl FnMut(News)) -> bool {
        let mut ended = None;
        let is_over = loop {
            match reap_any_child() {
                Ok(Some((process, status))) if process == self.child.id() => ended = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => break false,
                // There are no children.
                Err(_) => break true,
            }
        };
        if let Some(status) = ended {
            self.ended = ended;
            on_news(News::Ended { status, has_left: !is_over });
        }
        is_over
    }
}
