//! The query of a URL: known keys, each at most once.

use crate::reply::Refusal;

/// The longest value; that of a cell's label is a few hundred bytes.
const VALUE_BYTES: usize = 4096;

/// The keys and values of a query.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query that may have these keys.
    ///
    /// # Errors
    /// Another key, a key that occurs twice, or a value that is too long.
    pub(crate) fn read(text: &str, known: &[&str]) -> Result<Self, Refusal> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            if !known.contains(&&*key) {
                let known = match known {
                    [] => "this page takes none".to_owned(),
                    known => format!("expected {}", known.join(", ")),
                };
                return Err(Refusal::bad(format!("unknown parameter `{key}`; {known}")));
            }
            if pairs.iter().any(|(other, _)| *other == key) {
                return Err(Refusal::bad(format!("the parameter `{key}` occurs twice")));
            }
            if value.len() > VALUE_BYTES {
                let text = format!("the parameter `{key}` has more than {VALUE_BYTES} bytes");
                return Err(Refusal::bad(text));
            }
            pairs.push((key.into_owned(), value.into_owned()));
        }
        Ok(Self(pairs))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// It is missing.
    pub(crate) fn required(&self, key: &str) -> Result<&str, Refusal> {
        self.get(key).ok_or_else(|| Refusal::bad(format!("the parameter `{key}` is missing")))
    }

    /// The number of a page, from 1.
    ///
    /// # Errors
    /// It is not such a number.
    pub(crate) fn page(&self) -> Result<usize, Refusal> {
        let text = self.get("page").unwrap_or("1");
        text.parse().ok().filter(|page| *page > 0).ok_or_else(|| {
            Refusal::bad(format!("`{text}` is not the number of a page; the first one is 1"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_keys_once() {
        let query = Query::read("cell=a%20%23b&page=2", &["cell", "page"]).unwrap();
        assert_eq!((query.required("cell").unwrap(), query.page().unwrap()), ("a #b", 2));
        for (text, expected) in [
            ("cel=1", "unknown parameter `cel`; expected cell, page"),
            ("cell=1&cell=2", "occurs twice"),
            (&format!("cell={}", "x".repeat(5000)), "more than 4096 bytes"),
        ] {
            let refusal = Query::read(text, &["cell", "page"]).unwrap_err();
            assert!(refusal.text.contains(expected), "{}", refusal.text);
        }
        for text in ["page=0", "page=-1", "page=x", "page=99999999999999999999"] {
            assert!(Query::read(text, &["page"]).unwrap().page().is_err(), "{text}");
        }
    }
}
