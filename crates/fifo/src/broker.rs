//! Introduces ordinary processes to the real-time side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::peer_memory::{Sealed, Secret, WritableWords};
use tactus_sys::private_futex::Signal;
use tactus_sys::wait::Waker;
use tactus_sys::{SysError, affinity, process, sched};

use crate::bell::{Bell, Cord};
use crate::book::{Book, Offered};
use crate::channel::{Channel, PeerMemory};
use crate::door::Door;
use crate::guests::Guests;
use crate::handover::Handover;
use crate::latest::{LatestReader, LatestWriter};
use crate::layout::{Layout, reader};
use crate::message::Role;
use crate::ring::{RingReader, RingWriter};
use crate::{
    BlockReader, BlockWriter, Element, Items, OfferError, PeerReport, Receiver, Sender, Shortfall,
    SizeError, StartError, shortfalls,
};

/// Channels that a broker will offer.
#[derive(Debug)]
pub struct Builder {
    path: PathBuf,
    book: Book,
    channels: Vec<Channel>,
    bell: Arc<Bell>,
    shortfalls: Vec<Shortfall>,
    priority: Option<RealtimePriority>,
    cpus: Option<CpuList>,
    relay: Option<CpuList>,
}

impl Builder {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            book: Book::new(process::effective_user()),
            channels: Vec::new(),
            bell: Arc::default(),
            shortfalls: Vec::new(),
            priority: None,
            cpus: None,
            relay: None,
        }
    }

    /// Permits a user to open the channels. The own user is always permitted, unless
    /// [`require_other_user`](Self::require_other_user) refuses it.
    #[must_use]
    pub fn allow_user(mut self, user: u32) -> Self {
        self.book.allow_user(user);
        self
    }

    /// Refuses peers of the own user and of root, who are separated only nominally.
    #[must_use]
    pub const fn require_other_user(mut self) -> Self {
        self.book.require_other_user();
        self
    }

    /// The broker's priority (`SCHED_FIFO`): one below that of the real-time threads. It is an
    /// ordinary program by default.
    #[must_use]
    pub const fn priority(mut self, priority: RealtimePriority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The broker's CPUs: others than those of the real-time threads. A peer can make the kernel
    /// take milliseconds for a notice, with interrupts off on the CPU of the broker.
    #[must_use]
    pub fn cpus(mut self, cpus: CpuList) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Starts a relay on the CPUs of the real-time threads, at the broker's priority. A push then
    /// wakes a thread of its own CPU, which costs a quarter of waking one of another, and the
    /// relay wakes the broker.
    #[must_use]
    pub fn relay(mut self, cpus: CpuList) -> Self {
        self.relay = Some(cpus);
        self
    }

    /// Offers a FIFO that a peer reads, with room for at least `capacity` items.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn fifo_out<T: Element>(
        &mut self,
        name: &str,
        capacity: usize,
    ) -> Result<Sender<T>, OfferError> {
        self.sender(name, &Items::of::<T>(), capacity)
    }

    /// Like [`fifo_out`](Self::fifo_out), of items that are known at run time.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn fifo_out_of(
        &mut self,
        name: &str,
        items: &Items,
        capacity: usize,
    ) -> Result<Sender<[u8]>, OfferError> {
        self.sender(name, items, capacity)
    }

    fn sender<T: ?Sized>(
        &mut self,
        name: &str,
        items: &Items,
        capacity: usize,
    ) -> Result<Sender<T>, OfferError> {
        let layout = Layout::ring(items, capacity).map_err(size(name))?;
        let handover = Arc::<Handover>::default();
        let peer = PeerMemory::Reader(Arc::clone(&handover));
        let (own, channel) =
            self.offer(name, items, Role::ReadFifo, layout, layout.words(), peer)?;
        let cord = Cord { bell: Arc::clone(&self.bell), channel };
        Ok(Sender::new(RingWriter::new(own, layout), handover, cord))
    }

    /// Offers a FIFO that a peer writes, with room for at least `capacity` items.
    ///
    /// The peer locks the memory of the whole FIFO and its header, so it needs an `RLIMIT_MEMLOCK`
    /// beyond that, which is 8 MiB on most systems.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn fifo_in<T: Element>(
        &mut self,
        name: &str,
        capacity: usize,
    ) -> Result<Receiver<T>, OfferError> {
        self.receiver(name, &Items::of::<T>(), capacity)
    }

    /// Like [`fifo_in`](Self::fifo_in), of items that are known at run time.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn fifo_in_of(
        &mut self,
        name: &str,
        items: &Items,
        capacity: usize,
    ) -> Result<Receiver<[u8]>, OfferError> {
        self.receiver(name, items, capacity)
    }

    fn receiver<T: ?Sized>(
        &mut self,
        name: &str,
        items: &Items,
        capacity: usize,
    ) -> Result<Receiver<T>, OfferError> {
        let layout = Layout::ring(items, capacity).map_err(size(name))?;
        let (handover, arrivals) = (Arc::<Handover>::default(), Arc::<Signal>::default());
        let peer = PeerMemory::Writer(Arc::clone(&handover), Arc::clone(&arrivals));
        let (own, _) = self.offer(name, items, Role::WriteFifo, layout, reader::COUNT, peer)?;
        Ok(Receiver::new(RingReader::new(own, layout, 0), handover, arrivals))
    }

    /// Offers a block that peers read, at most 32 of each user.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn block_out<T: Element>(&mut self, name: &str) -> Result<BlockWriter<T>, OfferError> {
        self.block_writer(name, &Items::of::<T>())
    }

    /// Like [`block_out`](Self::block_out), of a value that is known at run time.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn block_out_of(
        &mut self,
        name: &str,
        items: &Items,
    ) -> Result<BlockWriter<[u8]>, OfferError> {
        self.block_writer(name, items)
    }

    fn block_writer<T: ?Sized>(
        &mut self,
        name: &str,
        items: &Items,
    ) -> Result<BlockWriter<T>, OfferError> {
        let layout = Layout::block(items).map_err(size(name))?;
        let peer = PeerMemory::None;
        let (own, _) = self.offer(name, items, Role::ReadBlock, layout, layout.words(), peer)?;
        Ok(BlockWriter::new(LatestWriter::new(own, layout)))
    }

    /// Offers a block that a peer writes.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn block_in<T: Element>(&mut self, name: &str) -> Result<BlockReader<T>, OfferError> {
        self.block_reader(name, &Items::of::<T>())
    }

    /// Like [`block_in`](Self::block_in), of a value that is known at run time.
    ///
    /// # Errors
    /// The name or the size is not possible, or there is no memory.
    pub fn block_in_of(
        &mut self,
        name: &str,
        items: &Items,
    ) -> Result<BlockReader<[u8]>, OfferError> {
        self.block_reader(name, items)
    }

    fn block_reader<T: ?Sized>(
        &mut self,
        name: &str,
        items: &Items,
    ) -> Result<BlockReader<T>, OfferError> {
        let layout = Layout::block(items).map_err(size(name))?;
        let (handover, arrivals) = (Arc::<Handover>::default(), Arc::<Signal>::default());
        let peer = PeerMemory::Writer(Arc::clone(&handover), arrivals);
        self.offer(name, items, Role::WriteBlock, layout, reader::COUNT, peer)?;
        Ok(BlockReader::new(LatestReader::new(layout), handover))
    }

    /// Adds a channel whose real-time side writes `words` words. Returns them and its number.
    fn offer(
        &mut self,
        name: &str,
        items: &Items,
        role: Role,
        layout: Layout,
        words: usize,
        peer: PeerMemory,
    ) -> Result<(WritableWords, usize), OfferError> {
        let offered = Offered {
            name: name.to_owned(),
            role,
            element: items.layout.clone(),
            bytes: items.bytes,
        };
        let number = self.book.add(offered)?;
        let memory = |error| OfferError::Memory { name: name.to_owned(), error };
        let sealed = Sealed::create(words).map_err(memory)?;
        let small = sealed.collapsed.err().map(|error| shortfalls::no_huge_pages(name, error));
        let unlocked = sealed.locked.err().map(|error| shortfalls::not_locked(name, error));
        self.shortfalls.extend([small, unlocked].into_iter().flatten());
        self.channels.push(Channel::new(sealed.file, words, layout, peer).map_err(memory)?);
        Ok((sealed.words, number))
    }

    /// Listens, and introduces peers from now on. A socket that a killed broker has left is
    /// replaced.
    ///
    /// # Errors
    /// The socket or a thread cannot be made, e.g. because another broker listens there.
    pub fn start(mut self) -> Result<Broker, StartError> {
        let socket = |error| StartError::Socket { path: self.path.display().to_string(), error };
        let (listener, file) = local_socket::listen(&self.path).map_err(socket)?;
        listener.set_nonblocking(true).map_err(socket)?;
        if let Err(error) = Secret::create(1)?.is_secret {
            self.shortfalls.push(shortfalls::no_secret_memory(error));
        }
        let (guests, stop) = (Arc::<Guests>::default(), Arc::new(Waker::new()?));
        let door =
            Door::new(listener, Arc::clone(&stop), self.book, self.channels, Arc::clone(&guests))?;
        let (bell, notified) = (Arc::clone(&self.bell), Arc::clone(&guests));
        let placement = Placement { priority: self.priority, cpus: self.cpus };
        let mut threads = vec![
            placement.start("fifo/door", move || door.run())?,
            placement.start("fifo/notices", move || notify(&bell, &notified))?,
        ];
        if let Some(cpus) = self.relay {
            let (bell, left) = (Arc::clone(&self.bell), Arc::clone(&guests));
            let beside = Placement { cpus: Some(cpus), ..placement };
            let run = move || while bell.relay().is_ok() && !left.are_leaving() {};
            threads.push(beside.start("fifo/relay", run)?);
            self.bell.use_relay();
        }
        let mut shortfalls = self.shortfalls;
        let (threads, refused): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        let refused = refused.into_iter().flatten().next();
        shortfalls.extend(refused.map(shortfalls::ordinary_broker));
        Ok(Broker { _file: file, guests, shortfalls, stop, bell: self.bell, threads })
    }
}

