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
///
/// Other types are refused by the compiler, because their bytes mean nothing elsewhere, or not every
/// content of them is valid:
///
/// ```compile_fail
/// # use tactus_fifo::Element;
/// struct Log {
///     lines: Vec<String>,
/// }
///
/// impl Element for Log {
///     const LAYOUT: &'static str = "Log 1: lines";
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data that both sides of a channel understand",
    label = "this cannot be an item",
    note = "derive `bytemuck::Pod` for a `#[repr(C)]` struct of numbers, and implement \
            `tactus_fifo::Element` for it"
)]
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

/// What the items of a channel are, where it is known only at run time, e.g. to programs in other
/// languages. Their items are slices of bytes, such as those of a [`Sender<[u8]>`](crate::Sender).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Items {
    /// A text such as [`Element::LAYOUT`].
    pub layout: String,
    /// The size of an item.
    pub bytes: usize,
}

impl Items {
    /// The items of a type.
    pub fn of<T: Element>() -> Self {
        Self { layout: T::LAYOUT.to_owned(), bytes: size_of::<T>() }
    }
}

/// Writes an item into a slot. Readers must be kept away by indices.
///
/// # Panics
/// The item has another size than those of the channel.
pub(crate) fn write(words: &WritableWords, layout: Layout, slot: usize, item: &[u8]) {
    assert_eq!(item.len(), layout.bytes, "the size of an item");
    let (first, count) = layout.slot(slot);
    for (word, bytes) in words.words()[first..first + count].iter().zip(item.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}

/// Reads an item from a slot, each word once. It is whole only if indices say so.
///
/// # Panics
/// The item has another size than those of the channel.
pub(crate) fn read(words: &ReadableWords, layout: Layout, slot: usize, item: &mut [u8]) {
    assert_eq!(item.len(), layout.bytes, "the size of an item");
    let (first, count) = layout.slot(slot);
    for (word, bytes) in words.load_all(first, count).zip(item.chunks_mut(8)) {
        bytes.copy_from_slice(&word.to_ne_bytes()[..bytes.len()]);
    }
}

/// Makes an item of what `take` writes into its bytes, if it does.
pub(crate) fn filled<T: Element>(take: impl FnOnce(&mut [u8]) -> bool) -> Option<T> {
    let mut item = T::zeroed();
    take(bytemuck::bytes_of_mut(&mut item)).then_some(item)
}
