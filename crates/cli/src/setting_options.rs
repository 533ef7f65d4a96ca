//! The settings of a cell as options, made from the same table as the keys of experiment files.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use tactus_model::settings::{Layer, SETTINGS};

/// The settings that were given as options; one given several times is an axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingOptions(pub(crate) Layer);

impl SettingOptions {
    /// Whether no setting was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == Layer::default()
    }
}

impl FromArgMatches for SettingOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in SETTINGS {
            let Some(values) = matches.get_many::<String>(setting.name) else { continue };
            self.0
                .set(setting.name, values.cloned().collect())
                .map_err(|reason| Error::raw(ErrorKind::InvalidValue, format!("--{reason}\n")))?;
        }
        Ok(())
    }
}

impl Args for SettingOptions {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().fold(command, |command, setting| {
            command.arg(
                Arg::new(setting.name)
                    .long(setting.name)
                    .value_name(setting.value)
                    .help(setting.about)
                    .help_heading("Settings (give one several times to compare its values)")
                    .action(ArgAction::Append),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
