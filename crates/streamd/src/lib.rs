//! The delivery server: takes items ahead of their time, delivers each at its time, and answers it.
//!
//! ```text
//! client ──► ring ──► server thread ──► queue of a device ──► thread of the device ──► sink
//!    ▲                    │  ▲                                        │
//!    └─── ring ◄──────────┘  └──────────────── receipts ◄─────────────┘
//! ```
//!
//! The server thread trusts no client: it copies each item once, then checks it, and everything that
//! a client can cause has a limit. The thread of a device never touches memory of a client.
#![forbid(unsafe_code)]

mod connection;
mod device;
mod error;
pub mod inputs;
mod local_server;
mod measure;
pub mod outlet;
mod queue;
pub mod server;
pub mod sink;
pub mod sinks;
pub mod spec;
mod start;
mod users;

pub use device::{Pace, SPIN_MOST};
pub use error::{OpenError, ServeError, StartError};
pub use local_server::LocalServer;
pub use measure::Measure;
pub use server::{Handle, Offered, Server, Settings};
pub use spec::{BadDevice, DeviceSpec, NamedDevice};
pub use start::{Options, start, start_observed};
