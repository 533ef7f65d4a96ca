//! Extension Present: the server's own stamps of when a frame was on the display.
//!
//! A frame is copied to a pixmap of the server, which then presents it. The server reports its time
//! (UST, in microseconds of CLOCK_MONOTONIC) and the count of refreshes (MSC).

use std::time::Instant;

use super::{Drawn, Stamp, next_event};
use crate::patient::PatientConnection;
use x11rb::connection::Connection;
use x11rb::errors::{ReplyError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::present::{self, Capability, CompleteKind, EventMask, Option as Options};
use x11rb::protocol::xproto::{self, Pixmap};

/// Pixmaps in turn: one is seen, one waits for the refresh, one is filled.
const PIXMAPS: usize = 4;

/// What the server has sent.
enum Happened {
    /// A frame is seen: the number of its request, with the server's stamp.
    Seen { serial: u32, ust: u64, msc: u64 },
    /// Something else.
    Other,
    /// Nothing in time.
    Nothing,
}

/// Presents pixmaps in a window.
#[derive(Debug)]
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
        connection: &PatientConnection,
        window: xproto::Window,
        depth: u8,
        (width, height): (u16, u16),
    ) -> Result<Self, ReplyOrIdError> {
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
        let (pixmaps, capabilities) = prepare()?;
        // A server with a screen shows a frame at its next refresh; one without is asked to show it
        // at once.
        let has_refresh = capabilities & u32::from(Capability::UST) != 0;
        let options = if has_refresh { Options::NONE } else { Options::ASYNC };
        let options = u32::from(u8::from(options));
        Ok(Self { window, pixmaps, next: 0, serial: 0, options })
    }

    /// The next pixmap, once the server does not use it; `None` if it does until then.
    pub(super) fn pixmap(
        &mut self,
        connection: &PatientConnection,
        until: Instant,
    ) -> Result<Option<Pixmap>, ReplyError> {
        while self.pixmaps[self.next].1 {
            if let Happened::Nothing = self.event(connection, until)? {
                return Ok(None);
            }
        }
        Ok(Some(self.pixmaps[self.next].0))
    }

    /// Presents the pixmap that [`pixmap`](Self::pixmap) returned, and waits until it is seen; `None`
    /// if it is not until then.
    pub(super) fn present(
        &mut self,
        connection: &PatientConnection,
        until: Instant,
    ) -> Result<Option<Drawn>, ReplyError> {
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
            match self.event(connection, until)? {
                Happened::Seen { serial, .. } if serial != self.serial => {}
                // A server may have no time.
                Happened::Seen { ust: 0, .. } => return Ok(Some(Drawn::Plain)),
                Happened::Seen { ust, msc, .. } => {
                    return Ok(Some(Drawn::Stamped(Stamp { ust, msc })));
                }
                Happened::Other => {}
                Happened::Nothing => return Ok(None),
            }
        }
    }

    /// Waits for an event.
    fn event(
        &mut self,
        connection: &PatientConnection,
        until: Instant,
    ) -> Result<Happened, ReplyError> {
        let Some(event) = next_event(connection, until)? else { return Ok(Happened::Nothing) };
        match event {
            Event::PresentCompleteNotify(event) if event.kind == CompleteKind::PIXMAP => {
                let (serial, ust, msc) = (event.serial, event.ust, event.msc);
                return Ok(Happened::Seen { serial, ust, msc });
            }
            Event::PresentIdleNotify(event) => {
                for (pixmap, is_busy) in &mut self.pixmaps {
                    *is_busy &= *pixmap != event.pixmap;
                }
            }
            Event::Error(error) => return Err(error.into()),
            _ => {}
        }
        Ok(Happened::Other)
    }
}
