//! The socket server: one thread, which waits only for descriptors and due times.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_model::token_bucket::TokenBucket;
use tactus_qos::message::{Call, FollowReply, GrantReply, Reply};
use tactus_qos::{Event, ReserveId};
use tactus_sys::closer::Closer;
use tactus_sys::local_socket::SocketFile;
use tactus_sys::poller::{Interest, Poller, Ready};
use tactus_sys::wait::Waker;
use tactus_sys::{SysError, clock, local_socket, process, thread};

use crate::calls::{self, Answer};

use crate::connection::{Busy, Closed, Connection};
use crate::{Client, Manager, Moment, NotReserved, Notice, Policy, Subject, What};

/// The most connections of all users.
pub const CONNECTIONS_MOST: usize = 1024;

/// The connections of [`CONNECTIONS_MOST`] that only root gets: others, by many user IDs, take no
/// more than the rest.
const CONNECTIONS_OF_ROOT: usize = 64;

/// Changes of a user that may come at once, as seconds of the rate.
const BURST_SECONDS: u64 = 2;

/// Connections that are accepted before others are served again.
const ACCEPTED_AT_ONCE: usize = 16;

/// Jobs of other threads that wait.
const JOBS_MOST: usize = 256;

const LISTENER: u64 = 0;
const THREADS: u64 = 1;
const JOBS: u64 = 2;
/// The client of the server's own reserve.
const OWN: u64 = u64::MAX;
/// The first connection.
const CONNECTIONS: u64 = 3;

/// Serves the manager on a socket.
#[derive(Debug)]
pub struct Server {
    /// Removed first, so that no client connects to a server that ends.
    file: Option<SocketFile>,
    listener: UnixListener,
    poller: Poller,
    manager: Manager,
    /// The reserve of this server.
    own: Option<ReserveId>,
    policy: Policy,
    cpus: u32,
    connections: BTreeMap<u64, Connection>,
    users: BTreeMap<u32, User>,
    next: u64,
    closer: Closer<OwnedFd>,
    /// Whether new connections are awaited.
    listens: bool,
    /// Connections that have a call which nobody will announce again.
    backlog: BTreeSet<u64>,
    jobs: Receiver<Job>,
    handle: ManagerHandle,
    /// What is to be reported.
    reports: Vec<Report>,
    /// Since when there are no connections.
    idle_since: Moment,
    is_ending: bool,
}

/// What a user takes of the server.
#[derive(Debug)]
struct User {
    connections: usize,
    changes: TokenBucket,
}

/// What the server reports to its program while it [runs](Server::run).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The kernel had left a thread with a grant throttled, and its policy was set again.
    Freed {
        /// The thread.
        thread: ThreadId,
        /// Its name, with any bytes that the kernel permits.
        name: String,
        /// How often that has happened since the start, to all threads.
        count: u64,
    },
}

/// Work for the thread of the server.
type Job = Box<dyn FnOnce(&mut Server) + Send>;

/// Reaches the manager from other threads, e.g. for another protocol in the same process.
#[derive(Clone, Debug)]
pub struct ManagerHandle {
    jobs: SyncSender<Job>,
    waker: Arc<Waker>,
}

impl ManagerHandle {
    /// Calls `work` on the thread of the server and returns its result; `None` if the server has
    /// ended. A client that `work` names needs a [number](Client::number) of its own: those of
    /// connections are below 2⁶³.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Manager) -> T + Send + 'static,
    ) -> Option<T> {
        let (send, receive) = sync_channel(1);
        let job: Job = Box::new(move |server| {
            // The caller waits for it.
            let _ = send.send(work(&mut server.manager));
        });
        self.jobs.send(job).ok()?;
        self.waker.wake();
        receive.recv().ok()
    }

    /// Asks the server to end: all reserves are released.
    pub fn end(&self) {
        // Failure means that the server has ended.
        let _ = self.jobs.try_send(Box::new(|server| server.is_ending = true));
        self.waker.wake();
    }
}

