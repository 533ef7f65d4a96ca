//! Metrics as Prometheus reads them: text, OpenMetrics, and protocol buffers with native
//! histograms.
//!
//! See <https://prometheus.io/docs/instrumenting/exposition_formats/>, the OpenMetrics
//! specification, and `io/prometheus/client/metrics.proto` of `prometheus/client_model`.

use std::fmt::Write;

use tactus_model::protobuf::Message;

use crate::histogram::{CLASSIC, Histogram, SCHEMA, ZERO, bound};

/// The metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name; counters end in `_total`.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub metrics: Metrics,
}

/// The values of a family.
#[derive(Clone, Debug, PartialEq)]
pub enum Metrics {
    /// Numbers that only grow.
    Counter(Vec<Labelled>),
    /// Numbers that change.
    Gauge(Vec<Labelled>),
    /// A distribution in seconds.
    Histogram(Histogram),
}

/// A number with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The name and value of each label.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

impl Labelled {
    /// A number with one label.
    pub fn one(name: &'static str, label: impl Into<String>, value: f64) -> Self {
        Self { labels: vec![(name, label.into())], value }
    }
}

impl Family {
    /// A counter without labels.
    pub fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        let labels = Vec::new();
        Self { name, help, metrics: Metrics::Counter(vec![Labelled { labels, value }]) }
    }

    /// A gauge without labels.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        let labels = Vec::new();
        Self { name, help, metrics: Metrics::Gauge(vec![Labelled { labels, value }]) }
    }
}

/// A form of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Prometheus' text format, version 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// Messages of protocol buffers, each after its length.
    Protobuf,
}

impl Form {
    /// The form for a client that sends this `Accept`.
    pub fn accepted(accept: &str) -> Self {
        let kinds = || accept.split(',').map(|kind| kind.trim().to_ascii_lowercase());
        let is_protobuf = |kind: String| {
            kind.starts_with("application/vnd.google.protobuf")
                && kind.contains("io.prometheus.client.metricfamily")
                && kind.contains("delimited")
        };
        if kinds().any(is_protobuf) {
            Self::Protobuf
        } else if kinds().any(|kind| kind.starts_with("application/openmetrics-text")) {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// Its media type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
        }
    }

    /// The metrics in this form.
    pub fn write(self, families: &[Family]) -> Vec<u8> {
        match self {
            Self::Protobuf => {
                let mut bytes = Vec::new();
                for family in families {
                    message(family).write_delimited(&mut bytes);
                }
                bytes
            }
            text => {
                let mut out = String::with_capacity(8 << 10);
                for family in families {
                    write_family(&mut out, family, text == Self::OpenMetrics);
                }
                if text == Self::OpenMetrics {
                    out.push_str("# EOF\n");
                }
                out.into_bytes()
            }
        }
    }
}

/// Writing into a `String` cannot fail.
macro_rules! push {
    ($out:expr, $($text:tt)*) => { _ = write!($out, $($text)*) };
}

fn write_family(out: &mut String, family: &Family, is_open: bool) {
    let Family { name, help, metrics } = family;
    // OpenMetrics names a family of counters without the suffix of its samples.
    let base = if is_open { name.strip_suffix("_total").unwrap_or(name) } else { name };
    let kind = match metrics {
        Metrics::Counter(_) => "counter",
        Metrics::Gauge(_) => "gauge",
        Metrics::Histogram(_) => "histogram",
    };
    push!(out, "# HELP {base} {}\n# TYPE {base} {kind}\n", escaped(help, is_open));
    match metrics {
        Metrics::Counter(values) | Metrics::Gauge(values) => {
            for Labelled { labels, value } in values {
                out.push_str(name);
                for (index, (label, text)) in labels.iter().enumerate() {
                    let before = if index == 0 { '{' } else { ',' };
                    push!(out, "{before}{label}=\"{}\"", escaped(text, true));
                }
                let after = if labels.is_empty() { "" } else { "}" };
                push!(out, "{after} {value}\n");
            }
        }
        Metrics::Histogram(Histogram { count, sum, classic, .. }) => {
            for (bound, within) in CLASSIC.iter().zip(classic) {
                push!(out, "{name}_bucket{{le=\"{:?}\"}} {within}\n", bound.as_secs_f64());
            }
            push!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n");
            push!(out, "{name}_sum {sum}\n{name}_count {count}\n");
        }
    }
}

