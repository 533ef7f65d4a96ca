//! The monitor on a terminal.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as StdInstant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signal_hook::consts::SIGSTOP;
use tactus_app::watch::{start, start_recording};
use tactus_app::{Error, Places};
use tactus_lab::causes::{CauseEvent, Causes, Lately};
use tactus_lab::live::{LiveEvent, LiveSamples};
use tactus_model::cell::Cell;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_monitor::{CauseNews, Key, Message, Monitor, Palette, Request};
use tactus_sys::clock;

use crate::error::CommandResult;
use crate::signals::on_interrupt;

/// The time between two frames: often enough for the eye, seldom enough not to load the machine.
const FRAME: Duration = Duration::from_millis(100);
/// The time between two requests for causes.
const REQUEST_EVERY: Duration = Duration::from_secs(1);

/// The options of the monitor.
pub(super) struct WatchOptions<'p> {
    pub(super) places: &'p Places,
    pub(super) seed: u64,
    /// Whether to record kernel events from the beginning.
    pub(super) record: bool,
    /// The latency above which a sample is explained.
    pub(super) threshold: Nanos,
}

/// Shows `monitor` until the user quits. Restores the terminal on return and on panic.
pub(super) fn watch(monitor: Monitor, options: WatchOptions<'_>) -> CommandResult {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Error::usage("stdin or stdout is not a terminal; use --plain or --json")
            .with_hint("tactus watch --plain prints one line a second")
            .into());
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = stopped.clone();
    on_interrupt(move || stop.store(true, Ordering::Relaxed))?;
    let samples = start(options.places, monitor.cell(), options.seed)?;
    let mut show = Show {
        monitor,
        samples: Some(samples),
        opened: None,
        lately: None,
        causes: None,
        last_request: StdInstant::now(),
        stopped,
        options,
    };
    if show.options.record {
        show.record(true);
    }
    let screen = Screen::open()?;
    show.run(screen)
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

/// The monitor and its processes.
struct Show<'p> {
    monitor: Monitor,
    options: WatchOptions<'p>,
    /// `None` if measuring could not be started, which the monitor shows.
    samples: Option<LiveSamples>,
    opened: Option<Instant<Monotonic>>,
    /// The newest samples, after the window opened.
    lately: Option<Lately>,
    causes: Option<Causes>,
    last_request: StdInstant,
    stopped: Arc<AtomicBool>,
}

impl Show<'_> {
    fn run(mut self, mut screen: Screen) -> CommandResult {
        let palette = palette();
        loop {
            self.receive();
            self.explain();
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

    /// Passes events of the measurement to the monitor.
    fn receive(&mut self) {
        let events = self.samples.as_mut().map(LiveSamples::events).unwrap_or_default();
        for event in events {
            let message = match event {
                LiveEvent::Shortfall(shortfall) => Message::Shortfall(shortfall),
                LiveEvent::Opened { opened, threads } => {
                    let probe = self.monitor.cell().probe.timer();
                    self.opened = Some(opened);
                    self.lately = Some(Lately::new(probe.sleep, opened, &threads));
                    Message::Opened { cpus: cpus(self.monitor.cell()) }
                }
                LiveEvent::Batch(batch) => {
                    if let (Some(lately), Some(_)) = (&mut self.lately, &self.causes) {
                        lately.take(&batch);
                    }
                    Message::Batch(batch)
                }
                LiveEvent::Ended => Message::Ended,
                LiveEvent::Failed { reason, hint } => Message::Failed { reason, hint },
            };
            self.send(message);
        }
        let since_opened =
            self.opened.map_or(Nanos::ZERO, |opened| clock::now::<Monotonic>() - opened);
        self.send(Message::Tick { since_opened });
    }

    /// Requests causes of late samples once a second, and passes explanations to the monitor.
    fn explain(&mut self) {
        let events = self.causes.as_mut().map(Causes::events).unwrap_or_default();
        for event in events {
            match event {
                CauseEvent::Recording => self.send(Message::Causes(CauseNews::Recording)),
                CauseEvent::Unavailable { reason, fix } => {
                    self.send(Message::Causes(CauseNews::Unavailable { reason, fix }))
                }
                // The slowest sample is passed last, so it is the latest on the screen.
                CauseEvent::Explained { samples } => samples
                    .into_iter()
                    .rev()
                    .any(|sample| self.send(Message::Causes(CauseNews::Explained(sample)))),
            };
        }
        if self.last_request.elapsed() < REQUEST_EVERY {
            return;
        }
        if let (Some(causes), Some(lately)) = (&mut self.causes, &mut self.lately)
            && causes.is_free()
        {
            self.last_request = StdInstant::now();
            if let Some(tasks) = lately.late(clock::now::<Monotonic>(), self.options.threshold) {
                causes.request(tasks, self.options.threshold);
            }
        }
    }

    /// Starts or stops recording kernel events.
    fn record(&mut self, record: bool) {
        self.causes = None;
        if !record {
            return;
        }
        match start_recording(self.options.places, self.monitor.cell()) {
            Ok(causes) => self.causes = Some(causes),
            Err(error) => {
                let (reason, fix) = (error.to_string(), None);
                self.send(Message::Causes(CauseNews::Unavailable { reason, fix }));
            }
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
            Some(Request::Measure(cell)) => self.measure(&cell),
            Some(Request::Record(record)) => self.record(record),
        }
        false
    }

    /// Measures another cell. The previous measurement ends first.
    fn measure(&mut self, cell: &Cell) {
        self.samples = None;
        self.opened = None;
        self.lately = None;
        match start(self.options.places, cell, self.options.seed) {
            Ok(samples) => self.samples = Some(samples),
            Err(error) => {
                self.send(Message::Failed { reason: error.to_string(), hint: None });
            }
        }
    }
}

fn cpus(cell: &Cell) -> Vec<u32> {
    // The same call determined the tasks when they were started.
    tactus_probe::places(cell).unwrap_or_default()
}

/// No colours with `NO_COLOR` (<https://no-color.org>).
fn palette() -> Palette {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_colour { Palette::NO_COLOURS } else { Palette::COLOURS }
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
