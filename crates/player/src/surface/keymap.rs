//! What is written on the keys of a compositor's keyboard: the text form of XKB keymaps
//! ([the format](https://xkbcommon.org/doc/current/keymap-text-format-v1.html)), as far as a player needs
//! it: the first two levels of each group of each key.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The most bytes of a keymap; those of libxkbcommon have about 70 000.
pub const BYTES_MAX: usize = 1 << 20;
/// The most groups of a key.
const GROUPS_MAX: usize = 4;
/// What an XKB key code is more than the kernel's code of the key.
const OFFSET: u32 = 8;

/// The symbols of a key in a group, without and with Shift (`X11/keysymdef.h`).
type Levels = [Option<u32>; 2];

/// The symbols of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap(BTreeMap<u32, Vec<Levels>>);

impl Keymap {
    /// Reads the file of a compositor, of which so many bytes count.
    ///
    /// # Errors
    /// It cannot be read, or is larger than [`BYTES_MAX`].
    pub fn read(file: &File, bytes: usize) -> io::Result<Self> {
        if bytes > BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut text = vec![0; bytes];
        // Other clients may have the same file, so its position is not used.
        file.read_exact_at(&mut text, 0)?;
        Ok(Self::parse(&text))
    }

    /// Reads a text. What it does not understand is left out.
    pub fn parse(text: &[u8]) -> Self {
        let mut tokens = Tokens(text);
        let (mut codes, mut symbols) = (Codes::default(), Vec::new());
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(b"xkb_keycodes") if tokens.open() => codes.take(&mut tokens),
                Token::Word(b"xkb_symbols") if tokens.open() => {
                    take_symbols(&mut tokens, &mut symbols)
                }
                Token::Word(
                    b"xkb_types" | b"xkb_compatibility" | b"xkb_compat" | b"xkb_geometry",
                ) if tokens.open() => {
                    tokens.skip(b'{', b'}');
                }
                _ => {}
            }
        }
        let keys =
            symbols.into_iter().filter_map(|(name, groups)| Some((codes.find(name)?, groups)));
        Self(keys.collect())
    }

    /// The symbol of a key, by the kernel's code: in this group of those that it has, the second one
    /// with Shift, if it has one.
    pub fn symbol(&self, code: u32, group: u32, is_shifted: bool) -> Option<u32> {
        let groups = self.0.get(&code.checked_add(OFFSET)?)?;
        let [plain, shifted] = groups.get(group as usize).or(groups.first())?;
        if is_shifted { shifted.or(*plain) } else { *plain }
    }
}

/// The codes of keys by their names.
#[derive(Default)]
struct Codes<'t> {
    codes: BTreeMap<&'t [u8], u32>,
    aliases: BTreeMap<&'t [u8], &'t [u8]>,
}

impl<'t> Codes<'t> {
    /// Reads a section to its end.
    fn take(&mut self, tokens: &mut Tokens<'t>) {
        let mut name = None;
        let mut is_alias = false;
        while let Some(token) = tokens.next() {
            match token {
                Token::Mark(b'}') => return,
                Token::Mark(b';') => (name, is_alias) = (None, false),
                Token::Word(b"alias") => is_alias = true,
                Token::Name(found) => match name {
                    None => name = Some(found),
                    Some(name) if is_alias => _ = self.aliases.insert(name, found),
                    Some(_) => {}
                },
                Token::Word(number) => {
                    if let Some((name, code)) = name.zip(number_of(number)) {
                        self.codes.insert(name, code);
                    }
                }
                _ => {}
            }
        }
    }

    fn find(&self, name: &[u8]) -> Option<u32> {
        let code = self.codes.get(name).or_else(|| self.codes.get(*self.aliases.get(name)?));
        code.copied()
    }
}

/// Reads the section of symbols to its end.
fn take_symbols<'t>(tokens: &mut Tokens<'t>, found: &mut Vec<(&'t [u8], Vec<Levels>)>) {
    let mut is_key = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Mark(b'}') => return,
            Token::Word(b"key") => is_key = true,
            Token::Name(name) if is_key && tokens.open() => {
                found.push((name, groups(tokens)));
                is_key = false;
            }
            // Those of a modifier map.
            Token::Mark(b'{') => tokens.skip(b'{', b'}'),
            Token::Mark(b';') => is_key = false,
            _ => {}
        }
    }
}

/// Reads the groups of a key, to the end of its braces.
fn groups(tokens: &mut Tokens<'_>) -> Vec<Levels> {
    let mut groups = Vec::new();
    // `symbols[1]= [ … ]` or just `[ … ]`; those of other words, e.g. of actions, are no symbols.
    let mut are_symbols = true;
    while let Some(token) = tokens.next() {
        match token {
            Token::Mark(b'}') => break,
            Token::Mark(b',') => are_symbols = true,
            Token::Word(word) => {
                are_symbols = word.eq_ignore_ascii_case(b"symbols");
                if tokens.peek() == Some(b'[') {
                    // The number of the group: groups come in their order.
                    tokens.next();
                    tokens.skip(b'[', b']');
                }
            }
            Token::Mark(b'[') if are_symbols && groups.len() < GROUPS_MAX => {
                groups.push(levels(tokens))
            }
            Token::Mark(b'[') => tokens.skip(b'[', b']'),
            Token::Mark(b'{') => tokens.skip(b'{', b'}'),
            _ => {}
        }
    }
    groups
}

