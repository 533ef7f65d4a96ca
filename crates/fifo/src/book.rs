//! What a broker offers and to whom: its decisions, without sockets or memory.

use tactus_model::text::nearest;

use crate::message::{Refusal, Request, Role, VERSION};
use crate::{CHANNELS_MAX, LAYOUT_BYTES_MAX, OfferError, Separation};

/// The most bytes of a channel's name.
pub const NAME_BYTES_MAX: usize = 64;

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What peers do with it.
    pub role: Role,
    /// The layout of its items.
    pub element: String,
    /// The size of an item, in bytes.
    pub bytes: usize,
}

/// The channels of a broker, and who may open them.
#[derive(Clone, Debug)]
pub struct Book {
    own_user: u32,
    users: Vec<u32>,
    requires_other_user: bool,
    channels: Vec<Offered>,
}

impl Book {
    /// Offers nothing, and nothing to anybody but the broker's own user.
    pub const fn new(own_user: u32) -> Self {
        Self { own_user, users: Vec::new(), requires_other_user: false, channels: Vec::new() }
    }

    /// Permits a user to open channels.
    pub fn allow_user(&mut self, user: u32) {
        self.users.push(user);
    }

    /// Refuses peers with nominal separation.
    pub const fn require_other_user(&mut self) {
        self.requires_other_user = true;
    }

    /// Adds a channel. Returns its number.
    ///
    /// # Errors
    /// Its name or its layout is not possible, or there are too many channels.
    pub fn add(&mut self, offered: Offered) -> Result<usize, OfferError> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/".contains(&byte);
        let name = &offered.name;
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_part) {
            return Err(OfferError::Name(name.clone()));
        }
        if offered.element.is_empty() || offered.element.len() > LAYOUT_BYTES_MAX {
            return Err(OfferError::Element(name.clone()));
        }
        if self.channels.iter().any(|channel| channel.name == *name) {
            return Err(OfferError::NameTaken(name.clone()));
        }
        if self.channels.len() == CHANNELS_MAX {
            return Err(OfferError::TooMany);
        }
        self.channels.push(offered);
        Ok(self.channels.len() - 1)
    }

    /// The channels, by their numbers.
    pub fn channels(&self) -> &[Offered] {
        &self.channels
    }

    /// Admits a peer by its user, before anything that it says is read.
    ///
    /// # Errors
    /// The user may not open channels.
    pub fn admit(&self, user: u32) -> Result<Separation, Refusal> {
        if user != self.own_user && !self.users.contains(&user) {
            return Err(Refusal::NotPermitted { user });
        }
        match Separation::between(self.own_user, user) {
            Separation::Nominal if self.requires_other_user => Err(Refusal::Nominal { user }),
            separation => Ok(separation),
        }
    }

    /// Finds the channel that a peer requests.
    ///
    /// # Errors
    /// There is no such channel, or the peer expects another.
    pub fn find(&self, request: &Request) -> Result<usize, Refusal> {
        let Request { version, name, role, element, bytes } = request;
        if *version != VERSION {
            return Err(Refusal::Version { broker: VERSION, peer: *version });
        }
        let Some(number) = self.channels.iter().position(|channel| channel.name == *name) else {
            return Err(self.unknown(name));
        };
        let channel = &self.channels[number];
        if channel.role != *role {
            let (name, offered) = (name.clone(), channel.role);
            return Err(Refusal::Role { name, offered, requested: *role });
        }
        if (&channel.element, channel.bytes) != (element, *bytes) {
            return Err(Refusal::Element {
                name: name.clone(),
                offered: channel.element.clone(),
                offered_bytes: channel.bytes,
                requested: cut(element, LAYOUT_BYTES_MAX),
                requested_bytes: *bytes,
            });
        }
        Ok(number)
    }

    fn unknown(&self, name: &str) -> Refusal {
        let known: Vec<&str> = self.channels.iter().map(|channel| channel.name.as_str()).collect();
        let nearest = nearest(name, &known).map(str::to_owned);
        Refusal::UnknownName { name: cut(name, NAME_BYTES_MAX), nearest }
    }
}

/// The beginning of a text of a peer.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=text.len().min(most)).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> Offered {
        Offered {
            name: "state".to_owned(),
            role: Role::ReadFifo,
            element: "State 1".to_owned(),
            bytes: 16,
        }
    }

    fn book() -> Book {
        let mut book = Book::new(0);
        book.add(state()).unwrap();
        book
    }

    fn request() -> Request {
        let Offered { name, role, element, bytes } = state();
        Request { version: VERSION, name, role, element, bytes }
    }

    #[test]
    fn offers_are_checked() {
        let named = |name: &str| Offered { name: name.to_owned(), ..state() };
        let refused = |offered| book().add(offered).unwrap_err().to_string();
        assert_eq!(refused(named("state")), "the name `state` is taken");
        for name in ["", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(refused(named(name)).contains("is not a name"), "{name}");
        }
        assert!(refused(Offered { element: String::new(), ..named("a") }).contains("layout"));
        let mut full = book();
        for number in 1..CHANNELS_MAX {
            assert_eq!(full.add(named(&number.to_string())).unwrap(), number);
        }
        assert!(matches!(full.add(named("last")), Err(OfferError::TooMany)));
    }

    #[test]
    fn users_are_admitted_by_the_list() {
        let mut book = book();
        assert_eq!(book.admit(0), Ok(Separation::Nominal));
        assert_eq!(book.admit(7), Err(Refusal::NotPermitted { user: 7 }));
        book.allow_user(7);
        book.require_other_user();
        assert_eq!(book.admit(7), Ok(Separation::OtherUid));
        assert_eq!(book.admit(0), Err(Refusal::Nominal { user: 0 }));
    }

    #[test]
    fn a_request_gets_its_channel_or_a_reason() {
        assert_eq!(book().find(&request()), Ok(0));
        let refused = |request: Request| book().find(&request).unwrap_err().to_string();
        for (wrong, said) in [
            (
                Request { version: 2, ..request() },
                "the broker has version 1 of the protocol, this program has version 2",
            ),
            (
                Request { name: "stat".to_owned(), ..request() },
                "no channel is called `stat`; did you mean `state`?",
            ),
            (Request { name: "x".to_owned(), ..request() }, "no channel is called `x`"),
            (
                Request { role: Role::WriteFifo, ..request() },
                "`state` is a FIFO to read, not a FIFO to write",
            ),
            (
                Request { element: "State 2".to_owned(), bytes: 24, ..request() },
                "the items of `state` are `State 1` (16 bytes), not `State 2` (24 bytes)",
            ),
        ] {
            assert_eq!(refused(wrong), said);
        }
    }
}
