//! A window of a Wayland compositor, by shared memory, with presentation feedback.
//!
//! One thread does all of it: it hands frames over, and looks what has happened between them.

use std::collections::{BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Evidence;
use tactus_model::cost::ReadClock;
use tactus_model::pixels::PixelFormat;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_sys::clock::ClockReader;
use tactus_sys::shared_memory::{SharedBytes, sized_file};
use tactus_sys::wait::wait_readable;
use tactus_xserver::patient::ANSWER_MOST;
use tactus_xserver::window::fit;
use wayland_client::backend::WaylandError;
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_buffer::{self, WlBuffer};
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_keyboard::{self, KeyState, KeymapFormat, WlKeyboard};
use wayland_client::protocol::wl_output::{self, WlOutput};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_seat::{self, Capability, WlSeat};
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{
    Connection, Dispatch, EventQueue, Proxy as _, QueueHandle, WEnum, delegate_noop,
};
use wayland_protocols::wp::presentation_time::client::wp_presentation::{self, WpPresentation};
use wayland_protocols::wp::presentation_time::client::wp_presentation_feedback::{
    self, WpPresentationFeedback,
};
use wayland_protocols::xdg::shell::client::xdg_surface::{self, XdgSurface};
use wayland_protocols::xdg::shell::client::xdg_toplevel::{self, XdgToplevel};
use wayland_protocols::xdg::shell::client::xdg_wm_base::{self, XdgWmBase};

use super::keymap::Keymap;
use super::keys::command_of;
use super::{FrameEnd, Happened, Line, Sighting};
use crate::error::PlayerError;
use crate::shared::now;

/// How long a frame waits for the compositor, which shows none of a window that is hidden.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a compositor may take to configure a window.
const CONFIGURED: Duration = Duration::from_secs(5);
/// How long a compositor may take for everything until then.
const CONNECTED: Duration = Duration::from_secs(10);
/// How long the frame before may be in use after another one is seen.
const RELEASED: Duration = Duration::from_millis(20);
/// The clocks that a compositor may stamp by, as `clock_gettime(2)` numbers them.
const CLOCKS: [(u32, ReadClock); 4] = [
    (1, ReadClock::Monotonic),
    (4, ReadClock::MonotonicRaw),
    (6, ReadClock::MonotonicCoarse),
    (7, ReadClock::Boottime),
];
/// The most things that have happened and were not looked at.
const HAPPENED_MOST: usize = 64;

/// Memory for a frame, which the compositor reads.
pub(crate) struct Buffer {
    bytes: SharedBytes,
    buffer: WlBuffer,
}

impl Buffer {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.bytes_mut()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.buffer.destroy();
    }
}

/// A window.
pub(crate) struct Screen {
    name: String,
    connection: Connection,
    queue: EventQueue<State>,
    state: State,
    shm: WlShm,
    surface: WlSurface,
    presentation: Option<WpPresentation>,
    size: (u16, u16),
    frames: u64,
    /// How often an answer was asked for.
    asked: u64,
}

/// What the compositor has said.
#[derive(Default)]
struct State {
    /// The size of the largest output.
    bounds: (u16, u16),
    is_configured: bool,
    /// The clock of presentation feedback, if it is one of [`CLOCKS`].
    clock: Option<ClockReader>,
    /// What became of the last frame.
    presented: Option<(u64, Fate)>,
    /// Buffers that the compositor uses.
    busy: BTreeSet<u32>,
    /// The last answer that was asked for.
    answered: u64,
    /// What is written on keys, once the compositor has sent it.
    keymap: Keymap,
    is_shifted: bool,
    /// The group of symbols, from 0.
    group: u32,
    happened: VecDeque<Happened>,
}

/// The number of an answer that was asked for.
struct Ask(u64);

/// What became of a frame.
#[derive(Clone, Copy)]
enum Fate {
    /// It was seen at a time, with this count of refreshes.
    Presented { at: Moment, msc: u64 },
    /// The compositor has drawn it, and has no time that can be compared with ours. This is when it
    /// was known.
    Drawn { at: Moment },
    /// Another came before it was seen.
    Discarded,
}

/// When a clock showed a time that is shortly before or after the present.
fn at(clock: ClockReader, time: Nanos) -> Moment {
    let (ours, theirs) = (now(), clock.length(clock.read()));
    if theirs > time { ours - (theirs - time) } else { ours + (time - theirs) }
}

impl State {
    fn happens(&mut self, happened: Happened) {
        if self.happened.len() < HAPPENED_MOST {
            self.happened.push_back(happened);
        }
    }
}