/// Reads the symbols of a group, to the end of its brackets.
fn levels(tokens: &mut Tokens<'_>) -> Levels {
    let (mut levels, mut level) = ([None; 2], 0);
    while let Some(token) = tokens.next() {
        match token {
            Token::Mark(b']') => break,
            Token::Mark(b',') => level += 1,
            // Several symbols at once are none of ours.
            Token::Mark(b'{') => tokens.skip(b'{', b'}'),
            Token::Mark(b'[') => tokens.skip(b'[', b']'),
            Token::Word(word) => {
                if let Some(symbol) = levels.get_mut(level) {
                    *symbol = symbol_of(word);
                }
            }
            _ => {}
        }
    }
    levels
}

/// A piece of the text.
#[derive(Clone, Copy)]
enum Token<'t> {
    Word(&'t [u8]),
    /// The name of a key, without its brackets.
    Name(&'t [u8]),
    Text,
    Mark(u8),
}

struct Tokens<'t>(&'t [u8]);

impl<'t> Tokens<'t> {
    fn next(&mut self) -> Option<Token<'t>> {
        let first = self.peek()?;
        Some(match first {
            b'"' => {
                self.take_until(|byte| byte == b'"');
                Token::Text
            }
            b'<' => Token::Name(self.take_until(|byte| byte == b'>')),
            _ if is_of_word(first) => {
                let length = self.0.iter().take_while(|byte| is_of_word(**byte)).count();
                let (word, rest) = self.0.split_at(length);
                self.0 = rest;
                Token::Word(word)
            }
            mark => {
                self.0 = &self.0[1..];
                Token::Mark(mark)
            }
        })
    }

    /// The first byte of the next token, after space and comments.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let is_comment = self.0.starts_with(b"//") || self.0.starts_with(b"#");
            match self.0.first()? {
                _ if is_comment => {
                    let end = self.0.iter().position(|byte| *byte == b'\n');
                    self.0 = &self.0[end.unwrap_or(self.0.len())..];
                }
                byte if byte.is_ascii_whitespace() => self.0 = &self.0[1..],
                byte => return Some(*byte),
            }
        }
    }

    /// Takes what follows the present byte, to before one that ends it, and that one.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'t [u8] {
        let rest = &self.0[1..];
        let length = rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len());
        self.0 = rest.get(length + 1..).unwrap_or_default();
        &rest[..length]
    }

    /// Takes what comes before an opening brace, which must follow a name.
    fn open(&mut self) -> bool {
        if self.peek() == Some(b'"') {
            self.next();
        }
        let opens = self.peek() == Some(b'{');
        if opens {
            self.next();
        }
        opens
    }

    /// Takes what comes before the end of an area that has begun, and its end.
    fn skip(&mut self, begin: u8, end: u8) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next() {
                Some(Token::Mark(mark)) if mark == begin => depth += 1,
                Some(Token::Mark(mark)) if mark == end => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn number_of(word: &[u8]) -> Option<u32> {
    let word = std::str::from_utf8(word).ok()?;
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The symbols that have names, of those that keys of a player may have.
const NAMED: [(&[u8], u32); 11] = [
    (b"space", 0x20),
    (b"plus", 0x2b),
    (b"minus", 0x2d),
    (b"equal", 0x3d),
    (b"Escape", 0xff1b),
    (b"Left", 0xff51),
    (b"Up", 0xff52),
    (b"Right", 0xff53),
    (b"Down", 0xff54),
    (b"KP_Add", 0xffab),
    (b"KP_Subtract", 0xffad),
];

/// The number of a symbol: that of a letter or a digit is its ASCII code. A symbol with a number is
/// written as `0xff51`, and a character without a name as `U2013`.
fn symbol_of(word: &[u8]) -> Option<u32> {
    match word {
        [letter] => Some(u32::from(*letter)),
        [b'0', b'x', ..] => number_of(word),
        _ => NAMED.iter().find(|(name, _)| *name == word).map(|(_, symbol)| *symbol),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use tactus_testing::{Need, require};

    use super::*;

    /// Parts of what libxkbcommon writes for a French and an American keyboard, and of what xkbcomp
    /// writes.
    const TEXT: &str = r#"xkb_keymap {
xkb_keycodes "evdev+aliases(azerty)" {
	minimum = 8;
	maximum = 255;
	<ESC>                = 9;
	<AE12>               = 21;
	<AC01>               = 38;
	<AD01>               = 24;
	<LEFT>               = 113;
	<KPAD>               = 86;
	indicator 1 = "Caps Lock";
	alias <ALGR>         = <RALT>;
	alias <ESCA>         = <ESC>;
};
xkb_types "complete" {
	type "ONE_LEVEL" { modifiers= none; level_name[1]= "Any"; };
	type "TWO_LEVEL" { modifiers= Shift; map[Shift]= 2; level_name[1]= "Base"; };
};
xkb_compatibility "complete" {
	interpret Any+AnyOf(all) { action= SetMods(modifiers=modMapMods); };
};
// <AC01> = 9; is a comment
xkb_symbols "pc+fr+us:2" {
	name[1]="French"; name[2]="English (US)";
	key <ESCA>               {	[          Escape ] };
	key <AE12>               {
		type= "FOUR_LEVEL",
		symbols[1]= [           equal,            plus, 0x100 ],
		symbols[2]= [           equal,            plus ]
	};
	key <AC01>               { type[group1]= "ALPHABETIC", symbols[Group1]= [ q, Q ], symbols[Group2]= [ a, A ] };
	key <AD01>               {	[ a, A ], [ q, Q ] };
	key <LEFT>               { repeat= Yes, actions[1]= [ NoAction(), SetMods(modifiers=Shift) ], [ Left ] };
	key <KPAD>               {	[ 0xffab, { a, b } ] };
	modifier_map Shift { <LFSH>, <RTSH> };
};
};
"#;

    #[test]
    fn symbols_are_those_of_the_layout_and_not_of_the_place() {
        let keymap = Keymap::parse(TEXT.as_bytes());
        let q = u32::from(b'q');
        // The kernel names keys by what is written on an American keyboard: 16 is Q, 30 is A.
        assert_eq!(keymap.symbol(30, 0, false), Some(q));
        assert_eq!(keymap.symbol(16, 0, false), Some(u32::from(b'a')));
        assert_eq!(keymap.symbol(16, 1, false), Some(q));
        assert_eq!(keymap.symbol(16, 1, true), Some(u32::from(b'Q')));
        assert_eq!(
            (keymap.symbol(13, 0, false), keymap.symbol(13, 0, true)),
            (Some(0x3d), Some(0x2b))
        );
        assert_eq!(keymap.symbol(1, 0, true), Some(0xff1b), "by an alias; it has no second symbol");
        assert_eq!(keymap.symbol(105, 3, false), Some(0xff51), "actions are no symbols");
        assert_eq!(
            (keymap.symbol(78, 0, false), keymap.symbol(78, 0, true)),
            (Some(0xffab), Some(0xffab))
        );
        assert_eq!(keymap.symbol(2, 0, false), None);
        assert_eq!(keymap.symbol(u32::MAX, 0, false), None);
    }

    /// A whole keymap by xkbcomp, which every X server without a screen needs too.
    #[test]
    fn a_whole_keymap_is_understood() {
        let parts = "xkb_keymap { xkb_keycodes { include \"evdev+aliases(azerty)\" };
            xkb_types { include \"complete\" }; xkb_compatibility { include \"complete\" };
            xkb_symbols { include \"pc+fr+us:2+inet(evdev)\" }; };";
        let mut command = Command::new("xkbcomp");
        command.args(["-w0", "-xkb", "-", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Some(mut compiler) = require(Need::Display, command.spawn()) else { return };
        compiler.stdin.take().unwrap().write_all(parts.as_bytes()).unwrap();
        let compiled = compiler.wait_with_output().unwrap().stdout;
        assert!((10_000..BYTES_MAX).contains(&compiled.len()), "{}", compiled.len());
        let keymap = Keymap::parse(&compiled);
        let symbols = |group, is_shifted| {
            // Escape, Q and A of an American keyboard, space, the keys beside backspace, left, up,
            // right, down, and both signs of the keypad.
            let codes = [1, 16, 30, 57, 13, 105, 103, 106, 108, 78, 74];
            codes.map(|code| keymap.symbol(code, group, is_shifted).unwrap_or(0))
        };
        let (a, q, equal) = (u32::from(b'a'), u32::from(b'q'), u32::from(b'='));
        let others = [0xff51, 0xff52, 0xff53, 0xff54, 0xffab, 0xffad];
        let [left, up, right, down, plus, minus] = others;
        let french = [0xff1b, a, q, 0x20, equal, left, up, right, down, plus, minus];
        assert_eq!(symbols(0, false), french);
        let american = [0xff1b, q, a, 0x20, equal, left, up, right, down, plus, minus];
        assert_eq!(symbols(1, false), american);
        assert_eq!(symbols(0, true)[4], u32::from(b'+'));
    }

    #[test]
    fn every_part_of_a_text_has_an_end() {
        for length in 0..TEXT.len() {
            let _ = Keymap::parse(&TEXT.as_bytes()[..length]);
            let _ = Keymap::parse(&TEXT.as_bytes()[length..]);
        }
        assert_eq!(Keymap::parse(b""), Keymap::default());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let file = tempfile::tempfile().unwrap();
        assert!(Keymap::read(&file, BYTES_MAX + 1).is_err());
        assert!(Keymap::read(&file, 1).is_err(), "it ends before");
        file.write_all_at(TEXT.as_bytes(), 0).unwrap();
        assert!(Keymap::read(&file, TEXT.len()).unwrap().symbol(30, 0, false).is_some());
    }
}
