//! The functions of the library, by [dlopen(3)](https://man7.org/linux/man-pages/man3/dlopen.3.html).

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::sync::OnceLock;

/// `jack_client_t`.
pub(super) enum RawClient {}
/// `jack_port_t`.
pub(super) enum RawPort {}

/// `JackProcessCallback`.
pub(super) type ProcessCallback = unsafe extern "C" fn(u32, *mut c_void) -> c_int;
/// `JackXRunCallback`.
pub(super) type XrunCallback = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `JackShutdownCallback`.
pub(super) type ShutdownCallback = unsafe extern "C" fn(*mut c_void);
type Message = unsafe extern "C" fn(*const c_char);

/// `jack_midi_event_t`.
#[repr(C)]
pub(super) struct MidiEvent {
    pub(super) time: u32,
    pub(super) size: usize,
    pub(super) bytes: *const u8,
}

/// `jack_latency_range_t`.
#[repr(C)]
pub(super) struct LatencyRange {
    pub(super) min: u32,
    pub(super) max: u32,
}

/// `JackNoStartServer` of `jack_options_t`.
pub(super) const NO_START_SERVER: c_int = 1;
/// `JackPortIsInput`, `JackPortIsOutput` and `JackPortIsPhysical` of `JackPortFlags`.
pub(super) const IS_INPUT: c_ulong = 1;
pub(super) const IS_OUTPUT: c_ulong = 2;
pub(super) const IS_PHYSICAL: c_ulong = 4;

/// Declares the table of functions, each with its name and type as in `jack/jack.h`.
macro_rules! functions {
    ($($field:ident = $name:literal: $kind:ty;)*) => {
        /// The functions of a loaded library.
        pub(super) struct Library {
            $(pub(super) $field: $kind,)*
        }

        impl Library {
            /// Finds all functions.
            fn of(handle: *mut c_void) -> Result<Self, String> {
                Ok(Self {
                    $($field: {
                        let found = symbol(handle, $name)?;
                        // SAFETY: the function has this type in all versions of the library.
                        unsafe { std::mem::transmute::<*mut c_void, $kind>(found) }
                    },)*
                })
            }
        }
    };
}

functions! {
    open = c"jack_client_open":
        unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> *mut RawClient;
    close = c"jack_client_close": unsafe extern "C" fn(*mut RawClient) -> c_int;
    name = c"jack_get_client_name": unsafe extern "C" fn(*mut RawClient) -> *const c_char;
    activate = c"jack_activate": unsafe extern "C" fn(*mut RawClient) -> c_int;
    deactivate = c"jack_deactivate": unsafe extern "C" fn(*mut RawClient) -> c_int;
    on_process = c"jack_set_process_callback":
        unsafe extern "C" fn(*mut RawClient, ProcessCallback, *mut c_void) -> c_int;
    on_xrun = c"jack_set_xrun_callback":
        unsafe extern "C" fn(*mut RawClient, XrunCallback, *mut c_void) -> c_int;
    on_shutdown = c"jack_on_shutdown":
        unsafe extern "C" fn(*mut RawClient, ShutdownCallback, *mut c_void);
    sample_rate = c"jack_get_sample_rate": unsafe extern "C" fn(*mut RawClient) -> u32;
    buffer_size = c"jack_get_buffer_size": unsafe extern "C" fn(*mut RawClient) -> u32;
    register = c"jack_port_register": unsafe extern "C" fn(
        *mut RawClient, *const c_char, *const c_char, c_ulong, c_ulong) -> *mut RawPort;
    port_name = c"jack_port_name": unsafe extern "C" fn(*const RawPort) -> *const c_char;
    buffer = c"jack_port_get_buffer": unsafe extern "C" fn(*mut RawPort, u32) -> *mut c_void;
    ports = c"jack_get_ports": unsafe extern "C" fn(
        *mut RawClient, *const c_char, *const c_char, c_ulong) -> *mut *const c_char;
    free = c"jack_free": unsafe extern "C" fn(*mut c_void);
    connect = c"jack_connect":
        unsafe extern "C" fn(*mut RawClient, *const c_char, *const c_char) -> c_int;
    time = c"jack_get_time": unsafe extern "C" fn() -> u64;
    cycle_times = c"jack_get_cycle_times":
        unsafe extern "C" fn(*const RawClient, *mut u32, *mut u64, *mut u64, *mut f32) -> c_int;
    port_by_name = c"jack_port_by_name":
        unsafe extern "C" fn(*mut RawClient, *const c_char) -> *mut RawPort;
    latency = c"jack_port_get_latency_range":
        unsafe extern "C" fn(*mut RawPort, c_int, *mut LatencyRange);
    midi_clear = c"jack_midi_clear_buffer": unsafe extern "C" fn(*mut c_void);
    midi_write = c"jack_midi_event_write":
        unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> c_int;
    midi_count = c"jack_midi_get_event_count": unsafe extern "C" fn(*mut c_void) -> u32;
    midi_get = c"jack_midi_event_get":
        unsafe extern "C" fn(*mut MidiEvent, *mut c_void, u32) -> c_int;
    error_function = c"jack_set_error_function": unsafe extern "C" fn(Message);
    info_function = c"jack_set_info_function": unsafe extern "C" fn(Message);
}

/// The names of the library: the one that the loader finds, which `pw-jack` changes, then the one
/// of PipeWire where distributions keep it beside another.
const NAMES: [&CStr; 4] = [
    c"libjack.so.0",
    #[cfg(target_arch = "x86_64")]
    c"/usr/lib/x86_64-linux-gnu/pipewire-0.3/jack/libjack.so.0",
    #[cfg(target_arch = "aarch64")]
    c"/usr/lib/aarch64-linux-gnu/pipewire-0.3/jack/libjack.so.0",
    c"/usr/lib64/pipewire-0.3/jack/libjack.so.0",
    c"/usr/lib/pipewire-0.3/jack/libjack.so.0",
];

/// The libraries of this machine, or why there is none.
pub(super) fn libraries() -> Result<&'static [Library], &'static str> {
    static LOADED: OnceLock<Result<Vec<Library>, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let mut reason = String::new();
        let load = |name: &CStr| {
            let loaded = load(name);
            if let Err(said) = &loaded
                && reason.is_empty()
            {
                reason.clone_from(said);
            }
            loaded.ok()
        };
        let found: Vec<Library> = NAMES.into_iter().filter_map(load).collect();
        if found.is_empty() { Err(reason) } else { Ok(found) }
    });
    loaded.as_deref().map_err(String::as_str)
}

fn load(name: &CStr) -> Result<Library, String> {
    // SAFETY: the name ends with a zero. The library's constructors touch nothing of ours. It is
    // never unloaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(said());
    }
    let library = Library::of(handle)?;
    // SAFETY: the functions take a function that may be called at any time, and this one may.
    unsafe {
        (library.error_function)(silent);
        (library.info_function)(silent);
    }
    Ok(library)
}

/// Messages of the library would appear between lines of the program; calls return errors.
unsafe extern "C" fn silent(_: *const c_char) {}

fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the handle is of a loaded library, the name ends with a zero.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() { Err(said()) } else { Ok(found) }
}

/// What the loader says about its last failure.
fn said() -> String {
    // SAFETY: dlerror returns null or a text that lives until the next call of this thread.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return "the library was not found".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}

/// A name for the library, without bytes after a zero.
pub(super) fn text(name: &str) -> CString {
    let name = name.split('\0').next().unwrap_or_default();
    CString::new(name).unwrap_or_default()
}
