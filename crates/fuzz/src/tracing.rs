//! Output of the kernel: descriptions of tracepoints, pages of tracefs, records of perf.

use std::sync::LazyLock;

use tactus_record::decode::{
    BufferStats, Decoder, Format, Layout, NewThreadLayout, PageShape, PerfRecord, RecordShape,
    StackLayout, Tracepoint, addresses,
};

use crate::seeds;

/// Separates the parts of an input; the kernel's texts do not contain it.
const END: u8 = 0;

/// The layouts of the records that `tests/data/tracefs` describes.
static DECODER: LazyLock<Vec<Layout>> = LazyLock::new(|| {
    let formats = seeds::files("tests/data/tracefs", &[".format"]);
    let formats = formats.iter().map(|text| String::from_utf8_lossy(text).parse::<Format>());
    formats.flatten().flat_map(|format| layouts(&format)).collect()
});

/// The layouts for a description: one for each tracepoint whose fields it has.
fn layouts(format: &Format) -> Vec<Layout> {
    Tracepoint::all()
        .into_iter()
        .filter_map(|tracepoint| Layout::new(tracepoint, format).ok())
        .collect()
}

fn decoder(layouts: &[Layout]) -> Decoder {
    let mut decoder = Decoder::new(1);
    // If several tracepoints have the same number, the last counts.
    for layout in layouts {
        let _ = decoder.add(*layout);
    }
    decoder
}

/// Descriptions, each with a record of its tracepoint, and the counters of a buffer.
pub(crate) fn format_seeds() -> Vec<Vec<u8>> {
    let formats = seeds::files("tests/data/tracefs", &[".format"]);
    let stats = b"entries: 3\noverrun: 0\ncommit overrun: 1\nbytes: 99\ndropped events: 4\nread events: 7\n";
    let with_record = |text: Vec<u8>| {
        let id = String::from_utf8_lossy(&text).parse::<Format>().map_or(0, |format| format.id);
        let record = [&(id as u16).to_ne_bytes()[..], &[1; 90]].concat();
        [&text[..], &[END], &record].concat()
    };
    formats.into_iter().map(with_record).chain([stats.to_vec()]).collect()
}

/// Reads a description and a record by it, and the same text as a buffer's counters.
pub(crate) fn format(bytes: &[u8]) {
    let (text, raw) = split(bytes);
    let text = String::from_utf8_lossy(text);
    if let Ok(stats) = text.parse::<BufferStats>() {
        let _ = stats.counted();
    }
    let Ok(format) = text.parse::<Format>() else { return };
    // Each layout alone, since all have the number of the description.
    for layout in layouts(&format) {
        let _ = decoder(&[layout]).decode(1, 0, None, raw);
    }
    if let Ok(layout) = StackLayout::new(&format) {
        let _ = layout.addresses(raw).map(Iterator::count);
    }
    if let Ok(layout) = NewThreadLayout::new(&format) {
        let _ = layout.thread(raw);
    }
}

/// A real page with the kernel's description of it.
pub(crate) fn page_seeds() -> Vec<Vec<u8>> {
    let [head, event, page] = ["header_page", "header_event", "switches.page"]
        .map(|name| seeds::file(&format!("tests/data/tracefs/{name}")));
    vec![[&head[..], &[END], &event, &[END], &page].concat()]
}

/// Reads a page by a description of pages, and its records.
pub(crate) fn page(bytes: &[u8]) {
    let (head, rest) = split(bytes);
    let (event, page) = split(rest);
    let [head, event] = [head, event].map(String::from_utf8_lossy);
    let Ok(shape) = PageShape::parse(&head, &event) else { return };
    let Ok(records) = shape.records(page) else { return };
    let mut decoder = decoder(&DECODER);
    let mut read = 0;
    for record in records.flatten() {
        read += record.raw.len();
        let _ = decoder.decode(record.time, 0, None, record.raw);
    }
    assert!(read <= page.len(), "records of {read} bytes in {}", page.len());
}

/// The records of a real page in perf's form: kind, flags, body.
pub(crate) fn perf_seeds() -> Vec<Vec<u8>> {
    let [head, event] = ["header_page", "header_event"].map(|name| {
        String::from_utf8(seeds::file(&format!("tests/data/tracefs/{name}"))).expect("a text")
    });
    let page = seeds::file("tests/data/tracefs/switches.page");
    let shape = PageShape::parse(&head, &event).expect("it is the kernel's own");
    let records = shape.records(&page).expect("it is a page").flatten().take(8);
    let samples = records.map(|record| {
        let words = [record.time, 1, 2, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010];
        let mut body = vec![9, 1];
        body.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        body.extend((record.raw.len() as u32).to_ne_bytes());
        body.extend(record.raw);
        body
    });
    let lost = [2, 0].into_iter().chain([5_u64, 11_131, 99].into_iter().flat_map(u64::to_ne_bytes));
    samples.chain([lost.collect()]).collect()
}

/// Reads a record of a ring, and the tracepoint record in it.
pub(crate) fn perf(bytes: &[u8]) {
    let [kind, flags, ref body @ ..] = *bytes else { return };
    let shape = RecordShape { call_chain: flags & 1 != 0 };
    let Ok(PerfRecord::Sample { time, chain, raw, .. }) =
        PerfRecord::parse(u32::from(kind), body, shape)
    else {
        return;
    };
    let mut decoder = decoder(&DECODER);
    let chain = decoder.names().chain(addresses(chain));
    let _ = decoder.decode(time, 0, chain, raw);
}

/// The bytes before the first [`END`], and those after it.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == END).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_decoded() {
        assert!(DECODER.len() >= 4, "{DECODER:?}");
        let [seed] = &page_seeds()[..] else { panic!("one page") };
        let (_, rest) = split(seed);
        let (_, page) = split(rest);
        assert_eq!(page.len(), 4096);
        let samples = perf_seeds();
        assert!(samples.len() > 8 && samples.iter().all(|seed| seed.len() > 20));
        let described = format_seeds();
        let read = described
            .iter()
            .filter(|seed| String::from_utf8_lossy(split(seed).0).parse::<Format>().is_ok());
        assert!(read.count() >= 6);
    }
}
