//! A folder of clips as a scrolling window of thumbnails, of which a person chooses one.
//!
//! | module | content |
//! |---|---|
//! | [`folder`] | the clips of a folder |
//! | [`grid`] | where tiles are, what is visible, and what a key or a click selects: without a window |
//! | [`thumbnails`] | first frames, made by threads in the background |
//! | [`Gallery`] | the window |
#![forbid(unsafe_code)]

pub mod folder;
pub mod grid;
mod keys;
pub mod thumbnails;
mod window;

pub use window::{Closer, Gallery, GalleryError};
