//! The kernel's command line.

use tactus_model::facts::MachineFacts;

/// The words of the command line that are for the kernel; `None` if it cannot be read.
fn words(facts: &MachineFacts) -> Option<impl Iterator<Item = &str>> {
    let line = facts.kernel.command_line.as_deref()?;
    // Words after a bare `--` belong to init.
    Some(line.split_whitespace().take_while(|word| *word != "--"))
}

/// Whether the command line contains the word `name`.
pub(super) fn has(facts: &MachineFacts, name: &str) -> Option<bool> {
    words(facts).map(|mut words| words.any(|word| word == name))
}

/// The last value of `name=`, because a later one overrides an earlier one.
pub(super) fn value<'f>(facts: &'f MachineFacts, name: &str) -> Option<&'f str> {
    words(facts)?
        .filter_map(|word| word.split_once('='))
        .filter(|(key, _)| *key == name)
        .last()
        .map(|(_, value)| value)
}

/// The instruction to boot the kernel with these parameters.
pub(super) fn fix(facts: &MachineFacts, parameters: &str) -> String {
    super::on_machine(
        facts,
        &format!(
            "add {parameters} to GRUB_CMDLINE_LINUX in /etc/default/grub, \
             then sudo update-grub && sudo reboot"
        ),
    )
}
