//! Numbers and durations in options.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use clap::{Arg, Command};
use tactus_model::kernel::{GuestKernel, NotAKernel};
use tactus_model::time::Nanos;

/// Parses a whole number in `range`.
pub(crate) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("`{text}` is not a whole number from {} to {}", range.start(), range.end())
        })
    }
}

/// Parses a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(0..=u64::MAX)(text)
}

/// Parses the ID of a process; an error also says `what_else` to do.
pub(crate) fn process_id(
    what_else: &'static str,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let unknown = |_| format!("`{text}` is not the number of a process; {what_else}");
        text.trim().parse().map_err(unknown)
    }
}

/// Parses a duration other than zero.
pub(crate) fn positive(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => Err(format!("`{text}` is zero: write a longer duration, e.g. 10s")),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a kernel.
pub(crate) fn kernel(text: &str) -> Result<GuestKernel, String> {
    text.parse().map_err(|error: NotAKernel| file_meant(text).unwrap_or_else(|| error.to_string()))
}

/// The error for a kernel that is the bare name of a file: only a path names a file.
pub(crate) fn file_meant(text: &str) -> Option<String> {
    let file = Path::new(text.split(':').next().unwrap_or_default());
    let is_meant = file.is_relative() && !text.starts_with('.') && file.is_file();
    is_meant.then(|| format!("`{text}` is not a kernel's name; did you mean the file `./{text}`?"))
}

/// Parses a duration in a range.
pub(crate) fn interval_within(
    least: Nanos,
    most: Nanos,
) -> impl Fn(&str) -> Result<Nanos, String> + Clone + Send + Sync + 'static {
    move |text| {
        let length: Nanos = text.parse().map_err(|error| format!("{error}"))?;
        let fits = (least..=most).contains(&length);
        if fits { Ok(length) } else { Err(format!("{least} to {most} are possible")) }
    }
}

/// Parses an address with a port to listen at.
pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|_| {
        format!("`{text}` is not an address: write ADDRESS:PORT, e.g. 127.0.0.1:8423 or [::1]:8423")
    })
}

/// Parses a number of bytes, e.g. `512MiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
    let trimmed = text.trim();
    let (number, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((trimmed.strip_suffix(unit)?, *shift)))
        .unwrap_or((trimmed, 0));
    let number = number.trim().parse::<u64>().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes <= 1 << 50).ok_or_else(|| {
        format!(
            "`{text}` is not a size: write a whole number of B, KiB, MiB, GiB or TiB, e.g. 1GiB"
        )
    })
}

/// Lets options take values that begin with `-`, except those that may be any text: their parser
/// gives a better reason than "unexpected argument '-1'".
pub(crate) fn accept_negative(command: Command) -> Command {
    let is_text = |arg: &Arg| {
        let parser = arg.get_value_parser().type_id();
        parser == std::any::TypeId::of::<String>()
            || parser == std::any::TypeId::of::<std::path::PathBuf>()
            || parser == std::any::TypeId::of::<std::ffi::OsString>()
            || parser == std::any::TypeId::of::<tactus_model::address::Address>()
    };
    command
        .mut_args(|arg| {
            let takes = arg.get_action().takes_values() && !arg.is_positional() && !is_text(&arg);
            if takes { arg.allow_hyphen_values(true) } else { arg }
        })
        .mut_subcommands(accept_negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        let rounds = whole(1..=10_000_u32);
        assert_eq!(rounds("3"), Ok(3));
        for text in ["0", "-1", "10001", "99999999999", "1.5", "x", ""] {
            let error = rounds(text).unwrap_err();
            assert_eq!(error, format!("`{text}` is not a whole number from 1 to 10000"));
        }
        assert_eq!(["7", "2KiB", "1 GiB"].map(|text| bytes(text).unwrap()), [7, 2048, 1 << 30]);
        for text in ["", "GiB", "-1", "1.5GiB", "1GB", "99999999TiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        let address = socket_address("127.0.0.1:0").unwrap();
        assert_eq!(
            (address.to_string(), socket_address("[::1]:80").is_ok()),
            ("127.0.0.1:0".into(), true)
        );
        for text in ["x", "127.0.0.1", "8423", ":8423"] {
            assert!(socket_address(text).unwrap_err().contains("write ADDRESS:PORT"), "{text}");
        }
        assert!(positive("0s").unwrap_err().contains("is zero"));
        assert!(positive("-1s").unwrap_err().contains("is negative"));
    }

    #[test]
    fn the_bare_name_of_a_file_is_refused_with_its_path() {
        // Tests run in the directory of their package.
        let error = kernel("Cargo.toml:quiet").unwrap_err();
        assert!(error.ends_with("did you mean the file `./Cargo.toml:quiet`?"), "{error}");
        assert!(kernel("debain").unwrap_err().contains("did you mean `debian`?"));
        assert_eq!(file_meant("./Cargo.toml"), None);
    }
}
