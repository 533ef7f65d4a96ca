//! The host that a client of HTTP names in its request (RFC 9110, section 7.2).

use std::net::IpAddr;

/// The host of a `Host` field, without its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host<'f>(&'f str);

impl<'f> Host<'f> {
    /// The host of the field's text, which a client chose.
    pub fn of_field(field: &'f str) -> Self {
        let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
        Self(match field.rsplit_once(':') {
            Some((name, port)) if is_port(port) && !name.ends_with(':') => name,
            _ => field,
        })
    }

    /// Its text: a name, or an address, of IPv6 in brackets.
    pub const fn name(self) -> &'f str {
        self.0
    }

    /// Its address, if it is one.
    pub fn address(self) -> Option<IpAddr> {
        let bracketed = self.0.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        bracketed.unwrap_or(self.0).parse().ok()
    }

    /// Whether it can only mean the client's own machine. A page of another site whose name was made
    /// to mean this machine (DNS rebinding) has another host.
    pub fn is_local(self) -> bool {
        self.0.eq_ignore_ascii_case("localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        for local in
            ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:9", "[::1]", "127.9.9.9"]
        {
            assert!(Host::of_field(local).is_local(), "{local}");
        }
        for other in [
            "",
            "localhost.evil.example",
            "evil.example:80",
            "10.0.0.1",
            "localhost:x",
            "[localhost]",
        ] {
            assert!(!Host::of_field(other).is_local(), "{other}");
        }
    }

    #[test]
    fn a_host_has_no_port() {
        assert_eq!(Host::of_field("lab.example:8080").name(), "lab.example");
        assert_eq!(Host::of_field("10.0.0.1:1").address(), "10.0.0.1".parse().ok());
        assert_eq!(Host::of_field("[fe80::1]:1").address(), "fe80::1".parse().ok());
    }
}
