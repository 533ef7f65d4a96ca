//! Losses in a block.

use tactus_model::limits::LOSSES;
use tactus_model::recording::Lost;
use tactus_model::time::Instant;
use tactus_model::varint::{read_unsigned, write_unsigned};

use super::block::{BadBlock, Block, BlockKind};

/// Packs losses into a block.
pub fn encode_losses(losses: &[Lost]) -> Block {
    Block::build(BlockKind::Losses, |bytes| {
        write_unsigned(bytes, losses.len() as u64);
        for lost in losses {
            write_unsigned(bytes, u64::from(lost.cpu));
            write_unsigned(bytes, lost.from.as_nanos());
            write_unsigned(bytes, lost.to.as_nanos());
            write_unsigned(bytes, lost.count);
        }
    })
}

/// Reads the payload of a block of losses into `losses`, which holds those of all blocks
/// before it.
///
/// # Errors
/// The payload is invalid, or there are more than [`LOSSES`] losses.
pub fn decode_losses(payload: &[u8], losses: &mut Vec<Lost>) -> Result<(), BadBlock> {
    let mut rest = payload;
    let mut number =
        || read_unsigned(&mut rest).map_err(|_| BadBlock::Payload("a loss is truncated"));
    let count = number()?;
    for _ in 0..count {
        if losses.len() >= LOSSES {
            return Err(BadBlock::Payload("there are more losses than the limit"));
        }
        losses.push(Lost {
            cpu: number()? as u32,
            from: Instant::from_nanos(number()?),
            to: Instant::from_nanos(number()?),
            count: number()?,
        });
    }
    Ok(())
}
