//! An import with any content succeeds completely or is rejected, without a panic.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use tactus_store::{FileRun, Store};

use crate::exchange::document;

/// Imports `json` and, when that was taken in, reads all of it back. Read without a
/// store it is the same run, or refused by the same words.
fn import_never_panics(json: &[u8]) {
    let mut store = Store::open_in_memory().unwrap();
    let read = FileRun::read(json);
    let run = match store.import(json) {
        Ok(run) => run,
        Err(error) => {
            assert_eq!(store.list().unwrap(), [], "a part of what was refused is there");
            assert_eq!(read.map_err(|error| error.to_string()), Err(error.to_string()));
            return;
        }
    };
    let loaded = store.load(&run).unwrap();
    assert_eq!(read.unwrap().run, loaded);
    for measurement in &loaded.measurements {
        assert!(measurement.tasks.iter().all(|task| task.accounting.balances()));
        store.samples(&run, measurement.turn).unwrap();
    }
    store.list().unwrap();
    let mut again = Vec::new();
    store.export(&run, &mut again, true).unwrap();
    let mut other = Store::open_in_memory().unwrap();
    assert_eq!(other.import(&again[..]).unwrap(), run);
    assert_eq!(other.load(&run).unwrap(), loaded);
}

/// Replacement values, as a user might write them.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..5).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[a-z-]{1,9}(:[0-9]{1,3})?".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([1, 2])),
    ]
}

/// The paths of all values in a document, leaves and branches.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), value)];
    while let Some((place, value)) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(
                items.iter().enumerate().map(|(index, item)| (format!("{place}/{index}"), item)),
            ),
            Value::Object(items) => {
                waiting.extend(items.iter().map(|(key, item)| (format!("{place}/{key}"), item)));
            }
            _ => {}
        }
        found.push(place);
    }
    found
}

/// A document with few samples, since every case reads all of it.
fn short_document() -> Value {
    let mut document = document();
    for result in document["results"].as_array_mut().unwrap() {
        for task in result["measurement"]["tasks"].as_array_mut().unwrap() {
            task["worst"].as_array_mut().unwrap().truncate(2);
        }
    }
    document
}

/// Gives all kinds of paths the same weight: most paths in a document are buckets.
fn choose<'p>(places: &'p [String], index: &Index, among_buckets: bool) -> &'p str {
    let chosen: Vec<&String> =
        places.iter().filter(|place| place.contains("/buckets/") == among_buckets).collect();
    chosen[index.index(chosen.len())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_replaced_value_never_panics(
        changes in prop::collection::vec((any::<Index>(), prop::bool::weighted(0.1), any_value()), 1..4),
    ) {
        let mut document = short_document();
        for (index, among_buckets, value) in changes {
            let places = places(&document);
            if places.iter().any(|place| place.contains("/buckets/")) || !among_buckets {
                let place = choose(&places, &index, among_buckets).to_owned();
                *document.pointer_mut(&place).unwrap() = value;
            }
        }
        import_never_panics(document.to_string().as_bytes());
    }

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..5),
        end in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let mut json = short_document().to_string().into_bytes();
        for (index, byte) in changes {
            let place = index.index(json.len());
            json[place] = byte;
        }
        if let Some(end) = end {
            json.truncate(end.index(json.len()));
        }
        import_never_panics(&json);
    }

    #[test]
    fn any_text_never_panics(text in ".{0,200}") {
        import_never_panics(text.as_bytes());
    }
}

#[test]
fn a_plan_of_more_rounds_than_any_has_is_refused() {
    let mut document = short_document();
    document["header"]["plan"]["rounds"] = json!(u32::MAX);
    let refused = Store::open_in_memory().unwrap().import(document.to_string().as_bytes());
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("a plan of 4294967295 rounds"), "{message}");
}

#[test]
fn deep_nesting_is_rejected() {
    import_never_panics("[".repeat(200_000).as_bytes());
    let document = format!("{{\"format\":{}", "{\"a\":".repeat(200_000));
    import_never_panics(document.as_bytes());
    let document = format!("{{\"failures\":{}", "[".repeat(200_000));
    import_never_panics(document.as_bytes());
}
