//! Names of sound devices.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// A device for playing: `hw:CARD` or `hw:CARD,DEVICE`, as aplay(1) names it. The card is a number or
/// a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    card: String,
    device: u32,
}

/// Why a text is not the name of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an ALSA device; use hw:CARD or hw:CARD,DEVICE, e.g. hw:0,0")]
pub struct NotHardware(String);

/// The kernel's limit on names of cards: `struct snd_card`.
const CARD_MOST: usize = 15;

impl FromStr for Hardware {
    type Err = NotHardware;

    fn from_str(text: &str) -> Result<Self, NotHardware> {
        let parsed = text.strip_prefix("hw:").and_then(|rest| {
            let (card, device) = rest.split_once(',').unwrap_or((rest, "0"));
            let is_word =
                card.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            let is_card = is_word && (1..=CARD_MOST).contains(&card.len());
            let device = device.parse().ok().filter(|_| is_number(device))?;
            is_card.then(|| Self { card: card.to_owned(), device })
        });
        parsed.ok_or_else(|| NotHardware(text.to_owned()))
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hw:{},{}", self.card, self.device)
    }
}

impl Hardware {
    /// Its file for playing.
    pub(crate) fn file(&self) -> PathBuf {
        let is_name = !is_number(&self.card);
        let found = is_name.then(|| sounds().find_map(|entry| numbered(&entry, &self.card)));
        let number = found.flatten().unwrap_or_else(|| self.card.clone());
        PathBuf::from(format!("/dev/snd/pcmC{number}D{}p", self.device))
    }
}

/// Where the kernel lists cards and devices.
const SOUNDS: &str = "/sys/class/sound";

/// The names of cards and devices, e.g. `card0` and `pcmC0D0p`.
fn sounds() -> impl Iterator<Item = String> {
    let entries = fs::read_dir(SOUNDS).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// The number of a card, if it has this name.
fn numbered(entry: &str, name: &str) -> Option<String> {
    let number = entry.strip_prefix("card")?;
    let found = fs::read_to_string(format!("{SOUNDS}/{entry}/id")).ok()?;
    (found.trim() == name).then(|| number.to_owned())
}

/// The devices that play, in words.
pub(crate) fn available() -> String {
    let mut found: Vec<Hardware> = sounds().filter_map(|entry| playing(&entry)).collect();
    found.sort_by_key(|hardware| (hardware.card.len(), hardware.card.clone(), hardware.device));
    if found.is_empty() {
        return "this machine has no device that plays".to_owned();
    }
    let names: Vec<String> = found.iter().map(ToString::to_string).collect();
    format!("this machine has {}", names.join(", "))
}

/// A device that plays: `pcmC0D0p`.
fn playing(entry: &str) -> Option<Hardware> {
    let numbers = entry.strip_prefix("pcmC")?.strip_suffix('p')?;
    let (card, device) = numbers.split_once('D')?;
    Some(Hardware { card: card.to_owned(), device: device.parse().ok()? })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_card_and_number() {
        let parse = |text: &str| text.parse::<Hardware>().map(|hardware| hardware.to_string());
        assert_eq!(parse("hw:0,1").unwrap(), "hw:0,1");
        assert_eq!(parse("hw:Loopback").unwrap(), "hw:Loopback,0");
        for text in ["", "hw:", "hw:0,", "hw:0,x", "hw:0,+1", "hw:../x,0", "hw:0,0,0", "default"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.ends_with("use hw:CARD or hw:CARD,DEVICE, e.g. hw:0,0"), "{text}");
        }
        let file = |text: &str| text.parse::<Hardware>().unwrap().file();
        assert_eq!(file("hw:3,2"), PathBuf::from("/dev/snd/pcmC3D2p"));
    }

    #[test]
    fn devices_that_play_are_recognised() {
        let of = |entry: &str| playing(entry).map(|hardware| hardware.to_string());
        assert_eq!(of("pcmC1D13p").as_deref(), Some("hw:1,13"));
        for entry in ["pcmC1D13c", "card0", "controlC0", "pcmC0p", "pcmC0Dxp", "timer"] {
            assert_eq!(of(entry), None, "{entry}");
        }
    }
}
