//! A display server: does the work that its clients request, one request after another, and
//! responds when it is done.
//!
//! Players and games that run beside it (`player+display`) are its clients. Alone, it has its
//! own client, which draws 25 pictures a second: the work of a fifth of a CPU.
//!
//! Like the X server of 2003, it is one process with one loop. Requests come through a socket
//! in the load's directory. They contain no picture, which X clients of this kind pass in
//! shared memory, but say how much there is to draw.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::time::Nanos;

use super::Endless;
use super::pace::Pace;
use super::picture::{Picture, per_mille};
use crate::error::{During, LoadError};
use crate::site::Site;

/// The most work that a request can ask for.
const REQUEST_MAX: Nanos = Nanos::from_millis(50);

/// The bytes of a request, as in the X protocol; it begins with the work in nanoseconds.
const REQUEST: usize = 32;

/// The slot of a picture of its own client.
const SLOT: Nanos = Nanos::from_millis(40);

/// The drawing time of a picture in thousandths of its display time: in 2003 the X server took
/// 20 % of the CPU beside Xine (Table 5 of the paper).
pub(super) const PER_MILLE: u64 = 200;

/// Counts one operation per request.
pub(super) fn run(site: &'static Site) -> Endless {
    let path = site.path("display");
    let socket =
        UnixDatagram::bind(&path).during(&format!("listen for clients at {}", path.display()))?;
    if !site.display_has_clients() {
        site.spawn("client", move || draw_alone(&path, site))?;
    }
    let mut picture = Picture::calibrated();
    let mut request = [0; REQUEST];
    loop {
        let (_, client) = socket.recv_from(&mut request).during("receive a request to draw")?;
        let (work, _) = request.split_first_chunk().expect("a request is longer");
        let work = Nanos::from_nanos(u64::from_le_bytes(*work)).min(REQUEST_MAX);
        picture.transform(picture.blocks_in(work));
        if let Some(path) = client.as_pathname() {
            // A client that has ended needs no response.
            let _ = socket.send_to(&[0], path);
        }
        site.did(1, 0);
    }
}

fn draw_alone(server: &Path, site: &Site) -> Endless {
    let display = Display::connect(server.to_owned(), site)?;
    let mut pace = Pace::new(SLOT.into());
    loop {
        display.draw(per_mille(SLOT, PER_MILLE))?;
        pace.wait();
    }
}

/// The client's end of a display.
#[derive(Debug)]
pub(super) struct Display {
    socket: UnixDatagram,
}

impl Display {
    /// How long a client waits for the display to listen.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Connects to the display that runs beside this copy, if there is a display.
    pub(super) fn beside(site: &Site) -> Result<Option<Self>, LoadError> {
        site.display().map(|server| Self::connect(server, site)).transpose()
    }

    /// Connects to the display at `server` as soon as it listens.
    fn connect(server: PathBuf, site: &Site) -> Result<Self, LoadError> {
        const ACTION: &str = "connect to the display";
        let socket = UnixDatagram::bind(site.path("client")).during(ACTION)?;
        let deadline = Instant::now() + Self::PATIENCE;
        loop {
            match socket.connect(&server) {
                Ok(()) => return Ok(Self { socket }),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::ConnectionRefused
                    ) && Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error).during(ACTION),
            }
        }
    }

    /// Lets the display do this much work, and waits until it is done.
    pub(super) fn draw(&self, work: Nanos) -> Result<(), LoadError> {
        const ACTION: &str = "let the display draw";
        let mut request = [0; REQUEST];
        request[..8].copy_from_slice(&work.as_nanos().to_le_bytes());
        self.socket.send(&request).during(ACTION)?;
        self.socket.recv(&mut [0]).during(ACTION)?;
        Ok(())
    }
}
