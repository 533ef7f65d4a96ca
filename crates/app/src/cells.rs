//! Choosing cells of a run.

use crate::{Error, Result};

/// The number of the named cell: its label, or its number counted from 0. Without a name, the
/// numbers of all cells.
pub(crate) fn chosen(labels: &[String], wanted: Option<&str>) -> Result<Vec<usize>> {
    let Some(wanted) = wanted else { return Ok((0..labels.len()).collect()) };
    let by_name = labels.iter().position(|label| label == wanted);
    let by_number = || wanted.parse().ok().filter(|number| *number < labels.len());
    by_name.or_else(by_number).map(|cell| vec![cell]).ok_or_else(|| {
        let cells: Vec<String> =
            labels.iter().zip(0..).map(|(label, number)| format!("{number} {label}")).collect();
        Error::usage(format!("no such cell: `{wanted}`"))
            .with_hint(format!("the cells are: {}", cells.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_or_a_number_selects_a_cell() {
        let labels = ["fifo:90", "other"].map(str::to_owned);
        assert_eq!(chosen(&labels, None).unwrap(), [0, 1]);
        assert_eq!(chosen(&labels, Some("other")).unwrap(), [1]);
        assert_eq!(chosen(&labels, Some("0")).unwrap(), [0]);
        let error = chosen(&labels, Some("2")).unwrap_err();
        assert_eq!(error.to_string(), "no such cell: `2`");
        assert_eq!(error.hint(), Some("the cells are: 0 fifo:90, 1 other"));
    }
}
