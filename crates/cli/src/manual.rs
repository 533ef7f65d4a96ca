//! What manual pages say about every command: exit codes, environment and files.

/// Exit codes and their meanings.
pub const EXIT_CODES: [(&str, &str); 9] = [
    ("0", "success, also if the reader closes the output"),
    ("1", "a demand or check failed"),
    ("2", "wrong usage"),
    ("3", "not permitted or not available on this machine"),
    ("4", "a bug in tactus"),
    ("5", "some or all turns of a measurement failed"),
    ("130", "interrupted (SIGINT)"),
    ("143", "terminated (SIGTERM)"),
    ("129", "hung up (SIGHUP): what was measured is kept"),
];

/// Environment variables and their effects.
pub const ENVIRONMENT: [(&str, &str); 7] = [
    (
        "TACTUS_STORE",
        "Results database without --store: a file, whose directory must exist, or the URL of a PostgreSQL database.",
    ),
    ("PGPASSWORD", "Password for a PostgreSQL database whose URL has none."),
    (
        "XDG_DATA_HOME",
        "Directory of the results database without TACTUS_STORE [default: ~/.local/share].",
    ),
    ("XDG_CACHE_HOME", "Directory of fetched and built kernels [default: ~/.cache]."),
    (
        "TACTUS_GUEST",
        "Program that runs in guest kernels [default: the one in tactus, beside it, or built from its source].",
    ),
    ("NO_COLOR", "If set and not empty, nothing is coloured, except with --color always."),
    ("PATH", "Directories of programs that loads, builds and guests start."),
];

/// Files and their contents.
pub const FILES: [(&str, &str); 3] = [
    ("~/.local/share/tactus/runs.sqlite", "Results database."),
    ("~/.local/share/tactus/reports/", "Pages of runs."),
    ("~/.cache/tactus/kernels/", "Fetched and built kernels."),
];

/// The exit codes in a sentence, for the help.
pub(crate) fn exit_codes() -> String {
    let codes: Vec<String> =
        EXIT_CODES.iter().map(|(code, meaning)| format!("{code} {meaning}")).collect();
    format!("Exit codes: {}.", codes.join("; "))
}
