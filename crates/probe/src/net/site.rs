//! What a sender needs besides its loop: the network, the path, the receiver, the rivals.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as StdInstant};

use tactus_model::net::{NetPath, NetProbe, NetReceive};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_sys::network::StampedSocket;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{Errno, SysError, clock};
use tactus_transport::{PacketLink, Pair, Udp, XdpLink};

use super::arrivals::Arrivals;
use super::outgoing::{ByLibrary, ByRelay, BySocket, NetError, Outgoing, PACKET_BYTES};
use super::relay::Relay;
use super::{Bursts, Marks, Sent, send_bursts, use_over_time};
use crate::apparatus::Measured;
use crate::work::{Pace, compute};

/// The ports of the far end: of the measured sender, and of the rivals.
const PORT: u16 = 940;
const RIVALS_PORT: u16 = 941;
/// What the kernel counts for a packet of 1 KiB that waits, rounded up.
const WAITING_BYTES: u64 = 4096;
/// Room for the packets of the rehearsal.
const SPARE_BYTES: u64 = 1 << 20;
/// The number of a burst that does not count.
const REHEARSAL: u64 = u64::MAX;
/// How long the first packet may take on a busy machine.
const FIRST_ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// How long the kernel takes until it stamps every packet, not only those that nobody reads.
const STAMPS_SETTLE: Duration = Duration::from_millis(50);
/// How long packets may be on their way after the window.
const LAST_ARRIVAL_MAX: Duration = Duration::from_secs(5);

/// The surroundings of one sender. All of it ends with this value.
pub(crate) struct SenderSite {
    path: Box<dyn Outgoing>,
    receiver: StampedSocket,
    bursts: Bursts,
    pace: Pace,
    marks: Marks,
    // In this order: a rival may wait for the relay.
    relay: Option<Relay>,
    rivals: Vec<Rival>,
    _sink: UdpSocket,
    _pair: Pair,
}

impl SenderSite {
    /// Makes the network and starts the relay and the rivals. Returns what was not granted.
    ///
    /// # Errors
    /// See [`NetError`].
    pub(crate) fn open(
        probe: &NetProbe,
        window: Nanos,
    ) -> Result<(Self, Vec<Shortfall>), NetError> {
        let bursts = Bursts::new(probe, window);
        let marks = Marks::take(usize::try_from(bursts.marks()).unwrap_or(usize::MAX))
            .map_err(|_| SysError::new("mmap", Errno::NOMEM))?;
        let pair = Pair::make(probe.rivals + 1)?;
        let bytes = bursts.packets().saturating_mul(WAITING_BYTES).saturating_add(SPARE_BYTES);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let (receiver, sink) = pair.far().within(|| {
            let at = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
            // Nobody reads what the rivals send; without a socket, the kernel would answer.
            Ok::<_, SysError>((StampedSocket::bind(at(PORT), bytes)?, bound(at(RIVALS_PORT))?))
        })?;
        let relay = match probe.path {
            NetPath::Relay => Some(Relay::start(socket(&pair)?)?),
            _ => None,
        };
        let mut scheduled = Vec::new();
        scheduled.extend(relay.as_ref().map(|relay| (relay.thread(), probe.relay_policy)));
        if probe.receive == NetReceive::Thread {
            let threads = pair.receive_in_threads()?.into_iter();
            scheduled.extend(threads.map(|thread| (thread, probe.napi_policy)));
        }
        let mut shortfalls = Vec::new();
        for (thread, policy) in scheduled {
            let refused = ThreadRef::Id(thread).schedule(policy)?;
            shortfalls.extend(refused.map(|refused| refused.explain_here()));
        }
        let path = |number: u8, port| outgoing(probe.path, &pair, relay.as_ref(), number, port);
        let pace = Pace::calibrate::<Monotonic>();
        let mut rivals = Vec::new();
        for number in 1..=probe.rivals as u8 {
            rivals.push(Rival::start(path(number, RIVALS_PORT)?, bursts, pace)?);
        }
        let path = path(0, PORT)?;
        let mut site =
            Self { path, receiver, bursts, pace, marks, relay, rivals, _sink: sink, _pair: pair };
        site.rehearse()?;
        Ok((site, shortfalls))
    }

    /// How many bursts are due.
    pub(crate) const fn bursts(&self) -> u64 {
        self.bursts.count()
    }

