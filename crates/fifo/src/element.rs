//! What an item may be.

use std::sync::atomic::Ordering;

use bytemuck::Pod;
use tactus_sys::peer_memory::{ReadableWords, WritableWords};

use crate::layout::Layout;

/// The most bytes of a [`Element::LAYOUT`].
pub const LAYOUT_BYTES_MAX: usize = 200;

/// Plain data that both sides of a wall understand.
///
/// [`Pod`] allows any content: a hostile peer can send any bytes. The text names the fields, and
/// changes whenever the type does; an introduction fails if the two sides have different texts or
/// sizes.
///
/// ```
/// use tactus_fifo::Element;
/// use bytemuck::{Pod, Zeroable};
///
/// #[derive(Clone, Copy, Debug, Pod, Zeroable)]
/// #[repr(C)]
/// struct State {
///     position: f64,
///     tick: u64,
/// }
///
/// impl Element for State {
///     const LAYOUT: &'static str = "State 1: position f64, tick u64";
/// }
/// ```
pub trait Element: Pod + Send {
    /// A name, a version and the fields, of at most [`LAYOUT_BYTES_MAX`] bytes.
    const LAYOUT: &'static str;
}

macro_rules! numbers {
    ($($number:ident)*) => {
        $(impl Element for $number { const LAYOUT: &'static str = stringify!($number); })*
    };
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Bytes of any meaning.
impl<const N: usize> Element for [u8; N] {
    const LAYOUT: &'static str = "bytes";
}

/// Writes an item into a slot. Readers must be kept away by indices.
pub(crate) fn write<T: Element>(words: &WritableWords, layout: Layout, slot: usize, item: &T) {
    let (first, count) = layout.slot(slot);
    let bytes = bytemuck::bytes_of(item).chunks(8);
    for (word, bytes) in words.words()[first..first + count].iter().zip(bytes) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}

/// Reads an item from a slot, each word once. It is whole only if indices say so.
pub(crate) fn read<T: Element>(words: &ReadableWords, layout: Layout, slot: usize) -> T {
    let (first, count) = layout.slot(slot);
    let mut item = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut item).chunks_mut(8);
    for (word, bytes) in words.load_all(first, count).zip(bytes) {
        bytes.copy_from_slice(&word.to_ne_bytes()[..bytes.len()]);
    }
    item
}
