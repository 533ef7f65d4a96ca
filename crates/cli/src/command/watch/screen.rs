//! The monitor on a terminal.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as StdInstant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signal_hook::consts::SIGSTOP;
use tactus_app::Error;
use tactus_app::watch::Watch;
use tactus_model::time::{Monotonic, Nanos};
use tactus_monitor::{Key, Message, Monitor, Palette, Request, WatchEvent};
use tactus_sys::clock;
use tactus_sys::wait::wait_hung_up;

use crate::error::CommandResult;
use crate::signals::{self, on_interrupt};
use crate::terminal::stdout;

/// The time between two frames: often enough for the eye, seldom enough not to load the machine.
const FRAME: Duration = Duration::from_millis(100);
/// The time between two requests for causes.
const REQUEST_EVERY: Duration = Duration::from_secs(1);

/// Shows `watch` in `monitor` until the user quits; with `record`, records kernel events from
/// the beginning. Restores the terminal on return and on panic.
pub(super) fn watch(monitor: Monitor, mut watch: Watch<'_>, record: bool) -> CommandResult {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Error::usage("stdin or stdout is not a terminal; use `--plain` or `--json`")
            .with_hint("`tactus watch --plain` prints one line a second")
            .into());
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = stopped.clone();
    on_interrupt(move |_| stop.store(true, Ordering::Relaxed))?;
    end_without_terminal()?;
    watch.start()?;
    let mut show = Show { monitor, watch, last_request: StdInstant::now(), stopped };
    if record {
        show.record(true);
    }
    let mut screen = Screen::open()?;
    let ended = show.run(&mut screen);
    if ended.is_err() && is_gone(Duration::ZERO) {
        // The library panics if it cannot restore the terminal.
        signals::end_by_hangup();
    }
    drop(screen);
    ended?;
    if let Some(summary) = show.monitor.summary() {
        writeln!(stdout(), "{summary}")?;
    }
    Ok(())
}

/// Whether the terminal is gone within `time`.
fn is_gone(time: Duration) -> bool {
    wait_hung_up(io::stdin().as_fd(), time).unwrap_or(false)
}

/// Ends the program when the terminal is gone. The library would read its ended input for ever,
/// and only the processes of a session get a signal. Child processes end with this one.
fn end_without_terminal() -> io::Result<()> {
    let watch = || {
        while !is_gone(Duration::MAX) {}
        signals::end_by_hangup()
    };
    std::thread::Builder::new().name("tactus-terminal".to_owned()).spawn(watch).map(drop)
}

/// The terminal in the monitor's mode; restored on drop. The library restores it before the
/// message of a panic.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// Restores the terminal and stops this process until the shell continues it. Measuring
    /// continues; samples that do not fit into the rings are counted as dropped.
    fn suspend(&mut self) -> io::Result<()> {
        ratatui::restore();
        signal_hook::low_level::raise(SIGSTOP)?;
        self.0 = ratatui::try_init()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What to do after a key.
enum Action {
    Continue,
    Suspend,
    Quit,
}

/// The monitor and what it shows.
struct Show<'p> {
    monitor: Monitor,
    watch: Watch<'p>,
    last_request: StdInstant,
    stopped: Arc<AtomicBool>,
}

impl Show<'_> {
    fn run(&mut self, screen: &mut Screen) -> CommandResult {
        let palette = palette();
        loop {
            self.receive();
            screen.0.draw(|frame| {
                self.monitor.draw(palette, frame.area(), frame.buffer_mut());
            })?;
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            match self.keys()? {
                Action::Continue => {}
                Action::Suspend => screen.suspend()?,
                Action::Quit => return Ok(()),
            }
        }
    }

    /// Passes events to the monitor, and requests causes of late samples once a second.
    fn receive(&mut self) {
        let mut events = self.watch.sample_events();
        events.extend(self.watch.cause_events());
        for event in events {
            self.send(Message::Event(event));
        }
        let opened = self.watch.opened();
        let since_opened = opened.map_or(Nanos::ZERO, |opened| clock::now::<Monotonic>() - opened);
        self.send(Message::Tick { since_opened });
        if self.last_request.elapsed() >= REQUEST_EVERY && self.watch.request_causes() {
            self.last_request = StdInstant::now();
        }
    }

    /// Starts or stops recording kernel events.
    fn record(&mut self, record: bool) {
        if let Err(error) = self.watch.record(record) {
            let event = WatchEvent::NotRecorded { reason: error.to_string(), fix: None };
            self.send(Message::Event(event));
        }
    }

    /// Handles keys until the next frame is due; returns early after a key, so its effect is
    /// visible at once.
    fn keys(&mut self) -> io::Result<Action> {
        let due = StdInstant::now() + FRAME;
        loop {
            let left = due.saturating_duration_since(StdInstant::now());
            if !event::poll(left)? {
                return Ok(Action::Continue);
            }
            match event::read()? {
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    return Ok(self.press(pressed));
                }
                Event::Resize(..) => return Ok(Action::Continue),
                _ => {}
            }
        }
    }

    /// Handles one key. In raw mode, Ctrl-C and Ctrl-Z are keys, not signals.
    fn press(&mut self, pressed: KeyEvent) -> Action {
        let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
        match pressed.code {
            KeyCode::Char('c') if control => return Action::Quit,
            KeyCode::Char('z') if control => return Action::Suspend,
            _ => {}
        }
        match key(pressed) {
            Some(key) if self.send(Message::Key(key)) => Action::Quit,
            _ => Action::Continue,
        }
    }

    /// Passes a message to the monitor and carries out its request; true if the user quits.
    fn send(&mut self, message: Message) -> bool {
        match self.monitor.update(message) {
            None => {}
            Some(Request::Quit) => return true,
            Some(Request::Record(record)) => self.record(record),
            Some(Request::Measure(cell)) => {
                if let Err(error) = self.watch.change(*cell) {
                    let event = WatchEvent::Failed { reason: error.to_string(), hint: None };
                    self.send(Message::Event(event));
                }
            }
        }
        false
    }
}

fn palette() -> Palette {
    if console::colors_enabled() { Palette::COLOURS } else { Palette::NO_COLOURS }
}

fn key(pressed: KeyEvent) -> Option<Key> {
    Some(match pressed.code {
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Command;

    use tactus_sys::pty::Pty;

    use super::*;

    /// The test below runs it on a terminal of its own.
    #[test]
    #[ignore = "takes a terminal over and panics"]
    fn panics_on_the_screen() {
        let _screen = Screen::open().unwrap();
        panic!("a planted panic");
    }

    #[test]
    fn a_panic_message_appears_on_the_restored_terminal() {
        let Pty { mut line, terminal } = Pty::open().unwrap();
        let end = || terminal.try_clone().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "--nocapture"])
            .arg("command::watch::screen::tests::panics_on_the_screen")
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let mut child = command.spawn().unwrap();
        // Closing these ends lets reading end when the child ends.
        drop((command, terminal));
        let mut screen = vt100::Parser::new(24, 80, 0);
        let mut bytes = [0; 4096];
        let mut taken_over = false;
        while let Ok(count @ 1..) = line.read(&mut bytes) {
            for byte in &bytes[..count] {
                screen.process(&[*byte]);
                taken_over |= screen.screen().alternate_screen();
            }
        }
        assert!(!child.wait().unwrap().success() && taken_over);
        assert!(!screen.screen().alternate_screen() && !screen.screen().hide_cursor());
        let shown = screen.screen().contents();
        assert!(shown.contains("a planted panic"), "{shown}");
    }
}
