//! Exports conform to `docs/run.schema.json`.
//!
//! Only the schema rules in use are checked. A published validator would add some sixty crates.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use tactus_model::block_requests::BlockRequests;
use tactus_model::experiment::Plan;
use tactus_model::result::Failure;
use tactus_model::traced::TracedEvents;

use crate::exchange::document;

const SCHEMA: &str = include_str!("../../../../docs/run.schema.json");

/// Rules that do not affect whether a value is valid.
const NOTES: [&str; 6] =
    ["$schema", "$defs", "title", "description", "contentEncoding", "properties"];

struct Checker {
    root: Value,
    wrong: Vec<String>,
    /// References that were followed, to detect unused definitions.
    followed: BTreeSet<String>,
}

impl Checker {
    fn check(root: &Value, value: &Value) -> Self {
        let mut checker = Self { root: root.clone(), wrong: Vec::new(), followed: BTreeSet::new() };
        checker.value("", root, value);
        checker
    }

    fn value(&mut self, place: &str, schema: &Value, value: &Value) {
        for (rule, argument) in schema.as_object().expect("a schema is an object") {
            let holds = match rule.as_str() {
                note if NOTES.contains(&note) => true,
                "$ref" => {
                    self.reference(place, argument, value);
                    true
                }
                "const" => value == argument,
                "enum" => argument.as_array().unwrap().contains(value),
                "type" => match argument {
                    Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
                    name => is_of_type(name, value),
                },
                // A rule for numbers does not apply to other values.
                "minimum" => compared(value, argument).is_none_or(Ordering::is_ge),
                "exclusiveMinimum" => compared(value, argument).is_none_or(Ordering::is_gt),
                "maximum" => compared(value, argument).is_none_or(Ordering::is_le),
                "minItems" => length(value).is_none_or(|length| length >= argument.as_u64()),
                "maxItems" => length(value).is_none_or(|length| length <= argument.as_u64()),
                "required" => argument
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|key| value.get(key.as_str().unwrap()).is_some()),
                "anyOf" => self.any_of(place, argument, value),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(&format!("{place}/{index}"), argument, item);
                    }
                    true
                }
                "prefixItems" => {
                    let schemas = argument.as_array().unwrap();
                    let items = value.as_array().into_iter().flatten();
                    for (index, (schema, item)) in schemas.iter().zip(items).enumerate() {
                        self.value(&format!("{place}/{index}"), schema, item);
                    }
                    true
                }
                "additionalProperties" => {
                    assert_eq!(argument, &json!(false));
                    // Undescribed keys are found below, in every object.
                    true
                }
                unknown => panic!("the schema uses `{unknown}`, which is not checked here"),
            };
            if !holds {
                self.wrong.push(format!("{place}: {rule} {argument} does not hold of {value}"));
            }
        }
        self.properties(place, schema, value);
    }

    /// Stricter than the schema: every exported key must be described.
    fn properties(&mut self, place: &str, schema: &Value, value: &Value) {
        let (Some(described), Some(object)) = (schema.get("properties"), value.as_object()) else {
            return;
        };
        for (key, value) in object {
            let place = format!("{place}/{key}");
            match described.get(key) {
                Some(schema) => {
                    assert!(schema.get("description").is_some() || schema.get("$ref").is_some());
                    self.value(&place, schema, value);
                }
                None => self.wrong.push(format!("{place} is not described")),
            }
        }
    }

    fn reference(&mut self, place: &str, target: &Value, value: &Value) {
        let target = target.as_str().unwrap();
        let schema = self.root.pointer(target.strip_prefix('#').unwrap()).unwrap().clone();
        self.followed.insert(target.to_owned());
        self.value(place, &schema, value);
    }

    fn any_of(&mut self, place: &str, choices: &Value, value: &Value) -> bool {
        choices.as_array().unwrap().iter().any(|choice| {
            let right_before = self.wrong.len();
            self.value(place, choice, value);
            let holds = self.wrong.len() == right_before;
            self.wrong.truncate(right_before);
            holds
        })
    }
}

/// How two numbers compare; `None` if one is none.
fn compared(value: &Value, bound: &Value) -> Option<Ordering> {
    match (value.as_u64(), bound.as_u64()) {
        // 2⁶⁴ − 1 has no exact floating-point form.
        (Some(value), Some(bound)) => Some(value.cmp(&bound)),
        _ => value.as_f64()?.partial_cmp(&bound.as_f64()?),
    }
}

fn length(value: &Value) -> Option<Option<u64>> {
    value.as_array().map(|items| Some(items.len() as u64))
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("there is no type `{unknown}`"),
    }
}

