//! The guardian on a made-up machine, whose settings are files of a directory.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use tactus_sys::Errno;
use tactus_sys::setting::{Setting, VALUE_MAX};

use super::changed::{Changed, NOTES, note_of};
use super::guardian::{Request, guard};
use super::*;

/// Where the made-up machine has its one setting, which is 1280.
const PATH: &str = "sys/block/sda/queue/max_sectors_kb";

struct MadeUp(tempfile::TempDir);

impl MadeUp {
    fn new() -> Self {
        let made_up = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(made_up.file().parent().unwrap()).unwrap();
        made_up.set("1280");
        made_up
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

    /// What a killed guardian leaves, in a note that holds `value`.
    fn leave_behind(&self, value: &str) {
        let note = note_of(self.0.path(), Path::new(PATH));
        fs::create_dir_all(note.parent().unwrap()).unwrap();
        fs::write(note, format!("{{\"path\":\"{PATH}\",\"value\":{value}}}")).unwrap();
        self.set("4");
    }

    fn notes(&self) -> usize {
        fs::read_dir(self.0.path().join(NOTES)).map_or(0, Iterator::count)
    }

    #[track_caller]
    fn check_as_it_was(&self) {
        assert_eq!((&*self.value(), self.notes()), ("1280", 0));
    }
}

/// An input that asks, and at its end keeps what the setting is by then.
struct Watching<'m> {
    request: io::Cursor<Vec<u8>>,
    machine: &'m MadeUp,
    meanwhile: Option<String>,
}

impl Read for Watching<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = Read::read(&mut self.request, buffer)?;
        if read == 0 {
            self.meanwhile = Some(self.machine.value());
        }
        Ok(read)
    }
}

fn guarded(machine: &MadeUp, changes: Vec<SettingChange>) -> (String, Option<String>) {
    let request = Request { root: machine.0.path().to_owned(), changes };
    let request = io::Cursor::new([serde_json::to_vec(&request).unwrap(), b"\n".to_vec()].concat());
    let mut input = BufReader::new(Watching { request, machine, meanwhile: None });
    let mut output = Vec::new();
    guard(&mut input, &mut output).unwrap();
    (String::from_utf8(output).unwrap(), input.into_inner().meanwhile)
}

#[test]
fn a_setting_is_changed_until_the_input_ends_and_then_what_it_was() {
    let machine = MadeUp::new();
    let (response, meanwhile) = guarded(&machine, machine.changes());
    assert_eq!(response, "\"changed\"\n");
    assert_eq!(meanwhile.as_deref(), Some("4"));
    machine.check_as_it_was();
}

#[test]
fn a_value_may_be_any_text_of_one_page() {
    let machine = MadeUp::new();
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
fn when_one_of_several_is_refused_none_is_changed() {
    let machine = MadeUp::new();
    let missing = SettingChange::new("sys/no/such", 1);
    let (response, _) = guarded(&machine, [machine.changes(), vec![missing]].concat());
    assert!(response.contains("this kernel has no such setting"), "{response}");
    machine.check_as_it_was();
}

#[test]
fn what_a_killed_guardian_left_is_put_back_and_a_running_one_is_left_alone() {
    let machine = MadeUp::new();
    let [change] = machine.changes().try_into().unwrap();
    let running = Changed::make(machine.0.path(), change).map_err(|refused| refused.reason);
    put_back_left(machine.0.path());
    assert_eq!((&*machine.value(), machine.notes()), ("4", 1));
    drop(running);
    machine.leave_behind("\"1280\"");
    put_back_left(machine.0.path());
    machine.check_as_it_was();
}

#[test]
fn a_note_of_an_older_version_is_understood() {
    let machine = MadeUp::new();
    machine.leave_behind("1280");
    put_back_left(machine.0.path());
    machine.check_as_it_was();
}

#[test]
fn a_value_that_was_left_is_not_taken_for_the_machines_own() {
    let machine = MadeUp::new();
    machine.leave_behind("\"1280\"");
    guarded(&machine, machine.changes());
    machine.check_as_it_was();
}

#[test]
fn settings_have_notes_of_their_own() {
    let note = |path: &str| note_of(Path::new("/"), Path::new(path));
    assert_eq!(note(PATH), Path::new("/run/tactus/settings/sys-block-sda-queue-max_sectors_kb"));
    assert_ne!(note("a-b/cpuset.cpus"), note("a/b-cpuset.cpus"));
}

#[test]
fn another_measurement_that_holds_it_is_named() {
    let machine = MadeUp::new();
    let setting = Setting::open(&machine.file()).unwrap();
    setting.lock().unwrap();
    let (response, _) = guarded(&machine, machine.changes());
    assert!(response.contains("another measurement holds it"), "{response}");
    machine.check_as_it_was();
}

#[test]
fn a_request_without_end_is_refused() {
    let mut endless = BufReader::new(io::repeat(b'x'));
    assert!(guard(&mut endless, &mut Vec::new()).is_err());
}

#[test]
fn sudo_is_not_advised_to_root() {
    let error = io::Error::from(Errno::PERM);
    let fix = |user| NotChanged::of_user("writing /x", &error, user).fix.unwrap();
    assert_eq!(fix(1000), "start it by sudo");
    assert!(!fix(0).contains("sudo"));
}
