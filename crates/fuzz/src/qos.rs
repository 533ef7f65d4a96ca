//! Calls to the QoS manager and its policy file.

use tactus_qos::message::{
    Call, ChangeCall, FitCall, FollowCall, ReleaseCall, ReserveCall, StatusCall, cut, encode,
    parameters,
};
use tactus_qosd::Policy;
use tactus_qosd::policy::{Names, SHIPPED};

/// A call of each method, and two in one piece.
pub(crate) fn call_seeds() -> Vec<Vec<u8>> {
    let need = r#"{"period":10000000,"cost_min":1000000,"cost_max":2000000,"importance":5}"#;
    let calls = [
        format!(
            r#"{{"method":"org.tactus.qos.Reserve","parameters":{{"need":{need},"descriptor":0}}}}"#
        ),
        format!(
            r#"{{"method":"org.tactus.qos.Change","parameters":{{"need":{need},"reserve":7}}}}"#
        ),
        r#"{"method":"org.tactus.qos.Release","parameters":{"reserve":7},"oneway":true}"#
            .to_owned(),
        r#"{"method":"org.tactus.qos.Fit","parameters":{"period":10000000}}"#.to_owned(),
        r#"{"method":"org.tactus.qos.Follow","parameters":{"every":1000},"more":true}"#.to_owned(),
        r#"{"method":"org.tactus.qos.Status"}"#.to_owned(),
    ];
    let all = calls.join("\0");
    calls.into_iter().chain([all]).map(|text| (text + "\0").into_bytes()).collect()
}

/// Cuts calls from a stream and reads each with its parameters.
pub(crate) fn call(bytes: &[u8]) {
    let mut stream = bytes.to_vec();
    while let Some(message) = cut(&mut stream) {
        let Ok(call) = serde_json::from_slice::<Call>(&message) else { continue };
        let again: Call = serde_json::from_slice(&message_of(&call)).unwrap();
        assert_eq!(again, call);
        let given = || call.parameters.clone();
        if let Ok(ReserveCall { need, .. }) = parameters(given())
            && let Ok(terms) = need.check()
        {
            assert!(terms.cost_min <= terms.cost_max && terms.cost_max <= terms.deadline);
            assert!(terms.deadline <= terms.period);
            terms.capacity(terms.cost_max);
        }
        let _ = parameters::<ChangeCall>(given());
        let _ = parameters::<ReleaseCall>(given());
        let _ = parameters::<FitCall>(given());
        let _ = parameters::<FollowCall>(given());
        let _ = parameters::<StatusCall>(given());
    }
}

fn message_of(call: &Call) -> Vec<u8> {
    let mut bytes = encode(call);
    cut(&mut bytes).unwrap()
}

/// The shipped policy, and one with rules.
pub(crate) fn policy_seeds() -> Vec<Vec<u8>> {
    let rules =
        "[machine]\nown = \"none\"\n[[rule]]\ngroup = 29\nshare = \"60%\"\n[[rule]]\nuser = 7\n";
    vec![SHIPPED.into(), rules.into()]
}

/// Reads a policy and asks it for a user.
pub(crate) fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(policy) = Policy::parse(text, &Names::parse(text, text)) {
        let caps = policy.caps(7, &[29]);
        assert!((1..=100).contains(&caps.share) && (1..=100).contains(&policy.share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_valid() {
        for seed in call_seeds() {
            let mut stream = seed;
            while let Some(message) = cut(&mut stream) {
                serde_json::from_slice::<Call>(&message).unwrap();
            }
        }
        for seed in policy_seeds() {
            Policy::parse(std::str::from_utf8(&seed).unwrap(), &Names::default()).unwrap();
        }
    }
}