    /// Sends a packet until one arrives: addresses are then resolved, and packets stamped.
    fn rehearse(&mut self) -> Result<(), NetError> {
        let begun = StdInstant::now();
        let mut packet = [0; PACKET_BYTES];
        while self.receiver.take(&mut packet)?.is_none() {
            if begun.elapsed() > FIRST_ARRIVAL_MAX {
                return Err(NetError::NothingArrived);
            }
            self.path.send(REHEARSAL)?;
            self.path.flush()?;
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(STAMPS_SETTLE);
        Ok(())
    }

    /// Sends the bursts of a window that opens at `start`.
    ///
    /// # Errors
    /// Those of the sleeper and of the path.
    pub(crate) fn send<C: Clock>(
        &mut self,
        sleeper: &mut impl Sleeper<C>,
        start: Instant<C>,
    ) -> Result<Sent, NetError> {
        let (path, bursts) = (self.path.as_mut(), &self.bursts);
        send_bursts(sleeper, path, self.pace, bursts, start, &mut self.marks)
    }

    /// The samples of a window that opened at `start`, and the sender's CPU time in each period.
    ///
    /// # Errors
    /// The receiver's.
    pub(crate) fn delivered(self, sent: Sent, start: u64) -> Result<Measured, NetError> {
        let arrivals = self.arrivals(sent, start)?;
        let taken = self.bursts.judged(&arrivals, sent.ended);
        let use_over_time = use_over_time(&self.marks, &self.bursts);
        Ok(Measured { use_over_time, ..taken.into() })
    }

    /// Reads when the bursts of a window that opened at `start` arrived, and waits for those that
    /// are on their way.
    fn arrivals(&self, sent: Sent, start: u64) -> Result<Vec<Option<Nanos>>, NetError> {
        let mut arrivals = Arrivals::new(self.bursts.count(), self.bursts.packets);
        let mut packet = [0; PACKET_BYTES];
        let begun = StdInstant::now();
        loop {
            while let Some((length, stamp)) = self.receiver.take(&mut packet)? {
                arrivals.add(&packet[..length], stamp);
            }
            if arrivals.complete() >= sent.bursts || begun.elapsed() > LAST_ARRIVAL_MAX {
                return Ok(arrivals.since(start));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for SenderSite {
    fn drop(&mut self) {
        self.rivals.iter().for_each(Rival::stop);
        // A rival that waits for the relay continues.
        drop(self.relay.take());
    }
}

fn bound(address: SocketAddr) -> Result<UdpSocket, SysError> {
    UdpSocket::bind(address).map_err(SysError::of_io("bind"))
}

/// A socket of the kernel at the near end.
fn socket(pair: &Pair) -> Result<UdpSocket, SysError> {
    pair.near().within(|| bound(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))))
}

/// The path of sender `number` to a port of the far end.
fn outgoing(
    path: NetPath,
    pair: &Pair,
    relay: Option<&Relay>,
    number: u8,
    port: u16,
) -> Result<Box<dyn Outgoing>, NetError> {
    let near = pair.near();
    Ok(match (path, relay) {
        (NetPath::Relay, Some(relay)) => Box::new(ByRelay::new(relay.queue()?, port)),
        (NetPath::Socket | NetPath::Relay, _) => Box::new(BySocket::new(socket(pair)?, port)),
        (NetPath::PacketLibrary, _) => {
            let link = near.within(|| PacketLink::open(pair.interface()))?;
            Box::new(ByLibrary::new(Udp::open(link, Pair::library(number)), port))
        }
        (NetPath::XdpLibrary, _) => {
            let link = near.within(|| XdpLink::open(pair.interface(), number.into()))?;
            Box::new(ByLibrary::new(Udp::open(link, Pair::library(number)), port))
        }
    })
}

/// A low-priority sender of the same bursts; it ends with this value.
struct Rival {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rival {
    fn start(path: Box<dyn Outgoing>, bursts: Bursts, pace: Pace) -> Result<Self, NetError> {
        let stops = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stops);
        let thread = thread::Builder::new()
            .name("rival".to_owned())
            .spawn(move || {
                // Its only result is the disturbance; a path that fails has ended.
                let _ = compete(path, &bursts, pace, &stopped);
            })
            .map_err(SysError::of_io("clone"))?;
        Ok(Self { stops, thread: Some(thread) })
    }

    fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends bursts until the stop flag is set. A late rival counts its next period from the late burst.
fn compete(
    mut path: Box<dyn Outgoing>,
    bursts: &Bursts,
    pace: Pace,
    stopped: &AtomicBool,
) -> Result<(), NetError> {
    ThreadRef::Calling.schedule(Scheduling::Other { nice: NetProbe::RIVAL_NICE })?;
    let units = pace.units(bursts.work.as_nanos() as f64 / f64::from(bursts.packets));
    let mut due = clock::now::<Monotonic>();
    while !stopped.load(Ordering::Relaxed) {
        for _ in 0..bursts.packets {
            compute(units);
            path.send(REHEARSAL)?;
        }
        path.flush()?;
        due = (due + bursts.period).max(clock::now());
        Nanosleep.sleep_until(due)?;
    }
    Ok(())
}
