//! Extension Present: the server's own stamps of when a frame was on the display.
//!
//! A frame is copied to a pixmap of the server, which then presents it. The server reports its time
//! (UST, in microseconds of CLOCK_MONOTONIC) and the count of refreshes (MSC).

use x11rb::connection::Connection;
use x11rb::errors::{ReplyError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::present::{self, Capability, CompleteKind, EventMask, Option as Options};
use x11rb::protocol::xproto::{self, Pixmap};
use x11rb::rust_connection::RustConnection;

/// Pixmaps in turn: one is seen, one waits for the refresh, one is filled.
const PIXMAPS: usize = 4;

/// Presents pixmaps in a window.
pub(super) struct Presenter {
    window: xproto::Window,
    pixmaps: Vec<(Pixmap, bool)>,
    next: usize,
    serial: u32,
    options: u32,
}

impl Presenter {
    /// Prepares presenting; else why it is not possible.
    pub(super) fn new(
        connection: &RustConnection,
        window: xproto::Window,
        depth: u8,
        (width, height): (u16, u16),
    ) -> Result<Self, String> {
        let prepare = || -> Result<(Vec<(Pixmap, bool)>, u32), ReplyOrIdError> {
            present::query_version(connection, 1, 2)?.reply()?;
            let capabilities = present::query_capabilities(connection, window)?.reply()?;
            let events = connection.generate_id()?;
            let mask = EventMask::COMPLETE_NOTIFY | EventMask::IDLE_NOTIFY;
            present::select_input(connection, events, window, mask)?.check()?;
            let mut pixmaps = Vec::new();
            for _ in 0..PIXMAPS {
                let pixmap = connection.generate_id()?;
                xproto::create_pixmap(connection, depth, pixmap, window, width, height)?.check()?;
                pixmaps.push((pixmap, false));
            }
            Ok((pixmaps, capabilities.capabilities))
        };
        let (pixmaps, capabilities) = prepare().map_err(|error| error.to_string())?;
        // A server with a screen shows a frame at its next refresh; one without is asked to show it
        // at once.
        let has_refresh = capabilities & u32::from(Capability::UST) != 0;
        let options = if has_refresh { Options::NONE } else { Options::ASYNC };
        let options = u32::from(u8::from(options));
        Ok(Self { window, pixmaps, next: 0, serial: 0, options })
    }

    /// The next pixmap, once the server does not use it.
    pub(super) fn pixmap(&mut self, connection: &RustConnection) -> Result<Pixmap, ReplyError> {
        while self.pixmaps[self.next].1 {
            self.event(connection)?;
        }
        Ok(self.pixmaps[self.next].0)
    }

    /// Presents the pixmap that [`pixmap`](Self::pixmap) returned, and waits until it is seen.
    /// Returns UST and MSC, unless the server has no time.
    pub(super) fn present(
        &mut self,
        connection: &RustConnection,
    ) -> Result<Option<(u64, u64)>, ReplyError> {
        let (pixmap, is_busy) = &mut self.pixmaps[self.next];
        *is_busy = true;
        self.next = (self.next + 1) % PIXMAPS;
        self.serial = self.serial.wrapping_add(1);
        let (none, serial) = (x11rb::NONE, self.serial);
        present::pixmap(
            connection,
            self.window,
            *pixmap,
            serial,
            none,
            none,
            0,
            0,
            none,
            none,
            none,
            self.options,
            0,
            0,
            0,
            &[],
        )?;
        connection.flush()?;
        loop {
            if let Some((serial, ust, msc)) = self.event(connection)?
                && serial == self.serial
            {
                return Ok((ust != 0).then_some((ust, msc)));
            }
        }
    }

    /// Waits for an event. Returns serial, UST and MSC of a frame that is seen.
    fn event(
        &mut self,
        connection: &RustConnection,
    ) -> Result<Option<(u32, u64, u64)>, ReplyError> {
        match connection.wait_for_event()? {
            Event::PresentCompleteNotify(event) if event.kind == CompleteKind::PIXMAP => {
                return Ok(Some((event.serial, event.ust, event.msc)));
            }
            Event::PresentIdleNotify(event) => {
                for (pixmap, is_busy) in &mut self.pixmaps {
                    *is_busy &= *pixmap != event.pixmap;
                }
            }
            Event::Error(error) => return Err(error.into()),
            _ => {}
        }
        Ok(None)
    }
}
