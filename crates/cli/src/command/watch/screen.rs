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

/// How often the picture is drawn: ten times a second, often enough for the eye and
/// seldom enough to leave the machine alone.
const FRAME: Duration = Duration::from_millis(100);
/// How often causes are asked for.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What is watched, and how.
pub(super) struct Wishes<'p> {
    pub(super) places: &'p Places,
    pub(super) seed: u64,
    /// Whether the kernel's events are recorded from the beginning.
    pub(super) record: bool,
    /// The latency above which a sample is explained.
    pub(super) threshold: Nanos,
}

/// Shows `monitor` until the user ends it. The terminal is as it was before when this
/// returns, and when it panics.
pub(super) fn watch(monitor: Monitor, wishes: Wishes<'_>) -> CommandResult {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Error::usage("the monitor needs a terminal, and this is none")
            .with_hint("tactus watch --plain writes a line a second, --json an object")
            .into());
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = stopped.clone();
    on_interrupt(move || stop.store(true, Ordering::Relaxed))?;
    let samples = start(wishes.places, monitor.cell(), wishes.seed)?;
    let mut show = Show {
        monitor,
        samples: Some(samples),
        opened: None,
        lately: None,
        causes: None,
        last_asked: StdInstant::now(),
        stopped,
        wishes,
    };
    if show.wishes.record {
        show.record(true);
    }
    let screen = Screen::open()?;
    show.run(screen)
}

/// The terminal, taken over by the monitor; it is given back when this is dropped. The
/// library gives it back before a panic is told.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// Gives the terminal back and stops until the shell lets us go on. What is measured
    /// goes on, and what finds no room meanwhile is counted as dropped.
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

/// What the user wants besides what the monitor does.
enum Wish {
    GoOn,
    Suspend,
    End,
}

/// The monitor and what it looks at.
struct Show<'p> {
    monitor: Monitor,
    wishes: Wishes<'p>,
    /// None when it could not be started, which the monitor tells.
    samples: Option<LiveSamples>,
    opened: Option<Instant<Monotonic>>,
    /// The newest samples, once the window is open.
    lately: Option<Lately>,
    causes: Option<Causes>,
    last_asked: StdInstant,
    stopped: Arc<AtomicBool>,
}

impl Show<'_> {
    fn run(mut self, mut screen: Screen) -> CommandResult {
        let palette = palette();
        loop {
            self.look();
            self.explain();
            screen.0.draw(|frame| {
                self.monitor.draw(palette, frame.area(), frame.buffer_mut());
            })?;
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            match self.keys()? {
                Wish::GoOn => {}
                Wish::Suspend => screen.suspend()?,
                Wish::End => return Ok(()),
            }
        }
    }

    /// Tells the monitor what has happened.
    fn look(&mut self) {
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
            self.tell(message);
        }
        let since_opened =
            self.opened.map_or(Nanos::ZERO, |opened| clock::now::<Monotonic>() - opened);
        self.tell(Message::Tick { since_opened });
    }

    /// Asks for the causes of what was late, once a second, and tells what was found.
    fn explain(&mut self) {
        let events = self.causes.as_mut().map(Causes::events).unwrap_or_default();
        for event in events {
            match event {
                CauseEvent::Recording => self.tell(Message::Causes(CauseNews::Recording)),
                CauseEvent::Unavailable { reason, fix } => {
                    self.tell(Message::Causes(CauseNews::Unavailable { reason, fix }))
                }
                // The slowest shall be the latest of those that are told.
                CauseEvent::Explained { samples } => samples
                    .into_iter()
                    .rev()
                    .any(|sample| self.tell(Message::Causes(CauseNews::Explained(sample)))),
            };
        }
        if self.last_asked.elapsed() < ASK_EVERY {
            return;
        }
        if let (Some(causes), Some(lately)) = (&mut self.causes, &mut self.lately)
            && causes.is_free()
        {
            self.last_asked = StdInstant::now();
            if let Some(tasks) = lately.late(clock::now::<Monotonic>(), self.wishes.threshold) {
                causes.request(tasks, self.wishes.threshold);
            }
        }
    }

    /// Starts to record the kernel's events, or ends it.
    fn record(&mut self, whether: bool) {
        self.causes = None;
        if !whether {
            return;
        }
        match start_recording(self.wishes.places, self.monitor.cell()) {
            Ok(causes) => self.causes = Some(causes),
            Err(error) => {
                let (reason, fix) = (error.to_string(), None);
                self.tell(Message::Causes(CauseNews::Unavailable { reason, fix }));
            }
        }
    }

    /// Hands on the keys that are pressed until the next frame is due, and ends early
    /// after one, so that its effect is seen at once.
    fn keys(&mut self) -> io::Result<Wish> {
        let due = StdInstant::now() + FRAME;
        loop {
            let left = due.saturating_duration_since(StdInstant::now());
            if !event::poll(left)? {
                return Ok(Wish::GoOn);
            }
            match event::read()? {
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    return Ok(self.press(pressed));
                }
                Event::Resize(..) => return Ok(Wish::GoOn),
                _ => {}
            }
        }
    }

    /// An interrupt and a stop do not reach us as signals: the terminal hands on every key.
    fn press(&mut self, pressed: KeyEvent) -> Wish {
        let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
        match pressed.code {
            KeyCode::Char('c') if control => return Wish::End,
            KeyCode::Char('z') if control => return Wish::Suspend,
            _ => {}
        }
        match key(pressed) {
            Some(key) if self.tell(Message::Key(key)) => Wish::End,
            _ => Wish::GoOn,
        }
    }

    /// Tells the monitor something and does what it asks for; true when that is the end.
    fn tell(&mut self, message: Message) -> bool {
        match self.monitor.update(message) {
            None => {}
            Some(Request::Quit) => return true,
            Some(Request::Measure(cell)) => self.measure(&cell),
            Some(Request::Record(whether)) => self.record(whether),
        }
        false
    }

    /// Measures another cell. The one before has ended when it begins.
    fn measure(&mut self, cell: &Cell) {
        self.samples = None;
        self.opened = None;
        self.lately = None;
        match start(self.wishes.places, cell, self.wishes.seed) {
            Ok(samples) => self.samples = Some(samples),
            Err(error) => {
                self.tell(Message::Failed { reason: error.to_string(), hint: None });
            }
        }
    }
}

fn cpus(cell: &Cell) -> Vec<u32> {
    // The same call found the tasks when they were started.
    tactus_probe::places(cell).unwrap_or_default()
}

/// Without colours where the user wants none (<https://no-color.org>).
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

    /// Is run by the test below, on a terminal of its own.
    #[test]
    #[ignore = "takes a terminal over and panics"]
    fn panics_on_the_screen() {
        let _screen = Screen::open().unwrap();
        panic!("a planted panic");
    }

    #[test]
    fn a_panic_is_told_on_the_terminal_as_it_was_before() {
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
        // Its ends are closed with it, so that reading ends when it has ended.
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
        let told = screen.screen().contents();
        assert!(told.contains("a planted panic"), "{told}");
    }
}
