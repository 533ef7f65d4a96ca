//! The guardian on a simulated machine, whose settings are files of a directory.

use std::fs::{self, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_sys::setting::{NOTES, Setting, VALUE_MAX};
use tactus_wire::{MESSAGE_LIMIT, MessageReader, MessageWriter, WireError, encode};

use super::changed::Changed;
use super::guardian::{Later, Request, guard};
use super::notes::note_of;
use super::*;
use tactus_prepare::ThreadRef;

/// The first setting of the simulated machine; its value is 1280.
const PATH: &str = "sys/block/sda/queue/max_sectors_kb";
/// A setting that some tests add.
const OTHER: &str = "sys/block/sdb/queue/max_sectors_kb";

struct SimulatedMachine(tempfile::TempDir);

impl SimulatedMachine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for path in [PATH, OTHER] {
            let file = machine.0.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        machine.set("1280");
        machine
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(PATH)
    }

    fn set(&self, value: &str) {
        fs::write(self.file(), format!("{value}\n")).unwrap();
    }

    fn value(&self) -> String {
        fs::read_to_string(self.file()).unwrap().trim_end().to_owned()
    }

    fn changes(&self) -> Vec<SettingChange> {
        vec![SettingChange::new(PATH, 4)]
    }

    /// Makes [`OTHER`] another name of the first setting: the last value written to either holds.
    fn join_settings(&self) {
        let other = self.0.path().join(OTHER);
        fs::remove_file(&other).unwrap();
        symlink(self.file(), other).unwrap();
    }

    /// Leaves what a killed guardian leaves, with a note that holds `value`.
    fn leave_behind(&self, value: &str) {
        self.leave_note(PATH, &format!("{{\"path\":\"{PATH}\",\"value\":{value}}}"));
        self.set("4");
    }

    /// Leaves a note of the setting at `path` with this content; returns the note.
    fn leave_note(&self, path: &str, content: &str) -> PathBuf {
        let note = note_of(self.0.path(), Path::new(path));
        fs::create_dir_all(note.parent().unwrap()).unwrap();
        fs::write(&note, content).unwrap();
        note
    }

    /// Restores what is left, and returns the reasons for what is not restored.
    fn restore(&self) -> Vec<String> {
        restore_left(self.0.path()).into_iter().map(|report| report.reason).collect()
    }

    fn notes(&self) -> usize {
        fs::read_dir(self.0.path().join(NOTES)).map_or(0, Iterator::count)
    }

    #[track_caller]
    fn check_restored(&self) {
        assert_eq!((&*self.value(), self.notes()), ("1280", 0));
    }
}

/// An input with a request; at its end it records the value of the setting and calls `at_end`.
struct Watching<'m> {
    request: io::Cursor<Vec<u8>>,
    machine: &'m SimulatedMachine,
    meanwhile: Option<String>,
    at_end: fn(&SimulatedMachine),
}

impl Read for Watching<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = Read::read(&mut self.request, buffer)?;
        if read == 0 {
            self.meanwhile = Some(self.machine.value());
            (self.at_end)(self.machine);
        }
        Ok(read)
    }
}

fn guarded(machine: &SimulatedMachine, changes: Vec<SettingChange>) -> (String, Option<String>) {
    guarded_until(machine, changes, |_| ())
}

fn guarded_until(
    machine: &SimulatedMachine,
    changes: Vec<SettingChange>,
    at_end: fn(&SimulatedMachine),
) -> (String, Option<String>) {
    let root = machine.0.path().to_owned();
    let request = Request { root, program: std::process::id(), changes };
    let request = io::Cursor::new(encode(&request, MESSAGE_LIMIT).unwrap());
    let mut input = BufReader::new(Watching { request, machine, meanwhile: None, at_end });
    let mut output = Vec::new();
    let requests = MessageReader::new(&mut input, MESSAGE_LIMIT);
    guard(requests, MessageWriter::new(&mut output, MESSAGE_LIMIT)).unwrap();
    (String::from_utf8(output).unwrap(), input.into_inner().meanwhile)
}

#[test]
fn an_input_that_ends_before_a_request_is_no_error() {
    for input in [&b""[..], b"{\"root\""] {
        let mut output = Vec::new();
        let requests = MessageReader::new(input, MESSAGE_LIMIT);
        guard(requests, MessageWriter::new(&mut output, MESSAGE_LIMIT)).unwrap();
        assert!(output.is_empty());
    }
}

#[test]
fn a_setting_is_changed_until_the_input_ends() {
    let machine = SimulatedMachine::new();
    let (response, meanwhile) = guarded(&machine, machine.changes());
    assert_eq!(response, "\"changed\"\n");
    assert_eq!(meanwhile.as_deref(), Some("4"));
    machine.check_restored();
}