#[test]
fn an_exported_run_conforms_to_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let checked = Checker::check(&schema, &document());
    assert_eq!(checked.wrong, Vec::<String>::new());
    let defined: BTreeSet<String> =
        schema["$defs"].as_object().unwrap().keys().map(|name| format!("#/$defs/{name}")).collect();
    assert_eq!(checked.followed, defined, "every definition is used");
}

#[test]
fn a_run_of_another_program_conforms_to_the_schema() {
    let mut store = crate::common::empty_store();
    let run = store.add(crate::common::foreign_run()).unwrap();
    let mut exported = Vec::new();
    store.export(&run, &mut exported, false).unwrap();
    let document: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(document["results"][0]["measurement"]["precision"]["overflow"]["count"], 3);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(Checker::check(&schema, &document).wrong, Vec::<String>::new());
}

#[test]
fn a_run_with_added_rounds_conforms_to_the_schema() {
    use tactus_model::until::Until;
    let until = Until { aim: "p99.9:5%".parse().unwrap(), limit: Until::LIMIT };
    let planned = Plan { until: Some(until), ..crate::common::plan(3) };
    let mut store = crate::common::empty_store();
    let facts = crate::common::facts();
    let run = store.create_run(&planned, &facts, "test", crate::common::CREATED, None).unwrap();
    assert_eq!(store.add_round(&run).unwrap(), Plan { rounds: 4, ..planned.clone() });
    let fourth = crate::common::turn(3, 0);
    let failure = Failure { turn: fourth, reason: "none".to_owned(), hint: None, by_host: true };
    store.save_failure(&run, &failure).unwrap();
    let beyond = Failure { turn: crate::common::turn(4, 0), ..failure };
    assert!(store.save_failure(&run, &beyond).is_err(), "a round that was not added");
    let mut exported = Vec::new();
    store.export(&run, &mut exported, false).unwrap();
    let document: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(document["header"]["plan"]["until"]["aim"], "p99.9:5%");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(Checker::check(&schema, &document).wrong, Vec::<String>::new());
}

#[test]
fn a_run_on_a_node_conforms_to_the_schema_and_keeps_its_node() {
    use tactus_model::facts::{MachineFacts, NodeFacts};
    let node = NodeFacts { name: "n1".to_owned(), group: "quick-1".to_owned() };
    let facts = MachineFacts { node: Some(node.clone()), ..crate::common::facts() };
    let mut store = crate::common::empty_store();
    let planned = crate::common::plan(1);
    let run = store.create_run(&planned, &facts, "test", crate::common::CREATED, None).unwrap();
    assert_eq!(run.as_str(), "quick-1-n1");
    let mut exported = Vec::new();
    store.export(&run, &mut exported, true).unwrap();
    let document: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(document["header"]["facts_before"]["node"]["name"], "n1");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(Checker::check(&schema, &document).wrong, Vec::<String>::new());
    let mut elsewhere = crate::common::empty_store();
    let imported = elsewhere.import(&exported[..]).unwrap();
    assert_eq!(elsewhere.header(&imported).unwrap().facts_before.node, Some(node));
}

#[test]
fn a_run_of_guests_conforms_to_the_schema() {
    use tactus_model::experiment::{Experiment, Overrides};
    let text = "guest-time = \"exact:500\"\n[settings]\nkernel = \"debian:preempt=none\"";
    let planned = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
    let mut store = crate::common::empty_store();
    let facts = crate::common::facts();
    let run = store.create_run(&planned, &facts, "test", crate::common::CREATED, None).unwrap();
    let (measurement, samples) = crate::common::measured_in_guest(crate::common::turn(0, 0));
    store.save_measurement(&run, &measurement, &samples).unwrap();
    assert_eq!(store.load(&run).unwrap().measurements, std::slice::from_ref(&measurement));
    let mut exported = Vec::new();
    store.export(&run, &mut exported, true).unwrap();
    let mut elsewhere = crate::common::empty_store();
    let imported = elsewhere.import(&exported[..]).unwrap();
    let imported = elsewhere.load(&imported).unwrap();
    assert_eq!(imported.measurements, [measurement], "the data about the guest is preserved");
    assert_eq!(imported.header.plan, planned);
    let document: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(document["header"]["plan"]["cells"][0]["target"]["time"], "exact:500");
    assert_eq!(document["results"][0]["measurement"]["guest"]["proof"]["runs"], 2);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(Checker::check(&schema, &document).wrong, Vec::<String>::new());
}

