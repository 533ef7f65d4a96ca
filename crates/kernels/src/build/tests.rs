//! The whole way of a build, with a source that is no Linux and compiles at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use tactus_testing::{Need, skip};

use super::*;
use crate::image::tests::image;

/// As much of a Linux as its builder sees: what is asked for becomes the configuration, but for
/// one option; three objects are compiled, each once; one
/// fails, or its build is killed, while a file that says so lies there.
const MAKEFILE: &str = r#"
allnoconfig:
	grep -v "CONFIG_DROPPED=" "$(KCONFIG_ALLCONFIG)" > $(O)/.config
objects := $(O)/one.o $(O)/two.o $(O)/three.o
bzImage: $(objects)
	mkdir -p $(O)/arch/x86/boot
	cp kernel.image $(O)/arch/x86/boot/bzImage
$(O)/two.o: $(O)/one.o
$(O)/three.o: $(O)/two.o
$(O)/%.o:
	@echo "  CC      $*.o"
	@if [ -e kill-$* ]; then kill -KILL $$PPID; fi
	@if [ -e fail-$* ]; then echo "$*.c:1: error: planted" >&2; exit 1; fi
	@touch $@ $(O)/.$*.o.cmd
	@echo "$*" >> compiled
"#;

struct Yard {
    directory: tempfile::TempDir,
    builder: Builder,
    cache: Cache,
    events: Mutex<Vec<String>>,
}

impl Yard {
    /// A yard with a source in it; `None`, with the reason printed, where Linux could not be
    /// compiled.
    #[track_caller]
    fn open() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let missing = tools::missing(&search_path);
        if !missing.is_empty() {
            skip(Need::Tools, BuildError::MissingTools(missing));
            return None;
        }
        let mut builder = Builder::new(directory.path());
        builder.search_path = search_path;
        let yard = Self {
            cache: Cache::new(directory.path().to_owned()),
            directory,
            builder,
            events: Mutex::default(),
        };
        let kernel = image("6.12.1-tactus #1");
        let kconfig = "config DROPPED\n\tbool\n\tdepends on WINGS\n";
        source::tests::put(
            &yard.directory.path().join("sources"),
            "6.12.1-1",
            &[
                ("Makefile", MAKEFILE.as_bytes()),
                ("kernel.image", &kernel),
                ("Kconfig", kconfig.as_bytes()),
            ],
        );
        Some(yard)
    }

    fn tree(&self) -> PathBuf {
        self.builder.sources.find(None).unwrap().unwrap().tree
    }

    /// The objects that were compiled, in order.
    fn compiled(&self) -> Vec<String> {
        let compiled = fs::read_to_string(self.tree().join("compiled")).unwrap_or_default();
        compiled.lines().map(str::to_owned).collect()
    }

    fn build(&self, kernel: &str) -> Result<Kernel, KernelError> {
        // A listener outlives what it is told of, so it is given a place of its own.
        let events = Mutex::new(Vec::new());
        let events = std::sync::Arc::new(events);
        let told = std::sync::Arc::clone(&events);
        let tell = move |event: &BuildEvent<'_>| {
            told.lock().unwrap().push(serde_json::to_string(event).unwrap());
        };
        let built = self.builder.find_or_build(&kernel.parse().unwrap(), &self.cache, &tell);
        self.events.lock().unwrap().append(&mut events.lock().unwrap());
        built
    }

    /// What there is when nobody works on it. A process that another test starts just now has
    /// all our open files until it is another program, and so holds the lock of a site.
    fn list(&self) -> Vec<(String, KernelState)> {
        const LOOKS: usize = 250;
        const BETWEEN: Duration = Duration::from_millis(20);
        let look = || -> Vec<(String, KernelState)> {
            let list = self.builder.list(&self.cache).unwrap();
            list.into_iter().map(|known| (known.name, known.state)).collect()
        };
        let is_at_rest = |list: &[(String, KernelState)]| {
            list.iter().all(|(_, state)| *state != KernelState::Building)
        };
        for _ in 0..LOOKS {
            let list = look();
            if is_at_rest(&list) {
                return list;
            }
            thread::sleep(BETWEEN);
        }
        look()
    }

    fn told(&self, event: &str) -> bool {
        let tag = format!("\"event\":\"{event}\"");
        self.events.lock().unwrap().iter().any(|told| told.contains(&tag))
    }
}

#[test]
fn a_kernel_is_built_once_and_its_objects_are_gone() {
    let Some(yard) = Yard::open() else { return };
    let kernel = yard.build("built+hz=1000").unwrap();
    assert_eq!(kernel.release.as_deref(), Some("6.12.1-tactus"));
    let config = String::from_utf8(kernel.config.clone().unwrap()).unwrap();
    assert!(config.contains("CONFIG_HZ_CUSTOM_VALUE=1000\n"), "{config}");
    assert_eq!(yard.compiled(), ["one", "two", "three"]);
    assert!(yard.told("compiling") && yard.told("built"));
    assert_eq!(yard.builder.sites.unfinished(), []);
    assert_eq!(yard.list(), [("built+hz=1000".to_owned(), KernelState::Built)]);

    assert_eq!(yard.build("built+hz=1000").unwrap(), kernel);
    assert_eq!(yard.compiled().len(), 3, "it was there already");
    yard.build("built+hz=2000").unwrap();
    assert_eq!(yard.compiled().len(), 6, "another tick rate is another kernel");
}

