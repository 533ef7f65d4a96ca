//! Keymaps of a Wayland compositor.

use tactus_player::surface::keymap::Keymap;

/// The most groups and levels that a key can be asked for.
const ASKED: u32 = 6;

/// Parts of what libxkbcommon and xkbcomp write.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let keycodes = r#"xkb_keymap { xkb_keycodes "evdev" { minimum = 8; maximum = 255;
        <ESC> = 9; <AE12> = 21; <AC01> = 38; <AD01> = 24; indicator 1 = "Caps Lock";
        alias <ESCA> = <ESC>; };
        xkb_types "complete" { type "TWO" { modifiers= Shift; map[Shift]= 2; }; }; "#;
    let by_groups = r#"xkb_symbols "pc+fr" { name[1]="French"; key <ESC> { [ Escape ] };
        key <AE12> { type= "FOUR", symbols[1]= [ equal, plus, 0x100 ], symbols[2]= [ minus ] };
        modifier_map Shift { <LFSH>, <RTSH> }; }; };"#;
    let by_place = r#"xkb_symbols { key <AC01> { [ q, Q ], [ a, { b, c } ] }; // comment
        key <ESCA> { repeat= No, actions[1]= [ SetMods(modifiers=Shift) ], [ Left ] }; }; };"#;
    [by_groups, by_place].map(|symbols| format!("{keycodes}{symbols}").into_bytes()).into()
}

pub(crate) fn run(bytes: &[u8]) {
    let keymap = Keymap::parse(bytes);
    for code in 0..256 {
        for group in 0..ASKED {
            let [plain, shifted] = [false, true].map(|shift| keymap.symbol(code, group, shift));
            assert!(plain.is_none() || shifted.is_some(), "Shift takes a symbol away");
        }
    }
}
