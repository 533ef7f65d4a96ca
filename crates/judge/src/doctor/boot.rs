//! What the kernel was told when it was started.

use tactus_model::facts::MachineFacts;

/// The kernel's own words on its command line; `None` where that cannot be read.
fn words(facts: &MachineFacts) -> Option<impl Iterator<Item = &str>> {
    let line = facts.kernel.command_line.as_deref()?;
    // What follows a bare `--` belongs to init.
    Some(line.split_whitespace().take_while(|word| *word != "--"))
}

/// Whether a bare word stands there.
pub(super) fn has(facts: &MachineFacts, name: &str) -> Option<bool> {
    words(facts).map(|mut words| words.any(|word| word == name))
}

/// The last value of `name=`, since a later one wins.
pub(super) fn value<'f>(facts: &'f MachineFacts, name: &str) -> Option<&'f str> {
    words(facts)?
        .filter_map(|word| word.split_once('='))
        .filter(|(key, _)| *key == name)
        .last()
        .map(|(_, value)| value)
}

/// What to do to start the kernel with these words.
pub(super) fn fix(facts: &MachineFacts, parameters: &str) -> String {
    super::on_machine(
        facts,
        &format!(
            "add {parameters} to GRUB_CMDLINE_LINUX in /etc/default/grub, \
             then sudo update-grub && sudo reboot"
        ),
    )
}
