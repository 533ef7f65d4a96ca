//! Records that are no events of the model but accompany them in tracefs.

use super::decoder::{BindError, Layout};
use super::format::{Field, Format, int};

/// Where the kernel's record of a call chain has its addresses.
///
/// `ftrace/kernel_stack`: written behind the event whose chain it is.
#[derive(Clone, Copy, Debug)]
pub struct StackLayout {
    id: u16,
    size: Field,
    callers: Field,
}

/// Where the record of a new thread tells of whose process it is (`task/task_newtask`).
#[derive(Clone, Copy, Debug)]
pub struct NewThreadLayout {
    id: u16,
    maker: Field,
    thread: Field,
    flags: Field,
}

/// A thread was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewThread {
    /// By this one.
    pub maker: i32,
    /// Itself.
    pub thread: i32,
    /// Whether it is of its maker's process; else it is the first of its own.
    pub same_process: bool,
}

/// `CLONE_THREAD` of clone(2).
const CLONE_THREAD: i64 = 0x0001_0000;

impl StackLayout {
    /// The event's name.
    pub const EVENT: &'static str = "ftrace/kernel_stack";

    /// Finds the fields in the kernel's description.
    ///
    /// # Errors
    /// The description lacks one.
    pub fn new(format: &Format) -> Result<Self, BindError> {
        let (id, find) = (Layout::number(format)?, Layout::finder(format));
        Ok(Self { id, size: find("size")?, callers: find("caller")? })
    }

    /// The addresses, the innermost first, if `raw` is such a record.
    pub fn addresses<'a>(&self, raw: &'a [u8]) -> Option<impl Iterator<Item = u64> + use<'a>> {
        if Layout::number_of(raw) != Some(self.id) {
            return None;
        }
        let frames = usize::try_from(int(raw, self.size)).unwrap_or(0);
        let callers = raw.get(usize::from(self.callers.offset)..).unwrap_or_default();
        let words = callers.chunks_exact(size_of::<u64>()).take(frames);
        let words = words.filter_map(|word| word.first_chunk().copied().map(u64::from_ne_bytes));
        // Markers of what tracing itself put on the stack stand at the top end.
        Some(words.filter(|&address| address != 0 && address != u64::MAX))
    }
}

impl NewThreadLayout {
    /// The event's name.
    pub const EVENT: &'static str = "task/task_newtask";

    /// Finds the fields in the kernel's description.
    ///
    /// # Errors
    /// The description lacks one.
    pub fn new(format: &Format) -> Result<Self, BindError> {
        let (id, find) = (Layout::number(format)?, Layout::finder(format));
        let (maker, thread) = (find("common_pid")?, find("pid")?);
        Ok(Self { id, maker, thread, flags: find("clone_flags")? })
    }

    /// What `raw` says, if it is such a record.
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
    fn a_new_thread_is_of_its_makers_process_or_of_its_own() {
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