impl Server {
    /// Serves `manager` on `listener`, for a machine with `cpus` CPUs.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new(
        listener: UnixListener,
        manager: Manager,
        policy: Policy,
        cpus: u32,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let poller = Poller::new().map_err(io_error)?;
        let waker = Arc::new(Waker::new().map_err(io_error)?);
        for (descriptor, key) in
            [(listener.as_fd(), LISTENER), (manager.as_fd(), THREADS), ((*waker).as_fd(), JOBS)]
        {
            poller.add(descriptor, key, Interest::READ).map_err(io_error)?;
        }
        let (sender, jobs) = sync_channel(JOBS_MOST);
        Ok(Self {
            file: None,
            listener,
            poller,
            manager,
            own: None,
            policy,
            cpus,
            connections: BTreeMap::new(),
            users: BTreeMap::new(),
            next: CONNECTIONS,
            closer: Closer::start("qosd/closer")?,
            listens: true,
            backlog: BTreeSet::new(),
            jobs,
            handle: ManagerHandle { jobs: sender, waker },
            reports: Vec::new(),
            idle_since: clock::now(),
            is_ending: false,
        })
    }

    /// Removes the file of the socket at the end.
    pub fn remove_at_end(&mut self, file: Option<SocketFile>) {
        self.file = file;
    }

    /// A way to the manager for other threads.
    pub fn handle(&self) -> ManagerHandle {
        self.handle.clone()
    }

    /// Reserves CPU time for the calling thread, which must be the one that [runs](Self::run) the
    /// server. It can start no further threads then.
    ///
    /// # Errors
    /// The kernel refuses it, or it does not fit.
    pub fn reserve_own(&mut self, capacity: Capacity) -> Result<(), NotReserved> {
        let now = clock::now();
        let user = process::effective_user();
        let client = Client { number: OWN, user, caps: self.policy.caps(0, &[]) };
        let subject = Subject::of_id(thread::current_id())?;
        self.own = Some(self.manager.reserve(&client, subject, capacity.into(), now)?);
        Ok(())
    }

    /// Serves until [`ManagerHandle::end`], or until nobody has been connected for `idle`.
    /// Releases all reserves at the end.
    ///
    /// # Errors
    /// The poller fails.
    pub fn run(
        mut self,
        idle: Option<Nanos>,
        mut report: impl FnMut(Report),
    ) -> Result<(), SysError> {
        while !self.is_ending {
            let now: Moment = clock::now();
            let idle_end = idle.map(|idle| self.idle_since + idle).filter(|_| self.is_idle());
            if idle_end.is_some_and(|end| end <= now) {
                break;
            }
            let ready = self.poller.wait(self.timeout(now, idle_end))?;
            self.serve(&ready, clock::now());
            self.reports.drain(..).for_each(&mut report);
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        let own = self.own.as_slice();
        self.connections.is_empty() && self.manager.reserves_of(None) == own
    }

    /// How long nothing is due.
    fn timeout(&self, now: Moment, idle_end: Option<Moment>) -> Option<Duration> {
        if !self.backlog.is_empty() {
            return Some(Duration::ZERO);
        }
        let connections = self.connections.values().filter_map(Connection::next_due);
        let due = connections.chain(self.manager.next_due()).chain(idle_end).min();
        due.map(|due| Duration::from(due - now))
    }

    fn serve(&mut self, ready: &[Ready], now: Moment) {
        let backlog = std::mem::take(&mut self.backlog);
        for ready in ready {
            match ready.key {
                LISTENER => self.accept(now),
                // The manager looks for ended threads when it settles below.
                THREADS => {}
                JOBS => self.work(),
                key => self.serve_connection(key, *ready, now),
            }
        }
        for key in backlog {
            self.next_call(key, now);
        }
        let is_due = self.manager.next_due().is_some_and(|due| due <= now);
        if is_due || ready.iter().any(|ready| ready.key == THREADS) {
            self.manager.settle(now);
        }
        self.deliver(now);
        self.keep_time(now);
    }

    fn work(&mut self) {
        self.handle.waker.clear();
        while let Ok(job) = self.jobs.try_recv() {
            job(self);
        }
    }

    fn accept(&mut self, now: Moment) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Too many open files: the next connection to close makes room.
                    self.listen(false);
                    return;
                }
            };
            let Ok(peer) = local_socket::peer_credentials(stream.as_fd()) else { continue };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let groups: Vec<u32> = peer.groups.iter().copied().chain([peer.group]).collect();
            let caps = self.policy.caps(peer.user, &groups);
            let key = self.next;
            self.next += 1;
            let client = Client { number: key, user: peer.user, caps };
            let mut connection = Connection::new(stream, client, peer.process, self.closer.clone());
            let all = self.connections.len();
            let user = self
                .users
                .entry(peer.user)
                .or_insert_with(|| User { connections: 0, changes: bucket(caps.changes) });
            let has = user.connections;
            if let Some(reason) = too_many_connections(peer.user, has, caps.connections, all) {
                connection.busy = Busy::Ending;
                // Its buffer is empty.
                let _ = connection.reply(&calls::error("TooManyConnections", reason), now);
                continue;
            }
            if self.poller.add(&connection, key, Interest::READ).is_ok() {
                user.connections += 1;
                self.connections.insert(key, connection);
            }
        }
    }

    /// Awaits new connections, or lets them wait.
    fn listen(&mut self, listens: bool) {
        if self.listens != listens {
            self.listens = listens;
            // The listener stays in the poller for as long as this server lives.
            let interest = Interest { read: listens, write: false };
            let _ = self.poller.change(&self.listener, LISTENER, interest);
        }
    }

    fn serve_connection(&mut self, key: u64, ready: Ready, now: Moment) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let done = match () {
            () if ready.interest.write => connection.flush(now),
            () if ready.interest.read => connection.receive(now),
            // It is gone, and nothing that it sent is awaited.
            () => Err(Closed::Gone),
        };
        match done {
            Ok(()) => self.next_call(key, now),
            Err(_) => self.close(key, now),
        }
    }

    /// Serves one call of a connection, if one is there and it can take one.
    fn next_call(&mut self, key: u64, now: Moment) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let call = match connection.is_ready().then(|| connection.next_call(now)).flatten() {
            Some(Ok(call)) => Some(call),
            Some(Err(error)) => {
                connection.busy = Busy::Ending;
                let answer = calls::error("BadRequest", format!("this is not a call: {error}"));
                self.reply(key, &answer, now);
                return;
            }
            None => None,
        };
        if let Some(call) = call {
            self.call(key, call, now);
        }
        self.rearm(key, now);
    }

    fn call(&mut self, key: u64, call: Call, now: Moment) {
        let connections = self.connections.len();
        let Some(connection) = self.connections.get_mut(&key) else { return };
        if calls::changes(&call.method)
            && let Some(user) = self.users.get_mut(&connection.client.user)
            && let Err(until) = user.changes.take(now)
        {
            connection.busy = Busy::Deferred { call: Box::new(call), until };
            return;
        }
        let context =
            calls::Context { manager: &mut self.manager, cpus: self.cpus, connections, now };
        let oneway = call.oneway;
        let answer = calls::answer(context, connection, call);
        connection.finish_call();
        connection.busy = match &answer {
            Answer::Reply(_) => Busy::Idle,
            _ if oneway => Busy::Idle,
            Answer::Later(busy) | Answer::First(_, busy) => busy.clone(),
        };
        if let Busy::Follows { every: Some(_), .. } = connection.busy {
            self.refollow(now);
        }
        match answer {
            Answer::Reply(reply) | Answer::First(reply, _) if !oneway => {
                self.reply(key, &reply, now)
            }
            _ => {}
        }
    }

    fn reply(&mut self, key: u64, reply: &Reply, now: Moment) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        match connection.reply(reply, now) {
            Ok(()) => self.rearm(key, now),
            Err(_) => self.close(key, now),
        }
    }

    /// Makes the poller await what the connection waits for.
    fn rearm(&mut self, key: u64, now: Moment) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        if connection.is_ready() && connection.has_call() {
            self.backlog.insert(key);
        }
        let interest = connection.interest();
        if interest == connection.awaited {
            return;
        }
        connection.awaited = interest;
        if self.poller.change(&*connection, key, interest).is_err() {
            self.close(key, now);
        }
    }

    fn close(&mut self, key: u64, now: Moment) {
        // Closing the socket removes it from the poller.
        let Some(connection) = self.connections.remove(&key) else { return };
        let user = connection.client.user;
        if let Some(state) = self.users.get_mut(&user) {
            state.connections -= 1;
        }
        // A bucket that is empty is kept, lest a new connection refill it.
        self.users.retain(|_, user| user.connections > 0 || user.changes.is_used(now));
        if let Busy::Follows { every: Some(_), .. } = connection.busy {
            self.refollow(now);
        }
        drop(connection);
        self.manager.release_client(key, now);
        self.listen(true);
        if self.connections.is_empty() {
            self.idle_since = now;
        }
    }

    /// Sets which reserves report their use, and how often.
    fn refollow(&mut self, now: Moment) {
        for reserve in self.manager.reserves_of(None) {
            let Some(user) = self.manager.user(reserve) else { continue };
            let every = self.connections.values().filter_map(|connection| match connection.busy {
                Busy::Follows { reserve: of, every }
                    if of.is_none_or(|of| of == reserve)
                        && [0, user].contains(&connection.client.user) =>
                {
                    every
                }
                _ => None,
            });
            let every = every.min();
            self.manager.follow_use(reserve, every, now);
        }
    }

    /// Measures what is granted for those who follow all reserves.
    fn follow_newcomers(&mut self, notices: &[Notice], now: Moment) {
        let measures = |connection: &Connection| {
            matches!(connection.busy, Busy::Follows { every: Some(_), .. })
        };
        if notices.iter().any(|notice| notice.what == What::Changed)
            && self.connections.values().any(measures)
        {
            self.refollow(now);
        }
    }

    /// Passes on what has happened.
    fn deliver(&mut self, now: Moment) {
        // Closing a connection makes notices too.
        loop {
            let notices = self.manager.take_notices();
            if notices.is_empty() {
                return;
            }
            self.follow_newcomers(&notices, now);
            let followers: Vec<u64> = self
                .connections
                .iter()
                .filter(|(_, connection)| matches!(connection.busy, Busy::Follows { .. }))
                .map(|(key, _)| *key)
                .collect();
            for notice in notices {
                self.report(&notice);
                self.deliver_to_owner(&notice, now);
                let Some(event) = self.event(notice.reserve, notice.what) else { continue };
                for key in &followers {
                    let connection = self.connections.get(key);
                    if connection.is_some_and(|connection| connection.follows(&event, notice.user))
                    {
                        let reply = calls::more(&FollowReply { event: event.clone() });
                        self.reply(*key, &reply, now);
                    }
                }
            }
        }
    }

    fn report(&mut self, notice: &Notice) {
        if let (What::Renewed, Some(subject)) = (&notice.what, self.manager.subject(notice.reserve))
        {
            let (thread, name, count) = (subject.id(), subject.name(), self.manager.stuck());
            self.reports.push(Report::Freed { thread, name, count });
        }
    }

    fn event(&self, reserve: ReserveId, what: What) -> Option<Event> {
        Some(match what {
            What::Changed => Event::Changed(self.manager.grant(reserve)?),
            // Nothing that the thread has is different.
            What::Renewed => return None,
            What::Overrun(usage) => Event::Overrun(usage),
            What::Used(usage) => Event::Used(usage),
            What::Ended(reason) => Event::Ended { reserve, reason },
            What::Refused(refusal) => Event::Ended { reserve, reason: refusal.reason },
        })
    }

    /// The connection of a reserve awaits its grant, or holds it and hears of changes.
    fn deliver_to_owner(&mut self, notice: &Notice, now: Moment) {
        let Some(connection) = self.connections.get_mut(&notice.client) else { return };
        let (is_first, more) = match connection.busy {
            Busy::Awaits { reserve, more } if reserve == notice.reserve => (true, more),
            Busy::Holds(reserve) if reserve == notice.reserve => (false, true),
            _ => return,
        };
        let reply = match &notice.what {
            What::Changed => {
                let Some(grant) = self.manager.grant(notice.reserve) else { return };
                let reply = GrantReply { grant: Some(grant) };
                connection.busy = if more { Busy::Holds(notice.reserve) } else { Busy::Idle };
                if more { calls::more(&reply) } else { calls::reply(&reply) }
            }
            What::Refused(refusal) if is_first => calls::refused(refusal),
            What::Ended(reason) => calls::ended(notice.reserve, reason),
            _ => return,
        };
        if reply.error.is_some() {
            connection.busy = Busy::Idle;
        }
        self.reply(notice.client, &reply, now);
    }

    /// Closes what is overdue, and does what is due.
    fn keep_time(&mut self, now: Moment) {
        let is_due = |connection: &Connection| connection.next_due().is_some_and(|due| due <= now);
        let due = self.connections.iter().filter(|(_, connection)| is_due(connection));
        let due: Vec<u64> = due.map(|(key, _)| *key).collect();
        for key in due {
            let Some(connection) = self.connections.get_mut(&key) else { continue };
            if connection.check_time(now).is_err() {
                self.close(key, now);
                continue;
            }
            match std::mem::replace(&mut connection.busy, Busy::Idle) {
                Busy::Deferred { call, .. } => {
                    self.call(key, *call, now);
                    self.rearm(key, now);
                }
                Busy::Watches { every, .. } => {
                    connection.busy = Busy::Watches { every, next: now + every };
                    let status = calls::status(&self.manager, self.cpus, self.connections.len());
                    self.reply(key, &calls::more(&status), now);
                }
                other => connection.busy = other,
            }
        }
    }
}

