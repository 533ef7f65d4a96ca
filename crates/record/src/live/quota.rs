//! The control groups with a quota of CPU time, while events are recorded.

use std::collections::BTreeMap;

use tactus_model::recording::QuotaGroup;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::facts::quota_groups;

/// The time between two looks at the groups.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// A look takes at most one part in this many of the time: a machine can have thousands of groups.
const SHARE: u64 = 100;

/// How many groups are remembered, and how many threads of each; further ones are left out.
const GROUPS_MAX: usize = 64;
const THREADS_MAX: usize = 1 << 13;

/// Looks at the groups from time to time: threads join them, and groups come and go.
#[derive(Debug)]
pub(super) struct QuotaWatch {
    /// By path; `None` if the groups cannot be read.
    groups: Option<BTreeMap<String, Watched>>,
    next: Instant<Monotonic>,
}

#[derive(Debug)]
struct Watched {
    group: QuotaGroup,
    /// How long it had been throttled when it was last seen.
    throttled: Nanos,
}

impl QuotaWatch {
    /// Remembers the present groups.
    pub(super) fn start() -> Self {
        let groups = quota_groups().map(|_| BTreeMap::new());
        let mut watch = Self { groups, next: Instant::from_nanos(0) };
        watch.take(true);
        watch
    }

    /// The groups that were seen, in the order of their paths.
    pub(super) fn groups(&self) -> Option<Vec<QuotaGroup>> {
        let groups = self.groups.as_ref()?.values();
        Some(groups.map(|watched| watched.group.clone()).collect())
    }

    /// Looks at the groups if it is time to.
    pub(super) fn look(&mut self) {
        if tactus_sys::clock::now::<Monotonic>() >= self.next {
            self.take(false);
        }
    }

    /// Looks a last time; returns the groups.
    pub(super) fn end(&mut self) -> Option<Vec<QuotaGroup>> {
        self.take(false);
        self.groups()
    }

    fn take(&mut self, is_first: bool) {
        let Some(groups) = &mut self.groups else { return };
        let began = tactus_sys::clock::now::<Monotonic>();
        for present in quota_groups().unwrap_or_default() {
            let has_room = groups.len() < GROUPS_MAX;
            match groups.get_mut(&present.path) {
                Some(watched) => watched.see(present),
                None if has_room => {
                    // What a group that was made since has counted is of the recording.
                    let before = if is_first { present.throttled } else { Nanos::ZERO };
                    let throttled = present.throttled;
                    let group = QuotaGroup { throttled: throttled - before, ..present };
                    groups.insert(group.path.clone(), Watched { group, throttled });
                }
                None => {}
            }
        }
        let ended = tactus_sys::clock::now::<Monotonic>();
        self.next = ended + INTERVAL.max((ended - began).saturating_mul(SHARE));
    }
}

impl Watched {
    fn see(&mut self, present: QuotaGroup) {
        let Self { group, throttled } = self;
        // A group that was made again begins at zero.
        let since = if present.throttled < *throttled { Nanos::ZERO } else { *throttled };
        group.throttled = group.throttled + (present.throttled - since);
        *throttled = present.throttled;
        (group.quota, group.period) = (present.quota, present.period);
        group.threads.extend(present.threads);
        group.threads.sort_unstable();
        group.threads.dedup();
        group.threads.truncate(THREADS_MAX);
    }
}
