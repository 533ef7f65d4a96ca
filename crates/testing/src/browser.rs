//! A browser that shows pages to nobody.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::patience::{PATIENCE, STEP};

/// The names under which the browser is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// An installed Chromium.
#[derive(Clone, Copy, Debug)]
pub struct Browser(&'static str);

/// What a browser made of a page.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The document after its scripts have run.
    pub document: String,
    /// What the browser complained about.
    pub complaints: String,
}

impl Browser {
    /// Finds the browser.
    ///
    /// # Errors
    /// None is installed.
    pub fn find() -> Result<Self, String> {
        let is_installed = |name: &&str| {
            let mut version = Command::new(name);
            version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        };
        let found = NAMES.into_iter().find(is_installed);
        found.map(Self).ok_or_else(|| format!("none of {} is installed", NAMES.join(", ")))
    }

    /// Shows a page in a window of this width.
    ///
    /// # Panics
    /// The browser does not start, or has not ended within [`PATIENCE`].
    #[track_caller]
    pub fn show(self, url: &str, width: u32) -> Shown {
        let folder = tempfile::tempdir().expect("a folder");
        let [document, complaints] =
            ["document", "complaints"].map(|name| folder.path().join(name));
        let file = |path| File::create(path).expect("a file");
        let mut child = Command::new(self.0)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--enable-logging=stderr"])
            .args(["--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(format!("--window-size={width},2000"))
            .arg(url)
            .stdout(file(&document))
            .stderr(file(&complaints))
            .spawn()
            .expect("a browser");
        let began = std::time::Instant::now();
        while child.try_wait().expect("its state").is_none() {
            if began.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the browser did not finish within {PATIENCE:?}");
            }
            std::thread::sleep(STEP);
        }
        let text = |path| fs::read_to_string(path).expect("UTF-8");
        Shown { document: text(document), complaints: text(complaints) }
    }
}
