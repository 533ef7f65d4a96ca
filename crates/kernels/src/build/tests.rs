//! A complete build of a fake source that compiles at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use tactus_testing::{Need, skip};

use super::*;
use crate::image::tests::image;

/// The interface of Linux's build: the requested configuration is accepted except for one option,
/// and three objects are compiled. An object fails while the file `fail-OBJECT` exists, and the
/// build is killed while `kill-OBJECT` exists.
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

struct Workshop {
    directory: tempfile::TempDir,
    builder: Builder,
    cache: Cache,
    events: Mutex<Vec<String>>,
}

impl Workshop {
    /// A directory with a source. Without the tools to compile Linux, prints the reason and
    /// returns `None`.
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
        let workshop = Self {
            cache: Cache::new(directory.path().to_owned()),
            directory,
            builder,
            events: Mutex::default(),
        };
        let kernel = image("6.12.1-tactus #1");
        let kconfig = "config DROPPED\n\tbool\n\tdepends on WINGS\n";
        source::tests::put(
            &workshop.directory.path().join("sources"),
            "6.12.1-1",
            &[
                ("Makefile", MAKEFILE.as_bytes()),
                ("kernel.image", &kernel),
                ("Kconfig", kconfig.as_bytes()),
            ],
        );
        Some(workshop)
    }

    fn tree(&self) -> PathBuf {
        self.builder.sources.find(None).unwrap().unwrap().tree
    }

    /// The compiled objects, in order.
    fn compiled(&self) -> Vec<String> {
        let compiled = fs::read_to_string(self.tree().join("compiled")).unwrap_or_default();
        compiled.lines().map(str::to_owned).collect()
    }

    fn build(&self, kernel: &str) -> Result<Kernel, KernelError> {
        // A listener is 'static, so it has its own list.
        let events = Mutex::new(Vec::new());
        let events = std::sync::Arc::new(events);
        let list = std::sync::Arc::clone(&events);
        let listener = move |event: &KernelBuildEvent<'_>| {
            list.lock().unwrap().push(serde_json::to_string(event).unwrap());
        };
        let built = self.builder.find_or_build(&kernel.parse().unwrap(), &self.cache, &listener);
        self.events.lock().unwrap().append(&mut events.lock().unwrap());
        built
    }

    /// The list of kernels once no site is locked. Between fork and exec, a process of another
    /// test holds copies of all our open files, and with them the lock of a site.
    fn list(&self) -> Vec<(String, KernelState)> {
        const ATTEMPTS: usize = 250;
        const BETWEEN: Duration = Duration::from_millis(20);
        let look = || -> Vec<(String, KernelState)> {
            let list = self.builder.list(&self.cache).unwrap();
            list.into_iter().map(|known| (known.name, known.state)).collect()
        };
        let is_at_rest = |list: &[(String, KernelState)]| {
            list.iter().all(|(_, state)| *state != KernelState::Building)
        };
        for _ in 0..ATTEMPTS {
            let list = look();
            if is_at_rest(&list) {
                return list;
            }
            thread::sleep(BETWEEN);
        }
        look()
    }

    fn had(&self, event: &str) -> bool {
        let tag = format!("\"event\":\"{event}\"");
        self.events.lock().unwrap().iter().any(|found| found.contains(&tag))
    }
}

#[test]
fn a_kernel_is_built_once_and_its_objects_are_removed() {
    let Some(workshop) = Workshop::open() else { return };
    let kernel = workshop.build("built+hz=1000").unwrap();
    assert_eq!(kernel.release.as_deref(), Some("6.12.1-tactus"));
    let config = String::from_utf8(kernel.config.clone().unwrap()).unwrap();
    assert!(config.contains("CONFIG_HZ_CUSTOM_VALUE=1000\n"), "{config}");
    assert_eq!(workshop.compiled(), ["one", "two", "three"]);
    assert!(workshop.had("compiling") && workshop.had("built"));
    assert_eq!(workshop.builder.sites.unfinished(), []);
    assert_eq!(workshop.list(), [("built+hz=1000".to_owned(), KernelState::Built)]);

    assert_eq!(workshop.build("built+hz=1000").unwrap(), kernel);
    assert_eq!(workshop.compiled().len(), 3, "it is in the cache");
    workshop.build("built+hz=2000").unwrap();
    assert_eq!(workshop.compiled().len(), 6, "another tick rate is another kernel");
}

