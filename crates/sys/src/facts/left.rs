//! What killed Tactus processes have left behind.

use super::Tree;
use crate::cgroup::stale_groups;
use crate::setting::left_changed;
use crate::tracefs::stale_instances;

/// The settings that were left changed, the instances of tracefs that still record, and the control
/// groups that still exist; `None` without root, since only root sees all of them.
pub(super) fn read(tree: &Tree<'_>, user: Option<u32>) -> Option<Vec<String>> {
    user.filter(|user| *user == 0)?;
    let settings = left_changed(tree.root());
    let settings = settings.iter().map(|path| format!("/{}", path.display()));
    let instances = stale_instances(tree.root());
    let instances = instances.iter().map(|name| format!("tracing instance {name}"));
    let groups = stale_groups(tree.root());
    let groups = groups.iter().map(|path| format!("control group {}", path.display()));
    Some(settings.chain(instances).chain(groups).collect())
}
