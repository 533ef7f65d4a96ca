//! A block: a kind, a length, a checksum and a payload.

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// What the recording covers, as JSON: the first block.
    About,
    /// New names, functions, call chains, processes.
    Dictionary,
    /// Events of one CPU.
    Events,
    /// Losses.
    Losses,
    /// The recording's summary, as JSON: the last block of a complete recording.
    Summary,
}

impl BlockKind {
    const ALL: [Self; 5] =
        [Self::About, Self::Dictionary, Self::Events, Self::Losses, Self::Summary];

    const fn code(self) -> u8 {
        match self {
            Self::About => 1,
            Self::Dictionary => 2,
            Self::Events => 3,
            Self::Losses => 4,
            Self::Summary => 5,
        }
    }
}

/// The first bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// The kind of the block.
    pub kind: BlockKind,
    /// The length of its payload.
    pub length: usize,
    crc: u32,
}

/// Why bytes are not a valid block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBlock {
    /// The bytes end before the block does.
    #[error("a block is truncated")]
    CutOff,
    /// The kind of block is unknown.
    #[error("a block has the unknown kind {0}")]
    Kind(u8),
    /// The length exceeds the maximum.
    #[error("a block has a length of {0} bytes, which exceeds the maximum")]
    TooLong(u32),
    /// The checksum does not match.
    #[error("the checksum of a block is wrong")]
    Checksum,
    /// The payload is invalid for its kind.
    #[error("{0}")]
    Payload(&'static str),
}

impl BlockHeader {
    /// The length of a header.
    pub const LENGTH: usize = 12;

    /// The maximum length of a payload.
    pub const MAX_PAYLOAD: usize = 1 << 24;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// There is no header, or its values are invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadBlock> {
        let header = bytes.first_chunk::<{ Self::LENGTH }>().ok_or(BadBlock::CutOff)?;
        let [code, _, _, _, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
        let kind = BlockKind::ALL.into_iter().find(|kind| kind.code() == code);
        let kind = kind.ok_or(BadBlock::Kind(code))?;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        if length as usize > Self::MAX_PAYLOAD {
            return Err(BadBlock::TooLong(length));
        }
        Ok(Self { kind, length: length as usize, crc: u32::from_le_bytes([c0, c1, c2, c3]) })
    }
}

/// A whole block with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    kind: BlockKind,
    bytes: Vec<u8>,
}

impl Block {
    /// Builds a block; `fill` writes its payload.
    pub fn build(kind: BlockKind, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = vec![0; BlockHeader::LENGTH];
        fill(&mut bytes);
        let length = (bytes.len() - BlockHeader::LENGTH) as u32;
        bytes[0] = kind.code();
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        let crc = checksum(&bytes);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        Self { kind, bytes }
    }

    /// Reads the block at the start of `bytes` and checks its checksum.
    ///
    /// # Errors
    /// The block is truncated, damaged or missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadBlock> {
        let header = BlockHeader::parse(bytes)?;
        let whole = bytes.get(..BlockHeader::LENGTH + header.length).ok_or(BadBlock::CutOff)?;
        Self::from_bytes(whole.to_vec())
    }

    /// Takes the bytes of a whole block and checks its checksum.
    ///
    /// # Errors
    /// The bytes are longer or shorter than the block, are damaged, or are not a block.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, BadBlock> {
        let header = BlockHeader::parse(&bytes)?;
        if bytes.len() != BlockHeader::LENGTH + header.length {
            return Err(BadBlock::CutOff);
        }
        if checksum(&bytes) != header.crc {
            return Err(BadBlock::Checksum);
        }
        Ok(Self { kind: header.kind, bytes })
    }

    /// The kind of the block.
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[BlockHeader::LENGTH..]
    }

    /// The whole block as it is written to a file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The payload, without a copy.
    pub fn into_payload(mut self) -> Vec<u8> {
        self.bytes.drain(..BlockHeader::LENGTH);
        self.bytes
    }
}

/// The CRC-32 (IEEE 802.3) of everything except itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..8]);
    hasher.update(&bytes[BlockHeader::LENGTH..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_modified_block_is_refused() {
        let block = Block::build(BlockKind::Losses, |bytes| bytes.extend_from_slice(b"payload"));
        assert_eq!(Block::parse(block.bytes()), Ok(block.clone()));
        for at in [0, 5, 13] {
            let mut bytes = block.bytes().to_vec();
            bytes[at] ^= 1;
            assert!(Block::parse(&bytes).is_err(), "{at}");
        }
        assert_eq!(Block::parse(&block.bytes()[..14]), Err(BadBlock::CutOff));
    }

    #[test]
    fn the_checksum_covers_the_header_and_the_payload() {
        // The standard's check value: that of "123456789", here with the checksum's own place between.
        let bytes = b"12345678\xff\xff\xff\xff9";
        assert_eq!(checksum(bytes), 0xcbf4_3926);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Block::parse(&bytes);
        }
    }
}
