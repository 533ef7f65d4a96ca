//! Measures how long it takes from a key to a note, on pseudo-terminals.
//!
//! ```sh
//! cargo run --release -p tactus-streamd --example key_to_note -- [KEYS]
//! ```
//!
//! Three ways, in turns of a hundred keys at 100 keys a second:
//!
//! - *floor*: a pseudo-terminal alone, from the write to the end of the read;
//! - *thru*: input, filter, output in one thread, as `tactus midi thru`;
//! - *server*: input, hub, a program that listens and plays the note, delivery server, output.
//!
//! All threads have a real-time priority, as far as it is permitted.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tactus_midi::{Filter, Kinds};
use tactus_model::format;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::{Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_stream::{BranchId, Client, Draft, IfLate, Listener, Wanted};
use tactus_streamd::inputs::{Input, OfferedInput, PortSpec, Thru, attend, prepare};
use tactus_streamd::sinks::{MidiLine, PtyPort, Rate};
use tactus_streamd::{Handle, LocalServer, Offered, Pace, Settings};
use tactus_sys::clock;
use tactus_sys::pty::Pty;
use tactus_sys::wait::wait_readable;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Keys of one way before the next one has its turn.
const TURN: u32 = 100;

fn main() -> Result<()> {
    let keys: u32 = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse())?;
    let policy = |priority| match RealtimePriority::new(priority) {
        Some(priority) => Scheduling::Fifo(priority),
        None => Scheduling::ORDINARY,
    };
    let mut ways = [floor()?, thru(policy(80))?, server(policy(80), policy(70))?];
    if let Some(shortfall) = prepare(policy(85))? {
        eprintln!("{shortfall}");
    }
    for _ in 0..keys.div_ceil(TURN) {
        for way in &mut ways {
            for _ in 0..TURN {
                way.press()?;
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
    println!("way       keys      p50       p99       p99.9     max");
    for way in ways {
        let found = &way.found;
        let figures = [0.5, 0.99, 0.999].map(|share| found.quantile(share));
        let figures = figures.into_iter().chain([found.max()]).map(format::latency_or_nothing);
        let figures: Vec<String> = figures.map(|figure| format!("{figure:10}")).collect();
        println!("{:8}  {:8}  {}", way.name, found.count(), figures.concat().trim_end());
        (way.end)()?;
    }
    Ok(())
}

/// A way from a key to a note.
struct Way {
    name: &'static str,
    keys: File,
    synth: File,
    found: LatencyHistogram,
    end: Box<dyn FnOnce() -> Result<()>>,
}

impl Way {
    /// Presses a key, and waits for the note.
    fn press(&mut self) -> Result<()> {
        let begin = clock::now::<Monotonic>();
        self.keys.write_all(&[0x90, 60, 100])?;
        let mut note = [0; 3];
        let mut count = 0;
        while count < note.len() {
            if !wait_readable(self.synth.as_fd(), Duration::from_secs(10))? {
                return Err(format!("{}: no note comes", self.name).into());
            }
            count += self.synth.read(&mut note[count..])?;
        }
        self.found.record(clock::now::<Monotonic>() - begin);
        Ok(())
    }
}

fn opened(path: &Path, for_reading: bool) -> Result<File> {
    Ok(OpenOptions::new().read(for_reading).write(!for_reading).open(path)?)
}

fn floor() -> Result<Way> {
    let pty = Pty::open()?;
    pty.make_raw()?;
    let (keys, synth) = (pty.line.try_clone()?, pty.terminal.try_clone()?);
    let end = Box::new(|| {
        drop(pty);
        Ok(())
    });
    Ok(Way { name: "floor", keys, synth, found: LatencyHistogram::new(), end })
}

fn thru(policy: Scheduling) -> Result<Way> {
    let mut inputs = vec![Input::open(&PortSpec::Pty(None))?];
    let port = PtyPort::open(None)?;
    let (keys, synth) = (opened(inputs[0].address().as_ref(), false)?, opened(port.path(), true)?);
    let mut thru = Thru::new(Filter::ALL, Box::new(MidiLine::new(port, Rate::Unpaced)));
    let handle = Handle::new()?;
    let of_thread = handle.clone();
    let thread = thread::spawn(move || {
        prepare(policy)?;
        attend(&mut inputs, &of_thread, None, &mut thru)?;
        thru.end(inputs.len(), Nanos::ZERO);
        Ok(())
    });
    let end = Box::new(move || {
        handle.end();
        thread.join().unwrap_or_else(|_| Err("the thru has ended".into()))
    });
    Ok(Way { name: "thru", keys, synth, found: LatencyHistogram::new(), end })
}

fn server(policy: Scheduling, of_program: Scheduling) -> Result<Way> {
    let input = Input::open(&PortSpec::Pty(None))?;
    let port = PtyPort::open(None)?;
    let (keys, synth) = (opened(input.address().as_ref(), false)?, opened(port.path(), true)?);
    let sink = Box::new(MidiLine::new(port, Rate::Unpaced));
    let offered = Offered { name: "synth".to_owned(), spec: "example".to_owned(), sink };
    let named = OfferedInput { name: "keys".to_owned(), spec: "example".to_owned(), input };
    let settings =
        Settings { pace: Pace { policy, spin: Nanos::ZERO }, horizon: Nanos::from_secs(1) };
    let mut server = LocalServer::start(vec![offered], vec![named], settings)?;
    let mut keyboard = Listener::connect(server.socket(), "keys", Kinds::NORMAL)?;
    let mut client = Client::connect(server.socket(), &Wanted::named("player"))?;
    let stream = client.open("synth")?;
    thread::spawn(move || -> Result<()> {
        prepare(of_program)?;
        while let Some(heard) = keyboard.message(None)? {
            let (branch, if_late, payload) = (BranchId(0), IfLate::Deliver, heard.message.bytes());
            client.submit(&Draft { stream, branch, due: heard.ended, if_late, payload })?;
            while client.receipt(Some(Duration::ZERO))?.is_some() {}
        }
        Ok(())
    });
    let end = Box::new(move || Ok(server.end()?));
    Ok(Way { name: "server", keys, synth, found: LatencyHistogram::new(), end })
}
