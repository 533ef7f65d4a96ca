//! What is written on the keys of a keyboard.

use x11rb::connection::Connection;
use x11rb::errors::ReplyError;
use x11rb::protocol::xproto::{self, KeyButMask, Keycode, Keysym};

/// The symbols of keys (`X11/keysymdef.h`), as the server has them when this is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyboard {
    first: Keycode,
    per_key: usize,
    symbols: Vec<Keysym>,
}

impl Keyboard {
    /// The keyboard of a server.
    ///
    /// # Errors
    /// The server has ended.
    pub fn of(connection: &impl Connection) -> Result<Self, ReplyError> {
        let setup = connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let count = last.saturating_sub(first).saturating_add(1);
        let mapping = xproto::get_keyboard_mapping(connection, first, count)?.reply()?;
        let (per_key, symbols) = (mapping.keysyms_per_keycode.into(), mapping.keysyms);
        Ok(Self { first, per_key, symbols })
    }

    /// The symbol of a key: its second one with Shift, if it has one.
    pub fn symbol(&self, code: Keycode, state: KeyButMask) -> Option<Keysym> {
        let from = usize::from(code.checked_sub(self.first)?) * self.per_key;
        let symbols = self.symbols.get(from..from + self.per_key)?;
        let second = symbols.get(1).filter(|_| state.contains(KeyButMask::SHIFT));
        second.filter(|symbol| **symbol != 0).or(symbols.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shift_chooses_the_second_symbol() {
        let keyboard = Keyboard { first: 8, per_key: 2, symbols: vec![0x3d, 0x2b, 0xff51, 0] };
        let plain = |code| keyboard.symbol(code, KeyButMask::default());
        let shifted = |code| keyboard.symbol(code, KeyButMask::SHIFT);
        assert_eq!((plain(8), shifted(8)), (Some(0x3d), Some(0x2b)));
        assert_eq!((plain(9), shifted(9)), (Some(0xff51), Some(0xff51)));
        assert_eq!([7, 10, 255].map(plain), [None; 3]);
    }
}
