//! The manager with threads of this process. Without permission for the deadline class, the tests
//! are skipped.

use tactus_model::recording::ThreadId;
use tactus_sys::clock;
use tactus_sys::usage::scheduled_time;
use tactus_testing::{Need as TestNeed, skip};

use super::*;
use crate::Policy;

const MS: Nanos = Nanos::from_millis(1);

/// A thread that sleeps.
struct Sleeper(tactus_testing::Sleeper<ThreadId>);

impl Sleeper {
    fn start() -> Self {
        Self(tactus_testing::Sleeper::start(tactus_sys::thread::current_id))
    }

    fn subject(&self) -> Subject {
        Subject::of_id(self.0.id).unwrap()
    }

    fn policy(&self) -> String {
        ThreadRef::Id(self.0.id).scheduling().unwrap().to_string()
    }
}

fn client(user: u32) -> Client {
    Client { number: 1, user, caps: Policy::default().caps(user, &[]) }
}

fn user() -> u32 {
    tactus_sys::process::effective_user()
}

fn manager() -> Manager {
    Manager::new(Bandwidth::percent_of_cpus(20, 1), None).unwrap()
}

/// A need of 1 to `most` hundredths of a CPU.
fn need(most: u64) -> Need {
    let need = Need::new(MS.saturating_mul(10), Nanos::from_micros(100));
    Need { cost_max: Some(Nanos::from_micros(100 * most)), ..need }
}

/// Requests a reserve; `None` if this machine refuses it for want of permission, or because
/// other programs hold its bandwidth.
fn reserve(manager: &mut Manager, sleeper: &Sleeper, need: Need) -> Option<ReserveId> {
    match manager.reserve(&client(user()), sleeper.subject(), need, clock::now()) {
        Ok(reserve) => Some(reserve),
        Err(NotReserved::Refused(refusal)) if refusal.bound_by == Constraint::Kernel => {
            skip(TestNeed::Root, refusal);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn needs_root_a_thread_has_its_grant_until_its_client_ends() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    let Some(first) = reserve(&mut manager, &sleeper, need(5)) else { return };
    assert_eq!(sleeper.policy(), "deadline:500us/10ms/10ms");
    let grant = manager.grant(first).unwrap();
    assert_eq!((grant.cost, grant.bound_by), (Nanos::from_micros(500), Constraint::Request));
    let again = manager.reserve(&client(user()), sleeper.subject(), need(5), clock::now());
    assert_eq!(again, Err(NotReserved::Reserved(sleeper.0.id.0)));
    manager.change(&client(user()), first, need(3), clock::now()).unwrap();
    assert_eq!(sleeper.policy(), "deadline:300us/10ms/10ms");
    manager.release_client(1, clock::now());
    assert_eq!(sleeper.policy(), "other");
    let notices = manager.take_notices();
    let happened: Vec<What> = notices.into_iter().map(|notice| notice.what).collect();
    let ended = What::Ended("its client is gone".to_owned());
    assert_eq!(happened, [What::Changed, What::Changed, ended]);
    assert_eq!(manager.reserves(), []);
}

#[test]
fn needs_root_a_reserve_ends_with_its_thread() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    if reserve(&mut manager, &sleeper, need(5)).is_none() {
        return;
    }
    drop(sleeper);
    // The kernel reports the end shortly after those who join the thread have gone on.
    while !manager.reserves().is_empty() {
        manager.settle(clock::now());
    }
}

#[test]
fn needs_root_a_newcomer_shares_what_others_return() {
    let (mut manager, first, second) = (manager(), Sleeper::start(), Sleeper::start());
    let Some(_) = reserve(&mut manager, &first, need(19)) else { return };
    assert_eq!(first.policy(), "deadline:1.9ms/10ms/10ms");
    let Some(newcomer) = reserve(&mut manager, &second, need(19)) else { return };
    while manager.grant(newcomer).is_none_or(|grant| grant.cost < MS) {
        assert!(manager.next_due().is_some());
        manager.settle(clock::now());
    }
    for sleeper in [&first, &second] {
        assert_eq!(sleeper.policy(), "deadline:1ms/10ms/10ms");
    }
}

#[test]
fn a_client_may_ask_again_by_the_same_descriptor_after_a_refusal() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    let kept = sleeper.subject();
    let too_much = Need::new(MS.saturating_mul(10), MS.saturating_mul(9));
    for _ in 0..2 {
        let descriptor = kept.descriptor().try_clone().unwrap();
        let subject = Subject::of_descriptor(descriptor.into()).unwrap();
        let refused = manager.reserve(&client(user()), subject, too_much, clock::now());
        assert!(matches!(refused, Err(NotReserved::Refused(_))), "{refused:?}");
    }
}

#[test]
fn a_thread_of_another_user_is_refused() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    let other = user() + 65534;
    let refused = manager.reserve(&client(other), sleeper.subject(), need(5), clock::now());
    let expected =
        NotASubject::OthersThread { thread: sleeper.0.id.0, runs_as: user(), user: other };
    assert_eq!(refused, Err(NotReserved::Thread(expected)));
    assert_eq!(manager.reserves(), []);
}

