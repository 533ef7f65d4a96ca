//! What the use cases must not depend on.

#[test]
fn the_use_cases_depend_on_no_argument_parser_and_no_terminal() {
    let manifest = include_str!("../../Cargo.toml").parse::<toml::Table>().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    for name in ["anyhow", "clap", "console", "crossterm", "indicatif", "ratatui", "tactus-cli"] {
        assert!(!dependencies.contains_key(name), "tactus-app depends on {name}");
    }
}
