//! What killed Tactus processes have left behind.

use super::Tree;
use crate::setting::left_changed;
use crate::tracefs::stale_instances;

/// The settings that were left changed, and the instances of tracefs that still record; `None`
/// without root, since only root sees all of them.
pub(super) fn read(tree: &Tree<'_>, user: Option<u32>) -> Option<Vec<String>> {
    user.filter(|user| *user == 0)?;
    let settings = left_changed(tree.root());
    let settings = settings.iter().map(|path| format!("/{}", path.display()));
    let instances = stale_instances(tree.root());
    let instances = instances.iter().map(|name| format!("tracing instance {name}"));
    Some(settings.chain(instances).collect())
}
