//! Without a server: `streamd` tests clients of one.

use super::*;

#[test]
fn an_absent_server_or_library_is_an_error_with_its_fix() {
    match Client::open("tactus-test") {
        Ok(client) => assert!(client.sample_rate() > 0 && !client.name().is_empty()),
        Err(error) => assert!(error.to_string().contains("fix: "), "{error}"),
    }
}
