//! A guest that runs programs of the host, step by step.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::de::DeserializeOwned;
use tactus_guest::chore::{Reply, Request, Step};
use tactus_guests::machine::{Accelerator, Machine};
use tactus_model::guest::Guest;
use tactus_model::message::Message;

use super::{ChoreGuest, Files, SEED, archive_with, modules};

/// Debian's kernel, which has the drivers as modules. In deterministic time, what else the host does
/// changes nothing.
const KERNEL: &str = "debian";
const TIME: &str = "exact:1000";

/// Memory for the archive and its content.
const MEMORY_MIB: u32 = 1536;

/// A session under construction.
pub(crate) struct Session {
    pub(crate) files: Files,
    pub(crate) steps: Vec<Step>,
    /// The module of the kernel to load, and its parameters.
    pub(crate) module: (&'static str, &'static str),
}

impl Session {
    /// Boots the guest with `tactus`, ffmpeg and its files, and takes the steps. Returns their
    /// replies.
    pub(crate) fn run(mut self, root: &Path) -> anyhow::Result<Vec<Reply>> {
        let guest = Guest { kernel: KERNEL.parse()?, time: TIME.parse()? };
        let kernel = super::kernel(&guest.kernel.source)?;
        let modules = modules::add_to(&mut self.files, &kernel, self.module)?;
        self.files.program(&crate::cargo::release(root)?, "usr/bin/tactus")?;
        self.files.installed("ffmpeg", "ffmpeg")?;
        self.files.installed("ffprobe", "ffmpeg")?;
        let archive = archive_with(root, "programs", &self.files)?;
        let request = serde_json::to_string(&Request { modules, steps: self.steps.clone() })?;
        let machine = Machine {
            guest: &guest,
            architecture: kernel.architecture,
            accelerator: Accelerator::Tcg,
            cpus: 1,
            seed: SEED as u32,
        };
        let mut lines = Vec::new();
        let chore = ChoreGuest {
            request: &request,
            memory: Some(MEMORY_MIB),
            ..ChoreGuest::new(&kernel, &archive)
        };
        chore.boot(&machine, |line| lines.push(line))?;
        let release = kernel.release.as_deref().unwrap_or(KERNEL);
        println!("{release} (sha256 {:.12}), {TIME}", kernel.sha256);
        // The first line has the facts of the machine.
        let replies: anyhow::Result<Vec<Reply>> =
            lines[1..].iter().map(|line| reply(line)).collect();
        let replies = replies?;
        let steps = self.steps.len();
        ensure!(replies.len() == steps, "{} of {steps} steps were taken", replies.len());
        Ok(replies)
    }
}

fn reply(line: &str) -> anyhow::Result<Reply> {
    if let Ok(Message::Failed { reason, .. }) = serde_json::from_str(line) {
        bail!("the guest: {reason}");
    }
    Ok(serde_json::from_str(line)?)
}

/// The words of a command, at its spaces.
pub(crate) fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// The output and the errors of a program that has ended with this exit code.
pub(crate) fn ended(reply: &Reply, wanted: i32) -> anyhow::Result<(&str, &str)> {
    let Reply::Ended { code, output, errors } = reply else { bail!("no program: {reply:?}") };
    ensure!(*code == Some(wanted), "exit code {code:?}, not {wanted}: {output}{errors}");
    Ok((output, errors.trim()))
}

/// The value with this key among lines of JSON with one key each.
pub(crate) fn line_with<T: DeserializeOwned>(lines: &str, key: &str) -> anyhow::Result<T> {
    let mut values = lines.lines().filter_map(|line| {
        let mut object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).ok()?;
        object.remove(key)
    });
    let value = values.next().with_context(|| format!("no line with {key}"))?;
    Ok(serde_json::from_value(value)?)
}
