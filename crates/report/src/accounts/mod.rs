//! Where CPU time went, for people: quanta, why they ended, and billing.
//!
//! What is concluded comes from `tactus_explain::account` as it stands in
//! [`Accounts`]; here it only gets its words and its place.

mod content;
pub(crate) mod section;
mod text;
mod words;

use tactus_explain::account::{Account, Accounts};

pub use text::accounts_text;

/// The accounts of a recording, under the name by which a reader knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAccounts {
    /// The name of the file, or what the cell is called within its run.
    pub label: String,
    /// Where its CPU time went.
    pub accounts: Accounts,
}

/// By what the rows of accounts are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountsBy {
    /// By program: processes of one name together.
    #[default]
    Program,
    /// By thread.
    Thread,
}

impl AccountsBy {
    /// The rows, the one that used most first.
    pub(crate) fn rows(self, accounts: &Accounts) -> &[Account] {
        match self {
            Self::Program => &accounts.programs,
            Self::Thread => &accounts.threads,
        }
    }

    /// What a row is called.
    pub(crate) fn head(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Thread => "thread",
        }
    }

    pub(crate) fn name(self, account: &Account) -> String {
        match (self, account.thread) {
            (Self::Thread, Some(thread)) => format!("{} ({thread})", account.name),
            _ => account.name.clone(),
        }
    }
}
