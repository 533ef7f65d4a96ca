//! The processes of ffmpeg.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tactus_sys::pipe;
use tactus_sys::process::{Limits, die_with_parent, limit};
use tactus_sys::wait::wait_readable;

use crate::error::ClipError;
use crate::formats::FORMATS;

/// What a process may use. It writes to no file; pipes have no size.
const LIMITS: Limits =
    Limits { memory_bytes: 4 << 30, cpu_seconds: 24 * 3600, open_files: 64, file_bytes: 0 };
/// What ffprobe may use.
const PROBE_SECONDS: u64 = 20;
/// How long a process that has closed its output may take to end.
const END_MOST: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(2);
/// Lines of messages that are kept, and the most bytes of one.
const LINES_MOST: usize = 20;
const LINE_BYTES_MOST: u64 = 1000;
/// Stamps that wait for their frames: ffmpeg is a few frames ahead.
const STAMPS_MOST: usize = 4096;

/// What the pipe of a decoder holds: with the usual 64 KiB, both sides wake each other for each of
/// twenty pieces of a frame.
const PIPE_BYTES: usize = 512 << 10;

/// How long a process may deliver nothing: it may have to decode much before a first frame.
const SILENT_MOST: Duration = Duration::from_secs(30);

/// The options by which every program is quiet, and reads neither the network nor the terminal, nor
/// any other file than the one it is given.
const OPTIONS: [&str; 7] = [
    "-hide_banner",
    "-loglevel",
    "error",
    "-protocol_whitelist",
    "file,pipe",
    "-format_whitelist",
    FORMATS,
];

/// The name of a file for ffmpeg: `file:` keeps one that begins with `-` or `http:` a name.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// A command of ffprobe about a file.
pub(crate) fn inspect(path: &Path) -> Command {
    let mut command = Command::new("ffprobe");
    command.args(OPTIONS).arg("-i").arg(url(path));
    command
}

/// A command of ffmpeg that reads a file from a time on, with the time stamps of the file.
pub(crate) fn decode(path: &Path, from: f64) -> Command {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
    let mut command = Command::new("ffmpeg");
    command.args(OPTIONS).args(["-nostdin", "-copyts", "-threads", &threads.to_string()]);
    if from > 0.0 {
        command.args(["-ss", &format!("{from:.6}")]);
    }
    command.arg("-i").arg(url(path));
    command
}

/// What a process has written.
#[derive(Debug)]
pub struct Output {
    /// To its standard output, as many bytes as were asked for.
    pub bytes: Vec<u8>,
    /// To its standard error: the last lines, joined by `; `.
    pub errors: String,
    /// Whether it ended with exit code 0, by itself.
    pub is_success: bool,
}

/// Runs a process that writes no file to its end, and keeps at most so many bytes.
///
/// # Errors
/// It cannot be started, or writes nothing for 30 s.
pub fn output(mut command: Command, bytes_most: usize) -> Result<Output, ClipError> {
    let limits = Limits { cpu_seconds: PROBE_SECONDS, ..LIMITS };
    let mut running = Running::spawn(&mut command, limits, "file")?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    while bytes.len() < bytes_most {
        match running.read(&mut piece)? {
            0 => break,
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
    let status = running.end();
    let errors = running.messages();
    Ok(Output { bytes, errors, is_success: status.is_some_and(|status| status.success()) })
}

/// Ends a decoder, from any thread: its reads then end.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Mutex<Child>>);

impl Stopper {
    /// Kills the decoder.
    pub fn stop(&self) {
        // It may have ended.
        let _ = self.child(|child| child.kill());
    }

    fn child<T>(&self, use_it: impl FnOnce(&mut Child) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A running process. It is killed and reaped with this value.
pub(crate) struct Running {
    stopper: Stopper,
    out: ChildStdout,
    /// The time stamps of frames, in nanoseconds, in their order; `None` if a frame has none.
    pub(crate) stamps: Receiver<Option<i64>>,
    errors: Option<JoinHandle<VecDeque<String>>>,
    last_words: String,
    kind: &'static str,
    /// How long it may deliver nothing.
    patience: Duration,
}

impl Running {
    /// Starts a command. The process ends with the calling thread.
    pub(crate) fn start(mut command: Command, kind: &'static str) -> Result<Self, ClipError> {
        Self::spawn(&mut command, LIMITS, kind)
    }

    fn spawn(command: &mut Command, limits: Limits, kind: &'static str) -> Result<Self, ClipError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_parent(command);
        limit(command, limits);
        let program = if command.get_program() == "ffprobe" { "ffprobe" } else { "ffmpeg" };
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ClipError::NotInstalled(program),
            _ => ClipError::System { what: "cannot start the decoder", error },
        })?;
        let pipes = child.stdout.take().zip(child.stderr.take());
        let stopper = Stopper(Arc::new(Mutex::new(child)));
        let Some((out, err)) = pipes else {
            // Both were asked for.
            return Err(ClipError::Decoder { kind, reason: "it has no pipes".to_owned() });
        };
        // What is refused, e.g. to a user with many pipes, only costs time.
        let _ = pipe::enlarge(out.as_fd(), PIPE_BYTES);
        let (send, stamps) = sync_channel(STAMPS_MOST);
        let read = move || read_errors(err, &send);
        let errors = std::thread::Builder::new().name("decoder".to_owned()).spawn(read);
        let errors =
            errors.map_err(|error| ClipError::System { what: "cannot start a thread", error });
        let (last_words, patience) = (String::new(), SILENT_MOST);
        let mut running = Self { stopper, out, stamps, errors: None, last_words, kind, patience };
        running.errors = Some(errors?);
        Ok(running)
    }

    /// From now on, it may deliver nothing for so long; at first for [`SILENT_MOST`].
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Reads what there is, and waits for the first byte; 0 at the end of the output.
    ///
    /// # Errors
    /// It delivers nothing for its patience.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ClipError> {
        let failed = |error| ClipError::System { what: "cannot read from the decoder", error };
        let began = Instant::now();
        // A signal may end a wait.
        while !wait_readable(self.out.as_fd(), self.patience)
            .map_err(io::Error::other)
            .map_err(failed)?
        {
            if began.elapsed() >= self.patience {
                self.kill();
                return Err(ClipError::Silent { kind: self.kind, most: self.patience });
            }
        }
        loop {
            match self.out.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(failed),
            }
        }
    }

    /// Fills a buffer; false at the end of the output.
    pub(crate) fn read_all(&mut self, buffer: &mut [u8]) -> Result<bool, ClipError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => return Ok(false),
                count => filled += count,
            }
        }
        Ok(true)
    }

    /// The error of a process that ended its output; `None` if it has done its work.
    pub(crate) fn failure(&mut self) -> Option<ClipError> {
        let status = self.end();
        if status.is_some_and(|status| status.success()) {
            return None;
        }
        let status =
            status.map_or_else(|| "it did not end".to_owned(), |status| status.to_string());
        let said = self.messages();
        let reason = if said.is_empty() { status } else { format!("{said} ({status})") };
        Some(ClipError::Decoder { kind: self.kind, reason })
    }

    /// What it has complained about, in one line. Call it after its end.
    pub(crate) fn messages(&mut self) -> String {
        if let Some(errors) = self.errors.take() {
            let lines: Vec<String> = errors.join().unwrap_or_default().into();
            self.last_words = lines.join("; ");
        }
        self.last_words.clone()
    }

    /// Waits for the end; kills a process that does not end.
    fn end(&mut self) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Ok(Some(status)) = self.stopper.child(Child::try_wait) {
                return Some(status);
            }
            if began.elapsed() > END_MOST {
                self.kill();
                return None;
            }
            std::thread::sleep(STEP);
        }
    }

    fn kill(&mut self) {
        self.stopper.stop();
        // A killed process ends at once, and the kernel keeps its status until then.
        let _ = self.stopper.child(Child::wait);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        // Frames that nobody awaits any more.
        while self.stamps.try_recv().is_ok() {}
        self.messages();
    }
}

