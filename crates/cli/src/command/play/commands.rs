//! Where commands go: to the player that plays now, or to the window of thumbnails.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tactus_gallery::Closer;
use tactus_player::{Command, Remote};

use crate::signals::{code_of, on_interrupt};

/// Sends commands, from any thread.
#[derive(Clone, Default)]
pub(crate) struct Commands(Arc<Mutex<Target>>);

#[derive(Default)]
struct Target {
    /// Whether a signal came.
    is_over: bool,
    player: Option<Remote>,
    window: Option<Closer>,
    /// Whether a signal waits for the player: a recording has begun, which has an end of its own.
    must_finish: bool,
    /// What is left behind otherwise.
    cleanup: Option<Box<dyn FnOnce() + Send>>,
}

impl Commands {
    fn with<T>(&self, act: impl FnOnce(&mut Target) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the player and the window at a signal. Before there is one, ends the program: a display, a
    /// sound server or ffprobe may not answer.
    pub(crate) fn obey_signals(&self) -> io::Result<()> {
        let commands = self.clone();
        on_interrupt(move |request| {
            commands.with(|target| {
                target.is_over = true;
                let is_opening = target.player.is_none() && target.window.is_none();
                if is_opening && !target.must_finish {
                    target.cleanup.take().into_iter().for_each(|clean_up| clean_up());
                    std::process::exit(code_of(request.signal).into());
                }
                target.window.iter().for_each(Closer::close);
                target.player.iter().for_each(|player| player.send(Command::Quit));
            });
        })
    }

    /// From now on, a signal waits until the player is open, and then ends it.
    pub(super) fn must_finish(&self) {
        self.with(|target| target.must_finish = true);
    }

    /// What a signal does before it ends the program.
    pub(crate) fn before_exit(&self, clean_up: impl FnOnce() + Send + 'static) {
        self.with(|target| target.cleanup = Some(Box::new(clean_up)));
    }

    /// From now on, a player plays. It ends at once if a signal came before.
    pub(super) fn go_to(&self, player: Remote) {
        self.with(|target| {
            if target.is_over {
                player.send(Command::Quit);
            }
            target.player = Some(player);
        });
    }

    /// The player has ended.
    pub(super) fn go_nowhere(&self) {
        self.with(|target| target.player = None);
    }

    /// A window is open, which is closed instead of a player.
    pub(super) fn close(&self, window: Closer) {
        self.with(|target| target.window = Some(window));
    }

    pub(super) fn send(&self, command: Command) {
        self.with(|target| match (&target.player, &target.window) {
            (Some(player), _) => player.send(command),
            (None, Some(window)) if command == Command::Quit => window.close(),
            _ => {}
        });
    }
}
