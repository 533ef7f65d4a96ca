//! Records that accompany events in tracefs but are not events themselves.

use super::decoder::{BindError, Layout};
use super::format::{Field, Format, int};

/// The position of the addresses in the kernel's record of a call chain.
///
/// `ftrace/kernel_stack`: the kernel writes it after the event to which the chain
/// belongs.
#[derive(Clone, Copy, Debug)]
pub struct StackLayout {
    id: u16,
    size: Field,
    callers: Field,
}

/// The position of the fields that assign a new thread to a process
/// (`task/task_newtask`).
#[derive(Clone, Copy, Debug)]
pub struct NewThreadLayout {
    id: u16,
    maker: Field,
    thread: Field,
    flags: Field,
}

/// A new thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewThread {
    /// Its creator.
    pub maker: i32,
    /// The new thread.
    pub thread: i32,
    /// Whether it belongs to its creator's process; otherwise it is the first thread of
    /// a new process.
    pub same_process: bool,
}

/// `CLONE_THREAD` of clone(2).
const CLONE_THREAD: i64 = 0x0001_0000;

impl StackLayout {
    /// The event's name.
    pub const EVENT: &'static str = "ftrace/kernel_stack";

    /// Finds the fields in the kernel's format.
    ///
    /// # Errors
    /// The format lacks a field.
    pub fn new(format: &Format) -> Result<Self, BindError> {
        let (id, find) = (Layout::number(format)?, Layout::finder(format));
        Ok(Self { id, size: find("size")?, callers: find("caller")? })
    }

    /// The addresses, the innermost first; `None` if `raw` is another kind of record.
    pub fn addresses<'a>(&self, raw: &'a [u8]) -> Option<impl Iterator<Item = u64> + use<'a>> {
        if Layout::number_of(raw) != Some(self.id) {
            return None;
        }
        let frames = usize::try_from(int(raw, self.size)).unwrap_or(0);
        let callers = raw.get(usize::from(self.callers.offset)..).unwrap_or_default();
        let words = callers.chunks_exact(size_of::<u64>()).take(frames);
        let words = words.filter_map(|word| word.first_chunk().copied().map(u64::from_ne_bytes));
        // Markers for stack frames of tracing itself are at the upper end.
        Some(words.filter(|&address| address != 0 && address != u64::MAX))
    }
}

impl NewThreadLayout {
    /// The event's name.
    pub const EVENT: &'static str = "task/task_newtask";

    /// Finds the fields in the kernel's format.
    ///
    /// # Errors
    /// The format lacks a field.
    pub fn new(format: &Format) -> Result<Self, BindError> {
        let (id, find) = (Layout::number(format)?, Layout::finder(format));
        let (maker, thread) = (find("common_pid")?, find("pid")?);
        Ok(Self { id, maker, thread, flags: find("clone_flags")? })
    }

    /// The new thread; `None` if `raw` is another kind of record.
    pub fn thread(&self, raw: &[u8]) -> Option<NewThread> {
        (Layout::number_of(raw) == Some(self.id)).then(|| NewThread {
            maker: int(raw, self.maker) as i32,
            thread: int(raw, self.thread) as i32,
            same_process: int(raw, self.flags) & CLONE_THREAD != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

    fn format(id: u32, fields: &str) -> Format {
        format!("ID: {id}\nformat:\n{COMMON}{fields}").parse().unwrap()
    }

    fn raw(id: u16, rest: &[&[u8]]) -> Vec<u8> {
        let mut raw = id.to_ne_bytes().to_vec();
        raw.extend([0, 0]);
        raw.extend(42_i32.to_ne_bytes());
        raw.extend(rest.concat());
        raw
    }

    #[test]
    fn a_call_chain_ends_where_its_size_says() {
        let layout = StackLayout::new(&format(
            4,
            "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
             \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
        ))
        .unwrap();
        let words = [7_u64, 8, 9].map(u64::to_ne_bytes).concat();
        let record = raw(4, &[&2_u64.to_ne_bytes(), &words]);
        let addresses: Vec<u64> = layout.addresses(&record).unwrap().collect();
        assert_eq!(addresses, [7, 8]);
        assert!(layout.addresses(&raw(5, &[])).is_none());
        assert_eq!(layout.addresses(&record[..10]).unwrap().count(), 0);
    }

    #[test]
    fn a_new_thread_belongs_to_its_creators_process_or_a_new_one() {
        let layout = NewThreadLayout::new(&format(
            205,
            "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n\
             \tfield:u64 clone_flags;\toffset:16;\tsize:8;\tsigned:0;\n",
        ))
        .unwrap();
        let check = |flags: u64, same_process| {
            let record = raw(205, &[&43_u64.to_ne_bytes(), &flags.to_ne_bytes()]);
            let expected = NewThread { maker: 42, thread: 43, same_process };
            assert_eq!(layout.thread(&record), Some(expected));
        };
        check(0x0001_0f00, true);
        check(0x1200, false);
        assert_eq!(layout.thread(&raw(206, &[])), None);
    }
}
