//! Why Linux rejected an option, from its own Kconfig files.

use std::fs;
use std::path::Path;

use tactus_model::text::nearest;

use super::configuration::Refused;

/// Why the source in `tree` rejected an option, as a message.
pub(super) fn why(tree: &Path, refused: &Refused) -> String {
    let mut descriptions = Vec::new();
    gather(tree, &mut descriptions);
    let Refused { name, requested, found } = refused;
    format!("{name}={requested}: {}", reason(&descriptions, name, found))
}

/// The contents of all Kconfig files below a directory.
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
        return format!("no such option{}", hint.unwrap_or_default());
    }
    match needs.as_slice() {
        [] => format!("its value is {found}, determined by other options"),
        needs => format!("its value is {found}; it depends on {}", needs.join(", and on ")),
    }
}

/// The options in a Kconfig file, each with the lines of its description.
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
    fn a_rejected_option_is_explained_by_its_description() {
        check("DEBUG_LIST", "n", "its value is n; it depends on DEBUG_KERNEL, and on !SMALL");
        check("BLOCK", "y", "its value is y, determined by other options");
        check("ONE", "n", "its value is n, determined by other options");
        check("DEBUG_LISTS", "n", "no such option (did you mean `DEBUG_LIST`?)");
        check("QQQQQQQ", "n", "no such option");
    }

    #[test]
    fn descriptions_are_found_in_subdirectories() {
        let tree = tempfile::tempdir().unwrap();
        let below = tree.path().join("lib");
        fs::create_dir(&below).unwrap();
        fs::write(below.join("Kconfig.debug"), DESCRIPTIONS).unwrap();
        let refused =
            Refused { name: "ONE".to_owned(), requested: "y".to_owned(), found: "n".to_owned() };
        assert!(why(tree.path(), &refused).starts_with("ONE=y: its value is n"));
    }
}