#[test]
fn needs_root_a_reserve_is_changed_only_by_its_user() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    let Some(first) = reserve(&mut manager, &sleeper, need(5)) else { return };
    let other = client(user() + 65534);
    let unknown = Err(NotReserved::Unknown(first));
    assert_eq!(manager.release(&other, first, clock::now()), unknown);
    assert_eq!(manager.change(&other, first, need(1), clock::now()), unknown);
    assert_eq!(sleeper.policy(), "deadline:500us/10ms/10ms");
}

#[test]
fn needs_root_the_next_manager_returns_what_a_killed_one_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads");
    let sleeper = Sleeper::start();
    let (ledger, left) = Ledger::open(&path).unwrap();
    assert_eq!(left, []);
    let mut killed = Manager::new(Bandwidth::percent_of_cpus(20, 1), Some(ledger)).unwrap();
    let Some(_) = reserve(&mut killed, &sleeper, need(5)) else { return };
    assert!(Ledger::open(&path).is_err_and(|error| error.to_string().contains("another manager")));
    // What a kill leaves: the file, and the thread with its grant.
    let text = std::fs::read(&path).unwrap();
    std::mem::forget(killed);
    let copied = folder.path().join("copied");
    std::fs::write(&copied, [&text[..], b"{\"thread\":1,\"star"].concat()).unwrap();
    assert_eq!(sleeper.policy(), "deadline:500us/10ms/10ms");
    let (_, returned) = Ledger::open(&copied).unwrap();
    assert_eq!(returned, [sleeper.0.id]);
    assert_eq!(sleeper.policy(), "other");
}

#[test]
fn a_state_file_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let refused = Ledger::open(&folder.path().join("threads")).unwrap_err().to_string();
    assert!(refused.contains("can be written by others"), "{refused}");
}

#[test]
fn a_thread_that_others_keep_counts_and_has_its_own_policy() {
    let sleeper = Sleeper::start();
    let mut manager = manager();
    let (own, now) = (client(user()), clock::now());
    let allotted = manager.allot(&own, sleeper.subject(), need(3), now).unwrap();
    assert_eq!(sleeper.policy(), "other");
    let grant = manager.grant(allotted).unwrap();
    assert_eq!((grant.cost, grant.rung.as_str()), (Nanos::from_micros(300), "priority"));
    assert_eq!(manager.reserves().len(), 1);
    let again = manager.allot(&own, sleeper.subject(), need(3), now);
    assert_eq!(again, Err(NotReserved::Reserved(sleeper.0.id.0)));
    manager.release(&own, allotted, now).unwrap();
    assert_eq!((manager.reserves().len(), sleeper.policy().as_str()), (0, "other"));
}

#[test]
fn a_state_file_that_is_damaged_or_no_file_keeps_nobody_from_starting_or_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads");
    std::fs::write(&path, b"\xff\xfe\n{\"thread\":1,\n{\"thread\":1,\"started\":0}\n[[[[").unwrap();
    let (_, returned) = Ledger::open(&path).unwrap();
    assert_eq!(returned, []);
    let check = |name: &str, expected: &str| {
        let refused = Ledger::open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(refused.ends_with(expected), "{refused}");
    };
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join("link")).unwrap();
    check("link", "it is a symbolic link");
    std::fs::hard_link(&precious, folder.path().join("other-name")).unwrap();
    check(
        "other-name",
        "another name (a hard link). fix: choose another --state, or remove the file",
    );
    std::fs::remove_file(folder.path().join("other-name")).unwrap();
    check("precious", "no line of one. fix: choose another --state, or remove the file");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    let fifo = folder.path().join("fifo");
    let (mode, kind) =
        (rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
    check("fifo", "it is not a regular file");
}

#[test]
fn a_thread_may_have_a_name_of_any_bytes() {
    let sleeper = Sleeper::start();
    std::fs::write(format!("/proc/self/task/{}/comm", sleeper.0.id.0), b"a) R 1\xff").unwrap();
    let subject = sleeper.subject();
    assert_eq!(subject.name(), "a) R 1\u{fffd}");
}

/// A process that computes until it is killed.
struct Computing(std::process::Child);