#[test]
fn plans_of_every_kind_of_probe_conform_to_the_schema() {
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::probe::ProbeKind;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for kind in ProbeKind::ALL {
        // The receiver of messages stamps them by the monotonic clock.
        let clock = if *kind == ProbeKind::Midi { "monotonic" } else { "realtime" };
        let text = format!("[settings]\nprobe = \"{kind}\"\nclock = \"{clock}\"");
        let planned = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        let mut store = crate::common::empty_store();
        let facts = crate::common::facts();
        let run = store.create_run(&planned, &facts, "test", crate::common::CREATED, None).unwrap();
        let mut exported = Vec::new();
        store.export(&run, &mut exported, false).unwrap();
        let document: Value = serde_json::from_slice(&exported).unwrap();
        assert_eq!(Checker::check(&schema, &document).wrong, Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn the_schema_has_the_same_choices_as_the_types() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let check = |place: &str, words: Vec<&str>| {
        assert_eq!(schema.pointer(place).unwrap(), &json!(words), "{place}");
    };
    use tactus_model::{cost, interrupted, probe, run, time};
    let words = |place: &str| format!("/$defs/{place}/enum");
    check(
        &words("header/properties/status"),
        run::RunStatus::ALL.iter().map(|status| status.word()).collect(),
    );
    check(
        &words("probe/properties/sleep"),
        probe::SleepMethod::ALL.iter().map(|method| method.word()).collect(),
    );
    check(
        &words("probe/properties/clock"),
        time::ClockName::ALL.iter().map(|clock| clock.word()).collect(),
    );
    check(
        &words("probe/properties/tasks"),
        probe::TaskKind::ALL.iter().map(|kind| kind.word()).collect(),
    );
    check(
        &words("probe/properties/interrupted"),
        interrupted::Interrupted::ALL.iter().map(|kind| kind.word()).collect(),
    );
    check(
        &words("probe/properties/pages"),
        cost::Pages::ALL.iter().map(|pages| pages.word()).collect(),
    );
    check(
        &words("probe/properties/partner"),
        cost::Partner::ALL.iter().map(|partner| partner.word()).collect(),
    );
    check(
        &words("probe/properties/partner_cpu"),
        cost::PartnerCpu::ALL.iter().map(|place| place.word()).collect(),
    );
    check(
        &words("probe/properties/player"),
        tactus_model::frames::PlayerKind::ALL.iter().map(|player| player.word()).collect(),
    );
    check(&words("probe/properties/way"), cost::Way::ALL.iter().map(|way| way.word()).collect());
    check(
        &words("probe/properties/touch"),
        cost::Touch::ALL.iter().map(|touch| touch.word()).collect(),
    );
    check(
        &words("probe/properties/buffers"),
        cost::Buffers::ALL.iter().map(|kind| kind.word()).collect(),
    );
    check(&words("probe/properties/wait"), cost::Wait::ALL.iter().map(|way| way.word()).collect());
    check(
        &words("probe/properties/dirt"),
        interrupted::Dirt::ALL.iter().map(|dirt| dirt.word()).collect(),
    );
    check(
        &words("probe/properties/kind"),
        probe::ProbeKind::ALL.iter().map(|kind| kind.word()).collect(),
    );
    check(
        &words("probe/properties/via"),
        tactus_model::midi::Via::ALL.iter().map(|via| via.word()).collect(),
    );
    check(
        &words("cell/properties/block_requests"),
        BlockRequests::ALL.iter().map(|size| size.word()).collect(),
    );
    check(
        &words("cell/properties/traced_events"),
        TracedEvents::ALL.iter().map(|events| events.word()).collect(),
    );
}

#[test]
fn the_schema_rejects_invalid_values() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let check = |place: &str, value: Value| {
        let mut document = document();
        *document.pointer_mut(place).unwrap() = value;
        let wrong = Checker::check(&schema, &document).wrong;
        assert!(wrong.iter().any(|text| text.starts_with(place)), "{place}: {wrong:?}");
    };
    check("/format", json!("tactus-recording"));
    check("/format_version", json!(2));
    check("/header/status", json!("done"));
    check("/results/0/measurement/window", json!(-1));
    check("/results/0/measurement/tasks/0/blocks/0/count", json!((1_u64 << 53) + 1));
    check("/results/0/measurement/tasks/0/blocks/0/buckets/0", json!([1]));
    check("/header/facts_before/kernel/release", json!(6));
    check("/header/plan/cells/0/policy", json!({"scheduling": "other"}));
    check("/header/plan/gate/false_alarms", json!(0));
    check("/header/plan/gate/allowance/share", json!(1.01));
}
