//! The book against a kernel that counts.

use proptest::prelude::*;
use tactus_qos::Need;

use super::*;

const MS: Nanos = Nanos::from_millis(1);
const TICK: Nanos = Nanos::from_millis(4);

fn at(milliseconds: u64) -> Moment {
    Moment::from_nanos(MS.saturating_mul(milliseconds).as_nanos())
}

fn terms(cost_min: u64, cost_max: u64, period: u64, importance: u8) -> Terms {
    let need = Need {
        cost_max: Some(MS.saturating_mul(cost_max)),
        importance: Some(importance),
        ..Need::new(MS.saturating_mul(period), MS.saturating_mul(cost_min))
    };
    need.check().unwrap()
}

/// A book of one CPU in which every user may take all.
fn book() -> Book {
    let whole = Bandwidth::percent_of_cpus(100, 1);
    let mut book = Book::new(whole, TICK);
    (0..4).for_each(|user| book.set_cap(user, whole));
    book
}

/// Carries out what can happen now, and returns it as `reserve:cost`.
fn settle(book: &mut Book, now: Moment) -> Vec<String> {
    let steps = book.steps(now);
    steps.iter().for_each(|step| book.record(step, now));
    steps.iter().map(|step| format!("{}:{}", step.reserve.0, step.capacity.cost())).collect()
}

#[test]
fn a_newcomer_waits_until_others_have_returned_what_it_needs() {
    let mut book = book();
    book.admit(ReserveId(1), 1, terms(2, 10, 10, 10)).unwrap();
    assert_eq!(settle(&mut book, at(0)), ["1:10ms"]);
    book.admit(ReserveId(2), 2, terms(4, 10, 20, 10)).unwrap();
    assert_eq!(settle(&mut book, at(5)), ["1:5ms"], "60 and 80 % are shared alike");
    assert_eq!(book.next_due(), Some(at(15)), "a period later");
    assert!(settle(&mut book, at(14)).is_empty());
    assert_eq!(settle(&mut book, at(15)), ["2:10ms"]);
    book.remove(ReserveId(1), at(60));
    book.admit(ReserveId(3), 3, terms(5, 5, 10, 10)).unwrap();
    assert!(settle(&mut book, at(59)).is_empty(), "the thread has left in debt");
    assert_eq!(settle(&mut book, at(60)), ["3:5ms"]);
}

#[test]
fn a_later_request_takes_nothing_that_an_earlier_one_waits_for() {
    let mut book = book();
    book.admit(ReserveId(1), 1, terms(1, 10, 10, 10)).unwrap();
    settle(&mut book, at(0));
    book.admit(ReserveId(2), 2, terms(5, 5, 10, 10)).unwrap();
    settle(&mut book, at(0));
    book.admit(ReserveId(3), 3, terms(1, 1, 10, 10)).unwrap();
    assert_eq!(settle(&mut book, at(9)), ["1:4ms"], "only what shrinks");
    assert_eq!(settle(&mut book, at(10)), ["2:5ms"]);
    assert_eq!(settle(&mut book, at(19)), ["3:1ms"]);
}

#[test]
fn a_refusal_names_what_binds_and_the_largest_cost_that_fits() {
    let mut book = book();
    book.set_cap(1, Bandwidth::percent_of_cpus(50, 1));
    book.admit(ReserveId(1), 1, terms(4, 4, 10, 10)).unwrap();
    let refusal = book.admit(ReserveId(2), 1, terms(2, 2, 10, 10)).unwrap_err();
    assert_eq!(refusal.bound_by, Constraint::User);
    assert_eq!(
        refusal.reason,
        "cost_min of 2ms in 10ms does not fit: the reserves of user 1 may take 50\u{202f}% of a CPU, and their minima take 40\u{202f}%; the largest that fits is 1ms"
    );
    let least = refusal.largest_cost.unwrap();
    let terms_of = |cost| Need::new(MS.saturating_mul(10), cost).check().unwrap();
    book.admit(ReserveId(2), 1, terms_of(least)).unwrap();
    book.admit(ReserveId(3), 2, terms(4, 4, 10, 10)).unwrap();
    let refusal = book.admit(ReserveId(4), 3, terms(2, 2, 10, 10)).unwrap_err();
    assert_eq!(refusal.bound_by, Constraint::Machine);
    let refusal = book.admit(ReserveId(4), 3, terms(2, 2, 5000, 10)).unwrap_err();
    assert_eq!(
        refusal.reason,
        "the period of 5s is out of range; the nearest accepted is 4194.304ms"
    );
}

