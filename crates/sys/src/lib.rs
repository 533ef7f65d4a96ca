//! Every system call of Tactus, and all its `unsafe` code.
//!
//! Each module is one facility of the system; each public function is safe,
//! mirrors one call and links its man page. Calls decide nothing: `tactus-permission`
//! says what a refusal means and what to do about it.

pub mod activation;
pub mod affinity;
pub mod block_queue;
mod bpf;
pub mod capability;
pub mod cgroup;
pub mod clock;
pub mod closer;
pub mod copy;
pub mod counters;
pub mod deadline_thread;
pub mod direct_file;
pub mod doorbell;
pub mod error;
pub mod facts;
pub mod file_mapping;
pub mod file_ring;
pub mod filesystem;
pub mod fork;
pub mod gpio;
pub mod identity;
pub mod idle_states;
pub mod ipc;
pub mod jack;
pub mod leash;
pub mod local_socket;
pub mod mapping;
pub mod memory;
pub mod mount;
pub mod namespace;
pub mod network;
pub mod owned_directory;
pub mod pcm;
pub mod peer_memory;
pub mod perf;
pub mod periodic_timer;
pub mod pi_mutex;
pub mod pidfd;
pub mod pipe;
pub mod poller;
pub mod port;
pub mod private_futex;
pub mod process;
pub mod program;
pub mod pty;
pub mod regular_file;
pub mod sched;
pub mod scheduling_record;
pub mod section;
pub mod semihosting;
pub mod serial_port;
pub mod setting;
pub mod shared_memory;
pub mod sleep;
pub mod swap;
pub mod system_call;
pub mod terminal;
pub mod thread;
mod timespec;
pub mod timestamp;
pub mod tracefs;
pub mod uio;
pub mod usage;
pub mod wait;
pub mod whole_file;

pub use error::{Errno, SysError};