/// A text in a line of the text formats.
fn escaped(text: &str, quotes: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if quotes => escaped.push_str("\\\""),
            c => escaped.push(c),
        }
    }
    escaped
}

/// `MetricFamily`.
fn message(family: &Family) -> Message {
    let Family { name, help, metrics } = family;
    let mut message = Message::default();
    let (kind, values, field) = match metrics {
        Metrics::Counter(values) => (0, &values[..], 3),
        Metrics::Gauge(values) => (1, &values[..], 2),
        Metrics::Histogram(_) => (4, &[][..], 7),
    };
    message.text(1, name).text(2, help).number(3, kind);
    for Labelled { labels, value } in values {
        message.message(4, |metric| {
            for (label, text) in labels {
                metric.message(1, |pair| _ = pair.text(1, label).text(2, text));
            }
            metric.message(field, |number| _ = number.double(1, *value));
        });
    }
    if let Metrics::Histogram(histogram) = metrics {
        message.message(4, |metric| _ = metric.message(field, |inner| fill(inner, histogram)));
    }
    message
}

/// `Histogram`, with classic and native buckets.
fn fill(message: &mut Message, histogram: &Histogram) {
    let Histogram { count, sum, classic, native, .. } = histogram;
    message.number(1, *count).double(2, *sum);
    let infinity = [(f64::INFINITY, *count)];
    let classic = CLASSIC.iter().map(|bound| bound.as_secs_f64()).zip(classic.iter().copied());
    for (bound, within) in classic.chain(infinity) {
        message.message(3, |bucket| _ = bucket.number(1, within).double(2, bound));
    }
    message.signed(5, i64::from(SCHEMA)).double(6, bound(ZERO));
    message.number(7, native.first().copied().unwrap_or(0));
    let (spans, deltas) = spans(native.get(1..).unwrap_or_default());
    for (offset, length) in spans {
        message.message(12, |span| _ = span.signed(1, offset).number(2, length));
    }
    for delta in deltas {
        message.signed(13, delta);
    }
}

