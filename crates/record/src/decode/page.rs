//! The pages of the kernel's ring buffer, laid out as the kernel describes them.
//!
//! `events/header_page` gives the positions of a page's time, length and records.
//! `events/header_event` describes how the head of a record is packed into 32 bits and
//! which types are not records. The meaning of the types is in neither file; it follows
//! `include/linux/ring_buffer.h`.

use super::format::{BadFormat, Field, Place, fields, int};

/// How the kernel lays out a page.
///
/// ```
/// use tactus_record::decode::PageShape;
///
/// let shape = PageShape::parse(
///     "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
///      \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
///      \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
///     "\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
///      \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\
///      \tdata max type_len  == 28\n",
/// )
/// .unwrap();
/// assert_eq!(shape.page_size(), 4096);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageShape {
    timestamp: Field,
    commit: Field,
    data: Field,
    length_bits: u32,
    delta_bits: u32,
    padding: u32,
    time_extend: u32,
    time_stamp: Option<u32>,
    longest_short: u32,
}

/// Why the kernel's description of its pages cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPageShape {
    /// A field of the page has an unknown syntax.
    #[error(transparent)]
    Field(#[from] BadFormat),
    /// A value is missing or not as in any known kernel.
    #[error("the kernel's description of its pages has no valid `{0}`")]
    Missing(&'static str),
}

/// Why the rest of a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPage {
    /// The page ends before its head does.
    #[error("a page is shorter than its head")]
    Short,
    /// A record crosses the end of the page.
    #[error("a record crosses the end of its page")]
    Overlong,
}

/// A record as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRecord<'a> {
    /// The time, on the clock of the buffer.
    pub time: u64,
    /// The tracepoint's own record.
    pub raw: &'a [u8],
}

/// The records of a page, in order.
#[derive(Clone, Debug)]
pub struct PageRecords<'a> {
    shape: PageShape,
    time: u64,
    rest: &'a [u8],
    missed: bool,
}

/// The bit of a page's length that marks overwritten records before the page
/// (`RB_MISSED_EVENTS`), and the bits of the length itself.
const MISSED: u64 = 1 << 31;
const LENGTH: u64 = (1 << 27) - 1;

/// The size of the words by which records are aligned and counted.
const WORD: usize = 4;

impl PageShape {
    /// Reads the texts of `events/header_page` and `events/header_event`.
    ///
    /// # Errors
    /// The texts lack required values.
    pub fn parse(header_page: &str, header_event: &str) -> Result<Self, BadPageShape> {
        let fields = fields(header_page)?;
        let field = |wanted: &'static str| {
            let found = fields.iter().find(|(name, _)| name == wanted);
            found.map(|&(_, field)| field).ok_or(BadPageShape::Missing(wanted))
        };
        let number = |wanted: &'static str| {
            header_event
                .lines()
                .filter_map(|line| line.trim().strip_prefix(wanted))
                .find_map(|rest| rest.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok())
                .ok_or(BadPageShape::Missing(wanted))
        };
        let shape = Self {
            timestamp: field("timestamp")?,
            commit: field("commit")?,
            data: field("data")?,
            length_bits: number("type_len")?,
            delta_bits: number("time_delta")?,
            padding: number("padding")?,
            time_extend: number("time_extend")?,
            // Kernels before 4.17 did not have them.
            time_stamp: number("time_stamp").ok(),
            longest_short: number("data max type_len")?,
        };
        let is_sane = shape.length_bits.checked_add(shape.delta_bits) == Some(32)
            && shape.length_bits > 0
            && shape.delta_bits > 0
            && shape.data.place == Place::Here;
        if is_sane { Ok(shape) } else { Err(BadPageShape::Missing("type_len")) }
    }

    /// The length of a page in bytes.
    pub fn page_size(&self) -> usize {
        usize::from(self.data.offset) + usize::from(self.data.size)
    }

    /// Starts reading a page.
    ///
    /// # Errors
    /// The page is shorter than its head.
    pub fn records<'a>(&self, page: &'a [u8]) -> Result<PageRecords<'a>, BadPage> {
        let data = page.get(usize::from(self.data.offset)..).ok_or(BadPage::Short)?;
        let commit = int(page, self.commit) as u64;
        let length = (commit & LENGTH) as usize;
        let rest = data.get(..length).ok_or(BadPage::Overlong)?;
        let time = int(page, self.timestamp) as u64;
        Ok(PageRecords { shape: *self, time, rest, missed: commit & MISSED != 0 })
    }

    /// Extracts the type and the time from the 32 bits of a record's head.
    fn head(&self, word: u32) -> (u32, u64) {
        // Bit fields start at the low end of a word on little-endian machines and at
        // the high end on others.
        let (kind, delta) = if cfg!(target_endian = "little") {
            (word & ((1 << self.length_bits) - 1), word >> self.length_bits)
        } else {
            (word >> self.delta_bits, word & ((1 << self.delta_bits) - 1))
        };
        (kind, u64::from(delta))
    }
}

impl<'a> PageRecords<'a> {
    /// Whether records before this page were overwritten.
    pub fn missed(&self) -> bool {
        self.missed
    }

    /// The number of bytes of the page that are not read yet.
    pub fn bytes(&self) -> usize {
        self.rest.len()
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk::<WORD>()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(skipped)
    }

