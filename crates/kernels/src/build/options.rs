//! Why Linux did not take an option: what its own description of options says.

use std::fs;
use std::path::Path;

use tactus_model::text::nearest;

use super::configuration::Refused;

/// Why the source in `tree` has not taken an option, as a person is told.
pub(super) fn why(tree: &Path, refused: &Refused) -> String {
    let mut descriptions = Vec::new();
    gather(tree, &mut descriptions);
    let Refused { name, asked, found } = refused;
    format!("{name}={asked}: {}", reason(&descriptions, name, found))
}

/// The contents of all files below a directory that describe options.
fn gather(directory: &Path, descriptions: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory {
            gather(&entry.path(), descriptions);
        } else if entry.file_name().to_string_lossy().starts_with("Kconfig") {
            descriptions.extend(fs::read_to_string(entry.path()));
        }
    }
}

fn reason(descriptions: &[String], name: &str, found: &str) -> String {
    let blocks = || descriptions.iter().flat_map(|text| blocks(text));
    let needs: Vec<&str> = blocks()
        .filter(|(known, _)| *known == name)
        .flat_map(|(_, lines)| lines)
        .filter_map(|line| line.trim().strip_prefix("depends on "))
        .collect();
    let known: Vec<&str> = blocks().map(|(known, _)| known).collect();
    if !known.contains(&name) {
        let hint = nearest(name, &known).map(|near| format!(" (did you mean `{near}`?)"));
        return format!("there is no such option{}", hint.unwrap_or_default());
    }
    match needs.as_slice() {
        [] => format!("it is {found}, which other options decide"),
        needs => format!("it is {found}; it depends on {}", needs.join(", and on ")),
    }
}

/// The options that a text describes, each with the lines of its description.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let begun =
            ["config ", "menuconfig "].iter().find_map(|word| line.trim().strip_prefix(word));
        match (begun, blocks.last_mut()) {
            (Some(name), _) => blocks.push((name.trim(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTIONS: &str = "config DEBUG_LIST\n\tbool \"Debug lists\"\n\
        \tdepends on DEBUG_KERNEL\n\tdepends on !SMALL\n\nmenuconfig BLOCK\n\tbool\n\
        \nchoice\n\tprompt \"One\"\n\n\tconfig ONE\n\t\tbool\n\nendchoice\n";

    fn check(name: &str, found: &str, expected: &str) {
        assert_eq!(reason(&[DESCRIPTIONS.to_owned()], name, found), expected);
    }

    #[test]
    fn an_option_that_was_not_taken_is_explained_by_its_description() {
        check("DEBUG_LIST", "n", "it is n; it depends on DEBUG_KERNEL, and on !SMALL");
        check("BLOCK", "y", "it is y, which other options decide");
        check("ONE", "n", "it is n, which other options decide");
        check("DEBUG_LISTS", "n", "there is no such option (did you mean `DEBUG_LIST`?)");
        check("QQQQQQQ", "n", "there is no such option");
    }

    #[test]
    fn descriptions_are_found_wherever_they_lie() {
        let tree = tempfile::tempdir().unwrap();
        let below = tree.path().join("lib");
        fs::create_dir(&below).unwrap();
        fs::write(below.join("Kconfig.debug"), DESCRIPTIONS).unwrap();
        let refused =
            Refused { name: "ONE".to_owned(), asked: "y".to_owned(), found: "n".to_owned() };
        assert!(why(tree.path(), &refused).starts_with("ONE=y: it is n"));
    }
}
