//! Replies conform to docs/serve.schema.json, and have no key that it lacks.

use serde_json::Value;

use crate::replies::{filled, history};

fn schema() -> Value {
    serde_json::from_str(tactus_serve::SCHEMA).unwrap()
}

/// Checks a value by the rules that the schema uses.
fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    for (rule, argument) in schema.as_object().unwrap() {
        let fits = match rule.as_str() {
            "description" | "additionalProperties" | "properties" => true,
            "$ref" => {
                let target = argument.as_str().unwrap().strip_prefix('#').unwrap();
                return check(root, root.pointer(target).unwrap(), value, place);
            }
            "type" => match argument {
                Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
                name => is_of_type(name, value),
            },
            "minimum" => value.is_null() || value.as_u64() >= argument.as_u64(),
            "enum" => argument.as_array().unwrap().contains(value),
            "required" => argument
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "anyOf" => argument
                .as_array()
                .unwrap()
                .iter()
                .any(|choice| check(root, choice, value, place).is_ok()),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, argument, item, &format!("{place}/{index}"))?;
                }
                true
            }
            unknown => panic!("the schema uses `{unknown}`, which is not checked here"),
        };
        if !fits {
            return Err(format!("{place}: {rule} {argument} does not hold of {value}"));
        }
    }
    let described = schema.get("properties").and_then(Value::as_object);
    for (key, value) in described.and(value.as_object()).into_iter().flatten() {
        let place = format!("{place}/{key}");
        let schema = described.unwrap().get(key).ok_or(format!("{place} is not described"))?;
        check(root, schema, value, &place)?;
    }
    Ok(())
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("there is no type `{unknown}`"),
    }
}

#[test]
fn replies_conform_to_the_schema() {
    let (_folder, served) = filled();
    let schema = schema();
    let conforms = |definition: &str, value: &Value| {
        check(&schema, &schema["$defs"][definition], value, definition)
    };
    conforms("runs", &served.json("/api/runs")).unwrap();
    conforms("machines", &served.json("/api/machines")).unwrap();
    conforms("figures", &served.json("/api/figures")).unwrap();
    let history = served.json(&format!("/api{}", history(&served, "p50")));
    assert!(history["series"][0]["points"][0]["value"].is_u64(), "{history}");
    conforms("history", &history).unwrap();
    let failure = serde_json::from_str(&served.get("/api/runs/none").text()).unwrap();
    conforms("failure", &failure).unwrap();
    assert!(conforms("runs", &failure).is_err());
    assert_eq!(served.json("/api"), schema);
}
