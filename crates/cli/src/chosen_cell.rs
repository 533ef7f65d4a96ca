//! The cell that `--cell` or `RUN#CELL` chooses.

use std::path::Path;

use tactus_app::Error;
use tactus_model::address::Address;

use crate::error::{CommandError, CommandResult};

/// The address of a run with the cell of the option `--cell`.
pub(crate) fn chosen(address: &Address, cell: Option<&str>) -> CommandResult<Address> {
    let Some(cell) = cell else { return Ok(address.clone()) };
    if Path::new(address.as_str()).is_file() && address.cell().is_some() {
        let message = "the name of this file contains `#`; rename it to choose a cell";
        return Err(CommandError::usage(message));
    }
    Ok(address.with_cell(cell).map_err(Error::from)?)
}
