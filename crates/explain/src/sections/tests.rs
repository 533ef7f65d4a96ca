use super::*;

/// A thread whose life is a list of acts.
struct Thread {
    now: u64,
    finder: SectionFinder,
}

const NANOSLEEP: i64 = 230;
const OPENAT: i64 = 257;
const POLL: i64 = 7;
const FUTEX: i64 = 202;

fn place(line: u32) -> CodePlace {
    CodePlace { line: Some(line), ..CodePlace::default() }
}

impl Thread {
    fn new(finder: SectionFinder) -> Self {
        Self { now: 1_000_000, finder }
    }

    fn step(&mut self, step: Step) {
        self.finder.take(Instant::from_nanos(self.now), step);
    }

    /// A call that sleeps for `sleeps` µs.
    fn call(&mut self, number: i64, line: u32, sleeps: u64) {
        self.call_for(number, &format!("call {number}"), line, sleeps);
    }

    fn call_for(&mut self, number: i64, what: &str, line: u32, sleeps: u64) {
        let kind = match number {
            FUTEX => ViolationKind::ContendedLock,
            _ => ViolationKind::SystemCall,
        };
        let at = place(line);
        self.step(Step::Enter(Call { number, kind, what: what.to_owned(), at }));
        if sleeps > 0 {
            self.step(Step::Out { preempted: false });
            self.now += sleeps * 1000;
            self.step(Step::In);
        }
        self.now += 1000;
        self.step(Step::Exit);
    }

    fn fault(&mut self, line: u32) {
        self.step(Step::Fault { memory: "[heap]".to_owned(), at: place(line) });
    }

    fn lines(&mut self) -> Vec<u32> {
        self.finder.end();
        self.finder.take_found().into_iter().filter_map(|found| found.at.line).collect()
    }
}

#[test]
fn violations_between_waits_are_found_and_preparation_and_cleaning_up_are_none() {
    let mut thread = Thread::new(SectionFinder::new(vec![POLL], None));
    thread.call(OPENAT, 1, 40);
    thread.fault(2);
    for round in 0..30 {
        thread.call(NANOSLEEP, 10, 990);
        thread.call(POLL, 11, 0);
        if round == 3 {
            thread.call(OPENAT, 12, 0);
            thread.fault(13);
        }
    }
    thread.call(OPENAT, 20, 0);
    assert_eq!(thread.lines(), [12, 13]);
    assert_eq!(thread.finder.sections(), 29);
    let wait = thread.finder.wait().unwrap();
    assert_eq!((wait.call.as_str(), wait.at.line), ("call 230", Some(10)));
    assert!(wait.period.is_some());
}

#[test]
fn the_wait_is_where_the_thread_sleeps_longest_though_a_rare_sleep_is_regular() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for round in 0..600 {
        // Irregular around 1 ms, as under load.
        thread.call(NANOSLEEP, 10, if round % 2 == 0 { 300 } else { 1700 });
        if round % 20 == 0 {
            thread.call(NANOSLEEP, 11, 100);
        }
    }
    assert_eq!(thread.lines(), [11; 30]);
    assert_eq!(thread.finder.wait().unwrap().at.line, Some(10));
}

#[test]
fn of_two_regular_sleeps_the_longer_is_the_wait() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for _ in 0..40 {
        thread.call(NANOSLEEP, 10, 900);
        thread.call(NANOSLEEP, 11, 80);
    }
    assert!(thread.lines().iter().all(|line| *line == 11));
    assert_eq!(thread.finder.sections(), 39);
}

#[test]
fn a_lock_that_is_contended_in_each_period_is_not_the_wait() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for _ in 0..40 {
        thread.call(NANOSLEEP, 10, 300);
        thread.call(FUTEX, 11, 700);
    }
    assert!(thread.lines().iter().all(|line| *line == 11));
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    (0..40).for_each(|_| thread.call(FUTEX, 11, 700));
    assert_eq!((thread.lines(), thread.finder.sections()), (Vec::new(), 39));
}

#[test]
fn a_condition_variable_wakes_and_locks_within_its_wait() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for _ in 0..40 {
        for (what, sleeps) in [("futex wait bitset", 900), ("futex wake", 0), ("futex wait", 20)] {
            thread.call_for(FUTEX, what, 10, sleeps);
        }
        thread.call_for(FUTEX, "futex wake", 11, 0);
    }
    assert_eq!((thread.lines(), thread.finder.sections()), (vec![11; 39], 39));
    let wait = thread.finder.wait().unwrap();
    assert_eq!((wait.call.as_str(), wait.period.is_some()), ("futex wait bitset", true));
}

