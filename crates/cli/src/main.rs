//! The `tactus` command.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tactus_cli::main()
}
