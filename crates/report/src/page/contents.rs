//! The contents of a page: links to its sections.

/// The place of the contents in a template.
const PLACE: &str = "<nav class=\"contents\" aria-label=\"Contents\"></nav>";

/// Puts links to the sections that follow into each place for contents.
///
/// A section is a heading `<h2>` without attributes, which no text can forge, since texts are
/// escaped. Its anchor is `section-` and its text, with the number of the contents from the second on.
pub(super) fn with_contents(page: &str) -> String {
    let mut parts = page.split(PLACE);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for (number, part) in (1..).zip(parts) {
        let mut links = String::new();
        let mut sections = part.split("<h2>");
        let mut body = sections.next().unwrap_or_default().to_owned();
        for section in sections {
            let title = section.split_once("</h2>").map_or("", |(title, _)| title);
            let anchor = anchor(title, number);
            links.push_str(&format!("<a href=\"#{anchor}\">{title}</a> "));
            body.push_str(&format!("<h2 id=\"{anchor}\">{section}"));
        }
        written.push_str(&format!("<nav class=\"contents\" aria-label=\"Contents\">{links}</nav>"));
        written.push_str(&body);
    }
    written
}

/// The anchor of a heading: its letters and digits, joined by hyphens.
fn anchor(title: &str, number: usize) -> String {
    let words: Vec<String> = title
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let words = words.join("-");
    // The prefix keeps anchors apart from the names of other elements.
    if number == 1 { format!("section-{words}") } else { format!("section-{words}-{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_anchors_and_links() {
        let page = format!(
            "<h2>Before</h2>{PLACE}<h2 class=\"x\">Not</h2><h2>By 1/(1−p)</h2>{PLACE}<h2>A b</h2>"
        );
        let with = with_contents(&page);
        assert!(with.contains("<a href=\"#section-by-1-1-p\">By 1/(1−p)</a>"), "{with}");
        assert!(with.contains("<h2 id=\"section-by-1-1-p\">By 1/(1−p)</h2>"), "{with}");
        assert!(with.contains("<h2 id=\"section-a-b-2\">A b</h2>"), "{with}");
        assert!(
            with.starts_with("<h2>Before</h2>") && with.contains("<h2 class=\"x\">Not"),
            "{with}"
        );
    }
}
