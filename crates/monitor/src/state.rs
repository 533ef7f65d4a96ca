//! The monitor's state, and how messages change it.

use std::collections::VecDeque;

use tactus_explain::ExplainedSample;
use tactus_model::cell::Cell;
use tactus_model::format;
use tactus_model::result::Shortfall;
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_stats::axis::{PercentileAxis, percentile_curve};

use crate::choices::{Choices, changed, value};
use crate::figures::{LatencyFigures, LiveFigures, StretchFigures};
use crate::message::{Key, Message, Request, WatchEvent};
use crate::plain::{plain_header, plain_total};
use crate::scale::{self, Scale};
use crate::sweep::Sweep;

/// The durations of one sweep that the user can choose.
const SWEEPS: [Nanos; 8] = [
    Nanos::from_millis(500),
    Nanos::from_secs(1),
    Nanos::from_secs(2),
    Nanos::from_secs(5),
    Nanos::from_secs(10),
    Nanos::from_secs(30),
    Nanos::from_secs(60),
    Nanos::from_secs(300),
];
/// The first sweep: slow enough for the eye to follow the pen.
const FIRST_SWEEP: usize = 4;
/// The distance between the scope's lines before the first samples: the paper's.
const FIRST_LINE: Nanos = Nanos::from_millis(1);
/// The number of explained samples kept.
const CAUSES_KEPT: usize = 20;
/// The maximum length of a typed setting, in bytes.
const LONGEST_PROMPT: usize = 200;

/// The timing monitor. Only messages change it; it reads no clock.
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) cell: Cell,
    choices: Vec<Choices>,
    pub(crate) phase: Phase,
    pub(crate) recording: RecorderState,
    pub(crate) shortfalls: Vec<Shortfall>,
    pub(crate) cpus: Vec<u32>,
    figures: LiveFigures,
    /// When the figures were reset, since the window opened.
    counted_from: Nanos,
    pub(crate) live: Picture,
    /// The picture shown instead of the live one while held.
    pub(crate) held: Option<Box<Picture>>,
    scale: Scale,
    sweep: usize,
    pub(crate) axis: PercentileAxis,
    pub(crate) help: bool,
    pub(crate) prompt: Option<String>,
    pub(crate) notice: Option<String>,
}

/// The state of the cell's measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    Starting,
    Measuring,
    Ended,
    Failed { reason: String, hint: Option<String> },
}

/// Whether kernel events are recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RecorderState {
    Off,
    Starting,
    On,
    Unavailable { reason: String, fix: Option<String> },
}

/// Everything that does not change while the monitor is held.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) since_opened: Nanos,
    pub(crate) sweep: Sweep,
    /// The distance between the scope's lines.
    pub(crate) line: Nanos,
    pub(crate) shown: Shown,
    /// Explained samples, the latest first.
    pub(crate) causes: VecDeque<ExplainedSample>,
}

/// The figures that change only once a second, to be readable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) second: StretchFigures,
    pub(crate) whole: StretchFigures,
    /// By the intended schedule, if different.
    pub(crate) intended: Option<LatencyFigures>,
    pub(crate) curve: Vec<(f64, Nanos)>,
    pub(crate) intended_curve: Vec<(f64, Nanos)>,
}

impl Monitor {
    /// Starts with `cell`. Keys step through settings with several values in `options`.
    pub fn new(cell: Cell, options: &Layer) -> Self {
        Self {
            choices: Choices::of(options, &cell),
            // The monitor of 1993 showed messages with a line per millisecond.
            scale: match cell.probe.midi() {
                Some(_) => Scale::Fixed(FIRST_LINE),
                None => Scale::Fitting,
            },
            cell,
            phase: Phase::Starting,
            recording: RecorderState::Off,
            shortfalls: Vec::new(),
            cpus: Vec::new(),
            figures: LiveFigures::new(),
            counted_from: Nanos::ZERO,
            live: Picture::new(SWEEPS[FIRST_SWEEP], FIRST_LINE),
            held: None,
            sweep: FIRST_SWEEP,
            axis: PercentileAxis::Exponential,
            help: false,
            prompt: None,
            notice: None,
        }
    }

    /// Sets the distance between the scope's lines.
    #[must_use]
    pub fn with_scale(mut self, scale: Scale) -> Self {
        self.set_scale(scale);
        self
    }

    /// Sets the state to recorder starting.
    #[must_use]
    pub fn with_recording(mut self) -> Self {
        self.recording = RecorderState::Starting;
        self
    }

    /// Handles a message; may return a request to the caller.
    pub fn update(&mut self, message: Message) -> Option<Request> {
        match message {
            Message::Event(event) => self.take(event),
            Message::Tick { since_opened } => self.advance(since_opened),
            Message::Key(key) => return self.press(key),
        }
        None
    }

