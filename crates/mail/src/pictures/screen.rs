//! The screen of an X server, copied into memory that both share, or through the connection.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use tactus_model::frames::Rate;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::{clock, shared_memory};
use tactus_xserver::patient::{self, HangUp, PatientConnection, is_silence, is_silence_at_first};
use x11rb::connection::Connection;
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, ImageOrder, Window};

use super::{Breaker, PATIENCE, Pace, PictureError, Pictures, SIDES, Size, Taken};
use crate::Moment;
use crate::matroska::PIXEL;

/// All planes of a pixel.
const PLANES: u32 = !0;

/// Takes the whole screen, without the pointer. The stamp is in the middle of the request.
pub(crate) struct ScreenGrab {
    connection: PatientConnection,
    root: Window,
    size: Size,
    pace: Pace,
    /// `None` if the server shares no memory with us, e.g. on another machine.
    shared: Option<Shared>,
}

/// Memory into which the server copies.
struct Shared {
    segment: shm::Seg,
    /// Read by `pread`: the server may shrink it, which must not be a fault of ours.
    memory: File,
}

impl ScreenGrab {
    /// Connects to a display, that of `DISPLAY` by default.
    pub(crate) fn open(display: Option<&str>, rate: Rate) -> Result<Self, PictureError> {
        let refused = |reason: &dyn std::fmt::Display| PictureError::Display {
            display: display.map(str::to_owned),
            reason: reason.to_string(),
        };
        let (connection, screen) = patient::connect(display, PATIENCE).map_err(|error| {
            match is_silence_at_first(&error) {
                true => PictureError::Silent,
                false => refused(&error),
            }
        })?;
        let setup = connection.setup();
        let screen = setup.roots.get(screen).ok_or_else(|| refused(&"it has no screen"))?;
        let depth = screen.root_depth;
        let format = setup.pixmap_formats.iter().find(|format| format.depth == depth);
        let bits = format.map_or(0, |format| format.bits_per_pixel);
        let is_known = bits == 32 && depth >= 24 && setup.image_byte_order == ImageOrder::LSB_FIRST;
        if !is_known {
            return Err(PictureError::Pixels { bits, depth });
        }
        let (width, height) = (screen.width_in_pixels.into(), screen.height_in_pixels.into());
        let (root, size) = (screen.root, Size { width, height });
        if !size.is_within(&SIDES) {
            return Err(PictureError::Size { found: size });
        }
        let shared = Shared::attach(&connection, size);
        Ok(Self { connection, root, size, pace: Pace::new(rate), shared })
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// Copies the screen.
    fn copy(&self, picture: &mut [u8]) -> Result<(), PictureError> {
        // A server has no more pixels than fit in 16 bits.
        let (width, height) = (self.size.width as u16, self.size.height as u16);
        match &self.shared {
            Some(Shared { segment, memory }) => {
                let format = ImageFormat::Z_PIXMAP.into();
                self.connection
                    .shm_get_image(self.root, 0, 0, width, height, PLANES, format, *segment, 0)
                    .map_err(gone)?
                    .reply()
                    .map_err(gone)?;
                memory.read_exact_at(picture, 0)?;
            }
            None => {
                let image = self
                    .connection
                    .get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, PLANES)
                    .map_err(gone)?
                    .reply()
                    .map_err(gone)?;
                if image.data.len() != picture.len() {
                    return Err(PictureError::Gone("an image of another size".to_owned()));
                }
                picture.copy_from_slice(&image.data);
            }
        }
        Ok(())
    }
}

impl Pictures for ScreenGrab {
    fn begin(&mut self, origin: Moment) {
        self.pace.begin(origin);
    }

    fn take(&mut self, picture: &mut [u8]) -> Result<Taken, PictureError> {
        let missing = self.pace.wait()?;
        let began = clock::now::<Monotonic>();
        self.copy(picture)?;
        let half = Nanos::from_nanos((clock::now::<Monotonic>() - began).as_nanos() / 2);
        Ok(Taken { at: began + half, within: half, missing })
    }

    fn breaker(&self) -> Result<Option<Breaker>, PictureError> {
        let line = HangUp::of(&self.connection)?;
        Ok(Some(Box::new(move || line.hang_up())))
    }
}

impl Shared {
    fn attach(connection: &PatientConnection, size: Size) -> Option<Self> {
        connection.shm_query_version().ok()?.reply().ok()?;
        let memory = shared_memory::file().ok()?;
        memory.set_len(u64::from(size.width) * u64::from(size.height) * PIXEL as u64).ok()?;
        let segment = connection.generate_id().ok()?;
        let file = OwnedFd::from(memory.try_clone().ok()?);
        connection.shm_attach_fd(segment, file, false).ok()?.check().ok()?;
        Some(Self { segment, memory })
    }
}

fn gone(error: impl Into<ReplyOrIdError>) -> PictureError {
    match error.into() {
        silent if is_silence(&silent) => PictureError::Silent,
        error => PictureError::Gone(error.to_string()),
    }
}
