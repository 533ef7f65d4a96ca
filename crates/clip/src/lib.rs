//! Clips: what a file contains, and its decoder.
//!
//! ffmpeg decodes, as a process of its own: with limits on its memory, CPU time and files, without
//! network, without access to the terminal, and without formats that name other files. It ends with the thread that started it. Frames come
//! through a pipe, their time stamps through another one; sound comes as samples without gaps.
//!
//! | module | content |
//! |---|---|
//! | [`camera`] | pictures of a camera, with the stamps of its driver |
//! | [`probe`] | the streams of a file, as ffprobe reports them |
//! | [`picture`] | frames with their times |
//! | [`sound`] | samples from a time on |
//! | [`ffmpeg`] | ffmpeg as a process that makes a file |
#![forbid(unsafe_code)]

pub mod camera;
mod error;
pub mod ffmpeg;
mod formats;
pub mod picture;
pub mod probe;
mod process;
pub mod sound;

pub use camera::Camera;
pub use error::ClipError;
pub use ffmpeg::{Ffmpeg, FfmpegError};
pub use picture::{PictureDecoder, PictureSpec, first_frame};
pub use probe::{Clip, Picture, Sound};
pub use process::{Output, Stopper, output};
pub use sound::{SoundDecoder, SoundSpec};
pub use tactus_model::pixels::PixelFormat;