    /// What was watched since the last reset or change, for the terminal after the monitor was left:
    /// the cell and its figures in lines. `None` without wakeups.
    pub fn summary(&self) -> Option<String> {
        let figures = self.figures.whole();
        if figures.accounting.intended == 0 {
            return None;
        }
        let [load, policy] = ["load", "policy"].map(|name| self.setting(name));
        let interval = self.cell.probe.timer().interval;
        let cell = format!("load {load}, policy {policy}, interval {interval}");
        let length = self.live.since_opened - self.counted_from;
        Some([cell, plain_header(), plain_total(length, &figures, &self.cpus)].join("\n"))
    }

    /// The picture to draw.
    pub(crate) fn picture(&self) -> &Picture {
        self.held.as_deref().unwrap_or(&self.live)
    }

    /// The expected time between arrivals.
    pub(crate) fn interval(&self) -> Nanos {
        let probe = self.cell.probe.timer();
        probe.interval.mean()
    }

    /// A setting's value as a person writes it.
    pub(crate) fn setting(&self, name: &str) -> String {
        value(&self.cell, name)
    }

    fn take(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Opened { cpus } => {
                self.cpus = cpus;
                self.phase = Phase::Measuring;
            }
            WatchEvent::Batch(batch) => {
                let Self { figures, live, .. } = self;
                figures.take(&batch, |sample, apart| live.sweep.draw(sample.came, apart));
            }
            WatchEvent::Shortfall(shortfall) => {
                if !self.shortfalls.contains(&shortfall) {
                    self.shortfalls.push(shortfall);
                }
            }
            WatchEvent::Ended => self.phase = Phase::Ended,
            WatchEvent::Failed { reason, hint } => self.phase = Phase::Failed { reason, hint },
            WatchEvent::Recording => self.recording = RecorderState::On,
            WatchEvent::NotRecorded { reason, fix } => {
                self.recording = RecorderState::Unavailable { reason, fix };
            }
            WatchEvent::Explained(samples) => {
                // The slowest sample comes last, so it is the latest on the screen.
                for sample in samples.into_iter().rev() {
                    self.live.causes.push_front(sample);
                }
                self.live.causes.truncate(CAUSES_KEPT);
            }
        }
    }

    /// Moves the pen, and updates the shown figures every second.
    fn advance(&mut self, since_opened: Nanos) {
        if self.phase != Phase::Measuring {
            return;
        }
        const SECOND: Nanos = Nanos::from_secs(1);
        let seconds = |at: Nanos| at.div_floor(SECOND);
        let new_second = seconds(since_opened) != seconds(self.live.since_opened);
        let wrapped = self.live.sweep.advance(since_opened);
        self.live.since_opened = since_opened;
        if new_second {
            let first = self.live.shown.curve.is_empty();
            self.live.shown = Shown::of(&mut self.figures);
            if first {
                self.fit();
            }
        }
        if wrapped {
            self.fit();
        }
    }

    fn fit(&mut self) {
        if self.scale == Scale::Fitting {
            let lengths = self.live.sweep.points().map(|(_, length)| length);
            self.live.line = scale::fitting(self.interval(), lengths).unwrap_or(self.live.line);
        }
    }

    fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
        match scale {
            Scale::Fitting => self.fit(),
            Scale::Fixed(line) => self.live.line = line,
        }
        self.show(|picture, live| picture.line = live.line);
    }

    /// Applies a change to the held picture too, for the user to see.
    fn show(&mut self, change: impl FnOnce(&mut Picture, &Picture)) {
        if let Some(held) = &mut self.held {
            change(held, &self.live);
        }
    }

    fn press(&mut self, key: Key) -> Option<Request> {
        self.notice = None;
        if self.prompt.is_some() {
            return self.type_on(key);
        }
        if std::mem::take(&mut self.help) && key != Key::Char('q') {
            return None;
        }
        match key {
            Key::Char('q') | Key::Escape => return Some(Request::Quit),
            Key::Char('l' | 'L') => return self.step("load", key),
            Key::Char('p' | 'P') => return self.step("policy", key),
            Key::Char('i' | 'I') => return self.step("interval", key),
            Key::Char('t') => return Some(self.toggle_recording()),
            Key::Char(':') => self.prompt = Some(String::new()),
            Key::Char('+' | '=') | Key::Up => {
                self.set_scale(Scale::Fixed(scale::finer(self.live.line)));
            }
            Key::Char('-') | Key::Down => {
                self.set_scale(Scale::Fixed(scale::coarser(self.live.line)));
            }
            Key::Char('a') => self.set_scale(Scale::Fitting),
            Key::Char('<') | Key::Left => self.set_sweep(self.sweep.saturating_sub(1)),
            Key::Char('>') | Key::Right => self.set_sweep((self.sweep + 1).min(SWEEPS.len() - 1)),
            Key::Char('x') => {
                self.axis = match self.axis {
                    PercentileAxis::Exponential => PercentileAxis::Reciprocal,
                    PercentileAxis::Reciprocal => PercentileAxis::Exponential,
                };
            }
            Key::Char(' ') => {
                self.held = match self.held.take() {
                    Some(_) => None,
                    None => Some(Box::new(self.live.clone())),
                };
            }
            Key::Char('r') => self.reset(),
            Key::Char('?' | 'h') => self.help = true,
            Key::Char(other) => {
                self.notice = Some(format!("unknown key `{other}`; press ? for help"));
            }
            Key::Enter | Key::Backspace => {}
        }
        None
    }

    /// Resets the figures and the trace; measuring continues.
    fn reset(&mut self) {
        self.figures.reset();
        self.counted_from = self.live.since_opened;
        let live = &mut self.live;
        live.sweep = Sweep::new(live.sweep.length());
        live.sweep.advance(live.since_opened);
        live.shown = Shown::default();
        live.causes.clear();
        self.held = None;
    }

    fn set_sweep(&mut self, sweep: usize) {
        self.sweep = sweep;
        self.live.sweep = Sweep::new(SWEEPS[sweep]);
        self.live.sweep.advance(self.live.since_opened);
        self.notice = Some(format!("one sweep takes {}", format::span(SWEEPS[sweep])));
    }

    /// Recording costs time in every switch and interrupt, so figures with and without it
    /// are never pooled.
    fn toggle_recording(&mut self) -> Request {
        let record =
            matches!(self.recording, RecorderState::Off | RecorderState::Unavailable { .. });
        self.recording = if record { RecorderState::Starting } else { RecorderState::Off };
        self.reset();
        Request::Record(record)
    }

    fn step(&mut self, name: &str, key: Key) -> Option<Request> {
        let forward = matches!(key, Key::Char(letter) if letter.is_lowercase());
        let choices = self.choices.iter().find(|choices| choices.name() == name)?;
        let value = choices.beside(&self.cell, forward).to_owned();
        self.set(name, &value)
    }

    /// Changes a setting and restarts the measurement.
    fn set(&mut self, name: &str, value: &str) -> Option<Request> {
        match changed(&self.cell, name, value) {
            Ok(cell) => {
                self.begin(cell);
                Some(Request::Measure(Box::new(self.cell.clone())))
            }
            Err(reason) => {
                self.notice = Some(reason);
                None
            }
        }
    }

    fn begin(&mut self, cell: Cell) {
        self.cell = cell;
        self.phase = Phase::Starting;
        self.shortfalls.clear();
        self.figures = LiveFigures::new();
        self.counted_from = Nanos::ZERO;
        self.live = Picture::new(SWEEPS[self.sweep], self.live.line);
        self.held = None;
    }

    fn type_on(&mut self, key: Key) -> Option<Request> {
        let prompt = self.prompt.as_mut()?;
        match key {
            Key::Char(letter) if prompt.len() < LONGEST_PROMPT => prompt.push(letter),
            Key::Backspace => {
                let was_empty = prompt.pop().is_none();
                if was_empty {
                    self.prompt = None;
                }
            }
            Key::Escape => self.prompt = None,
            Key::Enter => return self.enter(),
            _ => {}
        }
        None
    }

    /// Applies the typed setting: `load compile:2`, `load=compile:2`.
    fn enter(&mut self) -> Option<Request> {
        let typed = self.prompt.take()?;
        let typed = typed.trim();
        if typed.is_empty() {
            return None;
        }
        let Some((name, value)) = typed.split_once([' ', '=']) else {
            self.notice = Some(format!("`{typed}` has no value; example: load compile:2"));
            return None;
        };
        self.set(name, value.trim())
    }
}

impl Picture {
    fn new(sweep: Nanos, line: Nanos) -> Self {
        Self {
            since_opened: Nanos::ZERO,
            sweep: Sweep::new(sweep),
            line,
            shown: Shown::default(),
            causes: VecDeque::new(),
        }
    }
}

impl Shown {
    fn of(figures: &mut LiveFigures) -> Self {
        let intended = figures.intended_latencies();
        Self {
            second: figures.end_second(),
            whole: figures.whole(),
            intended: intended.as_ref().map(LatencyFigures::of),
            curve: percentile_curve(figures.latencies()),
            intended_curve: intended.as_ref().map(percentile_curve).unwrap_or_default(),
        }
    }
}