#[test]
fn a_value_is_any_text_of_at_most_one_page() {
    let machine = SimulatedMachine::new();
    machine.set("0-3,7");
    let (_, meanwhile) = guarded(&machine, vec![SettingChange::new(PATH, "0-1")]);
    assert_eq!(meanwhile.as_deref(), Some("0-1"));
    assert_eq!((&*machine.value(), machine.notes()), ("0-3,7", 0));
    let long = SettingChange::new(PATH, "x".repeat(VALUE_MAX + 1));
    let (response, meanwhile) = guarded(&machine, vec![long]);
    assert!(response.contains("the value is too long"), "{response}");
    assert_eq!((meanwhile, &*machine.value(), machine.notes()), (None, "0-3,7", 0));
}

#[test]
fn one_refusal_leaves_all_settings_unchanged() {
    let machine = SimulatedMachine::new();
    let missing = SettingChange::new("sys/block/none/queue/max_sectors_kb", 1);
    let (response, _) = guarded(&machine, [machine.changes(), vec![missing]].concat());
    assert!(response.contains("this kernel has no such setting"), "{response}");
    machine.check_restored();
}

#[test]
fn settings_of_a_killed_guardian_are_restored_and_those_of_a_running_guardian_are_not() {
    let machine = SimulatedMachine::new();
    let [change] = machine.changes().try_into().unwrap();
    let running = Changed::make(machine.0.path(), change).map_err(|refused| refused.reason);
    assert_eq!(machine.restore(), [""; 0]);
    assert_eq!((&*machine.value(), machine.notes()), ("4", 1));
    drop(running);
    machine.leave_behind("\"1280\"");
    assert_eq!(machine.restore(), [""; 0]);
    machine.check_restored();
}

#[test]
fn the_last_changed_setting_is_restored_first() {
    let machine = SimulatedMachine::new();
    fs::write(machine.0.path().join(OTHER), "7\n").unwrap();
    let changes = [machine.changes(), vec![SettingChange::new(OTHER, 3)]].concat();
    guarded_until(&machine, changes, SimulatedMachine::join_settings);
    machine.check_restored();
}

#[test]
fn the_last_changed_setting_of_a_killed_guardian_is_restored_first() {
    // The order of the notes in their directory is arbitrary, so both orders are tested.
    for [first, second] in [[PATH, OTHER], [OTHER, PATH]] {
        let machine = SimulatedMachine::new();
        let root = machine.0.path();
        fs::write(root.join(OTHER), "7\n").unwrap();
        let was = fs::read_to_string(root.join(first)).unwrap();
        let make = |path| Changed::make(root, SettingChange::new(path, 4)).map_err(|no| no.reason);
        let changed = [first, second].map(|path| make(path).unwrap());
        let notes = [first, second].map(|path| note_of(root, Path::new(path)));
        let noted = notes.map(|note| (fs::read(&note).unwrap(), note));
        drop(changed);
        noted.iter().for_each(|(was, note)| fs::write(note, was).unwrap());
        machine.join_settings();
        assert_eq!(machine.restore(), [""; 0]);
        assert_eq!((machine.value(), machine.notes()), (was.trim_end().to_owned(), 0));
    }
}

#[test]
fn a_note_of_an_older_version_is_read() {
    let machine = SimulatedMachine::new();
    machine.leave_behind("1280");
    assert_eq!(machine.restore(), [""; 0]);
    machine.check_restored();
}

#[test]
fn a_value_left_by_a_killed_guardian_is_not_restored_as_the_old_value() {
    let machine = SimulatedMachine::new();
    machine.leave_behind("\"1280\"");
    guarded(&machine, machine.changes());
    machine.check_restored();
}

#[test]
fn a_note_of_a_foreign_file_is_refused_and_reported_once() {
    let machine = SimulatedMachine::new();
    let secret = machine.0.path().join("secret");
    fs::write(&secret, "kept\n").unwrap();
    let content = |path| format!("{{\"path\":\"{path}\",\"value\":\"lost\"}}");
    // By the name of the note, and by its content.
    for (name, path) in [("../../secret", "../../secret"), ("secret", "secret"), (PATH, "secret")] {
        machine.leave_note(name, &content(path));
        let reports = machine.restore();
        assert!(matches!(&reports[..], [one] if one.contains("was removed")), "{reports:?}");
        assert_eq!(machine.restore(), [""; 0]);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept\n");
        machine.check_restored();
    }
    let refused = Changed::make(machine.0.path(), SettingChange::new("secret", 1)).err().unwrap();
    assert!(refused.reason.contains("no such setting"), "{refused}");
}

