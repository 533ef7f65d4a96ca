//! A kernel of a tree of sources that its owner changes, such as a step of a bisection.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tactus_model::kernel::BuiltKernel;

use super::compile::{BUILT_BY, Compiling, END_TOGETHER, variable};
use super::configuration::Configuration;
use super::{BuildError, Listener, compile, relevant_lines, step, tools};
use crate::{FileError, Kernel, KernelError, failed, kernel_in};

/// How a tree is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// By Linux's own build, for amd64, with this complete configuration; without one, with the
    /// configuration of the lab's own kernels.
    Linux {
        /// The content of a `.config`.
        configuration: Option<Vec<u8>>,
    },
    /// By a shell command in the tree, which writes an image.
    Command {
        /// The command.
        command: String,
        /// The image, relative to the tree.
        image: PathBuf,
    },
}

/// A tree of sources, and where its kernel is built.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The directory of the sources.
    pub sources: PathBuf,
    /// The directory of the objects, which stay for the next build; a command need not use it.
    pub objects: PathBuf,
    /// The log of the build.
    pub log: PathBuf,
    /// How it is built.
    pub recipe: Recipe,
}

impl Tree {
    /// Builds the kernel, which events call `name`.
    pub(crate) fn build(
        &self,
        name: &str,
        search_path: &OsStr,
        listener: &Listener,
    ) -> Result<Kernel, KernelError> {
        fs::create_dir_all(&self.objects).map_err(|error| failed(&self.objects, error))?;
        fs::write(&self.log, "").map_err(|error| failed(&self.log, error))?;
        let (image, config) = match &self.recipe {
            Recipe::Linux { configuration } => {
                let missing = tools::missing(search_path);
                if !missing.is_empty() {
                    return Err(BuildError::MissingTools(missing).into());
                }
                self.make(name, configuration.as_deref(), search_path, listener)?;
                let objects = &self.objects;
                (objects.join("arch/x86/boot/bzImage"), Some(objects.join(".config")))
            }
            Recipe::Command { command, image } => {
                // The image of an earlier commit must not pass for that of this one.
                let _ = fs::remove_file(self.sources.join(image));
                self.command(command)?;
                (self.sources.join(image), None)
            }
        };
        kernel_in(&image, config.as_deref())
    }

    fn make(
        &self,
        name: &str,
        configuration: Option<&[u8]>,
        search_path: &OsStr,
        listener: &Listener,
    ) -> Result<(), BuildError> {
        let Self { sources: tree, objects, log, recipe: _ } = self;
        let compiling = Compiling { tree, objects, log, search_path };
        let write = |file: &Path, content: &[u8]| -> Result<(), FileError> {
            fs::write(file, content).map_err(|error| failed(file, error))
        };
        match configuration {
            Some(configuration) => {
                write(&objects.join(".config"), configuration)?;
                step(&compiling, "configuring Linux", "olddefconfig", &[], |_| ())?;
            }
            None => {
                let requested = objects.join("requested.config");
                write(&requested, Configuration::of(&BuiltKernel::default()).text().as_bytes())?;
                let settings = [variable("KCONFIG_ALLCONFIG", &requested)];
                step(&compiling, "configuring Linux", "allnoconfig", &settings, |_| ())?;
            }
        }
        compile(&compiling, name, super::site::OBJECTS, listener).map(drop)
    }

    /// Runs the command of the tree's owner, with the owner's environment.
    fn command(&self, command: &str) -> Result<(), BuildError> {
        let run = || {
            let log = OpenOptions::new().append(true).open(&self.log)?;
            let mut shell = Command::new("sh");
            tactus_sys::process::end_with_parent(&mut shell);
            shell
                .process_group(0)
                .args(["-c", END_TOGETHER, "sh", "sh", "-c", command])
                .current_dir(&self.sources)
                .envs(BUILT_BY)
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .status()
        };
        let log = &self.log;
        if run().map_err(|error| failed(log, error))?.success() {
            return Ok(());
        }
        let output = fs::read(log).map_err(|error| failed(log, error))?;
        let output = relevant_lines(&String::from_utf8_lossy(&output));
        Err(BuildError::Failed { step: "the build command", log: log.clone(), output })
    }
}
