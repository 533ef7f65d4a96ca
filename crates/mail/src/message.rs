//! The message: a text, `timing.json` and the clip as parts of multipart MIME
//! ([RFC 2046](https://www.rfc-editor.org/rfc/rfc2046)).
//!
//! The stamps come first: a message that was cut still has them, with the length that the clip
//! should have. Names of parts are never used as paths.

use std::fmt;
use std::str::FromStr;

use mail_builder::MessageBuilder;
use mail_parser::{MessageParser, MessagePart, MimeHeaders};

use crate::Timing;
use crate::timing::{BadTiming, Digest};

/// The most bytes of a message.
pub const MESSAGE_MAX: usize = 128 << 20;
/// The most bytes of a clip in a message: encoded, it is longer by 37 %.
pub const CLIP_MAX: usize = 90 << 20;
/// A larger message is refused by many servers.
pub const USUAL_MAX: usize = 25 << 20;
/// The most receivers.
pub const RECEIVERS_MAX: usize = 100;
/// The most bytes of a subject and of a text.
pub const SUBJECT_MAX: usize = 200;
/// The most bytes of a text.
pub const TEXT_MAX: usize = 64 << 10;
/// The most parts of a message, beside the whole of them, and the most lines that could begin one.
const PARTS_MAX: usize = 64;
const BOUNDARIES_MAX: usize = 4096;
/// The most bytes of an address: RFC 5321, section 4.5.3.1.
const ADDRESS_MAX: usize = 254;

const CLIP_TYPE: (&str, &str) = ("video", "webm");
const TIMING_TYPE: (&str, &str) = ("application", "json");

