//! UDP datagrams that the kernel holds until their times.

use std::net::SocketAddr;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{Item, Moment, Place};
use tactus_delivery::receipt::Evidence;
use tactus_model::time::{Nanos, Tai};
use tactus_stream::Format;
use tactus_sys::clock::ClockPair;
use tactus_sys::network::{DepartureSocket, RouteSocket, interface_name};
use tactus_sys::{SysError, clock};

use super::datagram::{DATAGRAM_MAX, any_like, departed};
use super::now;
use crate::sink::{HandedOver, Payload, Sink};

/// The queueing discipline that heeds times.
const DISCIPLINE: &str = "etf";
/// How long before its time the kernel gets a datagram: more than the discipline's `delta`.
const LEAD: Nanos = Nanos::from_millis(5);
/// After how long a datagram that the kernel has not reported is given up.
const PATIENCE: Nanos = Nanos::from_millis(100);
/// How often reports are awaited.
const LOOK: Nanos = Nanos::from_millis(1);
/// The most datagrams that the kernel holds.
const FLIGHTS_MOST: usize = 256;

/// Why the kernel cannot hold datagrams.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSchedule {
    /// The interface has another discipline.
    #[error(
        "the kernel would send each datagram at once: interface `{interface}` has the queueing discipline `{found}`, and only `{DISCIPLINE}` heeds their times; fix: tc qdisc replace dev {interface} root {DISCIPLINE} clockid CLOCK_TAI delta 200000, or leave out `txtime`"
    )]
    Discipline {
        /// The interface.
        interface: String,
        /// Its disciplines.
        found: String,
    },
    /// A call failed.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Gives each item to the kernel ahead of its time. The receipt has the time at which the kernel
/// says that it left; without a report, nobody knows.
///
/// Without the discipline, the kernel sends at once and reports no error, so this sink refuses to
/// open.
pub struct ScheduledDatagrams {
    socket: DepartureSocket,
    to: SocketAddr,
    flights: Vec<Flight>,
    looked: Moment,
}

/// A datagram that the kernel has.
struct Flight {
    number: u32,
    place: Place,
    began: Moment,
}

impl ScheduledDatagrams {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The interface on the way has no discipline that heeds times.
    pub fn open(to: SocketAddr) -> Result<Self, CannotSchedule> {
        let mut routes = RouteSocket::open()?;
        let interface = routes.interface_to(to.ip())?;
        let found = routes.queueing_disciplines(interface)?;
        if !found.iter().any(|name| name == DISCIPLINE) {
            let interface = interface_name(interface)?;
            return Err(CannotSchedule::Discipline { interface, found: found.join("`, `") });
        }
        Ok(Self::unchecked(to)?)
    }

    fn unchecked(to: SocketAddr) -> Result<Self, SysError> {
        let socket = DepartureSocket::bind(any_like(to))?;
        socket.allow_send_times()?;
        Ok(Self { socket, to, flights: Vec::with_capacity(FLIGHTS_MOST), looked: now() })
    }
}

impl Sink for ScheduledDatagrams {
    fn format(&self) -> Format {
        Format::Bytes { most: DATAGRAM_MAX }
    }

    fn lead(&self) -> Nanos {
        LEAD
    }

    fn ready_from(&self) -> Moment {
        let is_full = self.flights.len() >= FLIGHTS_MOST;
        if is_full { self.looked + LOOK } else { Moment::from_nanos(0) }
    }

    fn next_turn(&self) -> Option<Moment> {
        let first = self.flights.iter().map(|flight| flight.place.due).min()?;
        Some(first.max(self.looked + LOOK))
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let began = now();
        // The kernel drops a datagram whose time has passed.
        let wait = item.due - began;
        let at = clock::now::<Tai>() + wait;
        match self.socket.send_to_at(&item.payload, self.to, at) {
            Ok(Some(number)) => {
                self.flights.push(Flight { number, place: item.place(), began });
                HandedOver::Pending
            }
            Ok(None) => HandedOver::Done(lost(began)),
            Err(_) => HandedOver::Done(Delivery::by_call(began, now(), false)),
        }
    }

    fn settled(&mut self, found: &mut dyn FnMut(Place, Delivery)) {
        let reports = std::iter::from_fn(|| self.socket.departure().ok().flatten());
        for report in reports.take(FLIGHTS_MOST) {
            let clocks = ClockPair::read();
            let flight = self.flights.iter().position(|flight| flight.number == report.number);
            let Some(index) = flight else { continue };
            let Flight { place, began, .. } = self.flights.swap_remove(index);
            let left = departed(&clocks, report.at, began).map(|ended| Delivery {
                evidence: Evidence::Kernel,
                ..Delivery::by_call(began, ended, true)
            });
            found(place, left.unwrap_or_else(|| lost(began)));
        }
        self.looked = now();
        for flight in self
            .flights
            .extract_if(.., |flight| flight.place.due.max(flight.began) + PATIENCE < self.looked)
        {
            found(flight.place, lost(flight.began));
        }
    }
}

/// Nobody knows what became of it.
fn lost(began: Moment) -> Delivery {
    Delivery { evidence: Evidence::None, ..Delivery::by_call(began, now(), true) }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, StreamId};

    use super::*;

    #[test]
    fn an_interface_without_the_discipline_is_refused_with_the_fix() {
        let Err(error) = ScheduledDatagrams::open("127.0.0.1:9".parse().unwrap()) else { panic!() };
        assert_eq!(
            error.to_string(),
            "the kernel would send each datagram at once: interface `lo` has the queueing \
             discipline `noqueue`, and only `etf` heeds their times; fix: tc qdisc replace dev lo \
             root etf clockid CLOCK_TAI delta 200000, or leave out `txtime`"
        );
    }

    #[test]
    fn without_the_discipline_the_kernel_sends_at_once_and_the_receipt_shows_it() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sink = ScheduledDatagrams::unchecked(receiver.local_addr().unwrap()).unwrap();
        let due = now() + Nanos::from_secs(100);
        let item = Item {
            client: ClientId(1),
            sequence: 0,
            stream: StreamId(1),
            branch: BranchId(0),
            epoch: Epoch(0),
            due,
            if_late: IfLate::Deliver,
            payload: Payload::from([7; 3]),
        };
        assert_eq!(sink.hand_over(&item), HandedOver::Pending);
        assert_eq!(receiver.recv(&mut [0; 9]).unwrap(), 3);
        let mut settled = Vec::new();
        sink.settled(&mut |place, delivery| settled.push((place, delivery)));
        let [(place, delivery)] = settled[..] else { panic!("{settled:?}") };
        assert_eq!((place, delivery.taken), (item.place(), true));
        assert_eq!(delivery.evidence, Evidence::Kernel);
        assert!(delivery.began <= delivery.ended && delivery.ended < due);
        assert_eq!(sink.next_turn(), None);
    }
}
