//! The pages of the results site. Every page links to others by their paths on the site.

mod history;
mod lists;

use askama::Template;

use crate::page::ReportError;
use crate::page::frame::{Frame, written};

pub use history::{HistoryPage, history_page};
pub use lists::{
    FigureCell, FigureGroup, Machine, MachinesPage, RunRow, RunsPage, figures_page, machines_page,
    runs_page,
};

/// The path of a page with a query, encoded.
pub fn path(page: &str, query: &[(&str, &str)]) -> String {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(query);
    let encoded = encoded.finish();
    if encoded.is_empty() { page.to_owned() } else { format!("{page}?{encoded}") }
}

/// The first digits of a machine's digest: enough to distinguish the machines of a site.
pub fn short(machine: &str) -> String {
    machine.chars().take(8).collect()
}

/// A machine in a few words: the name of a node is whole.
fn machine_words(machine: Option<&str>) -> String {
    match machine {
        None => "unknown machine".to_owned(),
        Some(node) if node.starts_with("node ") => node.to_owned(),
        Some(digest) => short(digest),
    }
}

/// What all pages of the site have.
struct Site {
    /// What is known of the store, in a line.
    state: String,
}

/// Writes the page about a request that cannot be answered: what is wrong, and what to do.
///
/// # Errors
/// The page could not be put together.
pub fn refusal_page(title: &str, text: &str) -> Result<String, ReportError> {
    let page = Refusal {
        title: title.to_owned(),
        text: text.to_owned(),
        site: Site { state: String::new() },
        frame: Frame::new(STYLES, &[]),
    };
    Ok(written(&page)?)
}

/// The styles of the site besides those of all pages.
const STYLES: &str = include_str!("../../templates/site.css");

#[derive(Template)]
#[template(path = "site_refusal.html")]
struct Refusal {
    title: String,
    text: String,
    site: Site,
    frame: Frame,
}
