//! An X server for a load, its clients, and the hand at its keyboard and mouse.
//!
//! The server is an Xvfb, which draws into memory: no graphics card takes part, and the drawing
//! takes CPU time. Input comes by XTEST, so neither a keyboard's nor a mouse's interrupt does.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use tactus_model::frames::Rate;
use tactus_model::result::Shortfall;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::{SysError, mount};
use tactus_xserver::patient::{ANSWER_MOST, PatientConnection, is_silence, is_silence_at_first};
use tactus_xserver::{NoServer, Screen, Server, patient, window};
use x11rb::CURRENT_TIME;
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::{ConnectError, ConnectionError, ReplyOrIdError};
use x11rb::protocol::xproto::{self, CreateWindowAux, EventMask, Gcontext, Rectangle, Window};
use x11rb::protocol::xtest;
use x11rb::rust_connection::DefaultStream;

use crate::error::{During, LoadError};
use crate::site::Site;

/// The screen of the server.
const SCREEN: Screen = Screen { width: 640, height: 480, bytes_per_pixel: 4 };

/// Connections to a server that runs as long as this copy.
pub(super) struct Display {
    streams: Vec<UnixStream>,
    authority: (Vec<u8>, Vec<u8>),
}

impl Display {
    /// Starts a server for `clients` clients.
    pub(super) fn start(clients: usize, site: &'static Site) -> Result<Self, LoadError> {
        let (sender, started) = mpsc::sync_channel(1);
        // The server ends with the thread that starts it.
        site.spawn("server", move || {
            hide_files(site);
            let opened = Server::start(SCREEN).map_err(without_server).and_then(|server| {
                let streams = (0..clients).map(|_| server.stream());
                let streams = streams.collect::<io::Result<_>>().during(CONNECT)?;
                Ok((Self { streams, authority: server.authority() }, server))
            });
            let (display, mut server) = match opened {
                Ok((display, server)) => (Ok(display), server),
                Err(error) => {
                    // Whichever of both threads reports first has the same reason.
                    let _ = sender.send(Err(error.clone()));
                    return Err(error);
                }
            };
            // The receiver waits.
            let _ = sender.send(display);
            let end = server.wait().map_or_else(|error| error.to_string(), |end| end.to_string());
            Err(LoadError::new(format!("the X server (Xvfb) of this load has ended: {end}")))
        })?;
        started.recv().during("start an X server")?
    }

    /// A client on this machine.
    pub(super) fn client(&mut self) -> Result<PatientConnection, LoadError> {
        self.client_for(Duration::ZERO)
    }

    /// A client that waits for events, the next of which may come after so long.
    pub(super) fn client_for(&mut self, event: Duration) -> Result<PatientConnection, LoadError> {
        let stream = self.stream()?;
        let (stream, _) = DefaultStream::from_unix_stream(stream).during(CONNECT)?;
        self.connect(stream, event)
    }

    /// A client whose connection goes through TCP, like that of a client whose display is that of
    /// another machine. A thread at each direction's end passes the bytes on.
    pub(super) fn client_over_tcp(
        &mut self,
        site: &'static Site,
        event: Duration,
    ) -> Result<PatientConnection, LoadError> {
        let server = self.stream()?;
        let (near, far) = tcp_pair().during("connect over TCP")?;
        let pass = |from: &str,
                    mut reader: Box<dyn io::Read + Send>,
                    mut writer: Box<dyn io::Write + Send>| {
            site.spawn(from, move || {
                // A server that ends closes its connections, or breaks them.
                let _ = io::copy(&mut reader, &mut writer);
                Err(ended())
            })
        };
        let again = (server.try_clone().during(CONNECT)?, far.try_clone().during(CONNECT)?);
        pass("to-client", Box::new(server), Box::new(far))?;
        pass("to-server", Box::new(again.1), Box::new(again.0))?;
        let (stream, _) = DefaultStream::from_tcp_stream(near).during(CONNECT)?;
        self.connect(stream, event)
    }

    fn stream(&mut self) -> Result<UnixStream, LoadError> {
        self.streams.pop().ok_or_else(|| LoadError::new("the X server has no connection left"))
    }

    fn connect(
        &self,
        stream: DefaultStream,
        event: Duration,
    ) -> Result<PatientConnection, LoadError> {
        let patience = ANSWER_MOST + event;
        patient::connect_by(stream, 0, self.authority.clone(), patience).map_err(|error| {
            match &error {
                silent if is_silence_at_first(silent) => silent_for(patience),
                ConnectError::IoError(_) => ended(),
                error => LoadError::new(format!("failed to {CONNECT}: {error}")),
            }
        })
    }
}

/// What an event of a load at this rate is awaited for: the server has a period more to answer.
pub(super) fn events_of(rate: Rate) -> Duration {
    2 * Duration::from(rate.period())
}

/// The server has closed a connection.
fn ended() -> LoadError {
    LoadError::new("the X server (Xvfb) of this load has ended")
}

fn silent_for(patience: Duration) -> LoadError {
    LoadError::new(format!(
        "the X server (Xvfb) of this load did not answer for {:.0} s: it is stopped or overloaded",
        patience.as_secs_f64()
    ))
}

/// Adds what was done at the server when something failed. A server that has ended or does not answer is
/// what is named then.
pub(super) trait AtServer<T> {
    /// Turns the failure into a [`LoadError`].
    fn at_server(self, connection: &PatientConnection, action: &str) -> Result<T, LoadError>;
}

