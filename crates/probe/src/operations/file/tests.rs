use std::process::Command;

use tactus_model::cost::{Cache, FileReads};
use tactus_model::experiment::{Experiment, Overrides};
use tactus_sys::mount::own_mounts;
use tactus_testing::{Need, require, skip};

use super::*;

/// Reads of a file of 1 MiB in `directory`.
fn cost(operation: Operation, directory: &Path) -> CostProbe {
    let text = format!("[settings]\nprobe = \"cost\"\noperation = \"{operation}\"");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    let cost = plan.cells[0].probe.cost().unwrap().clone();
    let directory = directory.to_str().unwrap().parse().unwrap();
    let file = FileReads { file_size: Bytes::new(1 << 20), directory, ..cost.file.clone() };
    CostProbe { size: Bytes::new(4 << 10), file, ..cost }
}

fn cold(operation: Operation, directory: &Path) -> CostProbe {
    let cost = cost(operation, directory);
    CostProbe { file: FileReads { cache: Cache::Cold, ..cost.file.clone() }, ..cost }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn no_page_of_a_cold_file_is_cached_when_a_pass_begins() {
    let directory = tempfile::tempdir().unwrap();
    for operation in
        [Operation::FileStdio, Operation::FileRead, Operation::FileMmap, Operation::FileMappedStdio]
    {
        let cost = cold(operation, directory.path());
        let scratch = match Scratch::create(&cost) {
            Err(error @ Unmeasurable::InMemory(_)) => return skip(Need::Machine, error),
            found => found.unwrap(),
        };
        let resident = || residency(&scratch.file).unwrap().resident;
        let mut reads = open(&cost, &scratch).unwrap();
        for _ in 0..2 {
            assert_eq!((resident(), reads.left()), (0, Some(64)), "{operation}");
            for left in (0..64).rev() {
                reads.run(cost.per_sample()).unwrap();
                assert_eq!(reads.left(), Some(left), "{operation}");
            }
            assert!(resident() > 0, "{operation} reads by the page cache");
            reads.prepare_batch().unwrap();
        }
        assert!(is_empty(directory.path()), "the file has no name");
    }
}

#[test]
fn each_page_of_a_mapped_file_is_read_by_a_major_fault() {
    let directory = tempfile::tempdir().unwrap();
    let cost = cost(Operation::FaultMajor, directory.path());
    let scratch = match Scratch::create(&cost) {
        Err(error @ Unmeasurable::InMemory(_)) => return skip(Need::Machine, error),
        found => found.unwrap(),
    };
    let mut faults = match open(&cost, &scratch) {
        Err(error @ Unmeasurable::StaysCached(_)) => return skip(Need::Machine, error),
        found => found.unwrap(),
    };
    let major = || usage::of_this_thread().unwrap().major_faults;
    for _ in 0..2 {
        let before = major();
        assert_eq!(faults.left(), Some(256), "a mebibyte");
        (0..256).for_each(|_| faults.run(1).unwrap());
        match faults.prepare_batch() {
            Err(error @ Unmeasurable::ReadAhead { .. }) => return skip(Need::Machine, error),
            found => found.unwrap(),
        }
        assert!(major() - before >= 256);
    }
    // A page that is there is no major fault.
    let mut known = Faults::new(scratch.file.try_clone().unwrap());
    warm(&scratch.file).unwrap();
    known.begin().unwrap();
    known.read(7).unwrap();
    assert_eq!(known.end(), Err(Unmeasurable::ReadAhead { faults: 0, pages: 1 }));
}

/// Reads the whole file.
fn pass(reader: &mut impl Reader, cost: &CostProbe) {
    reader.begin().unwrap();
    (0..blocks(cost)).for_each(|number| reader.read(number).unwrap());
}

#[test]
fn every_reader_reads_the_whole_file() {
    let directory = tempfile::tempdir().unwrap();
    // Sizes that divide neither the buffers nor the windows.
    for size in [512, 1_000, 4_096, 70_000] {
        let cost = cost(Operation::FileRead, directory.path());
        let cost = CostProbe { size: Bytes::new(size), ..cost };
        let scratch = Scratch::create(&cost).unwrap();
        let file = || scratch.file.try_clone().unwrap();
        let mut expected = vec![0; size as usize];
        let place = (blocks(&cost) - 1) * size;
        scratch.file.read_exact_at(&mut expected, place).unwrap();

        let mut plain = Blocks::new(file(), size as usize).unwrap();
        pass(&mut plain, &cost);
        assert_eq!(plain.buffer.bytes(), expected);
        let mut windows = Windows::new(file(), &cost);
        pass(&mut windows, &cost);
        assert_eq!(windows.buffer, expected);
        let buffered = BufReader::with_capacity(STDIO_BUFFER, file());
        let mut stdio = Stdio { file: buffered, buffer: vec![0; size as usize] };
        pass(&mut stdio, &cost);
        assert_eq!(stdio.buffer, expected);
    }
}

#[test]
fn a_filesystem_in_memory_has_no_cold_files_and_is_named() {
    let directory = match tempfile::tempdir_in("/dev/shm") {
        Ok(directory) if filesystem::is_in_memory(directory.path()) == Ok(true) => directory,
        _ => return skip(Need::Machine, "no /dev/shm"),
    };
    let error = Scratch::create(&cold(Operation::FileRead, directory.path())).err().unwrap();
    assert!(error.to_string().contains("in memory (tmpfs)"), "{error}");
    let warm = Scratch::create(&cost(Operation::FileRead, directory.path())).unwrap();
    assert!(warm.shortfall().unwrap().granted.contains("tmpfs"));
    assert!(is_empty(directory.path()));
}

#[test]
fn needs_root_a_full_disk_is_the_reason_and_keeps_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    // The mount belongs to this thread and ends with it.
    let found = std::thread::spawn(move || {
        own_mounts().map_err(|error| error.to_string())?;
        let mount = ["-t", "tmpfs", "-o", "size=512k", "tmpfs"];
        let status = Command::new("mount").args(mount).arg(&place).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err("mount failed".to_owned());
        }
        let error = Scratch::create(&cost(Operation::FileRead, &place)).err();
        Ok((error, is_empty(&place)))
    });
    let Some((error, is_empty)) = require(Need::Root, found.join().unwrap()) else { return };
    let error = error.unwrap();
    assert!(error.to_string().ends_with("is full: the file needs 1MiB"), "{error}");
    assert!(error.hint().unwrap().contains("file-size") && is_empty);
}

#[test]
fn a_directory_that_is_missing_and_a_size_that_cannot_be_direct_are_reasons() {
    let missing = Scratch::create(&cost(Operation::FileRead, Path::new("/no/such"))).err().unwrap();
    let text = missing.to_string();
    assert!(text.starts_with("no file can be made in /no/such: No such file"), "{text}");

    let directory = tempfile::tempdir().unwrap();
    let odd =
        CostProbe { size: Bytes::new(1_000), ..cost(Operation::FileDirect, directory.path()) };
    let scratch = Scratch::create(&odd).unwrap();
    match open(&odd, &scratch) {
        Ok(_) => skip(Need::Machine, "the filesystem reads any size past the page cache"),
        Err(error) => {
            assert!(error.to_string().contains("does not read blocks of 1000B"), "{error}");
            assert!(error.hint().unwrap().contains("4KiB"));
        }
    }
}
