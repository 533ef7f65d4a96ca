//! What a cell changes of the machine, for as long as it is measured.

use std::path::Path;

use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_sys::clock::tick;

use crate::keeper::{Change, Kept, Refusal, put_back_left};
use crate::{block_requests, quantum};

/// Settings of the machine that are as a cell asks for as long as this value lives.
#[derive(Debug)]
pub struct HeldSettings {
    _kept: Vec<Kept>,
}

/// Sees to it that the machine is as `cell` asks, by keepers that `executable` is run as;
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
    let (mut kept, mut shortfalls) = (Vec::new(), Vec::new());
    for (setting, value, changes) in asked {
        match held(changes, executable) {
            Ok(held) => kept.extend(held),
            Err(Refusal { reason, mend }) => shortfalls.push(Shortfall {
                asked: format!("{setting} {value}"),
                granted: format!("{setting} untouched"),
                reason,
                fix: mend,
            }),
        }
    }
    (HeldSettings { _kept: kept }, shortfalls)
}

fn held(changes: Result<Vec<Change>, Refusal>, executable: &Path) -> Result<Option<Kept>, Refusal> {
    match changes? {
        none if none.is_empty() => Ok(None),
        changes => Kept::start(executable, changes).map(Some),
    }
}
