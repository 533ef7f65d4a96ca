//! The socket, and a thread for each connection.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use tactus_sys::SysError;
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::poller::{Interest, Poller};
use tactus_sys::wait::Waker;

use super::answer::Answer;
use super::request::LINE_BYTES;
use super::session::Session;
use crate::sender::Sender;

/// How a door is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The local socket.
    pub path: PathBuf,
    /// The socket of the server.
    pub server: PathBuf,
}

/// The most connections. A user has at most half of what others leave.
pub const CONNECTIONS: usize = 32;

/// An open door. Dropping it closes it and its connections.
#[derive(Debug)]
pub struct Door {
    /// Never cleared: it ends every thread.
    end: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
    /// Removes the socket.
    _file: SocketFile,
}

impl Door {
    /// Opens a door.
    ///
    /// # Errors
    /// Another process listens at the path, or its directory cannot be used.
    pub fn open(options: &Options) -> io::Result<Self> {
        let (listener, file) = local_socket::listen(&options.path)?;
        // Older kernels do not know it. There, a descriptor can make the thread of its connection
        // wait.
        let _ = local_socket::refuse_descriptors(&listener);
        listener.set_nonblocking(true)?;
        let end = Arc::new(Waker::new().map_err(io_error)?);
        let poller = Poller::new().map_err(io_error)?;
        poller.add(&listener, LISTENER, Interest::READ).map_err(io_error)?;
        poller.add(&*end, END, Interest::READ).map_err(io_error)?;
        let accepting =
            Accepting { listener, poller, options: options.clone(), end: Arc::clone(&end) };
        let thread = std::thread::Builder::new().name("lines".to_owned());
        let thread = thread.spawn(move || accepting.run())?;
        Ok(Self { end, thread: Some(thread), _file: file })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.end.wake();
        if let Some(thread) = self.thread.take() {
            // It has said why, if it panicked.
            let _ = thread.join();
        }
    }
}

/// The keys of pollers.
const LISTENER: u64 = 0;
const END: u64 = 1;
const STREAM: u64 = 2;
const CLIENT: u64 = 3;

struct Accepting {
    listener: UnixListener,
    poller: Poller,
    options: Options,
    end: Arc<Waker>,
}

impl Accepting {
    fn run(self) {
        let mut connections: Vec<(u32, JoinHandle<()>)> = Vec::new();
        loop {
            // It fails only without memory; then this tries again.
            let ready = self.poller.wait(None).unwrap_or_default();
            if ready.iter().any(|ready| ready.key == END) {
                break;
            }
            // One at a time, so that the end is seen however many wait.
            let Ok((stream, _)) = self.listener.accept() else { continue };
            let Ok(peer) = local_socket::peer_credentials(stream.as_fd()) else { continue };
            connections.retain(|(_, connection)| !connection.is_finished());
            let own = connections.iter().filter(|(user, _)| *user == peer.user).count();
            let share = share_of(connections.len(), own);
            if own >= share {
                let user = peer.user;
                turn_away(&stream, format!("user {user} has {own} connections, the most possible"));
                continue;
            }
            let (options, end) = (self.options.clone(), Arc::clone(&self.end));
            let thread = std::thread::Builder::new().name("lines".to_owned());
            let thread = thread.spawn(move || serve(stream, peer.process, &options, &end));
            connections.extend(thread.ok().map(|thread| (peer.user, thread)));
        }
        for (_, connection) in connections {
            let _ = connection.join();
        }
    }
}

/// Says why there is no service. Who does not read it learns it from the end of the connection.
fn turn_away(stream: &UnixStream, reason: String) {
    if let Ok(line) = tactus_wire::encode(&Answer::Ended { reason }, LINE_BYTES) {
        let _ = stream.set_nonblocking(true).and_then(|()| (&mut &*stream).write_all(&line));
    }
}

/// The connections that a user with `own` of `open` ones may have.
const fn share_of(open: usize, own: usize) -> usize {
    (CONNECTIONS - (open - own)) / 2
}

