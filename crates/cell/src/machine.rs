//! The settings of the machine that a cell changes while it is measured.

use std::path::Path;

use tactus_load::remove_left;
use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_settings::{Guardian, LastFirst, NotChanged, SettingChange, restore_left};
use tactus_sys::clock::tick;

use crate::{block_requests, quantum};

/// Settings of the machine that a cell requests, held while this value lives.
#[derive(Debug)]
pub struct HeldSettings {
    guardians: LastFirst<Guardian>,
}

impl HeldSettings {
    /// Restores the settings, the last change first. Returns what went wrong as shortfalls.
    pub fn restore(mut self) -> Vec<Shortfall> {
        let mut shortfalls = Vec::new();
        while let Some(guardian) = self.guardians.pop() {
            shortfalls.extend(guardian.end().into_iter().map(not_guarded));
        }
        shortfalls
    }
}

/// Changes the settings of the machine as `cell` requests, by guardians that run `executable`;
/// `directory` is the directory of the loads. Settings that are not granted are left unchanged,
/// and returned as shortfalls. Removes what killed processes have left.
pub fn hold(cell: &Cell, executable: &Path, directory: &Path) -> (HeldSettings, Vec<Shortfall>) {
    let root = Path::new("/");
    let mut shortfalls: Vec<Shortfall> =
        restore_left(root).into_iter().map(left_as_it_is).collect();
    let asked = [
        (
            "block-requests",
            cell.block_requests.to_string(),
            block_requests::changes(cell.block_requests, root, directory),
        ),
        ("quantum", cell.quantum.to_string(), quantum::changes(cell, tick())),
    ];
    let mut guardians = LastFirst::new();
    for (setting, value, changes) in asked {
        match change(changes, executable) {
            Ok(held) => held.into_iter().for_each(|held| guardians.push(held)),
            Err(NotChanged { reason, fix }) => shortfalls.push(Shortfall {
                asked: format!("{setting} {value}"),
                granted: format!("{setting} untouched"),
                reason,
                fix,
            }),
        }
    }
    (HeldSettings { guardians }, shortfalls)
}

/// Removes what a measuring process has left that was killed together with its guardian or with
/// the host of its load.
pub fn clean_up() {
    // The next cell reports what cannot be restored.
    restore_left(Path::new("/"));
    remove_left(&std::env::temp_dir());
}

/// The shortfall of settings that killed processes had left.
fn left_as_it_is(NotChanged { reason, fix }: NotChanged) -> Shortfall {
    Shortfall {
        asked: "settings of killed runs restored".to_owned(),
        granted: "these settings as they are".to_owned(),
        reason,
        fix,
    }
}

/// The shortfall of settings whose guardian did not restore them.
fn not_guarded(NotChanged { reason, fix }: NotChanged) -> Shortfall {
    Shortfall {
        asked: "settings restored by their guardian".to_owned(),
        granted: "settings restored by the measuring process where possible".to_owned(),
        reason,
        fix,
    }
}

fn change(
    changes: Result<Vec<SettingChange>, NotChanged>,
    executable: &Path,
) -> Result<Option<Guardian>, NotChanged> {
    match changes? {
        empty if empty.is_empty() => Ok(None),
        changes => Guardian::start(executable, changes).map(Some),
    }
}
