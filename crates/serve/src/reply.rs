//! Replies, and refusals with what to do.

use hyper::StatusCode;
use serde::Serialize;

/// A complete reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

impl Reply {
    pub(crate) fn page(page: String) -> Self {
        Self { status: StatusCode::OK, content_type: HTML, body: page.into_bytes() }
    }

    pub(crate) const fn json_text(body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, content_type: JSON, body }
    }

    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Refusal> {
        let body = serde_json::to_vec(value).map_err(|error| Refusal::defect(error.to_string()))?;
        Ok(Self::json_text(body))
    }
}

/// A request that is not answered.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// What the client reads.
    pub(crate) text: String,
    /// What only the operator reads.
    pub(crate) reason: Option<String>,
}

impl Refusal {
    pub(crate) const fn new(status: StatusCode, text: String) -> Self {
        Self { status, text, reason: None }
    }

    /// The request is wrong.
    pub(crate) const fn bad(text: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// There is no such thing.
    pub(crate) const fn none(text: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// The store cannot be read. The reason may contain paths of this machine, so clients do not
    /// see it.
    pub(crate) fn store(reason: String) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            text: "the results database cannot be read now; the output of `tactus serve` has the \
                reason"
                .to_owned(),
            reason: Some(reason),
        }
    }

    /// An answer cannot be made of what was read.
    pub(crate) fn defect(reason: String) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "a defect of Tactus ended this answer; the output of `tactus serve` has the \
                reason"
                .to_owned(),
            reason: Some(reason),
        }
    }

    /// The refusal as JSON or as a page.
    pub(crate) fn reply(&self, as_json: bool) -> Reply {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let text = format!("{}.", self.text);
        let reply = if as_json {
            Reply::json(&Failure { error: &self.text }).ok()
        } else {
            tactus_report::site::refusal_page(title, &text).ok().map(Reply::page)
        };
        let plain = || Reply {
            status: self.status,
            content_type: "text/plain; charset=utf-8",
            body: text.clone().into_bytes(),
        };
        Reply { status: self.status, ..reply.unwrap_or_else(plain) }
    }
}

#[derive(Serialize)]
struct Failure<'r> {
    error: &'r str,
}

impl From<tactus_app::Error> for Refusal {
    fn from(error: tactus_app::Error) -> Self {
        match error.kind() {
            tactus_app::ErrorKind::Usage => Self::bad(error.to_string()),
            tactus_app::ErrorKind::Internal => Self::defect(error.to_string()),
            _ => Self::store(error.to_string()),
        }
    }
}

impl From<tactus_report::ReportError> for Refusal {
    fn from(error: tactus_report::ReportError) -> Self {
        Self::defect(error.to_string())
    }
}
