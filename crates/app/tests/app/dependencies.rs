//! What the use cases must not depend on.

#[test]
fn no_use_case_knows_an_argument_parser_or_a_terminal() {
    let manifest = include_str!("../../Cargo.toml").parse::<toml::Table>().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    for name in ["anyhow", "clap", "console", "crossterm", "indicatif", "ratatui", "tactus-cli"] {
        assert!(!dependencies.contains_key(name), "tactus-app depends on {name}");
    }
}