    /// The next record; `None` at the end of the page, with `rest` empty, or at damage,
    /// with `rest` not empty.
    fn record(&mut self) -> Option<PageRecord<'a>> {
        loop {
            let before = self.rest;
            let head = self.word()?;
            let (kind, delta) = self.shape.head(head);
            if kind == self.shape.padding {
                // Padding without a time fills the page to its end; other padding is a
                // discarded record.
                if delta == 0 {
                    self.rest = &[];
                    return None;
                }
                self.time = self.time.wrapping_add(delta);
                let length = self.word()? as usize;
                // The length includes the word that holds it.
                self.skip(length.checked_sub(WORD)?)?;
            } else if kind == self.shape.time_extend {
                let high = u64::from(self.word()?) << self.shape.delta_bits;
                self.time = self.time.wrapping_add(high | delta);
            } else if Some(kind) == self.shape.time_stamp {
                let high = u64::from(self.word()?) << self.shape.delta_bits;
                // The record has only 59 bits; the others are those of the time before.
                let bits = 32 + self.shape.delta_bits;
                self.time = self.time >> bits << bits | high | delta;
            } else {
                self.time = self.time.wrapping_add(delta);
                let length = match kind {
                    0 => (self.word()? as usize).checked_sub(WORD)?.next_multiple_of(WORD),
                    _ if kind <= self.shape.longest_short => kind as usize * WORD,
                    _ => {
                        self.rest = before;
                        return None;
                    }
                };
                let raw = self.skip(length)?;
                return Some(PageRecord { time: self.time, raw });
            }
        }
    }
}

impl<'a> Iterator for PageRecords<'a> {
    type Item = Result<PageRecord<'a>, BadPage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.record() {
            Some(record) => Some(Ok(record)),
            None if self.rest.is_empty() => None,
            None => {
                self.rest = &[];
                Some(Err(BadPage::Overlong))
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\
        \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
        \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\
        \tdata max type_len  == 28\n";

    fn shape() -> PageShape {
        PageShape::parse(HEADER_PAGE, HEADER_EVENT).unwrap()
    }

    /// A page of these words that starts at time 1000.
    fn page(words: &[u32], flags: u64) -> Vec<u8> {
        let mut page = 1000_u64.to_ne_bytes().to_vec();
        page.extend((flags | (words.len() as u64 * 4)).to_ne_bytes());
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page
    }

    const fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << 5
    }

    fn check(words: &[u32], expected: &[(u64, usize)]) {
        let page = page(words, 0);
        let records: Vec<(u64, usize)> = shape()
            .records(&page)
            .unwrap()
            .map(|record| record.map(|record| (record.time, record.raw.len())).unwrap())
            .collect();
        assert_eq!(records, expected, "{words:x?}");
    }

    #[test]
    fn records_of_every_type_are_parsed() {
        check(&[], &[]);
        check(&[head(2, 5), 1, 2, head(1, 7), 3], &[(1005, 8), (1012, 4)]);
        // A long record has its length in a word of its own.
        check(&[head(0, 5), 12, 1, 2, head(1, 1), 9], &[(1005, 8), (1006, 4)]);
        check(&[head(30, 3), 1, head(1, 0), 9], &[(1003 + (1 << 27), 4)]);
        check(&[head(31, 3), 2, head(1, 4), 9], &[((2 << 27) + 7, 4)]);
        // A discarded record takes time and space; padding without a time ends the
        // page.
        check(&[head(29, 5), 8, 0, head(1, 1), 9], &[(1006, 4)]);
        check(&[head(1, 1), 9, head(29, 0), 77, 78], &[(1001, 4)]);
    }

    #[test]
    fn a_page_shows_overwritten_records_before_it() {
        let whole = page(&[head(1, 1), 9], 0);
        let after_loss = page(&[head(1, 1), 9], MISSED);
        assert!(!shape().records(&whole).unwrap().missed());
        let records = shape().records(&after_loss).unwrap();
        assert!(records.missed());
        assert_eq!(records.count(), 1);
    }

    #[test]
    fn a_record_across_the_end_is_refused() {
        let page = page(&[head(3, 1), 9], 0);
        let records: Vec<_> = shape().records(&page).unwrap().collect();
        assert_eq!(records, [Err(BadPage::Overlong)]);
        assert_eq!(shape().records(&page[..10]).unwrap_err(), BadPage::Short);
    }

    #[test]
    fn an_unknown_page_description_is_refused() {
        let check = |page: &str, event: &str, what| {
            assert_eq!(PageShape::parse(page, event), Err(BadPageShape::Missing(what)));
        };
        check("", HEADER_EVENT, "timestamp");
        check(HEADER_PAGE, "", "type_len");
        check(HEADER_PAGE, &HEADER_EVENT.replace("27 bits", "26 bits"), "type_len");
        check(HEADER_PAGE, &HEADER_EVENT.replace("padding", "filler"), "padding");
    }

    proptest! {
        #[test]
        fn any_bytes_are_records_or_a_reason(
            bytes in prop::collection::vec(any::<u8>(), 0..300), length in 0_u64..300,
        ) {
            let mut page = 0_u64.to_ne_bytes().to_vec();
            page.extend(length.to_ne_bytes());
            page.extend(&bytes);
            if let Ok(records) = shape().records(&page) {
                let taken: usize = records.flatten().map(|record| record.raw.len()).sum();
                prop_assert!(taken <= bytes.len());
            }
        }

        #[test]
        fn written_records_are_read(lengths in prop::collection::vec((1_u32..29, 0_u32..1 << 27), 0..40)) {
            let mut words = Vec::new();
            let mut expected = Vec::new();
            let mut time = 1000_u64;
            for (length, delta) in lengths {
                words.push(head(length, delta));
                words.extend((0..length).map(|k| k * 7));
                time += u64::from(delta);
                expected.push((time, length as usize * 4));
            }
            check(&words, &expected);
        }
    }
}