#[test]
fn a_change_that_does_not_fit_keeps_the_terms() {
    let mut book = book();
    book.admit(ReserveId(1), 1, terms(4, 4, 10, 10)).unwrap();
    book.admit(ReserveId(2), 1, terms(4, 4, 10, 10)).unwrap();
    settle(&mut book, at(0));
    assert!(book.change(ReserveId(1), terms(7, 7, 10, 10)).is_err());
    assert!(settle(&mut book, at(1)).is_empty());
    book.change(ReserveId(1), terms(2, 5, 10, 10)).unwrap();
    assert_eq!(settle(&mut book, at(1)), ["1:5ms"]);
}

#[test]
fn a_growth_that_the_kernel_refuses_is_tried_again_later() {
    let mut book = book();
    book.admit(ReserveId(1), 1, terms(1, 1, 10, 10)).unwrap();
    settle(&mut book, at(0));
    book.change(ReserveId(1), terms(1, 5, 10, 10)).unwrap();
    let step = book.steps(at(1))[0];
    book.refuse(&step, at(1));
    assert_eq!(book.granted(ReserveId(1)).unwrap().1, Constraint::Kernel);
    assert!(book.steps(at(1000)).is_empty());
    assert_eq!(book.next_due(), Some(at(1001)));
    assert_eq!(settle(&mut book, at(1001)), ["1:5ms"]);
}

#[test]
fn the_least_cost_is_repaid_within_the_longest_period() {
    let mut book = book();
    let mut check = |period, cost, expected: Option<&str>| {
        let need = Need::new(period, Nanos::from_nanos(cost)).check().unwrap();
        let admitted = book.admit(ReserveId(1), 1, need);
        assert_eq!(admitted.err().map(|refusal| refusal.reason).as_deref(), expected);
    };
    let least = "cost_min of 1ns is too short; the least in 10ms is 9.537us";
    check(MS.saturating_mul(10), 1, Some(least));
    check(MS.saturating_mul(10), 9_537, None);
    let least = "cost_min of 1.023us is too short; the least in 1ms is 1.024us";
    check(MS, 1023, Some(least));
    check(MS, 1024, None);
}

#[test]
fn a_first_grant_is_put_off_whatever_the_need_is() {
    let mut book = book();
    book.admit(ReserveId(1), 1, terms(1, 1, 10, 10)).unwrap();
    book.hold(ReserveId(1), at(100));
    book.change(ReserveId(1), terms(2, 2, 10, 10)).unwrap();
    assert!(settle(&mut book, at(99)).is_empty());
    assert_eq!(book.next_due(), Some(at(100)));
    assert_eq!(settle(&mut book, at(100)), ["1:2ms"]);
}

/// What a client does.
#[derive(Clone, Debug)]
enum Act {
    Admit { user: u32, thread: u8, terms: Terms },
    Change { which: usize, terms: Terms },
    Want { which: usize, micros: u64 },
    Remove { which: usize, debt_micros: u64 },
    Wait { micros: u64 },
}

fn any_terms() -> impl Strategy<Value = Terms> {
    (1_u64..60, 0_u64..60, 1_u64..100, 1_u8..=100).prop_map(|(least, more, period, importance)| {
        // Costs in per cent of the period, so that most are possible.
        let period = MS.saturating_mul(period);
        let cost = |percent: u64| Nanos::from_nanos(period.as_nanos() / 100 * percent.min(100));
        let need = Need {
            cost_max: Some(cost(least + more)),
            importance: Some(importance),
            ..Need::new(period, cost(least))
        };
        need.check().unwrap()
    })
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0_u32..4, 0_u8..9, any_terms())
            .prop_map(|(user, thread, terms)| Act::Admit { user, thread, terms }),
        2 => (0_usize..9, any_terms()).prop_map(|(which, terms)| Act::Change { which, terms }),
        1 => (0_usize..9, 1_u64..50_000).prop_map(|(which, micros)| Act::Want { which, micros }),
        2 => (0_usize..9, prop_oneof![Just(0), 1_u64..200_000])
            .prop_map(|(which, debt_micros)| Act::Remove { which, debt_micros }),
        3 => (1_u64..120_000).prop_map(|micros| Act::Wait { micros }),
    ]
}

/// A kernel that keeps bandwidth for a period after it was returned, as the real one may, and for
/// longer after a thread has left in debt. It never runs a thread again that returns before.
#[derive(Default)]
struct Kernel {
    granted: BTreeMap<ReserveId, (u32, Capacity)>,
    returning: Vec<(u32, u64, Moment)>,
    /// Threads that have left, until they are forgotten.
    remembered: BTreeMap<u8, Moment>,
}

