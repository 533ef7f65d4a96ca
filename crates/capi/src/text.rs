//! Texts and values between C and Rust.

use std::ffi::{CStr, c_char};

use tactus_rt::CpuList;

use crate::failure::Failure;

/// The text at `text`.
///
/// # Safety
/// `text` is NULL, or ends with a NUL and stays unchanged for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::because(
            libc::EFAULT,
            format_args!("{what} is NULL; fix: pass a text"),
        ));
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .map_err(|_| Failure::because(libc::EINVAL, format_args!("{what} is not UTF-8")))
}

/// The text at `text`, or `None` for NULL.
///
/// # Safety
/// See [`text`].
pub(crate) unsafe fn optional<'a>(
    words: *const c_char,
    what: &'static str,
) -> Result<Option<&'a str>, Failure> {
    if words.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller says so.
    unsafe { text(words, what) }.map(Some)
}

/// The list of CPUs at `words`, or `None` for NULL.
///
/// # Safety
/// See [`text`].
pub(crate) unsafe fn cpus(
    words: *const c_char,
    what: &'static str,
) -> Result<Option<CpuList>, Failure> {
    // SAFETY: the caller says so.
    let list = unsafe { optional(words, what) }?.map(str::parse).transpose();
    list.map_err(|error| Failure::because(libc::EINVAL, format_args!("{what}: {error}")))
}

/// The value at `place`.
///
/// # Safety
/// `place` is NULL or points to a value that stays unchanged for `'a`.
pub(crate) unsafe fn given<'a, T>(place: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller says so.
    unsafe { place.as_ref() }.ok_or(NULL)
}

/// Writes a value to `place`.
///
/// # Safety
/// `place` is NULL or may be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller says so. The place may be uninitialized, so nothing is dropped.
    unsafe { place.write(value) };
    Ok(())
}

pub(crate) const NULL: Failure =
    Failure::new(libc::EFAULT, c"a pointer is NULL; fix: pass the address of a variable");

/// Copies a text with its NUL to an array, as far as it has room: whole characters only.
pub(crate) fn copy(text: &str, into: &mut [c_char]) {
    let Some(room) = into.len().checked_sub(1) else { return };
    let mut ends = (0..=room.min(text.len())).rev();
    let text = &text[..ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0)];
    for (place, byte) in into.iter_mut().zip(text.bytes().chain([0])) {
        *place = byte.cast_signed();
    }
}

/// Checks the size that a program names for a structure: it shows the version of its header.
pub(crate) fn check_size<T>(size: u32) -> Result<(), Failure> {
    if size as usize == size_of::<T>() {
        return Ok(());
    }
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    let expected = size_of::<T>();
    Err(Failure::because(
        libc::EINVAL,
        format_args!(
            "the member `size` of {name} is {size}, not {expected}; fix: set it to sizeof(struct {name}), \
             and compile with the header of this library"
        ),
    ))
}