/// The path of a compositor's socket.
fn socket(name: Option<&str>) -> Result<PathBuf, PlayerError> {
    let set = |variable| std::env::var(variable).ok().filter(|value: &String| !value.is_empty());
    let name = name.map(str::to_owned).or_else(|| set("WAYLAND_DISPLAY"));
    let name = name.ok_or(PlayerError::NoCompositor)?;
    let folder = set("XDG_RUNTIME_DIR").unwrap_or_default();
    // A name that is a whole path replaces the folder.
    Ok(Path::new(&folder).join(name))
}

impl Screen {
    /// Opens a window of at most this size.
    pub(super) fn open(
        display: Option<&str>,
        title: &str,
        size: (u32, u32),
    ) -> Result<(Self, Line), PlayerError> {
        let path = socket(display)?;
        let name = path.display().to_string();
        let title = title.to_owned();
        // The library waits for the compositor without a limit.
        let (send, opened) = sync_channel(1);
        let open = move || drop(send.send(Self::open_at(&path, &title, size)));
        Builder::new().name("compositor".to_owned()).spawn(open).map_err(PlayerError::Thread)?;
        opened.recv_timeout(CONNECTED).unwrap_or_else(|_| {
            let reason = format!("it did not answer within {} s", CONNECTED.as_secs());
            Err(PlayerError::Compositor { display: name, reason })
        })
    }