#[test]
fn a_given_wait_is_used_though_another_sleeps_longer() {
    let given = GivenWait { number: POLL, at: None };
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), Some(given)));
    for _ in 0..40 {
        thread.call(NANOSLEEP, 10, 900);
        thread.call(POLL, 11, 80);
    }
    assert_eq!(thread.finder.wait().unwrap().call, "call 7");
    assert!(thread.lines().iter().all(|line| *line == 10));
}

#[test]
fn a_given_wait_can_be_at_one_line_of_a_file() {
    let given = GivenWait { number: POLL, at: Some(("src/servo.c".to_owned(), 42)) };
    let is = |file: &str, line| {
        let at = CodePlace { file: Some(file.to_owned()), ..place(line) };
        let (kind, what) = (ViolationKind::SystemCall, String::new());
        given.is(&Call { number: POLL, kind, what, at })
    };
    assert!(is("/home/u/src/servo.c", 42) && is("src/servo.c", 42));
    assert!(!is("/home/u/src/servo.c", 43) && !is("/home/u/src/my-servo.c", 42));
}

#[test]
fn an_irregular_thread_waits_where_it_sleeps_longest() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for sleeps in [50, 9000, 731, 2900, 100, 410, 8800, 1250, 3600, 20] {
        thread.call(POLL, 10, sleeps);
        thread.call(OPENAT, 11, 1);
    }
    assert_eq!(thread.lines(), [11; 9]);
    assert_eq!(thread.finder.wait().unwrap().period, None);
}

#[test]
fn faults_within_the_wait_are_none_and_those_within_other_calls_are() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for _ in 0..20 {
        for (number, line) in [(NANOSLEEP, 10), (OPENAT, 11)] {
            let (kind, at) = (ViolationKind::SystemCall, place(line));
            thread.step(Step::Enter(Call { number, kind, what: String::new(), at }));
            thread.fault(line + 10);
            thread.step(Step::Out { preempted: false });
            thread.now += if number == NANOSLEEP { 990_000 } else { 1 };
            thread.step(Step::In);
            thread.step(Step::Exit);
        }
    }
    assert_eq!(thread.lines()[..4], [21, 11, 21, 11]);
}

#[test]
fn preemption_ends_no_section_and_what_is_known_of_one_with_a_loss_is_found() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for round in 0..20 {
        thread.call(NANOSLEEP, 10, 990);
        thread.call(OPENAT, 11, 0);
        thread.step(Step::Out { preempted: true });
        thread.step(Step::In);
        if round == 9 {
            thread.step(Step::Lost);
        }
    }
    assert_eq!(thread.lines().len(), 19);
    assert_eq!((thread.finder.sections(), thread.finder.interrupted()), (19, 1));
    assert_eq!(thread.finder.lost(), 0);
}

/// A thread of 100 periods that makes `lost` known as lost from one period to another.
fn with_a_loss(lost: std::ops::Range<u32>) -> Thread {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    for round in 0..100 {
        if lost.contains(&round) {
            thread.now += 1_000_000;
            continue;
        }
        if round == lost.end {
            thread.step(Step::Lost);
        }
        thread.call(NANOSLEEP, 10, 989);
        thread.now += 10_000;
        if round + 1 == lost.start {
            thread.fault(12);
        }
    }
    thread.step(Step::Fault { memory: String::new(), at: place(13) });
    thread
}

#[test]
fn sections_between_losses_are_counted_by_the_period() {
    let mut thread = with_a_loss(50..70);
    assert_eq!(thread.lines(), [12]);
    let finder = &thread.finder;
    assert_eq!((finder.sections(), finder.interrupted(), finder.lost()), (79, 1, 20));
}

#[test]
fn a_loss_after_the_last_known_wait_leaves_a_section_in_part() {
    let mut thread = with_a_loss(50..100);
    thread.step(Step::Lost);
    assert_eq!(thread.lines(), []);
    let finder = &thread.finder;
    assert_eq!((finder.sections(), finder.interrupted(), finder.lost()), (50, 1, 49));
}

#[test]
fn without_system_calls_a_section_is_any_time_awake_after_the_first_sleep() {
    let mut thread = Thread::new(SectionFinder::without_calls());
    thread.fault(1);
    for line in [2, 3] {
        thread.step(Step::Out { preempted: false });
        thread.step(Step::In);
        thread.fault(line);
    }
    thread.step(Step::Out { preempted: false });
    assert_eq!(thread.lines(), [2, 3]);
    assert_eq!(thread.finder.sections(), 2);
}

#[test]
fn a_thread_that_never_sleeps_has_no_sections() {
    let mut thread = Thread::new(SectionFinder::new(Vec::new(), None));
    (0..100).for_each(|_| thread.call(OPENAT, 10, 0));
    assert_eq!(thread.lines(), []);
    assert_eq!((thread.finder.wait(), thread.finder.sections()), (None, 0));
}
