//! What a cell changes of the machine, for as long as it is measured.

use std::path::Path;

use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_rt::settings::{ChangedSettings, NotChanged, SettingChange, put_back_left};
use tactus_sys::clock::tick;

use crate::{block_requests, quantum};

/// Settings of the machine that are as a cell asks for as long as this value lives.
#[derive(Debug)]
pub struct HeldSettings {
    _changed: Vec<ChangedSettings>,
}

/// Sees to it that the machine is as `cell` asks, by guardians that `executable` is run as;
/// `directory` is that of the loads. What is not granted is told, and left as it was.
pub fn hold(cell: &Cell, executable: &Path, directory: &Path) -> (HeldSettings, Vec<Shortfall>) {
    let root = Path::new("/");
    put_back_left(root);
    let asked = [
        (
            "block-requests",
            cell.block_requests.to_string(),
            block_requests::changes(cell.block_requests, root, directory),
        ),
        ("quantum", cell.quantum.to_string(), quantum::changes(cell, tick())),
    ];
    let (mut changed, mut shortfalls) = (Vec::new(), Vec::new());
    for (setting, value, changes) in asked {
        match change(changes, executable) {
            Ok(held) => changed.extend(held),
            Err(NotChanged { reason, fix }) => shortfalls.push(Shortfall {
                asked: format!("{setting} {value}"),
                granted: format!("{setting} untouched"),
                reason,
                fix,
            }),
        }
    }
    (HeldSettings { _changed: changed }, shortfalls)
}

fn change(
    changes: Result<Vec<SettingChange>, NotChanged>,
    executable: &Path,
) -> Result<Option<ChangedSettings>, NotChanged> {
    match changes? {
        none if none.is_empty() => Ok(None),
        changes => ChangedSettings::make(executable, changes).map(Some),
    }
}
