//! The subcommands, one file each.

mod admit;
mod agent;
mod compare;
mod completions;
mod costs;
mod delete;
mod doctor;
mod explain;
mod export;
mod gate;
mod import;
mod internal;
mod judge;
mod lab;
mod lint;
mod list;
mod machines;
mod mail;
mod measure;
mod midi;
mod model;
mod need;
mod play;
mod qos;
mod qosd;
mod quanta;
mod record;
mod report;
mod reproduce;
mod reserve;
mod serve;
mod show;
mod streamd;
mod streams;
mod watch;
mod why;

use clap::Subcommand;
use tactus_app::Places;

use crate::error::CommandResult;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Doctor(doctor::DoctorArguments),
    Measure(measure::MeasureArguments),
    Costs(costs::CostsArguments),
    Model(model::ModelArguments),
    Lab(lab::LabArguments),
    Watch(watch::WatchArguments),
    Agent(agent::AgentArguments),
    Record(record::RecordArguments),
    Admit(admit::AdmitArguments),
    Reserve(reserve::ReserveArguments),
    Why(why::WhyArguments),
    Lint(lint::LintArguments),
    Need(need::NeedArguments),
    Qosd(qosd::QosdArguments),
    Qos(qos::QosArguments),
    Streamd(streamd::StreamdArguments),
    Streams(streams::StreamsArguments),
    Midi(midi::MidiArguments),
    Judge(judge::JudgeArguments),
    Play(play::PlayArguments),
    Mail(mail::MailArguments),
    List(list::ListArguments),
    Show(show::ShowArguments),
    Explain(explain::ExplainArguments),
    Quanta(quanta::QuantaArguments),
    Report(report::ReportArguments),
    Reproduce(reproduce::ReproduceArguments),
    Compare(compare::CompareArguments),
    Machines(machines::MachinesArguments),
    Gate(gate::GateArguments),
    Export(export::ExportArguments),
    Import(import::ImportArguments),
    Delete(delete::DeleteArguments),
    Serve(serve::ServeArguments),
    Completions(completions::CompletionsArguments),
    #[command(hide = true)]
    Internal(internal::InternalArguments),
}

impl Command {
    /// Whether the command may open the kernel's tracepoints, or must find out whether it could.
    pub(crate) fn may_record(&self) -> bool {
        match self {
            Self::Doctor(_)
            | Self::Measure(_)
            | Self::Lab(_)
            | Self::Watch(_)
            | Self::Agent(_)
            | Self::Record(_)
            | Self::Why(_)
            | Self::Lint(_)
            | Self::Need(_)
            | Self::Reproduce(_) => true,
            Self::Internal(arguments) => arguments.may_record(),
            Self::Admit(_)
            | Self::Reserve(_)
            | Self::Qosd(_)
            | Self::Qos(_)
            | Self::Streamd(_)
            | Self::Streams(_)
            | Self::Midi(_)
            | Self::Judge(_)
            | Self::Play(_)
            | Self::Mail(_)
            | Self::List(_)
            | Self::Show(_)
            | Self::Explain(_)
            | Self::Quanta(_)
            | Self::Report(_)
            | Self::Compare(_)
            | Self::Machines(_)
            | Self::Gate(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Delete(_)
            | Self::Serve(_)
            | Self::Costs(_)
            | Self::Model(_)
            | Self::Completions(_) => false,
        }
    }

    pub(crate) fn run(self, places: &Places) -> CommandResult {
        match self {
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Measure(arguments) => measure::run(&arguments, places),
            Self::Costs(arguments) => costs::run(&arguments, places),
            Self::Model(arguments) => model::run(&arguments, places),
            Self::Lab(arguments) => lab::run(arguments, places),
            Self::Watch(arguments) => watch::run(&arguments, places),
            Self::Agent(arguments) => agent::run(&arguments, places),
            Self::Record(arguments) => record::run(&arguments),
            Self::Admit(arguments) => admit::run(&arguments),
            Self::Reserve(arguments) => reserve::run(&arguments),
            Self::Why(arguments) => why::run(&arguments),
            Self::Lint(arguments) => lint::run(&arguments),
            Self::Need(arguments) => need::run(&arguments),
            Self::Qosd(arguments) => qosd::run(&arguments),
            Self::Qos(arguments) => qos::run(&arguments),
            Self::Streamd(arguments) => streamd::run(arguments),
            Self::Streams(arguments) => streams::run(&arguments),
            Self::Midi(arguments) => midi::run(&arguments),
            Self::Judge(arguments) => judge::run(&arguments),
            Self::Play(arguments) => play::run(&arguments),
            Self::Mail(arguments) => mail::run(&arguments),
            Self::List(arguments) => list::run(&arguments, places),
            Self::Show(arguments) => show::run(&arguments, places),
            Self::Explain(arguments) => explain::run(&arguments, places),
            Self::Quanta(arguments) => quanta::run(&arguments, places),
            Self::Report(arguments) => report::run(&arguments, places),
            Self::Reproduce(arguments) => reproduce::run(&arguments, places),
            Self::Compare(arguments) => compare::run(&arguments, places),
            Self::Machines(arguments) => machines::run(&arguments, places),
            Self::Gate(arguments) => gate::run(&arguments, places),
            Self::Export(arguments) => export::run(&arguments, places),
            Self::Import(arguments) => import::run(&arguments, places),
            Self::Delete(arguments) => delete::run(&arguments, places),
            Self::Serve(arguments) => serve::run(&arguments, places),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Internal(arguments) => internal::run(&arguments, places),
        }
    }
}