#[test]
fn a_failed_build_reports_the_reason_and_continues() {
    let Some(workshop) = Workshop::open() else { return };
    let fault = workshop.tree().join("fail-two");
    fs::write(&fault, "").unwrap();
    let error = workshop.build("built").unwrap_err();
    assert!(error.to_string().contains("two.c:1: error: planted"), "{error}");
    assert!(error.hint().unwrap().contains("continues the build"));
    assert_eq!(workshop.list(), [("built".to_owned(), KernelState::Unfinished)]);
    assert_eq!(workshop.compiled(), ["one"]);

    fs::remove_file(fault).unwrap();
    workshop.build("built").unwrap();
    assert_eq!(workshop.compiled(), ["one", "two", "three"], "the first was not compiled again");
    assert_eq!(workshop.list(), [("built".to_owned(), KernelState::Built)]);
}

#[test]
fn a_killed_build_continues() {
    let Some(workshop) = Workshop::open() else { return };
    let fault = workshop.tree().join("kill-three");
    fs::write(&fault, "").unwrap();
    workshop.build("built").unwrap_err();
    assert_eq!(workshop.list(), [("built".to_owned(), KernelState::Unfinished)]);
    fs::remove_file(fault).unwrap();
    workshop.build("built").unwrap();
    assert_eq!(workshop.compiled(), ["one", "two", "three"]);
}

#[test]
fn an_option_that_linux_rejects_is_an_error_that_names_it() {
    let Some(workshop) = Workshop::open() else { return };
    let error = workshop.build("built+DROPPED=y").unwrap_err();
    assert!(
        error.to_string().contains("DROPPED=y: its value is n; it depends on WINGS"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("+OPTION=y"));
    assert_eq!(workshop.compiled(), [""; 0]);
    assert_eq!(workshop.list(), []);
}

#[test]
fn two_commands_build_the_same_kernel_once() {
    let Some(workshop) = Workshop::open() else { return };
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| workshop.build("built").unwrap());
        let other = scope.spawn(|| workshop.build("built").unwrap());
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(one, other);
    assert_eq!(workshop.compiled().len(), 3);
}

#[test]
fn a_kernel_of_another_source_is_outdated() {
    let Some(workshop) = Workshop::open() else { return };
    workshop.build("built").unwrap();
    let sources = workshop.directory.path().join("sources");
    let older = workshop.tree();
    source::tests::put(&sources, "6.12.2-1", &[]);
    assert_ne!(workshop.tree(), older, "the newest unpacked source counts");
    assert_eq!(workshop.list(), [("built".to_owned(), KernelState::Outdated)]);
}

#[test]
fn a_build_without_tools_is_an_error_that_names_them() {
    let Some(mut workshop) = Workshop::open() else { return };
    workshop.builder.search_path = OsString::from("/no/such/directory");
    let error = workshop.build("built").unwrap_err();
    assert!(error.to_string().contains("make, gcc"), "{error}");
    assert!(error.hint().unwrap().starts_with("sudo apt-get install "));
}

#[test]
fn the_relevant_lines_begin_with_the_first_error() {
    let log = "  CC a.o\nb.c:1: error: no\n  CC c.o\n";
    assert_eq!(relevant_lines(log), "  b.c:1: error: no\n    CC c.o");
    assert_eq!(relevant_lines("one\ntwo\n"), "  one\n  two");
    assert_eq!(relevant_lines(""), "");
}

#[test]
fn a_key_depends_on_everything_that_determines_the_kernel() {
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