#[test]
fn a_note_that_cannot_be_parsed_is_removed_and_reported_once() {
    let machine = SimulatedMachine::new();
    machine.leave_note(PATH, "{\"path\":\"sys/bl");
    let reports = machine.restore();
    assert!(matches!(&reports[..], [one] if one.contains("which stays 1280")), "{reports:?}");
    assert_eq!(machine.restore(), [""; 0]);
    machine.check_restored();
    // The guardian was killed while it wrote the note, so it had not changed the setting.
    let note = machine.leave_note(PATH, "{\"path\":\"sys/bl");
    fs::rename(&note, format!("{}.new", note.display())).unwrap();
    assert_eq!(machine.restore(), [""; 0]);
    machine.check_restored();
}

#[test]
fn notes_that_others_can_write_are_not_believed() {
    for place in ["run/tactus", NOTES] {
        let machine = SimulatedMachine::new();
        machine.leave_behind("\"1280\"");
        let place = machine.0.path().join(place);
        let set_mode = |mode| fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        set_mode(0o777);
        let reports = machine.restore();
        assert!(matches!(&reports[..], [one] if one.contains("not believed")), "{reports:?}");
        assert_eq!((&*machine.value(), machine.notes()), ("4", 1));
        let (response, _) = guarded(&machine, machine.changes());
        assert!(response.contains("not believed"), "{response}");
        set_mode(0o755);
        assert_eq!(machine.restore(), [""; 0]);
        machine.check_restored();
    }
}

#[test]
fn a_refused_old_value_is_reported_and_its_note_stays() {
    let machine = SimulatedMachine::new();
    machine.leave_behind(&format!("\"{}\"", "1".repeat(VALUE_MAX + 1)));
    let reports = machine.restore();
    assert!(matches!(&reports[..], [one] if one.contains("the value is too long")), "{reports:?}");
    assert_eq!(machine.notes(), 1);
}

/// Whether the guardian of this process leaves its stale instance, given the rest of its input.
fn leaves_instance(last: &[u8]) -> bool {
    let machine = SimulatedMachine::new();
    let instances = machine.0.path().join("sys/kernel/tracing/instances");
    let instance = instances.join(format!("tactus-{}-0", std::process::id()));
    fs::create_dir_all(&instance).unwrap();
    let root = machine.0.path().to_owned();
    let request = Request { root, program: std::process::id(), changes: Vec::new() };
    let input = [&encode(&request, MESSAGE_LIMIT).unwrap(), last].concat();
    let requests = MessageReader::new(&*input, MESSAGE_LIMIT);
    guard(requests, MessageWriter::new(Vec::new(), MESSAGE_LIMIT)).unwrap();
    instance.exists()
}

#[test]
fn a_guardian_removes_the_instances_of_a_killed_program() {
    assert!(!leaves_instance(b""));
    // A program that goes on removes its own.
    assert!(leaves_instance(&encode(&Later::End, MESSAGE_LIMIT).unwrap()));
}

#[test]
fn a_setting_held_by_another_measurement_is_refused() {
    let machine = SimulatedMachine::new();
    let setting = Setting::open(&machine.file()).unwrap();
    setting.lock().unwrap();
    let (response, _) = guarded(&machine, machine.changes());
    assert!(response.contains("another measurement holds it"), "{response}");
    machine.check_restored();
}

#[test]
fn an_endless_request_is_refused() {
    let requests = MessageReader::new(BufReader::new(io::repeat(b'x')), MESSAGE_LIMIT);
    let mut output = Vec::new();
    let refused = guard(requests, MessageWriter::new(&mut output, MESSAGE_LIMIT));
    assert!(matches!(refused, Err(WireError::TooLarge { .. })), "{refused:?}");
}

#[test]
fn a_kept_thread_returns_to_its_policy_if_its_program_is_killed_and_not_otherwise() {
    let policy_after = |release: bool| {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let thread = ThreadId(child.id().cast_signed());
        let reference = ThreadRef::Id(thread);
        let was = reference.scheduling().unwrap();
        let kept = KeptThread { thread, was, groups: Vec::new(), settle: Nanos::ZERO };
        assert_eq!(reference.schedule_alone(Scheduling::Batch { nice: 3 }), Ok(None));
        let machine = SimulatedMachine::new();
        let root = machine.0.path().to_owned();
        let request = Request { root, program: u32::MAX, changes: Vec::new() };
        let mut input = encode(&request, MESSAGE_LIMIT).unwrap();
        input.extend(encode(&Later::Keep(kept), MESSAGE_LIMIT).unwrap());
        if release {
            input.extend(encode(&Later::Release(thread), MESSAGE_LIMIT).unwrap());
        }
        let requests = MessageReader::new(&input[..], MESSAGE_LIMIT);
        guard(requests, MessageWriter::new(Vec::new(), MESSAGE_LIMIT)).unwrap();
        let after = reference.scheduling().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        (was, after)
    };
    let (was, after) = policy_after(false);
    assert_eq!(after, was);
    assert_eq!(policy_after(true).1, Scheduling::Batch { nice: 3 });
}
