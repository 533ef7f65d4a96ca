//! What keys do, by their symbols (`X11/keysymdef.h`).

use crate::grid::Move;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Moves the selection.
    Go(Move),
    /// Plays the selected clip.
    Play,
    /// Closes the window.
    Quit,
}

/// Symbols and what they do.
const KEYS: [(u32, Key); 20] = [
    (0xff51, Key::Go(Move::Left)),
    (0xff52, Key::Go(Move::Up)),
    (0xff53, Key::Go(Move::Right)),
    (0xff54, Key::Go(Move::Down)),
    (0xff55, Key::Go(Move::PageUp)),
    (0xff56, Key::Go(Move::PageDown)),
    (0xff50, Key::Go(Move::Home)),
    (0xff57, Key::Go(Move::End)),
    // The same on the keypad.
    (0xff96, Key::Go(Move::Left)),
    (0xff97, Key::Go(Move::Up)),
    (0xff98, Key::Go(Move::Right)),
    (0xff99, Key::Go(Move::Down)),
    (0xff9a, Key::Go(Move::PageUp)),
    (0xff9b, Key::Go(Move::PageDown)),
    // Return, Enter, space.
    (0xff0d, Key::Play),
    (0xff8d, Key::Play),
    (0x0020, Key::Play),
    // Escape, q, Q.
    (0xff1b, Key::Quit),
    (0x0071, Key::Quit),
    (0x0051, Key::Quit),
];

/// What a key with this symbol does.
pub(crate) fn meaning(symbol: u32) -> Option<Key> {
    KEYS.iter().find(|(known, _)| *known == symbol).map(|(_, key)| *key)
}
