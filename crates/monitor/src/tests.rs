//! Sends seeded samples to the monitor and checks the drawn screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tactus_explain::{Cause, Circumstance, ExplainedSample, MatchOutcome, Part};
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::live::Batch;
use tactus_model::random::SplitMix64;
use tactus_model::result::Shortfall;
use tactus_model::sample::Sample;
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;

use super::*;

fn monitor(options: &[(&str, &[&str])]) -> Monitor {
    let mut settings = Layer::default();
    for (name, values) in options {
        settings.set(name, values.iter().map(ToString::to_string).collect()).unwrap();
    }
    let overrides = Overrides { settings: settings.clone(), ..Overrides::default() };
    let plan = Experiment::parse(DEFAULTS).unwrap().plan(&overrides).unwrap();
    Monitor::new(plan.cells[0].clone(), &settings)
}

/// Two tasks that wake every millisecond; about 1 wakeup in 900 is milliseconds late.
struct Tasks {
    random: SplitMix64,
    /// The next due time of each task, in milliseconds.
    next: [u64; 2],
}

impl Tasks {
    fn new() -> Self {
        Self { random: SplitMix64::new(1993), next: [0; 2] }
    }

    /// The samples of both tasks until `until`.
    fn batches(&mut self, until: u64) -> Vec<Batch> {
        (0..2).map(|task| self.batch(task, until)).collect()
    }

    fn batch(&mut self, task: u32, until: u64) -> Batch {
        let mut batch = Batch { task, ..Batch::default() };
        let next = &mut self.next[task as usize];
        while *next < until {
            let due = Nanos::from_millis(*next);
            let rare = self.random.below(900) == 0;
            let late = 18_000 + self.random.below(12_000) + self.random.below(12_000);
            let late = if rare { 400_000 + self.random.below(5_000_000) } else { late };
            let came = due + Nanos::from_nanos(late);
            batch.samples.push(Sample { due, came });
            *next += 1;
            while Nanos::from_millis(*next) <= came {
                batch.missed.push(Sample { due: Nanos::from_millis(*next), came });
                *next += 1;
            }
        }
        batch
    }
}

/// Sends the samples of `milliseconds`, with ten ticks a second.
fn watch(monitor: &mut Monitor, tasks: &mut Tasks, milliseconds: std::ops::Range<u64>) {
    for at in milliseconds.step_by(100).skip(1) {
        for batch in tasks.batches(at) {
            assert_eq!(monitor.update(Message::Event(WatchEvent::Batch(batch))), None);
        }
        monitor.update(Message::Tick { since_opened: Nanos::from_millis(at) });
    }
}

fn opened(options: &[(&str, &[&str])]) -> Monitor {
    let mut monitor = monitor(options);
    monitor.update(Message::Event(WatchEvent::Opened { cpus: vec![0, 1] }));
    monitor
}

/// A monitor after 13 seconds.
fn watched() -> Monitor {
    let mut monitor = opened(&[]);
    watch(&mut monitor, &mut Tasks::new(), 0..13_100);
    monitor
}

fn press(monitor: &mut Monitor, keys: &str) -> Vec<Request> {
    let key = |letter| if letter == '\n' { Key::Enter } else { Key::Char(letter) };
    keys.chars().filter_map(|letter| monitor.update(Message::Key(key(letter)))).collect()
}

