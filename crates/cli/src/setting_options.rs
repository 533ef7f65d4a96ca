//! The settings of a cell as options, from the same table as the keys of experiment files.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use tactus_model::experiment::{DEFAULTS, Experiment};
use tactus_model::settings::{Layer, SETTINGS, Setting};

use crate::values::file_meant;

/// The settings given as options; a repeated setting is an axis.
///
/// `WATCHED` leaves out those that have no effect on a cell that is watched: the kernel, and the
/// second window.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingOptions<const WATCHED: bool = false>(pub(crate) Layer);

/// The settings of a watched cell.
pub(crate) type WatchedSettings = SettingOptions<true>;

/// The settings that do not apply to a watched cell.
const NOT_WATCHED: [&str; 3] = ["kernel", "traced", "traced-events"];

impl<const WATCHED: bool> SettingOptions<WATCHED> {
    /// What the help says about all settings.
    const HEADING: &str = if WATCHED {
        "Settings (keys step through the values of load, policy and interval if repeated)"
    } else {
        "Settings (repeat one to compare its values; an experiment replaces defaults)"
    };

    /// The settings that are options.
    fn taken() -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(|setting| !(WATCHED && NOT_WATCHED.contains(&setting.name)))
    }
}

impl SettingOptions {
    /// Whether no setting was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == Layer::default()
    }
}

impl<const WATCHED: bool> FromArgMatches for SettingOptions<WATCHED> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in Self::taken() {
            let Some(values) = matches.get_many::<String>(setting.name) else { continue };
            self.0
                .set(setting.name, values.cloned().collect())
                // Values were parsed one by one.
                .map_err(|reason| Error::raw(ErrorKind::InvalidValue, format!("--{reason}\n")))?;
        }
        Ok(())
    }
}

/// Checks one value of a setting.
fn check(setting: &'static Setting, value: &str) -> Result<String, String> {
    let checked = Layer::default().set(setting.name, vec![value.to_owned()]);
    let without_name = |reason: String| match reason.split_once(": ") {
        Some((name, reason)) if name == setting.name => reason.to_owned(),
        _ => reason,
    };
    checked.map(|()| value.to_owned()).map_err(|reason| {
        let file = if setting.name == "kernel" { file_meant(value) } else { None };
        file.unwrap_or_else(|| without_name(reason))
    })
}

/// The short option of the settings that are typed most.
fn short(setting: &Setting) -> Option<char> {
    match setting.name {
        "load" => Some('l'),
        "policy" => Some('p'),
        "interval" => Some('i'),
        "duration" => Some('d'),
        _ => None,
    }
}

/// The help of a setting, with its default.
fn help(setting: &Setting, defaults: &Layer) -> String {
    let default = defaults.values(setting.name).unwrap_or_default().join(", ");
    format!("{} [default: {default}]", setting.about)
}

impl<const WATCHED: bool> Args for SettingOptions<WATCHED> {
    fn augment_args(command: Command) -> Command {
        let defaults = Experiment::parse(DEFAULTS)
            .map_or_else(|_| Layer::default(), |experiment| experiment.settings().clone());
        Self::taken().fold(command, |command, setting| {
            command.arg(
                Arg::new(setting.name)
                    .long(setting.name)
                    .short(short(setting))
                    .value_name(setting.value)
                    .help(help(setting, &defaults))
                    .help_heading(Self::HEADING)
                    .value_parser(move |value: &str| check(setting, value))
                    // A value such as -1s is refused as a value.
                    .allow_hyphen_values(true)
                    .action(ArgAction::Append),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