    fn open_at(path: &Path, title: &str, size: (u32, u32)) -> Result<(Self, Line), PlayerError> {
        let name = path.display().to_string();
        let refused = |error: &dyn std::fmt::Display| PlayerError::Compositor {
            display: name.clone(),
            reason: error.to_string(),
        };
        let stream = UnixStream::connect(path).map_err(|error| refused(&error))?;
        let line = stream.try_clone().map(Line::of_compositor).map_err(|error| refused(&error))?;
        let connection = Connection::from_socket(stream).map_err(|error| refused(&error))?;
        let (globals, mut queue) =
            registry_queue_init::<State>(&connection).map_err(|error| refused(&error))?;
        let handle = queue.handle();
        let missing = |error| refused(&error);
        let compositor: WlCompositor = globals.bind(&handle, 1..=4, ()).map_err(missing)?;
        let shm: WlShm = globals.bind(&handle, 1..=1, ()).map_err(missing)?;
        let shell: XdgWmBase = globals.bind(&handle, 1..=1, ()).map_err(missing)?;
        // These may be missing.
        let presentation = globals.bind(&handle, 1..=1, ()).ok();
        let _: Option<WlOutput> = globals.bind(&handle, 1..=1, ()).ok();
        let _: Option<WlSeat> = globals.bind(&handle, 1..=1, ()).ok();
        let mut state = State::default();
        queue.roundtrip(&mut state).map_err(|error| refused(&error))?;
        let bounds = if state.bounds == (0, 0) { (u16::MAX, u16::MAX) } else { state.bounds };
        let size = fit(size, bounds, PixelFormat::Bgr0);
        let surface = compositor.create_surface(&handle, ());
        let window = shell.get_xdg_surface(&surface, &handle, ());
        let toplevel = window.get_toplevel(&handle, ());
        toplevel.set_title(title.to_owned());
        // Frames have one size, so the window has it too.
        toplevel.set_min_size(size.0.into(), size.1.into());
        toplevel.set_max_size(size.0.into(), size.1.into());
        surface.commit();
        let (frames, asked) = (0, 0);
        let mut screen = Self {
            name,
            connection,
            queue,
            state,
            shm,
            surface,
            presentation,
            size,
            frames,
            asked,
        };
        match screen.wait_until(Instant::now() + CONFIGURED, |state| state.is_configured)? {
            true => Ok((screen, line)),
            false => Err(screen.ended(&"it does not configure a window")),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn size(&self) -> (u16, u16) {
        self.size
    }

    fn ended(&self, error: &dyn std::fmt::Display) -> PlayerError {
        PlayerError::Compositor { display: self.name.clone(), reason: error.to_string() }
    }

    pub(super) fn buffer(&self) -> Result<Buffer, PlayerError> {
        let (width, height) = (i32::from(self.size.0), i32::from(self.size.1));
        let line = width * PixelFormat::Bgr0.bytes() as i32;
        let length = line.checked_mul(height);
        let length = length.ok_or_else(|| self.ended(&"frames would be too large"))?;
        // The compositor maps it for writing too, so the memory must permit that.
        let file = sized_file(length as usize)?;
        let handle = self.queue.handle();
        let pool = self.shm.create_pool(file.as_fd(), length, &handle, ());
        let format = Format::Xrgb8888;
        let buffer = pool.create_buffer(0, width, height, line, format, &handle, ());
        pool.destroy();
        Ok(Buffer { bytes: SharedBytes::open(file, length as usize)?, buffer })
    }

    /// Shows a frame, and waits until it is seen, or will not be.
    pub(super) fn show(&mut self, frame: &Buffer) -> Result<FrameEnd, PlayerError> {
        let (began, handle) = (now(), self.queue.handle());
        self.frames += 1;
        let number = self.frames;
        let id = frame.buffer.id().protocol_id();
        self.state.busy.insert(id);
        self.surface.attach(Some(&frame.buffer), 0, 0);
        self.surface.damage(0, 0, self.size.0.into(), self.size.1.into());
        match &self.presentation {
            Some(presentation) => drop(presentation.feedback(&self.surface, &handle, number)),
            None => drop(self.surface.frame(&handle, number)),
        }
        self.surface.commit();
        let is_known = |state: &State| state.presented.is_some_and(|(of, _)| of == number);
        if !self.wait_until(Instant::now() + PATIENCE, is_known)? {
            self.require_answer()?;
        }
        // The frame before is filled again soon.
        let is_free = |state: &State| state.busy.iter().all(|other| *other == id);
        self.wait_until(Instant::now() + RELEASED, is_free)?;
        let fate = self.state.presented.filter(|(of, _)| *of == number).map(|(_, fate)| fate);
        Ok(match fate {
            Some(Fate::Presented { at, msc }) => {
                let msc = (msc != 0).then_some(msc);
                FrameEnd::Seen(Sighting { began, at, evidence: Evidence::DeviceClock, msc })
            }
            Some(Fate::Drawn { at }) => {
                FrameEnd::Seen(Sighting { began, at, evidence: Evidence::Call, msc: None })
            }
            Some(Fate::Discarded) | None => FrameEnd::Dropped,
        })
    }

    /// Waits until the compositor has done everything before: one that shows nothing of a hidden window
    /// answers all the same.
    fn require_answer(&mut self) -> Result<(), PlayerError> {
        self.asked += 1;
        let asked = self.asked;
        self.connection.display().sync(&self.queue.handle(), Ask(asked));
        match self.wait_until(Instant::now() + ANSWER_MOST, |state| state.answered >= asked)? {
            true => Ok(()),
            false => {
                let seconds = ANSWER_MOST.as_secs();
                let reason =
                    format!("it did not answer for {seconds} s: it is stopped or overloaded");
                Err(self.ended(&reason))
            }
        }
    }

    /// What has happened to the window.
    pub(super) fn happened(&mut self) -> Result<Vec<Happened>, PlayerError> {
        self.wait_until(Instant::now(), |_| false)?;
        Ok(self.state.happened.drain(..).collect())
    }

    /// Follows the compositor until something is so; false if it is not by then.
    fn wait_until(
        &mut self,
        until: Instant,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<bool, PlayerError> {
        loop {
            let dispatched = self.queue.dispatch_pending(&mut self.state);
            dispatched.map_err(|error| self.ended(&error))?;
            if is_so(&self.state) {
                return Ok(true);
            }
            match self.connection.flush() {
                // A compositor that reads nothing has an answer to give first.
                Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                flushed => flushed.map_err(|error| self.ended(&error))?,
            }
            let Some(guard) = self.connection.prepare_read() else { continue };
            let left = until.saturating_duration_since(Instant::now());
            let is_readable = wait_readable(guard.connection_fd(), left)?;
            if !is_readable {
                return Ok(false);
            }
            match guard.read() {
                Ok(_) => {}
                Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for State {
    fn event(
        _: &mut Self,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}

delegate_noop!(State: WlCompositor);
delegate_noop!(State: WlShmPool);
delegate_noop!(State: ignore WlShm);
delegate_noop!(State: ignore WlSurface);

impl Dispatch<WlOutput, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlOutput,
        event: wl_output::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_output::Event::Mode { width, height, .. } = event {
            let side = |side: i32| side.clamp(0, u16::MAX.into()) as u16;
            let (width, height) = (side(width), side(height));
            state.bounds = (state.bounds.0.max(width), state.bounds.1.max(height));
        }
    }
}

impl Dispatch<XdgWmBase, ()> for State {
    fn event(
        _: &mut Self,
        shell: &XdgWmBase,
        event: xdg_wm_base::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_wm_base::Event::Ping { serial } = event {
            shell.pong(serial);
        }
    }
}

impl Dispatch<XdgSurface, ()> for State {
    fn event(
        state: &mut Self,
        window: &XdgSurface,
        event: xdg_surface::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_surface::Event::Configure { serial } = event {
            window.ack_configure(serial);
            state.is_configured = true;
        }
    }
}

impl Dispatch<XdgToplevel, ()> for State {
    fn event(
        state: &mut Self,
        _: &XdgToplevel,
        event: xdg_toplevel::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_toplevel::Event::Close = event {
            state.happens(Happened::Closed);
        }
    }
}

impl Dispatch<WlBuffer, ()> for State {
    fn event(
        state: &mut Self,
        buffer: &WlBuffer,
        event: wl_buffer::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_buffer::Event::Release = event {
            state.busy.remove(&buffer.id().protocol_id());
        }
    }
}

impl Dispatch<WlCallback, u64> for State {
    fn event(
        state: &mut Self,
        _: &WlCallback,
        event: wl_callback::Event,
        frame: &u64,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_callback::Event::Done { .. } = event {
            state.presented = Some((*frame, Fate::Drawn { at: now() }));
        }
    }
}

impl Dispatch<WlCallback, Ask> for State {
    fn event(
        state: &mut Self,
        _: &WlCallback,
        event: wl_callback::Event,
        Ask(number): &Ask,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_callback::Event::Done { .. } = event {
            state.answered = state.answered.max(*number);
        }
    }
}

impl Dispatch<WpPresentation, ()> for State {
    fn event(
        state: &mut Self,
        _: &WpPresentation,
        event: wp_presentation::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wp_presentation::Event::ClockId { clk_id } = event {
            let clock = CLOCKS.iter().find(|(number, _)| *number == clk_id);
            let open = |clock| ClockReader::open(clock, ThreadId(0)).ok();
            state.clock = clock.and_then(|(_, clock)| open(*clock));
        }
    }
}

impl Dispatch<WpPresentationFeedback, u64> for State {
    fn event(
        state: &mut Self,
        _: &WpPresentationFeedback,
        event: wp_presentation_feedback::Event,
        frame: &u64,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use wp_presentation_feedback::Event;
        let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let fate = match event {
            Event::Presented { tv_sec_hi, tv_sec_lo, tv_nsec, seq_hi, seq_lo, .. } => {
                let seconds = joined(tv_sec_hi, tv_sec_lo).saturating_mul(1_000_000_000);
                let stamp = Nanos::from_nanos(seconds.saturating_add(tv_nsec.into()));
                match state.clock {
                    Some(clock) => {
                        let at = at(clock, stamp);
                        Fate::Presented { at, msc: joined(seq_hi, seq_lo) }
                    }
                    None => Fate::Drawn { at: now() },
                }
            }
            Event::Discarded => Fate::Discarded,
            _ => return,
        };
        state.presented = Some((*frame, fate));
    }
}

impl Dispatch<WlSeat, ()> for State {
    fn event(
        _: &mut Self,
        seat: &WlSeat,
        event: wl_seat::Event,
        (): &(),
        _: &Connection,
        handle: &QueueHandle<Self>,
    ) {
        if let wl_seat::Event::Capabilities { capabilities: WEnum::Value(capabilities) } = event
            && capabilities.contains(Capability::Keyboard)
        {
            seat.get_keyboard(handle, ());
        }
    }
}

impl Dispatch<WlKeyboard, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlKeyboard,
        event: wl_keyboard::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            wl_keyboard::Event::Keymap { format, fd, size } => {
                let is_known = format == WEnum::Value(KeymapFormat::XkbV1);
                let keymap = is_known.then(|| Keymap::read(&fd.into(), size as usize));
                // Without a keymap, no key means anything; those of the terminal do.
                state.keymap = keymap.and_then(Result::ok).unwrap_or_default();
            }
            wl_keyboard::Event::Modifiers { mods_depressed, group, .. } => {
                // Shift is the first modifier of every keymap.
                (state.is_shifted, state.group) = (mods_depressed & 1 != 0, group);
            }
            wl_keyboard::Event::Key { key, state: WEnum::Value(KeyState::Pressed), .. } => {
                let symbol = state.keymap.symbol(key, state.group, state.is_shifted);
                if let Some(command) = symbol.and_then(command_of) {
                    state.happens(Happened::Command(command));
                }
            }
            _ => {}
        }
    }
}