impl Kernel {
    fn units(capacity: Capacity) -> u64 {
        bandwidth(capacity).units()
    }

    fn set(&mut self, user: u32, thread: u8, step: &Step, now: Moment) {
        let is_remembered = self.remembered.get(&thread).is_some_and(|until| *until > now);
        assert!(!step.is_first || !is_remembered, "stuck for ever");
        let before = self.granted.insert(step.reserve, (user, step.capacity));
        let Some((_, before)) = before else { return };
        let less = Self::units(before).saturating_sub(Self::units(step.capacity));
        self.returning.push((user, less, now + before.period()));
    }

    /// Returns when the kernel forgets the thread.
    fn end(&mut self, reserve: ReserveId, thread: u8, debt: Nanos, now: Moment) -> Moment {
        let Some((user, before)) = self.granted.remove(&reserve) else { return now };
        let until = now + before.period() + debt;
        self.returning.push((user, Self::units(before), until));
        self.remembered.insert(thread, until);
        until
    }

    /// What is taken, of a user or of all.
    fn taken(&self, user: Option<u32>, now: Moment) -> u64 {
        let counts = |of: u32| user.is_none_or(|user| user == of);
        let granted = self.granted.values().filter(|(user, _)| counts(*user));
        let returning =
            self.returning.iter().filter(|(user, _, until)| counts(*user) && *until > now);
        granted.map(|(_, capacity)| Self::units(*capacity)).sum::<u64>()
            + returning.map(|(_, units, _)| units).sum::<u64>()
    }
}

proptest! {
    #[test]
    fn no_step_exceeds_a_limit_and_all_reach_their_share(
        acts in prop::collection::vec(any_act(), 1..60),
        capacity in 50_u64..190,
        cap in 20_u64..150,
    ) {
        let (capacity, cap) =
            (Bandwidth::percent_of_cpus(capacity, 1), Bandwidth::percent_of_cpus(cap, 1));
        let mut book = Book::new(capacity, TICK);
        (0..4).for_each(|user| book.set_cap(user, cap));
        let mut kernel = Kernel::default();
        let mut alive: Vec<(ReserveId, u32, Terms, u8)> = Vec::new();
        let mut now = at(0);
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Admit { user, thread, terms } => {
                    let reserve = ReserveId(number as u64);
                    if alive.iter().all(|other| other.3 != thread)
                        && book.admit(reserve, user, terms).is_ok()
                    {
                        alive.push((reserve, user, terms, thread));
                        if let Some(until) = kernel.remembered.get(&thread) {
                            book.hold(reserve, *until);
                        }
                    }
                }
                Act::Change { which, terms } => {
                    let Some(entry) = alive.get_mut(which) else { continue };
                    if book.change(entry.0, terms).is_ok() {
                        entry.2 = terms;
                    }
                }
                Act::Want { which, micros } => {
                    let Some((reserve, ..)) = alive.get(which) else { continue };
                    book.want(*reserve, Nanos::from_micros(micros));
                }
                Act::Remove { which, debt_micros } => {
                    if which >= alive.len() { continue }
                    let (reserve, _, _, thread) = alive.remove(which);
                    let until = kernel.end(reserve, thread, Nanos::from_micros(debt_micros), now);
                    book.remove(reserve, until);
                }
                Act::Wait { micros } => now = now + Nanos::from_micros(micros),
            }
            for step in book.steps(now) {
                let (_, user, terms, thread) =
                    alive.iter().find(|entry| entry.0 == step.reserve).unwrap();
                kernel.set(*user, *thread, &step, now);
                book.record(&step, now);
                prop_assert!(kernel.taken(None, now) <= capacity.units());
                for user in 0..4 {
                    prop_assert!(kernel.taken(Some(user), now) <= cap.units());
                }
                let cost = step.capacity.cost();
                prop_assert!(terms.cost_min <= cost && cost <= terms.cost_max);
            }
        }
        // Left alone, everyone has at least the minimum, and nothing is pending.
        for _ in 0..1000 {
            let Some(due) = book.next_due() else { break };
            now = now.max(due);
            for step in book.steps(now) {
                let (_, user, _, thread) =
                    alive.iter().find(|entry| entry.0 == step.reserve).unwrap();
                kernel.set(*user, *thread, &step, now);
                book.record(&step, now);
                prop_assert!(kernel.taken(None, now) <= capacity.units());
            }
        }
        prop_assert_eq!(book.next_due(), None);
        for (reserve, _, terms, _) in alive {
            let (granted, _) = book.granted(reserve).unwrap();
            prop_assert!(granted.cost() >= terms.cost_min);
            prop_assert_eq!(granted.period(), terms.period);
        }
    }
}
