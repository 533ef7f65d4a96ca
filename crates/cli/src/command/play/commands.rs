//! Where commands go: to the player that plays now, or to the window of thumbnails.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tactus_gallery::Closer;
use tactus_player::{Command, Remote};

use crate::signals::on_interrupt;

/// Sends commands, from any thread.
#[derive(Clone, Default)]
pub(crate) struct Commands(Arc<Mutex<Target>>);

#[derive(Default)]
struct Target {
    /// Whether a signal came.
    is_over: bool,
    player: Option<Remote>,
    window: Option<Closer>,
}

impl Commands {
    fn with<T>(&self, act: impl FnOnce(&mut Target) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the player and the window at a signal.
    pub(crate) fn obey_signals(&self) -> io::Result<()> {
        let commands = self.clone();
        on_interrupt(move |_| {
            commands.with(|target| {
                target.is_over = true;
                target.window.iter().for_each(Closer::close);
                target.player.iter().for_each(|player| player.send(Command::Quit));
            });
        })
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
