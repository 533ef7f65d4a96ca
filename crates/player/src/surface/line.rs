//! The connections of a surface, which another thread can cut.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use tactus_xserver::patient::HangUp;

/// The connections of a surface with a display. A display that is stopped answers nothing: the waits of the
/// thread that shows frames then end here.
#[derive(Debug, Default)]
pub(crate) struct Line {
    displays: Vec<HangUp>,
    compositor: Option<UnixStream>,
}

impl Line {
    /// Connections with an X server.
    pub(super) const fn of_displays(displays: Vec<HangUp>) -> Self {
        Self { displays, compositor: None }
    }

    /// The connection with a compositor.
    pub(super) const fn of_compositor(compositor: UnixStream) -> Self {
        Self { displays: Vec::new(), compositor: Some(compositor) }
    }

    /// Ends present and later waits: they fail.
    pub(crate) fn hang_up(&self) {
        self.displays.iter().for_each(HangUp::hang_up);
        // A compositor that has ended has hung up.
        let _ = self.compositor.as_ref().map(|stream| stream.shutdown(Shutdown::Both));
    }
}