#[test]
fn a_build_that_failed_says_why_and_goes_on_where_it_was() {
    let Some(yard) = Yard::open() else { return };
    let fault = yard.tree().join("fail-two");
    fs::write(&fault, "").unwrap();
    let error = yard.build("built").unwrap_err();
    assert!(error.to_string().contains("two.c:1: error: planted"), "{error}");
    assert!(error.hint().unwrap().contains("goes on where it ended"));
    assert_eq!(yard.list(), [("built".to_owned(), KernelState::Unfinished)]);
    assert_eq!(yard.compiled(), ["one"]);

    fs::remove_file(fault).unwrap();
    yard.build("built").unwrap();
    assert_eq!(yard.compiled(), ["one", "two", "three"], "the first was not compiled again");
    assert_eq!(yard.list(), [("built".to_owned(), KernelState::Built)]);
}

#[test]
fn a_build_that_was_killed_goes_on_where_it_was() {
    let Some(yard) = Yard::open() else { return };
    let order = yard.tree().join("kill-three");
    fs::write(&order, "").unwrap();
    yard.build("built").unwrap_err();
    assert_eq!(yard.list(), [("built".to_owned(), KernelState::Unfinished)]);
    fs::remove_file(order).unwrap();
    yard.build("built").unwrap();
    assert_eq!(yard.compiled(), ["one", "two", "three"]);
}

#[test]
fn an_option_that_linux_does_not_take_is_a_refusal_that_names_it() {
    let Some(yard) = Yard::open() else { return };
    let error = yard.build("built+DROPPED=y").unwrap_err();
    let told = error.to_string();
    assert!(told.contains("DROPPED=y: it is n; it depends on WINGS"), "{told}");
    assert!(error.hint().unwrap().contains("+OPTION=y"));
    assert_eq!(yard.compiled(), [""; 0]);
    assert_eq!(yard.list(), []);
}

#[test]
fn two_commands_that_want_one_kernel_build_it_once() {
    let Some(yard) = Yard::open() else { return };
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| yard.build("built").unwrap());
        let other = scope.spawn(|| yard.build("built").unwrap());
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(one, other);
    assert_eq!(yard.compiled().len(), 3);
}

#[test]
fn a_kernel_of_another_source_is_outdated() {
    let Some(yard) = Yard::open() else { return };
    yard.build("built").unwrap();
    let sources = yard.directory.path().join("sources");
    let older = yard.tree();
    source::tests::put(&sources, "6.12.2-1", &[]);
    assert_ne!(yard.tree(), older, "the newest that was unpacked counts");
    assert_eq!(yard.list(), [("built".to_owned(), KernelState::Outdated)]);
}

#[test]
fn nothing_is_built_without_the_programs_that_do_it() {
    let Some(mut yard) = Yard::open() else { return };
    yard.builder.search_path = OsString::from("/no/such/directory");
    let error = yard.build("built").unwrap_err();
    assert!(error.to_string().contains("make, gcc"), "{error}");
    assert!(error.hint().unwrap().starts_with("sudo apt-get install "));
}

#[test]
fn the_lines_that_tell_of_a_failure_are_the_first_that_do() {
    let log = "  CC a.o\nb.c:1: error: no\n  CC c.o\n";
    assert_eq!(what_tells(log), "  b.c:1: error: no\n    CC c.o");
    assert_eq!(what_tells("one\ntwo\n"), "  one\n  two");
    assert_eq!(what_tells(""), "");
}

#[test]
fn what_decides_what_a_kernel_is_makes_its_key() {
    let kernel = BuiltKernel::default();
    let key = |version: &str, compiler: &str, kernel: &BuiltKernel| {
        let source = Source { version: version.to_owned(), tree: Path::new("/").to_owned() };
        let compiler = compiler.to_owned();
        Project { kernel, source, configuration: Configuration::of(kernel), compiler }.key()
    };
    let other: BuiltKernel = "built+hz=1000".parse().unwrap();
    let named: BuiltKernel = "built@6.12".parse().unwrap();
    let ours = key("6.12.1-1", "gcc 12", &kernel);
    assert_ne!(ours, key("6.12.2-1", "gcc 12", &kernel));
    assert_ne!(ours, key("6.12.1-1", "gcc 13", &kernel));
    assert_ne!(ours, key("6.12.1-1", "gcc 12", &other));
    assert_eq!(ours, key("6.12.1-1", "gcc 12", &named), "one kernel, two names");
}
