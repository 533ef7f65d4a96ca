//! What the peers of a real-time process write: messages of the broker, and indices of rings.

use tactus_fifo::book::{Book, Offered};
use tactus_fifo::index::{ReadIndex, WriteIndex, is_whole, resume};
use tactus_fifo::message::{MESSAGE_BYTES, Refusal, Reply, Request, Role};

fn offered() -> Offered {
    let (name, element) = ("state".to_owned(), "State 1: position f64, tick u64".to_owned());
    Offered { name, role: Role::ReadFifo, element, bytes: 16 }
}

/// Requests and replies.
pub(crate) fn message_seeds() -> Vec<Vec<u8>> {
    [
        r#"{"version":1,"name":"state","role":"read_fifo","element":"State 1: position f64, tick u64","bytes":16}"#,
        r#"{"version":1,"name":"stats","role":"write_block","element":"bytes","bytes":0}"#,
        r#"{"introduced":{"capacity":256,"start":7,"session":2,"separation":"other_uid"}}"#,
        r#"{"refused":{"in_use":{"name":"state","process":7,"user":1000}}}"#,
        r#"{"refused":{"unknown_name":{"name":"stats","nearest":"state"}}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Reads a message as a request and as a reply; a request is answered.
pub(crate) fn message(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MESSAGE_BYTES)];
    if let Ok(request) = tactus_wire::parse::<Request>(bytes) {
        let mut book = Book::new(0);
        book.add(offered()).unwrap();
        // A peer can only make the broker offer what it offers.
        let _ = book.add(Offered { name: request.name.clone(), ..offered() });
        match book.find(&request) {
            Ok(number) => assert_eq!(book.channels()[number].name, request.name),
            Err(refusal) => write_back(refusal),
        }
    }
    if let Ok(Reply::Refused(refusal)) = tactus_wire::parse::<Reply>(bytes) {
        let _ = refusal.to_string();
    }
}

/// A refusal fits into a message, whatever the request was.
fn write_back(refusal: Refusal) {
    let line = tactus_wire::encode(&Reply::Refused(refusal.clone()), MESSAGE_BYTES).unwrap();
    let again = tactus_wire::parse::<Reply>(&line[..line.len() - 1]).unwrap();
    assert_eq!(again, Reply::Refused(refusal));
}

/// Indices that begin at 0, at a full ring, and just before they wrap.
pub(crate) fn index_seeds() -> Vec<Vec<u8>> {
    let steps = |indices: &[u64]| -> Vec<u8> {
        indices
            .iter()
            .enumerate()
            .flat_map(|(step, index)| {
                let mut bytes = vec![step as u8];
                bytes.extend(index.to_le_bytes());
                bytes
            })
            .collect()
    };
    vec![steps(&[0, 0, 1, 1, 2, 3, 8, 8]), steps(&[0, 1 << 63, u64::MAX, 7, u64::MAX - 8, 9])]
}

/// Shows any indices to both sides of a ring, with steps of theirs between.
pub(crate) fn index(bytes: &[u8]) {
    const CAPACITY: u64 = 8;
    let mut writer = WriteIndex::new(CAPACITY);
    let mut reader = ReadIndex::starting_at(0, CAPACITY);
    let mut offered = 0;
    for step in bytes.chunks_exact(9) {
        let shown = u64::from_le_bytes(step[1..].try_into().unwrap());
        match step[0] % 4 {
            0 => {
                writer.look(shown);
                offered += 1;
                if let Some(slot) = writer.claim() {
                    assert!((slot as u64) < CAPACITY);
                    writer.publish();
                }
            }
            1 => {
                reader.look(shown);
            }
            2 => {
                reader.skip_to(shown);
            }
            _ => {
                if let Some(slot) = reader.next() {
                    assert!((slot as u64) < CAPACITY);
                    reader.advance();
                }
            }
        }
        assert!(writer.in_flight() <= CAPACITY && reader.available() <= CAPACITY);
        assert_eq!(offered, writer.written() + writer.refused());
        let start = resume(writer.freed(), shown, writer.written());
        assert!((writer.freed()..=writer.written()).contains(&start));
        assert!(!is_whole(shown, shown.wrapping_sub(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_messages() {
        for seed in message_seeds() {
            let is_request = tactus_wire::parse::<Request>(&seed).is_ok();
            assert!(is_request || tactus_wire::parse::<Reply>(&seed).is_ok());
        }
    }
}