/// Reads time stamps and messages until the end. Returns the last messages.
fn read_errors(err: ChildStderr, stamps: &SyncSender<Option<i64>>) -> VecDeque<String> {
    let mut err = BufReader::new(err);
    let (mut lines, mut line, mut frames) = (VecDeque::new(), Vec::new(), 0);
    loop {
        line.clear();
        match err.by_ref().take(LINE_BYTES_MOST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return lines,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(stamp) = stamp(&text, frames) {
            frames += 1;
            // A full queue would stop messages too; without a reader, the process is ending.
            let _ = stamps.send(stamp);
            continue;
        }
        // Another thread of ffmpeg may have begun the line of the mark.
        let text = text.replace(MARK, "");
        if !text.trim().is_empty() {
            if lines.len() == LINES_MOST {
                lines.pop_front();
            }
            lines.push_back(text.trim().to_owned());
        }
    }
}

/// The line after each stamp: filter `metadata` prints only frames with an entry.
const MARK: &str = "tactus=1";

/// The filters by which frames get this size and format of pixels, and write their stamps in
/// nanoseconds to the standard error, each before its frame.
pub(crate) fn stamping(width: u32, height: u32, format: &str) -> String {
    let key = MARK.trim_end_matches("=1");
    format!(
        "scale={width}:{height}:flags=bilinear,format={format},settb=1/1000000000,\
         metadata=mode=add:key={key}:value=1,metadata=mode=print:file=pipe\\\\:2:direct=1"
    )
}

/// The options by which each frame comes once, with its own stamp.
///
/// With the unit of a frame's period, two frames of a variable rate could have one time.
pub(crate) const EACH_FRAME: [&str; 4] =
    ["-fps_mode", "passthrough", "-enc_time_base", "1:1000000000"];

/// The stamp of the frame with this number, from a line of filter `metadata`. Another message may
/// stand before it.
fn stamp(line: &str, frame: u64) -> Option<Option<i64>> {
    let (_, rest) = line.split_once("frame:")?;
    let (number, rest) = rest.split_once("pts:")?;
    if number.trim().parse() != Ok(frame) {
        return None;
    }
    Some(rest.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_among_messages() {
        let line = "frame:7    pts:280000000 pts_time:0.28\n";
        assert_eq!(stamp(line, 7), Some(Some(280_000_000)));
        assert_eq!(stamp(&format!("[h264 @ 0x5] {line}"), 7), Some(Some(280_000_000)));
        assert_eq!(stamp(line, 8), None, "not the frame that is expected");
        assert_eq!(stamp("frame:0    pts:N/A     pts_time:N/A", 0), Some(None));
        assert_eq!(stamp("frame:0    pts:-40 pts_time:-0.04", 0), Some(Some(-40)));
        assert_eq!(stamp("[h264 @ 0x5] error in frame", 0), None);
    }
}