/// An address of mail: `name@domain`, without spaces, quotes and brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an address: write name@domain in ASCII, without spaces and brackets", .0.escape_debug())]
pub struct NotAnAddress(String);

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"<>()[]\\,;:\"".contains(&byte);
        let parts = text.split_once('@');
        let is_address = parts.is_some_and(|(name, domain)| {
            !name.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
        // A dash would begin an option of some programs.
        let is_safe = text.bytes().all(is_plain) && !text.starts_with('-');
        match is_address && is_safe && text.len() <= ADDRESS_MAX {
            true => Ok(Self(text.to_owned())),
            false => Err(NotAnAddress(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A subject: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

/// The text is not a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subject has {0}; write one line of at most {SUBJECT_MAX} bytes")]
pub struct NotASubject(&'static str);

impl FromStr for Subject {
    type Err = NotASubject;

    fn from_str(text: &str) -> Result<Self, NotASubject> {
        // A second line would be a header of its own.
        if text.chars().any(char::is_control) {
            return Err(NotASubject("a line break or another control character"));
        }
        if text.len() > SUBJECT_MAX {
            return Err(NotASubject("too many bytes"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Default for Subject {
    fn default() -> Self {
        Self("Video mail".to_owned())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a message has beside the clip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// Who sends it; the mail program fills it in by default.
    pub from: Option<Address>,
    /// Who gets it.
    pub to: Vec<Address>,
    /// What it is about.
    pub subject: Subject,
    /// The text.
    pub text: Option<String>,
}

/// The text of a message that has no other.
const TEXT: &str = "A video mail: every player of WebM plays the video. `tactus mail play` shows each picture at \
     the time that timing.json has for it.\n";

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum NoMessage {
    /// A limit is exceeded.
    #[error("the {what} has {found} {unit}, and a video mail has at most {limit}")]
    Limit {
        /// What exceeds it.
        what: &'static str,
        /// How much it has.
        found: usize,
        /// Of what.
        unit: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The clip is not the one that the stamps are for.
    #[error("the clip is not the one that was recorded with these stamps: its SHA-256 differs")]
    Changed,
}

impl Letter {
    /// The message with this clip and its stamps. Stamps without a digest, of a recorder that was
    /// killed, get one.
    ///
    /// # Errors
    /// A limit is exceeded, or the digest is that of another clip.
    pub fn compose(&self, timing: &Timing, clip: &[u8]) -> Result<Vec<u8>, NoMessage> {
        limit("clip", clip.len(), "bytes", CLIP_MAX)?;
        limit("list of receivers", self.to.len(), "addresses", RECEIVERS_MAX)?;
        let text = self.text.as_deref().unwrap_or(TEXT);
        limit("text", text.len(), "bytes", TEXT_MAX)?;
        let digest = digest(clip);
        if timing.video.as_ref().is_some_and(|recorded| *recorded != digest) {
            return Err(NoMessage::Changed);
        }
        let timing = Timing { video: Some(digest), ..timing.clone() };
        let to: Vec<&str> = self.to.iter().map(|address| &*address.0).collect();
        let mut message = MessageBuilder::new().subject(&*self.subject.0).text_body(text);
        if let Some(from) = &self.from {
            message = message.from(&*from.0);
        }
        if !to.is_empty() {
            message = message.to(to);
        }
        let mut bytes = Vec::new();
        message
            .attachment(media_type(TIMING_TYPE), "timing.json", timing.bytes())
            .attachment(media_type(CLIP_TYPE), "video.webm", clip)
            .serialize(&mut bytes);
        Ok(bytes)
    }
}

fn media_type((kind, subtype): (&str, &str)) -> String {
    format!("{kind}/{subtype}")
}

fn digest(clip: &[u8]) -> Digest {
    // Memory is read without errors.
    Digest::read(clip).unwrap_or(Digest { bytes: 0, sha256: String::new() })
}

fn limit(
    what: &'static str,
    found: usize,
    unit: &'static str,
    limit: usize,
) -> Result<(), NoMessage> {
    if found <= limit { Ok(()) } else { Err(NoMessage::Limit { what, found, unit, limit }) }
}

/// A message that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Who sent it, as the message says.
    pub from: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// The stamps.
    pub timing: Timing,
    /// The clip.
    pub clip: Vec<u8>,
}

/// Why a message is not a video mail.
#[derive(Debug, thiserror::Error)]
pub enum BadMail {
    /// It has too many bytes or parts.
    #[error("the mail has more than {limit} {what}")]
    Limit {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// It has no headers.
    #[error("the file is not a mail: it has no headers")]
    NotAMail,
    /// It has no such part.
    #[error("the mail has no part {0}: it is not a video mail, or it was cut")]
    Missing(&'static str),
    /// It has several of them.
    #[error("the mail has {count} parts {what}; a video mail has one")]
    Several {
        /// Of what kind.
        what: &'static str,
        /// Their number.
        count: usize,
    },
    /// The stamps cannot be used.
    #[error(transparent)]
    Timing(#[from] BadTiming),
    /// The stamps do not say what clip they are for.
    #[error("timing.json has no digest of the clip")]
    NoDigest,
    /// A part has no end.
    #[error("the mail was cut: the {0} does not end")]
    Endless(&'static str),
    /// The end of the clip is missing.
    #[error("the mail was cut: {found} of {wanted} bytes of the clip are there")]
    Cut {
        /// The bytes that are there.
        found: u64,
        /// The bytes of the clip.
        wanted: u64,
    },
    /// The clip is another one.
    #[error("the clip was changed after it was sent: its SHA-256 is {found}, not {wanted}")]
    Changed {
        /// Its digest.
        found: String,
        /// That of the clip that was sent.
        wanted: String,
    },
}

impl Opened {
    /// Reads a message, and checks that its clip is complete and unchanged.
    ///
    /// # Errors
    /// See [`BadMail`].
    pub fn read(message: &[u8]) -> Result<Self, BadMail> {
        check_limits(message)?;
        let parsed = MessageParser::default().parse(message).ok_or(BadMail::NotAMail)?;
        if parsed.headers().is_empty() {
            return Err(BadMail::NotAMail);
        }
        if parsed.parts.len() > PARTS_MAX + 1 {
            return Err(BadMail::Limit { what: "parts", limit: PARTS_MAX });
        }
        let timing = whole(&parsed.parts, TIMING_TYPE, "application/json", "list of stamps")?;
        let timing = Timing::read(timing)?;
        let clip = whole(&parsed.parts, CLIP_TYPE, "video/webm", "clip")?;
        if clip.len() > CLIP_MAX {
            return Err(BadMail::Limit { what: "bytes of the clip", limit: CLIP_MAX });
        }
        let (found, wanted) = (digest(clip), timing.video.as_ref().ok_or(BadMail::NoDigest)?);
        if found.bytes < wanted.bytes {
            return Err(BadMail::Cut { found: found.bytes, wanted: wanted.bytes });
        }
        if !found.is_of(wanted) {
            return Err(BadMail::Changed { found: found.sha256, wanted: wanted.sha256.clone() });
        }
        let address = parsed.from().and_then(|from| from.first()).and_then(|from| from.address());
        let (from, subject) = (address.map(str::to_owned), parsed.subject().map(str::to_owned));
        Ok(Self { from, subject, clip: clip.to_vec(), timing })
    }
}

/// A parser needs memory for each part, and a part needs a few bytes: their number is limited
/// first.
fn check_limits(message: &[u8]) -> Result<(), BadMail> {
    if message.len() > MESSAGE_MAX {
        return Err(BadMail::Limit { what: "bytes", limit: MESSAGE_MAX });
    }
    let boundaries = message.windows(3).filter(|bytes| bytes == b"\n--").count();
    match boundaries > BOUNDARIES_MAX {
        true => Err(BadMail::Limit { what: "lines that begin with `--`", limit: BOUNDARIES_MAX }),
        false => Ok(()),
    }
}

/// The content of the part of this type. The parser leaves the encoding of a part without an end as
/// it is.
fn whole<'p>(
    parts: &'p [MessagePart<'_>],
    kind: (&str, &str),
    what: &'static str,
    name: &'static str,
) -> Result<&'p [u8], BadMail> {
    let part = only(parts, kind, what)?;
    if part.is_encoding_problem { Err(BadMail::Endless(name)) } else { Ok(part.contents()) }
}

/// The part of this type.
fn only<'p, 'm>(
    parts: &'p [MessagePart<'m>],
    (kind, subtype): (&str, &str),
    what: &'static str,
) -> Result<&'p MessagePart<'m>, BadMail> {
    let is_wanted = |part: &&MessagePart<'m>| {
        part.content_type().is_some_and(|found| {
            let found_subtype = found.subtype().unwrap_or_default();
            found.ctype().eq_ignore_ascii_case(kind) && found_subtype.eq_ignore_ascii_case(subtype)
        })
    };
    let mut found = parts.iter().filter(is_wanted);
    match (found.next(), found.count()) {
        (None, _) => Err(BadMail::Missing(what)),
        (Some(part), 0) => Ok(part),
        (Some(_), more) => Err(BadMail::Several { what, count: more + 1 }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::time::Nanos;

    use super::*;
    use crate::Moment;
    use crate::timing::{PictureTiming, VERSION};

    fn timing() -> Timing {
        Timing {
            version: VERSION,
            origin: Moment::from_nanos(7),
            picture: Some(PictureTiming {
                source: "synthetic".to_owned(),
                width: 320,
                height: 240,
                stamps: [0, 40].map(Nanos::from_millis).to_vec(),
                within: Nanos::ZERO,
                missing: 0,
            }),
            sound: None,
            video: None,
        }
    }

    fn letter() -> Letter {
        Letter {
            from: Some("ann@example.org".parse().unwrap()),
            to: vec!["bob@example.org".parse().unwrap()],
            subject: "Grüße: a first try".parse().unwrap(),
            text: None,
        }
    }

    fn clip() -> Vec<u8> {
        (0..10_000_u32).map(|index| (index * 7 % 251) as u8).collect()
    }

    fn message() -> Vec<u8> {
        letter().compose(&timing(), &clip()).unwrap()
    }

    fn refused(message: &[u8]) -> String {
        Opened::read(message).unwrap_err().to_string()
    }

    #[test]
    fn a_mail_is_read_as_it_was_sent() {
        let opened = Opened::read(&message()).unwrap();
        assert_eq!(opened.clip, clip());
        assert_eq!(opened.timing.picture, timing().picture);
        assert_eq!(opened.subject.as_deref(), Some("Grüße: a first try"));
        assert_eq!(opened.from.as_deref(), Some("ann@example.org"));
    }

    #[test]
    fn a_list_that_wraps_the_mail_and_adds_a_footer_changes_nothing() {
        let text = String::from_utf8(message()).unwrap();
        let (head, body) = text.split_once("Content-Type: multipart").unwrap();
        let wrapped = format!(
            "{head}Content-Type: multipart/mixed; boundary=\"outer\"\r\n\r\n--outer\r\n\
             Content-Type: multipart{body}\r\n--outer\r\nContent-Type: text/plain\r\n\r\nfooter\r\n--outer--\r\n"
        );
        assert_eq!(Opened::read(wrapped.as_bytes()).unwrap().clip, clip());
    }

    #[test]
    fn a_mail_that_was_cut_or_changed_is_refused() {
        let message = message();
        let text = String::from_utf8(message.clone()).unwrap();
        let clip_starts = text.find("video/webm").unwrap();
        let cut = refused(&message[..clip_starts + 3000]);
        assert_eq!(cut, "the mail was cut: the clip does not end");
        // The stamps are before the clip.
        let stamps_start = text.find("application/json").unwrap();
        let early = refused(&message[..stamps_start - 20]);
        assert!(early.starts_with("the mail has no part application/json"), "{early}");
        // A letter of the encoded clip.
        let place = clip_starts + 1000;
        let mut changed = message;
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let text = refused(&changed);
        assert!(text.starts_with("the clip was changed after it was sent: "), "{text}");
    }

    #[test]
    fn other_mails_and_other_files_are_refused() {
        for (file, reason) in [
            ("", "the file is not a mail: it has no headers"),
            (
                "Subject: hello\r\n\r\ntext\r\n",
                "the mail has no part application/json: it is not a video mail, or it was cut",
            ),
        ] {
            assert_eq!(refused(file.as_bytes()), reason);
        }
        let doubled =
            String::from_utf8(message()).unwrap().replace("video/webm", "application/json");
        assert_eq!(
            refused(doubled.as_bytes()),
            "the mail has 2 parts application/json; a video mail has one"
        );
        let many = "Subject: x\n".to_owned() + &"--\n".repeat(BOUNDARIES_MAX + 1);
        assert_eq!(
            refused(many.as_bytes()),
            "the mail has more than 4096 lines that begin with `--`"
        );
    }

    #[test]
    fn nothing_becomes_a_header_of_its_own() {
        for subject in ["a\nBcc: eve@example.org", "a\r\nx", "a\u{7}"] {
            assert!(subject.parse::<Subject>().is_err(), "{subject:?}");
        }
        for address in [
            "",
            "bob",
            "@",
            "a@",
            "@b",
            "a@b@c",
            "a b@c",
            "a@b\nBcc: c@d",
            "a@b,c@d",
            "<a@b>",
            "a@b\r\n\r\nbody",
            "-oQ/tmp@x",
            "\"a\"@b",
            "a@b\0",
            "ä@b",
        ] {
            assert!(address.parse::<Address>().is_err(), "{address:?}");
        }
        assert!("first.last+tag@sub.example.org".parse::<Address>().is_ok());
    }

    #[test]
    fn stamps_of_another_clip_are_not_sent() {
        let other = Timing { video: Some(digest(b"other")), ..timing() };
        assert!(matches!(letter().compose(&other, &clip()), Err(NoMessage::Changed)));
    }

    proptest! {
        #[test]
        fn whatever_happens_on_the_way_is_noticed(
            place in 0_usize..14_000,
            byte in any::<u8>(),
            cut in 0_usize..16_000,
        ) {
            let mut changed = message();
            let place = place % changed.len();
            changed[place] = byte;
            changed.truncate(cut.max(1));
            // What is not refused has the clip that was sent.
            if let Ok(opened) = Opened::read(&changed) {
                prop_assert_eq!(opened.clip, clip());
            }
        }
    }
}