impl Computing {
    fn start() -> Self {
        Self(std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }

    fn id(&self) -> ThreadId {
        ThreadId(self.0.id().cast_signed())
    }

    fn ran(&self) -> Nanos {
        scheduled_time(self.id()).unwrap().ran
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        // A thread that is stuck is not killed.
        let _ = ThreadRef::Id(self.id()).schedule_exactly(Scheduling::ORDINARY);
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn needs_root_a_thread_that_the_kernel_left_throttled_is_freed_and_counted() {
    let process = Computing::start();
    let mut manager = manager();
    for _ in 0..10 {
        // Somebody else's grant ends in debt, and the manager's follows too soon.
        let thread = ThreadRef::Id(process.id());
        let capacity = "1ms/10ms".parse().unwrap();
        match Reserve::grant(thread, capacity, &[Rung::Deadline]) {
            Ok(_reserve) => std::thread::sleep(Duration::from_millis(8)),
            Err(refused) => return skip(TestNeed::Root, refused),
        }
        std::thread::sleep(Duration::from_millis(12));
        let subject = Subject::of_id(process.id()).unwrap();
        let Ok(reserve) = manager.reserve(&client(user()), subject, need(10), clock::now()) else {
            continue;
        };
        let (before, began): (_, Moment) = (process.ran(), clock::now());
        while process.ran() == before && clock::now() - began < Nanos::from_secs(60) {
            manager.settle(clock::now());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(process.ran() > before);
        if manager.stuck() > 0 {
            assert_eq!(manager.reserves()[0].stuck, 1);
            let renewed = |notice: &Notice| notice.what == What::Renewed;
            assert_eq!(manager.take_notices().iter().filter(|notice| renewed(notice)).count(), 1);
            return;
        }
        manager.release(&client(user()), reserve, clock::now()).unwrap();
        // The next round begins when the kernel has forgotten this one.
        std::thread::sleep(Duration::from_millis(200));
    }
    // A kernel without the defect, or a thread that was never in debt.
}

#[test]
fn a_second_kill_does_not_hide_a_debt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads");
    let sleeper = Sleeper::start();
    let now: Moment = clock::now();
    let until = now + Nanos::from_secs(100);
    let (mut ledger, _) = Ledger::open(&path).unwrap();
    ledger.strike(&sleeper.subject(), until, now);
    for _ in 0..2 {
        drop(ledger);
        (ledger, _) = Ledger::open(&path).unwrap();
        let leaving: Vec<(i32, Moment)> = ledger.leaving(now).collect();
        assert_eq!(leaving, [(sleeper.0.id.0, until)]);
    }
    // The kernel has forgotten it.
    ledger.strike(&sleeper.subject(), now, now);
    drop(ledger);
    let (ledger, _) = Ledger::open(&path).unwrap();
    assert_eq!(ledger.leaving(now).count(), 0);
}

/// A process of user 65534.
fn of_another_user() -> Option<Computing> {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "while :; do :; done"]).uid(65534).gid(65534);
    command.spawn().ok().map(Computing)
}

#[test]
fn needs_root_a_thread_that_changes_its_user_loses_its_reserve() {
    if user() != 0 {
        return skip(TestNeed::Root, "only root starts threads of another user");
    }
    // A user's reserve, whose thread belongs to another user by the time of `act`.
    let lost = |act: fn(&mut Manager, ReserveId)| {
        let Some(process) = of_another_user() else {
            return skip(TestNeed::Root, "user 65534 cannot be had here");
        };
        let mut manager = manager();
        let client = client(65534);
        let subject = Subject::of_id(process.id()).unwrap();
        let reserve = match manager.reserve(&client, subject, need(5), clock::now()) {
            Ok(reserve) => reserve,
            Err(refused) => return skip(TestNeed::Root, refused),
        };
        // As if the thread had executed a program with the rights of another user.
        manager.held.get_mut(&reserve).unwrap().user = 65533;
        act(&mut manager, reserve);
        assert_eq!(manager.reserves(), []);
        let policy = ThreadRef::Id(process.id()).scheduling().unwrap();
        assert_eq!(policy.to_string(), "other");
        let last = manager.take_notices().pop().unwrap().what;
        let What::Ended(reason) = last else { panic!("{last:?}") };
        assert!(reason.contains("runs as user 65534"), "{reason}");
    };
    lost(|manager, reserve| {
        let changed = manager.change(&client(65533), reserve, need(3), clock::now());
        let others =
            NotReserved::Thread(NotASubject::OthersThread { thread: 0, runs_as: 0, user: 0 });
        let is_same =
            |error: NotReserved| std::mem::discriminant(&error) == std::mem::discriminant(&others);
        assert!(changed.is_err_and(is_same));
    });
    lost(|manager, reserve| {
        let capacity = "300us/10ms".parse().unwrap();
        manager.carry_out(&Step { reserve, capacity, is_first: false }, clock::now());
    });
    lost(|manager, reserve| {
        let look = manager.held[&reserve].look;
        manager.settle(look);
    });
}

#[test]
fn needs_root_a_thread_that_root_gives_another_policy_keeps_it_and_loses_its_reserve() {
    let (mut manager, sleeper) = (manager(), Sleeper::start());
    let Some(reserve) = reserve(&mut manager, &sleeper, need(5)) else { return };
    ThreadRef::Id(sleeper.0.id).schedule_exactly(Scheduling::Idle).unwrap();
    let look = manager.held[&reserve].look;
    manager.settle(look);
    assert_eq!(manager.reserves(), []);
    assert_eq!(sleeper.policy(), "idle");
}