/// Serves a connection to its end.
fn serve(stream: UnixStream, process: i32, options: &Options, end: &Waker) {
    match Sender::connect(&options.server, format!("lines:{process}")) {
        Ok(sender) => {
            // The connection has ended, or a poller could not be made: nobody is left to hear it.
            let _ = Connection::new(stream, Session::new(sender), end).and_then(Connection::run);
        }
        Err(error) => turn_away(&stream, error.to_string()),
    }
}

struct Connection {
    stream: UnixStream,
    session: Session,
    poller: Poller,
    /// Bytes that are read and not carried out: at most one line and what was read with its end.
    input: Vec<u8>,
    /// Bytes of answers that are not written.
    output: Vec<u8>,
    /// The peer writes no more.
    is_last: bool,
    /// The server has ended.
    is_over: bool,
}

impl Connection {
    fn new(stream: UnixStream, session: Session, end: &Waker) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let poller = Poller::new().map_err(io_error)?;
        poller.add(&stream, STREAM, Interest::READ).map_err(io_error)?;
        poller.add(session.client(), CLIENT, Interest::READ).map_err(io_error)?;
        poller.add(end, END, Interest::READ).map_err(io_error)?;
        let (input, output) = (Vec::new(), Vec::new());
        Ok(Self { stream, session, poller, input, output, is_last: false, is_over: false })
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            let has_more = self.carry_out();
            self.write()?;
            let is_written = self.output.is_empty();
            if has_more && is_written {
                continue;
            }
            if is_written && (self.is_over || self.is_last && !self.session.waits()) {
                return Ok(());
            }
            let reads = is_written && !self.is_last && self.session.takes_lines();
            let interest = Interest { read: reads, write: !is_written };
            self.poller.change(&self.stream, STREAM, interest).map_err(io_error)?;
            // Answers that are not read leave receipts where they are, with the notice of them.
            let interest = Interest { read: !has_more, write: false };
            self.poller.change(self.session.client(), CLIENT, interest).map_err(io_error)?;
            let ready = self.poller.wait(None).map_err(io_error)?;
            for ready in ready {
                match ready.key {
                    END => {
                        // If the server has ended, its last receipts are there.
                        self.carry_out();
                        return self.write();
                    }
                    // The peer is gone; nobody reads its receipts.
                    STREAM if ready.hung_up => return Ok(()),
                    STREAM if ready.interest.read => self.read()?,
                    _ => {}
                }
            }
        }
    }

    /// Carries out lines and takes receipts. Returns whether there may be more, for which the answers
    /// have no room.
    fn carry_out(&mut self) -> bool {
        while self.output.len() < LINE_BYTES {
            if !self.is_over
                && let Err(ended) = self.session.receipts()
            {
                self.session.ended(&ended);
                self.is_over = true;
            }
            if let Some(answer) = self.session.answer() {
                self.put(&answer);
            } else if self.is_over || !self.session.takes_lines() || !self.next_line() {
                return false;
            }
        }
        true
    }

    /// Carries out the next line, if one is whole.
    fn next_line(&mut self) -> bool {
        let end = self.input.iter().position(|byte| *byte == b'\n');
        if end.unwrap_or(self.input.len()) > LINE_BYTES {
            let reason = format!("the line has more than {LINE_BYTES} bytes");
            self.put(&Answer::Ended { reason });
            self.is_over = true;
            return false;
        }
        let Some(end) = end else { return false };
        let line: Vec<u8> = self.input.drain(..=end).collect();
        self.session.line(line.trim_ascii());
        true
    }

    fn put(&mut self, answer: &Answer) {
        // Each answer is far below the limit: names and reasons are short.
        self.output.extend(tactus_wire::encode(answer, LINE_BYTES).unwrap_or_default());
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 8 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.is_last = true,
            Ok(count) => self.input.extend_from_slice(&buffer[..count]),
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if is_transient(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn io_error(error: SysError) -> io::Error {
    error.errno.into()
}
