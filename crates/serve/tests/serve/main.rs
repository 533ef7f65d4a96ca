//! Tests of the site as a whole, by its replies and in a browser.

#[path = "../../../report/fixtures/runs.rs"]
mod runs;

mod browser;
mod client;
mod replies;
mod safety;
mod schema;
mod stores;