/// Runs of buckets that are not empty: the gap before each (before the first, the index of its
/// first bucket) and its length; and the differences from each count to the next.
fn spans(counts: &[u64]) -> (Vec<(i64, u64)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i64, u64)>, _) = (Vec::new(), Vec::new());
    let (mut gap, mut before) = (i64::from(ZERO) + 1, 0);
    for count in counts.iter().map(|count| *count as i64) {
        if count == 0 {
            gap += 1;
            continue;
        }
        match spans.last_mut() {
            Some((_, length)) if gap == 0 => *length += 1,
            _ => spans.push((gap, 1)),
        }
        gap = 0;
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::time::Nanos;
    use tactus_model::varint::read_unsigned;

    use super::*;
    use crate::histogram::LiveHistogram;

    fn families() -> Vec<Family> {
        let live = LiveHistogram::default();
        for nanos in [30, 40_000, 41_000, 700_000, 3_000_000_000] {
            live.record(Nanos::from_nanos(nanos));
        }
        vec![
            Family::counter("tactus_a_total", "All \\ of it\nhere.", 3.0),
            Family {
                name: "tactus_late_total",
                help: "Late.",
                metrics: Metrics::Counter(vec![
                    Labelled::one("cause", "thread \"hog\\\n\" (fifo)", 2.0),
                    Labelled::one("cause", "other", 0.0),
                ]),
            },
            Family::gauge("tactus_share", "A share.", 0.005),
            Family {
                name: "tactus_seconds",
                help: "Latency.",
                metrics: Metrics::Histogram(live.snapshot()),
            },
        ]
    }

    #[test]
    fn the_form_follows_what_the_client_accepts() {
        let prometheus = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
            encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1";
        assert_eq!(Form::accepted(prometheus), Form::Protobuf);
        let open = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        assert_eq!(Form::accepted(open), Form::OpenMetrics);
        for other in ["", "*/*", "text/html", "application/vnd.google.protobuf"] {
            assert_eq!(Form::accepted(other), Form::Text, "{other}");
        }
    }

    #[test]
    fn both_text_formats_escape_what_they_contain() {
        let text = String::from_utf8(Form::Text.write(&families())).unwrap();
        for line in [
            "# HELP tactus_a_total All \\\\ of it\\nhere.\n# TYPE tactus_a_total counter\ntactus_a_total 3\n",
            "tactus_late_total{cause=\"thread \\\"hog\\\\\\n\\\" (fifo)\"} 2\n",
            "tactus_share 0.005\n",
            "tactus_seconds_bucket{le=\"5e-6\"} 1\n",
            "tactus_seconds_bucket{le=\"0.001\"} 4\n",
            "tactus_seconds_bucket{le=\"+Inf\"} 5\ntactus_seconds_sum 3.00078103\ntactus_seconds_count 5\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let open = String::from_utf8(Form::OpenMetrics.write(&families())).unwrap();
        assert!(open.contains("# TYPE tactus_a counter\ntactus_a_total 3\n"), "{open}");
        assert!(open.ends_with("# EOF\n") && !text.contains("# EOF"));
    }

    /// A field of a message.
    #[derive(Debug)]
    enum Field<'a> {
        Number(u64),
        Double(f64),
        Bytes(&'a [u8]),
    }

    /// Reads a message, independently of its encoder.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = read_unsigned(&mut bytes).unwrap();
            let field = match key & 7 {
                0 => Field::Number(read_unsigned(&mut bytes).unwrap()),
                1 => {
                    let (number, rest) = bytes.split_first_chunk::<8>().unwrap();
                    bytes = rest;
                    Field::Double(f64::from_le_bytes(*number))
                }
                2 => {
                    let length = read_unsigned(&mut bytes).unwrap() as usize;
                    let (inner, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(inner)
                }
                other => panic!("wire type {other}"),
            };
            found.push((key >> 3, field));
        }
        found
    }

    fn unsigned(value: u64) -> i64 {
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    /// The counts of a native histogram by bucket, from its message.
    fn decoded(histogram: &[u8]) -> Vec<(i32, u64)> {
        let (mut spans, mut deltas) = (Vec::new(), Vec::new());
        for (number, field) in fields(histogram) {
            match (number, field) {
                (12, Field::Bytes(span)) => match fields(span)[..] {
                    [(1, Field::Number(offset)), (2, Field::Number(length))] => {
                        spans.push((unsigned(offset), length));
                    }
                    ref other => panic!("{other:?}"),
                },
                (13, Field::Number(delta)) => deltas.push(unsigned(delta)),
                (6, Field::Double(threshold)) => assert_eq!(threshold, bound(ZERO)),
                _ => {}
            }
        }
        let (mut index, mut count, mut counts) = (0, 0, Vec::new());
        let mut deltas = deltas.into_iter();
        for (offset, length) in spans {
            index += offset;
            for _ in 0..length {
                count += deltas.next().unwrap();
                counts.push((index as i32, count as u64));
                index += 1;
            }
        }
        assert_eq!(deltas.next(), None);
        counts
    }

    #[test]
    fn messages_come_after_their_lengths() {
        let bytes = Form::Protobuf.write(&families());
        let (mut rest, mut names) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let length = read_unsigned(&mut rest).unwrap() as usize;
            let (family, after) = rest.split_at(length);
            rest = after;
            for (number, field) in fields(family) {
                if let (1, Field::Bytes(name)) = (number, field) {
                    names.push(String::from_utf8(name.to_vec()).unwrap());
                }
            }
        }
        assert_eq!(names, families().iter().map(|family| family.name).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn a_native_histogram_decodes_to_its_counts(
            latencies in prop::collection::vec(1_u64..100_000_000_000, 0..100),
        ) {
            let live = LiveHistogram::default();
            latencies.iter().for_each(|nanos| live.record(Nanos::from_nanos(*nanos)));
            let histogram = live.snapshot();
            let mut message = Message::default();
            fill(&mut message, &histogram);
            let expected = (ZERO..).zip(&histogram.native).skip(1);
            let expected: Vec<_> =
                expected.filter(|(_, count)| **count > 0).map(|(i, count)| (i, *count)).collect();
            prop_assert_eq!(decoded(message.bytes()), expected);
        }
    }
}
