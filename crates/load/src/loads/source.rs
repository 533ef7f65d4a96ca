//! Generated C programs, as large as the programs compiled in the load of 1992.

use tactus_model::random::SplitMix64;

/// Lines of the program, as in the paper of 1992.
const LINES: usize = 200;

/// Functions of the program; each has ten lines.
const FUNCTIONS: usize = 18;

/// A program of 200 lines in one file.
pub(super) fn program(random: &mut SplitMix64) -> String {
    let mut text = HEAD.to_owned();
    for number in 0..FUNCTIONS {
        text += &function(number, random);
    }
    text += &main("", "work", FUNCTIONS);
    // Comments fill the rest of the 200 lines.
    let missing = LINES.saturating_sub(text.lines().count());
    text + &"/* the end */\n".repeat(missing)
}

/// A source file of a program with several files.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The file's name.
    pub name: String,
    /// The file's text.
    pub text: String,
}

/// C files that contain the functions of the divided program.
const PARTS: usize = 4;

/// A program of the same size, divided into a header, four parts and a main file.
pub(super) fn divided_program(random: &mut SplitMix64) -> Vec<Source> {
    let each = FUNCTIONS / PARTS;
    let declarations: String = (0..PARTS)
        .map(|part| format!("unsigned part_{part}(unsigned *table, unsigned count);\n"))
        .collect();
    let mut sources = vec![
        Source { name: "parts.h".to_owned(), text: declarations },
        Source {
            name: "main.c".to_owned(),
            text: HEAD.to_owned() + &main("#include \"parts.h\"\n", "part", PARTS),
        },
    ];
    for part in 0..PARTS {
        let mut text = format!("{HEAD}#include \"parts.h\"\n\n");
        let mut sum = String::new();
        for number in 0..each {
            text += &function(number, random);
            sum += &format!(" + work_{number}(table, count)");
        }
        text += &format!(
            "unsigned part_{part}(unsigned *table, unsigned count)\n{{\n    return 0{sum};\n}}\n"
        );
        sources.push(Source { name: format!("part_{part}.c"), text });
    }
    sources
}

const HEAD: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

";

/// A function of ten lines that computes over a table, with its own constants.
fn function(number: usize, random: &mut SplitMix64) -> String {
    let (start, factor, add) =
        (random.below(1 << 31), random.below(1 << 31) | 1, random.below(999));
    let (right, left, mask) = (1 + random.below(15), 1 + random.below(15), 1 + random.below(7));
    format!(
        "static unsigned work_{number}(unsigned *table, unsigned count)
{{
    unsigned total = {start}u;
    for (unsigned i = 0; i < count; i++) {{
        table[i] = table[i] * {factor}u + (total >> {right});
        total ^= table[i] + (i & {mask}u ? {add}u : total << {left});
    }}
    return total;
}}

"
    )
}

/// Calls `{prefix}_0` to `{prefix}_{count - 1}`.
fn main(includes: &str, prefix: &str, count: usize) -> String {
    let calls: String =
        (0..count).map(|number| format!(" ^ {prefix}_{number}(table, 256)")).collect();
    format!(
        "{includes}int main(int argc, char **argv)
{{
    unsigned *table = calloc(256, sizeof *table);
    if (table == NULL)
        return EXIT_FAILURE;
    for (int i = 1; i < argc; i++)
        table[i % 256] = (unsigned)strlen(argv[i]);
    unsigned total = 0{calls};
    printf(\"%u\\n\", total);
    free(table);
    return EXIT_SUCCESS;
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_200_lines_and_follows_from_its_seed() {
        let text = program(&mut SplitMix64::new(1));
        assert_eq!(text.lines().count(), LINES);
        assert_eq!(text, program(&mut SplitMix64::new(1)));
        assert_ne!(text, program(&mut SplitMix64::new(2)));
    }

    #[test]
    fn the_divided_program_has_about_as_many() {
        let sources = divided_program(&mut SplitMix64::new(1));
        assert_eq!(sources.len(), PARTS + 2);
        let lines: usize = sources.iter().map(|source| source.text.lines().count()).sum();
        assert!((LINES..LINES * 3 / 2).contains(&lines), "{lines}");
    }
}
