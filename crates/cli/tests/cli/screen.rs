//! The timing monitor on a terminal: the tests press keys and read the screen.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tactus_sys::pty::Pty;
use tactus_testing::{Need, PATIENCE, eventually, skip};

use crate::support::Tactus;

/// A command on a terminal of its own.
struct Terminal {
    child: Child,
    line: File,
    /// Kept open, so the terminal's settings can be read after the command ended.
    terminal: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let Pty { line, terminal } = Pty::open().unwrap();
        set_size(&terminal, columns, rows);
        let end = || terminal.try_clone().unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (mut reading, seen) = (line.try_clone().unwrap(), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reading.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { child, line, terminal, screen }
    }

    fn press(&mut self, keys: &str) {
        self.line.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(rows, columns);
        set_size(&self.terminal, columns, rows);
        kill_process(Pid::from_child(&self.child), Signal::WINCH).unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen fulfils a condition.
    fn wait_for(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        eventually(|| {
            let screen = self.screen.lock().unwrap();
            let seen = is_so(screen.screen());
            seen.then_some(())
                .ok_or_else(|| format!("not seen: {what}\n{}", screen.screen().contents()))
        });
    }

    fn wait_for_text(&self, text: &str) {
        self.wait_for(text, |screen| screen.contents().contains(text));
    }

    /// Whether the terminal is in line mode with echo, as before the monitor.
    fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end, and requires that the terminal is restored.
    fn require_restored(&mut self) -> Option<i32> {
        let status = self.child.wait().unwrap();
        self.wait_for("the screen from before", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        assert!(self.is_usual(), "the terminal is not in line mode");
        status.code()
    }
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// A monitor whose measurement begins soon.
fn watch(tactus: &Tactus, more: &[&str]) -> Command {
    let short = ["watch", "--cpus", "0", "--warmup", "0ns"];
    let mut command = tactus.command(&[&short[..], more].concat());
    command.env("TERM", "xterm-256color");
    command
}

#[test]
fn keys_change_the_screen_and_the_terminal_is_restored() {
    let tactus = Tactus::new();
    let mut terminal = Terminal::start(watch(&tactus, &[]), 80, 24);
    terminal.wait_for_text("worst case");
    assert!(terminal.screen.lock().unwrap().screen().alternate_screen());
    assert!(!terminal.is_usual());
    assert!(terminal.text().contains("idle · other · 1ms"), "{}", terminal.text());

    terminal.press("i");
    terminal.wait_for_text("idle · other · 2ms");
    terminal.wait_for_text("worst case");
    terminal.press(":interval 3mss\r");
    terminal.wait_for_text("`3mss` is not a duration");
    terminal.press(":interval 3ms\r");
    terminal.wait_for_text("idle · other · 3ms");
    terminal.press("?");
    terminal.wait_for_text("any other key closes this help");
    terminal.press("?");
    terminal.resize(40, 10);
    terminal.wait_for_text("40×10 is too small");
    terminal.resize(120, 40);
    terminal.wait_for_text("p99 by intended schedule");
    // The environment of the test contains NO_COLOR.
    let plain = |screen: &vt100::Screen| {
        let places = (0..40).flat_map(|row| (0..120).map(move |column| (row, column)));
        places.filter_map(|(row, column)| screen.cell(row, column)).all(|cell| {
            cell.fgcolor() == vt100::Color::Default && cell.bgcolor() == vt100::Color::Default
        })
    };
    assert!(plain(terminal.screen.lock().unwrap().screen()));

    terminal.wait_for_text("worst case");
    terminal.press("q");
    assert_eq!(terminal.require_restored(), Some(0));
    // The summary stays.
    terminal.wait_for_text("max interval");
    terminal.wait_for_text("interval 3ms");
    tactus.require_nothing_left();
}

#[test]
fn sixteen_colours_are_enough() {
    let tactus = Tactus::new();
    let mut command = watch(&tactus, &["--scale", "1ms"]);
    command.env_remove("NO_COLOR");
    let mut terminal = Terminal::start(command, 100, 30);
    terminal.wait_for_text("worst case");
    terminal.wait_for_text("1\u{202f}ms per line");
    let screen = terminal.screen.lock().unwrap().screen().clone();
    let places = (0..30).flat_map(|row| (0..100).map(move |column| (row, column)));
    let colours: Vec<vt100::Color> = places
        .filter_map(|(row, column)| screen.cell(row, column))
        .map(vt100::Cell::fgcolor)
        .filter(|colour| *colour != vt100::Color::Default)
        .collect();
    assert!(!colours.is_empty());
    for colour in colours {
        assert!(matches!(colour, vt100::Color::Idx(..16)), "{colour:?}");
    }
    // In raw mode, an interrupt is a key.
    terminal.press("\u{3}");
    assert_eq!(terminal.require_restored(), Some(0));
    tactus.require_nothing_left();
}

#[test]
fn sigterm_restores_the_terminal() {
    let tactus = Tactus::new();
    let mut terminal = Terminal::start(watch(&tactus, &["--load", "compute"]), 80, 24);
    terminal.wait_for_text("compute · other · 1ms");
    kill_process(Pid::from_child(&terminal.child), Signal::TERM).unwrap();
    assert_eq!(terminal.require_restored(), Some(143));
    tactus.require_nothing_left();
}

#[test]
fn a_terminal_that_vanishes_ends_the_monitor() {
    let tactus = Tactus::new();
    let Pty { mut line, terminal } = Pty::open().unwrap();
    set_size(&terminal, 80, 24);
    let end = || terminal.try_clone().unwrap();
    let mut command = watch(&tactus, &[]);
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop((command, terminal));
    let mut screen = vt100::Parser::new(24, 80, 0);
    let mut bytes = [0; 4096];
    while !screen.screen().contents().contains("worst case") {
        let count = line.read(&mut bytes).unwrap();
        screen.process(&bytes[..count]);
    }
    // Without a session of its own, the monitor gets no signal.
    drop(line);
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    // If it still runs, the test fails and leaves nothing behind.
    let _ = child.kill();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(129), "{status:?}");
    tactus.require_nothing_left();
}

#[test]
fn suspending_restores_the_terminal_and_continuing_takes_it_again() {
    let tactus = Tactus::new();
    let mut terminal = Terminal::start(watch(&tactus, &[]), 80, 24);
    terminal.wait_for_text("worst case");
    terminal.press("\u{1a}");
    terminal.wait_for("the screen from before", |screen| !screen.alternate_screen());
    let stat = format!("/proc/{}/stat", terminal.child.id());
    let is_stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
    terminal.wait_for("the stop", |_| is_stopped());
    assert!(terminal.is_usual());
    kill_process(Pid::from_child(&terminal.child), Signal::CONT).unwrap();
    terminal.wait_for_text("worst case");
    assert!(!terminal.is_usual());
    terminal.press("q");
    assert_eq!(terminal.require_restored(), Some(0));
    tactus.require_nothing_left();
}

#[test]
fn needs_tracing_late_samples_are_explained_on_the_screen() {
    let tactus = Tactus::new();
    let mut terminal =
        Terminal::start(watch(&tactus, &["--causes", "--threshold", "1us"]), 120, 40);
    let explained = |screen: &vt100::Screen| {
        let text = screen.contents();
        text.contains("on CPU 0:") || text.contains("permit") || text.contains("cannot")
    };
    terminal.wait_for("causes, or the reason why there are none", explained);
    let text = terminal.text();
    if !text.contains("on CPU 0:") {
        skip(Need::Perf, text);
    } else {
        assert!(text.contains("recording makes latencies longer"), "{text}");
    }
    terminal.press("q");
    assert_eq!(terminal.require_restored(), Some(0));
    tactus.require_nothing_left();
}

#[test]
fn without_a_terminal_the_error_names_the_option_for_lines() {
    let error = Tactus::new().fail(2, &["watch"]);
    assert!(error.contains("--plain"), "{error}");
}
