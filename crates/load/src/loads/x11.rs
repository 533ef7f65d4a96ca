//! An X server for a load, its clients, and the hand at its keyboard and mouse.
//!
//! The server is an Xvfb, which draws into memory: no graphics card takes part, and the drawing
//! takes CPU time. Input comes by XTEST, so neither a keyboard's nor a mouse's interrupt does.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::{io, thread};

use tactus_model::result::Shortfall;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::{SysError, mount};
use tactus_xserver::{NoServer, Screen, Server, window};
use x11rb::CURRENT_TIME;
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::xproto::{self, CreateWindowAux, EventMask, Gcontext, Rectangle, Window};
use x11rb::protocol::xtest;
use x11rb::rust_connection::{DefaultStream, RustConnection};

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
            })?;
            let (display, _server) = opened;
            // The receiver waits.
            let _ = sender.send(display);
            loop {
                thread::park();
            }
        })?;
        // The thread has sent its reason, and ends this process.
        started.recv().during("start an X server")
    }

    /// A client on this machine.
    pub(super) fn client(&mut self) -> Result<RustConnection, LoadError> {
        let stream = self.stream()?;
        let (stream, _) = DefaultStream::from_unix_stream(stream).during(CONNECT)?;
        self.connect(stream)
    }

    /// A client whose connection goes through TCP, like that of a client whose display is that of
    /// another machine. A thread at each direction's end passes the bytes on.
    pub(super) fn client_over_tcp(
        &mut self,
        site: &'static Site,
    ) -> Result<RustConnection, LoadError> {
        let server = self.stream()?;
        let (near, far) = tcp_pair().during("connect over TCP")?;
        let pass = |from: &str,
                    mut reader: Box<dyn io::Read + Send>,
                    mut writer: Box<dyn io::Write + Send>| {
            site.spawn(from, move || {
                io::copy(&mut reader, &mut writer).during("pass X11 data on")?;
                Err(LoadError::new("the X server has closed a connection"))
            })
        };
        let again = (server.try_clone().during(CONNECT)?, far.try_clone().during(CONNECT)?);
        pass("to-client", Box::new(server), Box::new(far))?;
        pass("to-server", Box::new(again.1), Box::new(again.0))?;
        let (stream, _) = DefaultStream::from_tcp_stream(near).during(CONNECT)?;
        self.connect(stream)
    }

    fn stream(&mut self) -> Result<UnixStream, LoadError> {
        self.streams.pop().ok_or_else(|| LoadError::new("the X server has no connection left"))
    }

    fn connect(&self, stream: DefaultStream) -> Result<RustConnection, LoadError> {
        let (protocol, cookie) = self.authority.clone();
        RustConnection::connect_to_stream_with_auth_info(stream, 0, protocol, cookie)
            .during(CONNECT)
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
    connection: RustConnection,
    root: Window,
}

impl Hand {
    /// The hand of a client.
    pub(super) fn new(connection: RustConnection) -> Result<Self, LoadError> {
        if connection.extension_information(xtest::X11_EXTENSION_NAME).during(INPUT)?.is_none() {
            return Err(LoadError::new("the X server cannot synthesise input: it has no XTEST"));
        }
        let root = root(&connection)?;
        Ok(Self { connection, root })
    }

    /// Moves the mouse pointer there, and waits until the server has done so.
    pub(super) fn point(&self, x: i16, y: i16) -> Result<(), LoadError> {
        self.fake(xproto::MOTION_NOTIFY_EVENT, 0, (x, y))?;
        xproto::query_pointer(&self.connection, self.root)
            .during(INPUT)?
            .reply()
            .during(INPUT)
            .map(drop)
    }

    /// Presses and releases a key.
    pub(super) fn press(&self, keycode: u8) -> Result<(), LoadError> {
        self.fake(xproto::KEY_PRESS_EVENT, keycode, (0, 0))?;
        self.fake(xproto::KEY_RELEASE_EVENT, keycode, (0, 0))?;
        self.connection.flush().during(INPUT)
    }

    /// Makes the mouse pointer visible over the root window: the server then draws it.
    pub(super) fn show_pointer(&self) -> Result<(), LoadError> {
        /// The left arrow of the cursor font, and its mask.
        const ARROW: u16 = 68;
        let connection = &self.connection;
        let font = connection.generate_id().during(INPUT)?;
        xproto::open_font(connection, font, b"cursor").during(INPUT)?.check().during(INPUT)?;
        let cursor = connection.generate_id().during(INPUT)?;
        let (black, white) = (0, u16::MAX);
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
        )
        .during(INPUT)?
        .check()
        .during(INPUT)?;
        let shown = xproto::ChangeWindowAttributesAux::new().cursor(cursor);
        xproto::change_window_attributes(connection, self.root, &shown)
            .during(INPUT)?
            .check()
            .during(INPUT)
    }

    fn fake(&self, kind: u8, detail: u8, (x, y): (i16, i16)) -> Result<(), LoadError> {
        let (connection, root) = (&self.connection, self.root);
        xtest::fake_input(connection, kind, detail, CURRENT_TIME, root, x, y, 0)
            .during(INPUT)
            .map(drop)
    }
}

const INPUT: &str = "synthesise input";

/// Adds a window of a terminal program to the screen, with a context for its letters and its
/// cursor. No window manager moves it.
pub(super) fn open_window(
    connection: &RustConnection,
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
    let window = window::create(connection, screen, place, &attributes).during(ACTION)?;
    let (black, white) = (screen.black_pixel, screen.white_pixel);
    let context = window::letters(connection, window, black, white).during(ACTION)?;
    xproto::map_window(connection, window).during(ACTION)?.check().during(ACTION)?;
    Ok((window, context))
}

fn root(connection: &RustConnection) -> Result<Window, LoadError> {
    let first = connection.setup().roots.first();
    first.map(|screen| screen.root).ok_or_else(|| LoadError::new("the X server has no screen"))
}