impl<T, E: Into<ReplyOrIdError>> AtServer<T> for Result<T, E> {
    fn at_server(self, connection: &PatientConnection, action: &str) -> Result<T, LoadError> {
        self.map_err(|error| match error.into() {
            silent if is_silence(&silent) => silent_for(connection.stream().patience()),
            ReplyOrIdError::ConnectionError(ConnectionError::IoError(_)) => ended(),
            error => LoadError::new(format!("failed to {action}: {error}")),
        })
    }
}

const CONNECT: &str = "connect to the X server";

fn without_server(error: NoServer) -> LoadError {
    let hint = error.hint();
    let error = LoadError::new(format!("this load needs an X server: {error}"));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Gives the calling thread, and the server that it starts, a `/tmp` of its own: a server that is
/// killed leaves its lock and its socket there.
fn hide_files(site: &Site) {
    let hidden = mount::own_mounts().and_then(|()| mount::mount("tmpfs", Path::new("/tmp")));
    if let Err(refused) = hidden {
        site.shortfall(not_hidden(&refused));
    }
}

fn not_hidden(refused: &SysError) -> Shortfall {
    let asked = Asked::Namespace { maps_users: false, switch: None };
    let Diagnosis { reason, fix } = diagnose_here(&asked, refused.errno);
    Shortfall {
        asked: "X server of the load with files of its own".to_owned(),
        granted: "X server whose lock and socket stay in /tmp; the next X server replaces them"
            .to_owned(),
        reason,
        fix,
    }
}

/// Two ends of a connection over the loopback interface.
fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (far, from) = listener.accept()?;
        // Another program may connect to the port too.
        if from == near.local_addr()? {
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            return Ok((near, far));
        }
    }
}

/// The hand at the keyboard and the mouse.
pub(super) struct Hand {
    connection: PatientConnection,
    root: Window,
}

impl Hand {
    /// The hand of a client.
    pub(super) fn new(connection: PatientConnection) -> Result<Self, LoadError> {
        let found = connection.extension_information(xtest::X11_EXTENSION_NAME);
        if found.at_server(&connection, INPUT)?.is_none() {
            return Err(LoadError::new("the X server cannot synthesise input: it has no XTEST"));
        }
        let root = root(&connection)?;
        Ok(Self { connection, root })
    }

    /// Moves the mouse pointer there, and waits until the server has done so.
    pub(super) fn point(&self, x: i16, y: i16) -> Result<(), LoadError> {
        self.fake(xproto::MOTION_NOTIFY_EVENT, 0, (x, y))?;
        let asked = || xproto::query_pointer(&self.connection, self.root)?.reply();
        asked().at_server(&self.connection, INPUT).map(drop)
    }

    /// Presses and releases a key.
    pub(super) fn press(&self, keycode: u8) -> Result<(), LoadError> {
        self.fake(xproto::KEY_PRESS_EVENT, keycode, (0, 0))?;
        self.fake(xproto::KEY_RELEASE_EVENT, keycode, (0, 0))?;
        self.connection.flush().at_server(&self.connection, INPUT)
    }

    /// Makes the mouse pointer visible over the root window: the server then draws it.
    pub(super) fn show_pointer(&self) -> Result<(), LoadError> {
        /// The left arrow of the cursor font, and its mask.
        const ARROW: u16 = 68;
        let connection = &self.connection;
        let (black, white) = (0, u16::MAX);
        let show = || -> Result<(), ReplyOrIdError> {
            let font = connection.generate_id()?;
            xproto::open_font(connection, font, b"cursor")?.check()?;
            let cursor = connection.generate_id()?;
            xproto::create_glyph_cursor(
                connection,
                cursor,
                font,
                font,
                ARROW,
                ARROW + 1,
                black,
                black,
                black,
                white,
                white,
                white,
            )?
            .check()?;
            let shown = xproto::ChangeWindowAttributesAux::new().cursor(cursor);
            xproto::change_window_attributes(connection, self.root, &shown)?.check()?;
            Ok(())
        };
        show().at_server(connection, INPUT)
    }

    fn fake(&self, kind: u8, detail: u8, (x, y): (i16, i16)) -> Result<(), LoadError> {
        let (connection, root) = (&self.connection, self.root);
        xtest::fake_input(connection, kind, detail, CURRENT_TIME, root, x, y, 0)
            .at_server(connection, INPUT)
            .map(drop)
    }
}

const INPUT: &str = "synthesise input";

/// Adds a window of a terminal program to the screen, with a context for its letters and its
/// cursor. No window manager moves it.
pub(super) fn open_window(
    connection: &PatientConnection,
    (x, y, width, height): (i16, i16, u16, u16),
    events: EventMask,
) -> Result<(Window, Gcontext), LoadError> {
    const ACTION: &str = "open a window";
    let setup = connection.setup();
    let screen = setup.roots.first().ok_or_else(|| LoadError::new("the X server has no screen"))?;
    let attributes = CreateWindowAux::new()
        .override_redirect(1)
        .background_pixel(screen.white_pixel)
        .event_mask(events);
    let place = Rectangle { x, y, width, height };
    let open = || -> Result<_, ReplyOrIdError> {
        let window = window::create(connection, screen, place, &attributes)?;
        let (black, white) = (screen.black_pixel, screen.white_pixel);
        let context = window::letters(connection, window, black, white)?;
        xproto::map_window(connection, window)?.check()?;
        Ok((window, context))
    };
    open().at_server(connection, ACTION)
}

fn root(connection: &PatientConnection) -> Result<Window, LoadError> {
    let first = connection.setup().roots.first();
    first.map(|screen| screen.root).ok_or_else(|| LoadError::new("the X server has no screen"))
}
