//! The limits of what is read from files: one table for all formats.
//!
//! A file beyond a limit is refused where it is read, so that nothing behind that border meets
//! numbers or sizes that no measurement has. The limits keep the memory of a command within
//! about ten times the size of its file, or 250 MB if that is more.
//! `docs/run-format.md` and `docs/recording-format.md` list them.

/// Any count in a result: 2⁵³, up to which every JSON reader is exact. With one sample per
/// nanosecond, it is reached after a hundred days.
pub const COUNT: u64 = 1 << 53;

/// Bytes of the file of an experiment.
pub const EXPERIMENT_BYTES: u64 = 1 << 20;

/// Bytes of a file of another tool. A run exported by Tactus is read a result at a time and
/// needs no limit of its own.
pub const FOREIGN_FILE_BYTES: u64 = 1 << 30;

/// Bytes of a text in a run: a name, a reason, a command line. Linux passes at most 128 KiB in
/// one argument of a command (`MAX_ARG_STRLEN`, execve(2)).
pub const TEXT_BYTES: usize = 128 << 10;

/// Bytes of binary content in a run, as base64: a recording of 32 MiB
/// ([`TracedData::RECORDING_LIMIT`](crate::traced::TracedData::RECORDING_LIMIT)), or a block of
/// samples.
pub const BINARY_TEXT_BYTES: usize = 128 << 20;

/// How deep lists and objects in a run are nested.
pub const DEPTH: usize = 64;

/// Entries in any list of a run without a limit of its own.
pub const LIST_ENTRIES: usize = 1 << 20;

/// Tasks of a cell: as many as the CPUs that Linux supports.
pub const TASKS: usize = crate::cpus::CpuList::LIMIT as usize;

/// Non-empty buckets of a histogram: all that its geometry has.
pub const BUCKETS: usize = 55 << 10;

/// Turns without a result: ten rounds of all cells that a plan may have.
pub const FAILURES: usize = 100_000;

/// Notes, shortfalls, files, and other lists of texts.
pub const REMARKS: usize = 10_000;

/// Samples that may be decoded from a result for each byte of their blocks, beyond
/// [`SAMPLES_ALWAYS`]. Real samples take two bytes each.
pub const SAMPLES_PER_BYTE: u64 = 4;

/// Samples that any result may have.
pub const SAMPLES_ALWAYS: u64 = 1 << 20;

/// Rows of another tool's histogram. cyclictest writes at most a million (`HIST_MAX` in
/// `cyclictest.c`).
pub const HISTOGRAM_ROWS: usize = 1 << 20;

/// Columns of another tool's histogram: rtla writes three for each CPU, and cyclictest one for
/// each thread and one for all.
pub const HISTOGRAM_COLUMNS: usize = 3 * TASKS + 1;

/// Characters of a value that a message quotes from a file.
pub const QUOTED_CHARACTERS: usize = 60;

/// Losses of events in a recording: a hundred for each second of three hours.
pub const LOSSES: usize = 1 << 20;

/// Bytes of a name in a recording. Threads have 15, functions of the kernel at most 511
/// (`KSYM_NAME_LEN`).
pub const RECORDED_NAME_BYTES: usize = 1 << 10;

/// Bytes of a program's mark in a recording; the recorder cuts longer marks.
pub const MARK_BYTES: usize = 256;

/// Different marks in a recording: a quarter of its names, so that marks with a number in each
/// leave space for the names of threads.
pub const MARKS: usize = 1 << 18;

/// Frames of a call chain in a recording: the kernel records at most 127
/// (`PERF_MAX_STACK_DEPTH`) for each of its sections.
pub const CHAIN_FRAMES: usize = 1 << 10;

/// Bytes of a plan for `tactus admit`.
pub const ADMISSION_BYTES: u64 = 1 << 20;

/// Tasks in a plan for `tactus admit`: the time of the exact tests grows with its square.
pub const ADMISSION_TASKS: usize = 256;

/// Bytes of a pipeline for `tactus model`.
pub const PIPELINE_BYTES: u64 = 1 << 20;

/// Stages of a pipeline.
pub const PIPELINE_STAGES: usize = 32;

/// Operations of a stage.
pub const PIPELINE_STEPS: usize = 32;
