//! The operations of stages in the description of a pipeline.

use tactus_model::cost::{Family, Operation, Parameter, Times};
use tactus_model::format::quoted;
use tactus_model::limits::PIPELINE_STEPS;
use tactus_model::place::{Place, WrongAt, scalar};
use tactus_model::settings::Layer;
use tactus_model::text::UnknownWord;
use toml::de::{DeTable, DeValue};

use crate::resolve::operation_layer;

/// The operations by which a stage can be woken; the first is the usual one.
pub(crate) const HAND_OVERS: [Operation; 3] =
    [Operation::Pipe, Operation::Futex, Operation::Eventfd];

/// What a stage does: the key `do`.
pub(crate) fn list_of_steps(place: Place<'_>, value: &DeValue<'_>) -> Result<Vec<Layer>, WrongAt> {
    let DeValue::Array(values) = value else {
        return Err(place.error("do: this value must be a list of operations"));
    };
    if values.len() > PIPELINE_STEPS {
        let count = values.len();
        return Err(place.error(format!("do: {count} operations; the limit is {PIPELINE_STEPS}")));
    }
    values.iter().map(|value| step(place.at(value.span().start), value.get_ref())).collect()
}

/// An operation of a stage: its word, or a table with its settings and how often it is done.
fn step(place: Place<'_>, value: &DeValue<'_>) -> Result<Layer, WrongAt> {
    let (operation, mut layer) = operation(place, value, &["times"], &[])?;
    if layer
        .values("times")
        .is_none_or(|times| times[0].parse::<Times>().is_ok_and(|times| times.get().is_none()))
    {
        // A message is answered.
        let least = if operation.traits().family == Family::Ipc { "2" } else { "1" };
        layer.set("times", vec![least.to_owned()]).map_err(|reason| place.error(reason))?;
    }
    match operation {
        // Nobody else is there to yield to.
        Operation::Yield => Err(place.error("`yield` does nothing without a partner; remove it")),
        // The period and hand-overs decide when a stage runs.
        Operation::ClockSleep => Err(place.error("a stage does not sleep by itself; remove it")),
        _ => Ok(layer),
    }
}

/// What wakes a stage: the word of a round trip, or a table with its settings.
pub(crate) fn hand_over(place: Place<'_>, value: &DeValue<'_>) -> Result<Layer, WrongAt> {
    let fixed = [Parameter::Partner.word(), Parameter::PartnerCpu.word()];
    let word = match value {
        DeValue::Table(table) => table.get(OPERATION).map(|word| word.get_ref()),
        word => Some(word),
    };
    let known = HAND_OVERS.map(Operation::word);
    if let Some(DeValue::String(word)) = word
        && !known.contains(&&**word)
    {
        let reason = match word.parse::<Operation>() {
            Ok(other) => format!("`{other}` wakes no other process; use {}", known.join(", ")),
            Err(_) => UnknownWord::new("hand-over", word, &known).to_string(),
        };
        return Err(place.error(format!("by: {reason}")));
    }
    operation(place, value, &[], &fixed).map(|(_, layer)| layer)
}

/// The key of an operation's word.
const OPERATION: &str = "operation";

/// An operation with its parameters, but without the `fixed` ones, and with the `more` ones.
fn operation(
    place: Place<'_>,
    value: &DeValue<'_>,
    more: &[&str],
    fixed: &[&str],
) -> Result<(Operation, Layer), WrongAt> {
    let one = DeTable::default();
    let (operation, table): (Operation, _) = match value {
        DeValue::String(_) => (place.written(value)?, &one),
        DeValue::Table(table) => {
            let word = table
                .get(OPERATION)
                .ok_or_else(|| place.error("the table has no operation; add operation = \"…\""))?;
            (place.at(word.span().start).written(word.get_ref())?, table)
        }
        _ => return Err(place.error("an operation is its word, or a table with its settings")),
    };
    let takes = operation.traits().takes.iter().map(|parameter| parameter.word());
    let mut known = vec![OPERATION];
    known.extend(takes.filter(|word| !fixed.contains(word)));
    known.extend(more);
    let mut layer = operation_layer(operation);
    for (key, value) in table {
        let place = place.at(key.span().start);
        let key = key.get_ref().as_ref();
        if !known.contains(&key) {
            let what = format!("key of `{operation}`");
            return Err(place.error(unknown_of(&what, key, &known)));
        }
        set(place, &mut layer, key, value.get_ref())?;
    }
    Ok((operation, layer))
}

fn unknown_of(what: &str, key: &str, known: &[&str]) -> String {
    let near = tactus_model::text::nearest(key, known);
    let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    format!("unknown {what}: `{}`{hint}; it has: {}", quoted(key), known.join(", "))
}

/// Sets a value of a table.
pub(crate) fn set(
    place: Place<'_>,
    layer: &mut Layer,
    key: &str,
    value: &DeValue<'_>,
) -> Result<(), WrongAt> {
    let value = scalar(value).ok_or_else(|| {
        place.error(format!("{key}: the value must be a string, a number or a boolean"))
    })?;
    layer.set(key, vec![value]).map_err(|reason| place.error(reason))
}