/// How many changes a user may request, by the rate of the policy.
fn bucket(changes_a_second: u16) -> TokenBucket {
    let changes = u64::from(changes_a_second.max(1));
    TokenBucket::new(Nanos::from_nanos(1_000_000_000 / changes), changes * BURST_SECONDS)
}

/// Why a user who has `has` connections of `all` gets no other.
fn too_many_connections(user: u32, has: usize, permitted: u16, all: usize) -> Option<String> {
    let most = match user {
        0 => CONNECTIONS_MOST,
        _ => CONNECTIONS_MOST - CONNECTIONS_OF_ROOT,
    };
    match () {
        () if has >= permitted.into() => {
            Some(format!("user {user} has {has} connections, as many as the policy permits"))
        }
        () if all >= most => {
            Some(format!("there are {all} connections, and user {user} gets none beyond {most}"))
        }
        () => None,
    }
}

fn io_error(error: SysError) -> io::Error {
    error.errno.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_users_leave_connections_to_root() {
        let refused = |user, has, all| too_many_connections(user, has, 64, all);
        assert_eq!(refused(1000, 63, 900), None);
        assert!(refused(1000, 64, 64).unwrap().contains("as the policy permits"));
        let others = CONNECTIONS_MOST - CONNECTIONS_OF_ROOT;
        assert!(refused(1000, 0, others).unwrap().contains("none beyond 960"));
        assert_eq!(refused(0, 0, others), None);
        assert!(refused(0, 0, CONNECTIONS_MOST).is_some());
    }
}
