//! Timed delivery: items wait in the order of their times, and each is answered by a receipt.
//!
//! The server of the Mach multimedia testbed (Dannenberg et al., CMU-CS-93-205, 1993, section 7)
//! without devices, threads and clocks: the present instant is an argument, so the same code runs
//! in real and in virtual time.
//!
//! | module | content |
//! |---|---|
//! | [`item`] | items, streams, lateness policies |
//! | [`mod@format`] | what the payload of an item may be |
//! | [`receipt`] | outcomes and receipts |
//! | [`device`] | the queue of a device: what is delivered when, and what is not |
//! | [`device_clock`] | positions of a device, mapped to the monotonic clock |
//! | [`desk`] | what clients may submit: credit, horizons, branches, cuts |
//! | [`virtual_server`] | a server in virtual time |
//! | [`simulation`] | scripts of clients in virtual time |
//!
//! **Exactly one receipt.** An item that the [desk](desk::Desk) has accepted gets one receipt,
//! whatever happens to it, its stream, its client or the server. A client may have only as many
//! items as it has room for receipts, so none is lost in a full ring.
#![forbid(unsafe_code)]

pub mod desk;
pub mod device;
pub mod device_clock;
pub mod format;
pub mod item;
pub mod receipt;
pub mod simulation;
pub mod virtual_server;
