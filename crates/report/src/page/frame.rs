//! What all pages share: their styles, and the policy of what a browser may run in them.

use askama::Template;
use tactus_model::digest::policy_hash;
use tactus_model::format::is_plain;

use crate::svg;

/// The head of a page.
pub(crate) struct Frame {
    /// The content of its only style element.
    pub(crate) styles: String,
    /// Its content security policy, which names the style and every script by its hash. Anything
    /// else that comes into the page, for example through a text that is not escaped, does
    /// nothing.
    pub(crate) policy: String,
    pub(crate) version: &'static str,
}

impl Frame {
    /// The frame of a page with these styles besides those of all pages, and with these scripts.
    pub(crate) fn new(styles: &str, scripts: &[&str]) -> Self {
        let styles = [svg::style::STYLE, include_str!("../../templates/page.css"), styles].concat();
        let mut policy = format!("default-src 'none'; style-src {}; ", policy_hash(&styles));
        if !scripts.is_empty() {
            let hashes: Vec<String> = scripts.iter().map(|script| policy_hash(script)).collect();
            policy.push_str(&format!("script-src {}; ", hashes.join(" ")));
        }
        policy.push_str("base-uri 'none'; form-action 'none'");
        Self { styles, policy, version: env!("CARGO_PKG_VERSION") }
    }
}

/// Writes a page. Characters that control, reorder or hide text are shown by their numbers, in a
/// form that means the same in HTML, in SVG and in JSON.
pub(crate) fn written(page: &impl Template) -> Result<String, askama::Error> {
    let written = page.render()?;
    let mut visible = String::with_capacity(written.len());
    for letter in written.chars() {
        match letter {
            '\n' | '\t' => visible.push(letter),
            _ if is_plain(letter) => visible.push(letter),
            _ => visible.push_str(&format!("[U+{:04X}]", u32::from(letter))),
        }
    }
    Ok(visible)
}
