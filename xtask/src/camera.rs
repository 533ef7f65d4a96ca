//! Pictures of a simulated camera, recorded in a guest.
//!
//! The kernel's vivid (*Documentation/admin-guide/media/vivid.rst*) is a camera that draws a test
//! pattern and stamps each picture. `tactus mail record` takes pictures from it, with ffmpeg.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use tactus_guest::chore::{Reply, Step};
use tactus_mail::Timing;

use crate::chore_guest::{Files, Session, ended, words};

/// One camera, `/dev/video0`.
const MODULE: (&str, &str) = ("vivid", "n_devs=1 node_types=0x1 num_inputs=1 input_types=0x0");
/// The pictures of a clip, and the time between two in nanoseconds.
const PICTURES: usize = 40;
const INTERVAL: i64 = 100_000_000;
/// How far an interval may be off: the thread of the driver sleeps by ticks of 4 ms.
const TICKS: i64 = 3 * 4_000_000;
/// ffmpeg passes on stamps of whole microseconds.
const UNIT: u64 = 1000;
/// Numbers of signals.
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

fn record(clip: &str, device: &str) -> Vec<String> {
    words(&format!(
        "tactus mail record /tmp/{clip} --picture camera:{device} --size 320x180 --rate 10 \
         --sound none --duration 4s --quiet"
    ))
}

fn timing_of(clip: &str) -> Step {
    Step::Read { path: format!("/tmp/{clip}.timing.json") }
}

/// Boots the guest and checks the stamps of clips: one that nothing disturbs, one whose recorder is
/// stopped for a second, and one whose camera is unplugged.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let sleep = |milliseconds| Step::Sleep { milliseconds };
    let unplug = Step::Write {
        path: "/sys/bus/platform/drivers/vivid/unbind".to_owned(),
        text: "vivid.0".to_owned(),
    };
    let steps = vec![
        Step::Run { words: record("a.webm", "/dev/video0") },
        timing_of("a.webm"),
        Step::Run { words: record("none.webm", "/dev/video7") },
        Step::Start { words: record("b.webm", "/dev/video0") },
        sleep(3000),
        Step::Signal { number: SIGSTOP },
        sleep(1000),
        Step::Signal { number: SIGCONT },
        Step::Await,
        timing_of("b.webm"),
        Step::Start { words: record("c.webm", "/dev/video0") },
        sleep(2000),
        Step::Run { words: record("none.webm", "/dev/video0") },
        unplug,
        Step::Await,
        timing_of("c.webm"),
        Step::Run { words: record("none.webm", "/dev/video0") },
    ];
    let replies = Session { files: Files::default(), steps, module: MODULE }.run(root)?;
    let [a, a_timing, missing, .., b, b_timing, _, _, busy, _, c, c_timing, unplugged] =
        &replies[..]
    else {
        bail!("{} replies", replies.len());
    };
    ended(a, 0)?;
    let found = stamps(a_timing)?;
    println!("undisturbed: {found}");
    ensure!(found.count >= PICTURES - 2, "{} of {PICTURES} pictures", found.count);
    let (_, errors) = ended(missing, 3)?;
    println!("a device that is missing: {errors}");
    ensure!(errors.contains("/dev/video7 gives no pictures: "), "{errors}");
    ended(b, 0)?;
    let found = stamps(b_timing)?;
    println!("the recorder was stopped for 1 s: {found}");
    ensure!(found.count >= PICTURES - 2, "{} of {PICTURES} pictures", found.count);
    let (_, errors) = ended(busy, 3)?;
    println!("a camera that is used: {errors}");
    ensure!(errors.contains("busy"), "{errors}");
    let (_, errors) = ended(c, 5)?;
    println!("the camera was unplugged: {errors}; {}", stamps(c_timing)?);
    ensure!(errors.contains("gives no pictures: "), "{errors}");
    ended(unplugged, 3)?;
    Ok(())
}

/// The stamps of a clip.
struct Stamps {
    count: usize,
    /// The mean interval, and how far the intervals are from it at most, in nanoseconds.
    mean: i64,
    off: i64,
}

impl std::fmt::Display for Stamps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mean, off) = (self.mean as f64 / 1e6, self.off as f64 / 1e6);
        write!(
            f,
            "{} pictures, {mean:.3} ms from one to the next, at most {off:.3} ms off",
            self.count
        )
    }
}

/// Checks that stamps are those of the driver, one interval apart.
fn stamps(reply: &Reply) -> anyhow::Result<Stamps> {
    let Reply::Text { text } = reply else { bail!("no file: {reply:?}") };
    let timing: Timing = serde_json::from_str(text)?;
    let picture = timing.picture.context("no pictures")?;
    let stamps = &picture.stamps;
    let is_whole = |stamp| (timing.origin + stamp).as_nanos().is_multiple_of(UNIT);
    ensure!(stamps.iter().all(|stamp| is_whole(*stamp)), "a stamp is not the driver's: {text}");
    ensure!(picture.missing == 0, "{} pictures are missing", picture.missing);
    let intervals: Vec<i64> = stamps
        .windows(2)
        .map(|pair| (pair[1].as_nanos() - pair[0].as_nanos()).cast_signed())
        .collect();
    let off = intervals.iter().map(|interval| (interval - INTERVAL).abs()).max();
    let off = off.context("there are less than two pictures")?;
    ensure!(off <= TICKS, "pictures are {off} ns off: {text}");
    let mean = intervals.iter().sum::<i64>() / intervals.len() as i64;
    ensure!((mean - INTERVAL).abs() <= INTERVAL / 100, "pictures are {mean} ns apart: {text}");
    Ok(Stamps { count: stamps.len(), mean, off })
}