/// The text on a terminal of this size.
fn screen(monitor: &Monitor, width: u16, height: u16) -> String {
    let area = Rect { x: 0, y: 0, width, height };
    let mut buffer = Buffer::empty(area);
    monitor.draw(Palette::NO_COLOURS, area, &mut buffer);
    let row = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
    (0..height).map(|y| row(y).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn explained(cause: Cause, came: u64, late: u64) -> ExplainedSample {
    let (came, late) = (Nanos::from_millis(came), Nanos::from_micros(late));
    let rest = Nanos::from_micros(12);
    ExplainedSample {
        task: 1,
        index: 0,
        sample: Sample { due: came - late, came },
        outcome: MatchOutcome::Timer,
        segments: None,
        circumstance: Circumstance::default(),
        parts: vec![Part { cause, time: late - rest }, Part { cause: Cause::Switch, time: rest }],
        job: None,
        timeline: None,
    }
}

#[test]
fn an_ordinary_terminal_shows_everything() {
    insta::assert_snapshot!(screen(&watched(), 80, 24));
}

#[test]
fn messages_are_shown_with_a_line_per_millisecond() {
    let mut monitor = monitor(&[("probe", &["midi"])]);
    monitor.update(Message::Event(WatchEvent::Opened { cpus: vec![0] }));
    let mut random = SplitMix64::new(1993);
    let mut batch = Batch::default();
    for number in 0..1000 {
        let due = Nanos::from_millis(10 * number);
        let late = if number == 777 { 6_700_000 } else { random.below(400_000) };
        batch.samples.push(Sample { due, came: due + Nanos::from_nanos(late) });
    }
    monitor.update(Message::Event(WatchEvent::Batch(batch)));
    monitor.update(Message::Tick { since_opened: Nanos::from_secs(10) });
    insta::assert_snapshot!(screen(&monitor, 80, 24));
}

#[test]
fn a_large_terminal_shows_causes_too() {
    let mut monitor = watched().with_recording();
    assert!(screen(&monitor, 120, 40).contains("starting the recorder"));
    monitor.update(Message::Event(WatchEvent::Recording));
    assert!(screen(&monitor, 120, 40).contains("no late wakeup yet"));
    for (cause, came, late) in [
        (Cause::HostPause, 11_020, 5_120),
        (Cause::TimerWork { function: Some("tick_nohz_handler".to_owned()), cpu: 1 }, 12_300, 410),
    ] {
        monitor.update(Message::Event(WatchEvent::Explained(vec![explained(cause, came, late)])));
    }
    insta::assert_snapshot!(screen(&monitor, 120, 40));
}

#[test]
fn a_small_terminal_shows_the_size_needed() {
    insta::assert_snapshot!(screen(&watched(), 40, 10));
    // At no size is anything drawn outside the terminal.
    for (width, height) in [(1, 1), (0, 0), (60, 16), (59, 40), (300, 16), (61, 90)] {
        screen(&watched(), width, height);
    }
}

#[test]
fn the_smallest_terminal_has_room_for_every_part() {
    let mut monitor = watched();
    monitor.update(Message::Event(WatchEvent::Batch(Batch {
        // From nanoseconds to seconds: more decades than rows.
        samples: vec![
            Sample { due: Nanos::from_millis(13_200), came: Nanos::from_nanos(13_200_000_002) },
            Sample { due: Nanos::from_millis(13_300), came: Nanos::from_millis(15_100) },
        ],
        ..Batch::default()
    })));
    monitor.update(Message::Tick { since_opened: Nanos::from_millis(15_200) });
    insta::assert_snapshot!(screen(&monitor, LEAST_WIDTH, LEAST_HEIGHT));
}

#[test]
fn the_scale_of_the_paper_is_one_millisecond_per_line() {
    let mut monitor =
        opened(&[("interval", &["10ms"])]).with_scale(Scale::Fixed(Nanos::from_millis(1)));
    let mut random = SplitMix64::new(7);
    let late = |k: u64| if k == 600 { 61_000_000 } else { random.below(900_000) };
    let mut batch = Batch::default();
    let due = (0..900).map(|k| (k, Nanos::from_millis(10 * k)));
    let mut late = late;
    batch.samples =
        due.map(|(k, due)| Sample { due, came: due + Nanos::from_nanos(late(k)) }).collect();
    monitor.update(Message::Event(WatchEvent::Batch(batch)));
    monitor.update(Message::Tick { since_opened: Nanos::from_secs(9) });
    let screen = screen(&monitor, 90, 30);
    assert!(screen.contains("1\u{202f}ms per line"), "{screen}");
    assert!(screen.contains("worst case 7"), "{screen}");
    assert!(screen.contains('▲'), "points above the scale are marked\n{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn help_and_prompt_are_shown() {
    let mut monitor = watched();
    press(&mut monitor, "?");
    insta::assert_snapshot!(screen(&monitor, 80, 24));
    press(&mut monitor, "?:load comp");
    assert!(screen(&monitor, 80, 24).contains("setting and value: load comp"));
}

#[test]
fn keys_change_what_is_measured() {
    let mut monitor = watched();
    let requests = press(&mut monitor, "lp:interval 5ms\n");
    let settings = |request: &Request| match request {
        Request::Measure(cell) => {
            let of = |name| cell.settings().find(|(known, _)| *known == name).unwrap().1;
            [of("load"), of("policy"), of("interval")]
        }
        other => panic!("{other:?}"),
    };
    let measured: Vec<[String; 3]> = requests.iter().map(settings).collect();
    assert_eq!(measured[0], ["compute:cpus", "other", "1ms"]);
    assert_eq!(measured[1], ["compute:cpus", "fifo:90", "1ms"]);
    assert_eq!(measured[2], ["compute:cpus", "fifo:90", "5ms"]);
    let shown = screen(&monitor, 80, 24);
    assert!(
        shown.contains("compute:cpus · fifo:90 · 5ms") && shown.contains("starting"),
        "{shown}"
    );
    assert_eq!(settings(&press(&mut monitor, "L")[0])[0], "idle");
    assert_eq!(press(&mut monitor, "q"), [Request::Quit]);
}

#[test]
fn an_invalid_setting_is_reported_and_measuring_continues() {
    let mut monitor = watched();
    for (typed, expected) in [
        (":policy fifi:90\n", "did you mean `fifo`?"),
        (":load\n", "has no value"),
        (":sleep itimer\n", "tasks = \"processes\""),
        ("z", "unknown key"),
    ] {
        assert_eq!(press(&mut monitor, typed), []);
        let shown = screen(&monitor, 100, 24);
        assert!(shown.contains(expected), "{typed}\n{shown}");
    }
    assert_eq!(press(&mut monitor, ":\n"), []);
}

#[test]
fn a_held_picture_does_not_change_and_measuring_continues() {
    let mut tasks = Tasks::new();
    let mut monitor = opened(&[]);
    watch(&mut monitor, &mut tasks, 0..2_100);
    press(&mut monitor, " ");
    let held = screen(&monitor, 80, 24);
    assert!(held.contains("held at 2\u{202f}s"), "{held}");
    watch(&mut monitor, &mut tasks, 2_000..5_100);
    assert_eq!(screen(&monitor, 80, 24), held);
    press(&mut monitor, " ");
    let shown = screen(&monitor, 80, 24);
    assert!(!shown.contains("held") && shown.contains("5\u{202f}s"), "{shown}");
}

#[test]
fn a_reset_clears_the_figures_and_measuring_continues() {
    let mut tasks = Tasks::new();
    let mut monitor = opened(&[]);
    watch(&mut monitor, &mut tasks, 0..4_100);
    assert!(screen(&monitor, 80, 24).contains("worst case"));
    press(&mut monitor, "r");
    assert!(!screen(&monitor, 80, 24).contains("worst case"));
    watch(&mut monitor, &mut tasks, 4_000..6_100);
    assert!(screen(&monitor, 80, 24).contains("worst case"));
}

#[test]
fn figures_with_and_without_recording_are_not_pooled() {
    let mut monitor = watched();
    assert_eq!(press(&mut monitor, "t"), [Request::Record(true)]);
    assert!(!screen(&monitor, 80, 24).contains("worst case"), "the figures are reset");
    let (reason, fix) = ("CAP_PERFMON is missing".to_owned(), Some("sudo setcap …".to_owned()));
    monitor.update(Message::Event(WatchEvent::NotRecorded { reason, fix }));
    let shown = screen(&monitor, 80, 24);
    assert!(shown.contains("CAP_PERFMON is missing"), "{shown}");
    assert_eq!(press(&mut monitor, "t"), [Request::Record(true)], "the second attempt");
    assert_eq!(press(&mut monitor, "t"), [Request::Record(false)]);
}

#[test]
fn shortfalls_and_failures_are_shown() {
    let mut monitor = watched();
    monitor.update(Message::Event(WatchEvent::Shortfall(Shortfall {
        asked: "fifo:90".to_owned(),
        granted: "other".to_owned(),
        reason: "RLIMIT_RTPRIO is 0".to_owned(),
        fix: None,
    })));
    assert!(screen(&monitor, 80, 24).contains("requested fifo:90, got other: RLIMIT_RTPRIO is 0"));
    monitor.update(Message::Event(WatchEvent::Failed {
        reason: "the load ended".to_owned(),
        hint: None,
    }));
    let shown = screen(&monitor, 80, 24);
    assert!(shown.contains("failed") && shown.contains("the load ended"), "{shown}");
}

#[test]
fn scale_sweep_and_axis_have_keys() {
    let mut monitor = watched();
    let title = |monitor: &Monitor| screen(monitor, 80, 24).lines().nth(2).unwrap().to_owned();
    let before = title(&monitor);
    assert!(before.contains("sweep 10\u{202f}s"), "{before}");
    press(&mut monitor, "-");
    assert_ne!(title(&monitor), before);
    press(&mut monitor, "a");
    assert_eq!(title(&monitor), before, "it fits again");
    press(&mut monitor, ">");
    assert!(title(&monitor).contains("sweep 30\u{202f}s"));
    assert!(screen(&monitor, 80, 24).contains("exponential"));
    press(&mut monitor, "x");
    assert!(screen(&monitor, 80, 24).contains("1/(1−p)"));
}
