//! The names of runs.

use tactus_model::facts::NodeFacts;
use tactus_model::format::compact_date;
use tactus_model::run::RunId;
use tactus_model::time::{Instant, Realtime};

/// The word for the last run; it is not a valid run name.
pub(crate) const LAST: &str = "last";

/// The maximum length of an imported name.
const LONGEST: usize = 200;

/// What a run name may be, in words; [`is_fit`] checks it.
pub(crate) const LIMITS: &str = "a run name has 1 to 200 characters, each an ASCII letter or \
    digit, `-`, `_` or `.`, does not begin with `-` or `.`, and is not `last`";

/// Names for a run of the experiment `name`, started at `created`, the preferred name first:
/// `quick-20261121-113355`, then `quick-20261121-113355-2`, and so on.
pub(crate) fn names_for(name: &str, created: Instant<Realtime>) -> impl Iterator<Item = RunId> {
    numbered(after(name, created))
}

/// Names for a run of a group on a node, the preferred name first: `quick-20261121-113355-n1`.
pub(crate) fn names_on(node: &NodeFacts) -> impl Iterator<Item = RunId> {
    let plain = |text: &str, most: usize| -> String {
        text.chars().take(most).map(|c| if allowed(c) { c } else { '-' }).collect()
    };
    let (group, name) = (plain(&node.group, LONGEST / 2), plain(&node.name, LONGEST / 4));
    let group = if group.is_empty() || group.starts_with(['-', '.']) {
        format!("run{group}")
    } else {
        group
    };
    numbered(RunId::new(format!("{group}-{name}")))
}

/// The preferred name for a run of the experiment `name`, started at `created`.
pub fn after(name: &str, created: Instant<Realtime>) -> RunId {
    let moment = compact_date(created);
    let name: String =
        name.chars().take(LONGEST / 2).map(|c| if allowed(c) { c } else { '-' }).collect();
    // A name that begins with a dash would be an option on a command line, with a dot a hidden file.
    let name =
        if name.is_empty() || name.starts_with(['-', '.']) { format!("run{name}") } else { name };
    RunId::new(format!("{name}-{moment}"))
}

/// `id` itself, then with the suffix `-2`, `-3`, ….
pub(crate) fn numbered(id: RunId) -> impl Iterator<Item = RunId> {
    let next = id.clone();
    std::iter::once(id).chain((2_u64..).map(move |number| RunId::new(format!("{next}-{number}"))))
}

/// Whether an imported name is a valid run name, by [`LIMITS`].
pub(crate) fn is_fit(id: &RunId) -> bool {
    let id = id.as_str();
    (1..=LONGEST).contains(&id.len())
        && !id.starts_with(['-', '.'])
        && !id.eq_ignore_ascii_case(LAST)
        && id.chars().all(allowed)
}

/// Characters that need no quoting in a shell and no path separators.
fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, seconds: u64, expected: [&str; 2]) {
        let created = Instant::from_nanos(seconds * 1_000_000_000 + 999_999_999);
        let names: Vec<RunId> = names_for(name, created).take(2).collect();
        assert_eq!(names, expected.map(RunId::new));
        assert!(names.iter().all(is_fit));
    }

    #[test]
    fn a_run_is_named_after_its_experiment_and_start_time() {
        check("quick", 1_795_260_835, ["quick-20261121-113355", "quick-20261121-113355-2"]);
        check(
            "papers/timer-latency",
            0,
            ["papers-timer-latency-19700101-000000", "papers-timer-latency-19700101-000000-2"],
        );
        check("", 0, ["run-19700101-000000", "run-19700101-000000-2"]);
        check("-x/y", 0, ["run-x-y-19700101-000000", "run-x-y-19700101-000000-2"]);
        check("a b\u{e9}", 0, ["a-b--19700101-000000", "a-b--19700101-000000-2"]);
    }

    #[test]
    fn runs_on_nodes_are_named_after_their_group_and_their_node() {
        let node =
            |name: &str, group: &str| NodeFacts { name: name.to_owned(), group: group.to_owned() };
        let names = names_on(&node("n1", "quick-20261121-113355")).take(2).collect::<Vec<_>>();
        let expected = ["quick-20261121-113355-n1", "quick-20261121-113355-n1-2"];
        assert_eq!(names, expected.map(RunId::new));
        let long = "x".repeat(1000);
        for (name, group) in [("a/b", "-x"), (&long[..], &long[..]), ("", "")] {
            assert!(names_on(&node(name, group)).take(3).all(|id| is_fit(&id)));
        }
    }

    #[test]
    fn imported_names_are_checked() {
        let [long, too_long] = [200, 201].map(|length| "x".repeat(length));
        for fit in ["x", "a.b_c-1", &long] {
            assert!(is_fit(&RunId::new(fit)), "{fit:?}");
        }
        let escape = "\u{1b}[2Jrun";
        for unfit in
            ["", "last", "a/b", "a b", "..\n", "-rf", "--max", "run#1", escape, "é", &too_long]
        {
            assert!(!is_fit(&RunId::new(unfit)), "{unfit:?}");
        }
    }
}
