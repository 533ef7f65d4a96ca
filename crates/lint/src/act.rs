//! What a thread did, in words.

use tactus_model::violation::ViolationKind;
use tactus_sys::section::Act;
use tactus_sys::system_call::name;

/// The operation of `futex` without its flags, see
/// [futex(2)](https://man7.org/linux/man-pages/man2/futex.2.html).
const FUTEX_OPERATION: u64 = 0x7f;

/// The operations of `futex`, by their numbers.
const FUTEX: [&str; 14] = [
    "wait",
    "wake",
    "fd",
    "requeue",
    "cmp requeue",
    "wake op",
    "lock PI",
    "unlock PI",
    "trylock PI",
    "wait bitset",
    "wake bitset",
    "wait requeue PI",
    "cmp requeue PI",
    "lock PI 2",
];

/// The kind of a system call, and what it is. `argument` is its second one.
///
/// ```
/// use tactus_lint::{ViolationKind, system_call};
/// use tactus_sys::system_call::number;
///
/// let futex = number("futex").unwrap();
/// assert_eq!(system_call(futex, 0x80), (ViolationKind::ContendedLock, "futex wait".to_owned()));
/// assert_eq!(system_call(-7, 0), (ViolationKind::SystemCall, "system call -7".to_owned()));
/// ```
pub fn system_call(number: i64, argument: u64) -> (ViolationKind, String) {
    match name(number) {
        Some("futex") => {
            let operation = usize::try_from(argument & FUTEX_OPERATION).unwrap_or(usize::MAX);
            let what =
                FUTEX.get(operation).map_or("futex".to_owned(), |word| format!("futex {word}"));
            (ViolationKind::ContendedLock, what)
        }
        Some(name) => (ViolationKind::SystemCall, name.to_owned()),
        None => (ViolationKind::SystemCall, format!("system call {number}")),
    }
}

/// The kind of a page fault in memory of this description, and what it is.
pub fn fault(memory: &str) -> (ViolationKind, String) {
    (ViolationKind::PageFault, memory.to_owned())
}

/// The kind of what was caught, and what it is; `memory` describes that at an address.
pub(crate) fn words(act: Act, memory: impl FnOnce(u64) -> String) -> (ViolationKind, String) {
    match act {
        Act::Call { number, argument } => system_call(number, argument),
        Act::Fault { address } => fault(&memory(address)),
        Act::Allocate { .. } => (ViolationKind::Allocation, "allocate".to_owned()),
        Act::Reallocate { .. } => (ViolationKind::Allocation, "reallocate".to_owned()),
        Act::Free => (ViolationKind::Allocation, "free".to_owned()),
    }
}
