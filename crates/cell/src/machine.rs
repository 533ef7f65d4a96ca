//! The settings of the machine that a cell changes while it is measured.

use std::path::Path;

use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_rt::settings::{ChangedSettings, LastFirst, NotChanged, SettingChange, put_back_left};
use tactus_sys::clock::tick;

use crate::{block_requests, quantum};

/// Settings of the machine that a cell requests, held while this value lives.
#[derive(Debug)]
pub struct HeldSettings {
    _changed: LastFirst<ChangedSettings>,
}

/// Changes the settings of the machine as `cell` requests, by guardians that run `executable`;
/// `directory` is the directory of the loads. Settings that are not granted are left unchanged,
/// and returned as shortfalls.
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
    let (mut changed, mut shortfalls) = (LastFirst::new(), Vec::new());
    for (setting, value, changes) in asked {
        match change(changes, executable) {
            Ok(held) => held.into_iter().for_each(|held| changed.push(held)),
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
        empty if empty.is_empty() => Ok(None),
        changes => ChangedSettings::make(executable, changes).map(Some),
    }
}