fn size(name: &str) -> impl Fn(SizeError) -> OfferError {
    move |error| OfferError::Size { name: name.to_owned(), error }
}

/// Sends notices until the broker ends: when it is woken without a channel.
fn notify(bell: &Bell, guests: &Guests) {
    let mut due = None;
    while let Ok(channels) = bell.wait(due) {
        if guests.are_leaving() {
            return;
        }
        let postponed = channels.filter_map(|channel| {
            let due = guests.notify(channel)?;
            bell.postpone(channel);
            Some(due)
        });
        due = postponed.min();
    }
}

/// Where and how the threads of a broker run.
#[derive(Clone, Debug)]
struct Placement {
    priority: Option<RealtimePriority>,
    cpus: Option<CpuList>,
}

impl Placement {
    /// Starts a thread. Returns why it has not the requested place, if so.
    fn start(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(JoinHandle<()>, Option<SysError>), StartError> {
        let (send, placed) = std::sync::mpsc::sync_channel(1);
        let placement = self.clone();
        let started = thread::Builder::new().name(name.to_owned()).spawn(move || {
            // The receiver waits for this.
            let _ = send.send(placement.take().err());
            run();
        });
        let thread = started.map_err(StartError::System)?;
        Ok((thread, placed.recv().ok().flatten()))
    }

    fn take(&self) -> Result<(), SysError> {
        let placed = self.cpus.as_ref().map_or(Ok(()), affinity::set);
        // Without a priority, the threads do not inherit that of a real-time thread.
        let scheduling = self.priority.map_or(Scheduling::ORDINARY, Scheduling::Fifo);
        placed.and(sched::set_alone(scheduling))
    }
}

/// Introduces peers for as long as it lives. Peers see the end of their channels when it is
/// dropped.
#[derive(Debug)]
pub struct Broker {
    _file: SocketFile,
    guests: Arc<Guests>,
    shortfalls: Vec<Shortfall>,
    stop: Arc<Waker>,
    bell: Arc<Bell>,
    threads: Vec<JoinHandle<()>>,
}

impl Broker {
    /// Begins a broker that will listen at `path`.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// The protections that this machine does not grant, each with its effect and its fix.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shortfalls
    }

    /// The present peers.
    pub fn peers(&self) -> Vec<PeerReport> {
        self.guests.lock().iter().map(|guest| guest.report.clone()).collect()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.guests.leave();
        self.stop.wake();
        self.bell.wake();
        for thread in self.threads.drain(..) {
            // A panic of it was reported by itself.
            let _ = thread.join();
        }
        self.guests.lock().clear();
    }
}
