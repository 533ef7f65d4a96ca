//! Line styles that are distinct in colour, in grey and for the colour-blind.

/// The number of colours, and of dash patterns.
const COLOURS: usize = 6;

/// The colour and the dash pattern of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveStyle {
    colour: usize,
    dash: usize,
}

impl CurveStyle {
    /// The style of the curve with a number; the first 36 are all different, and the first six
    /// differ in both colour and dashes.
    pub const fn numbered(number: usize) -> Self {
        Self { colour: number % COLOURS, dash: (number + number / COLOURS) % COLOURS }
    }

    /// The style for curves that vary in two ways, one shown by colour, the other by dashes.
    pub const fn crossed(colour: usize, dash: usize) -> Self {
        Self { colour: colour % COLOURS, dash: dash % COLOURS }
    }

    /// The classes of the curve's line.
    pub fn line(self) -> String {
        format!("curve c{} d{}", self.colour, self.dash)
    }

    /// The classes of a filled shape or a text in the curve's colour.
    pub fn fill(self) -> String {
        format!("fill c{}", self.colour)
    }

    /// The number of the colour, for scripts; its CSS variable is `--c` and this number.
    pub const fn colour(self) -> usize {
        self.colour
    }

    /// The lengths of the dashes and gaps, empty for a solid line.
    pub const fn dashes(self) -> &'static [f64] {
        DASHES[self.dash]
    }
}

/// The dash patterns in the order of [`STYLE`], whose values they repeat.
const DASHES: [&[f64]; COLOURS] =
    [&[], &[6.0, 3.0], &[1.5, 2.5], &[9.0, 3.0, 1.5, 3.0], &[3.0, 2.0], &[12.0, 3.0]];

/// The styles of all drawings. Dashes, like colours, only distinguish curves; nothing else is
/// dashed.
///
/// The colours are those of Okabe and Ito (*Color universal design*, 2008), darkened to a contrast
/// of 4.5 : 1 against white.
pub const STYLE: &str = "\
.drawing{font:11px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink,#1d2327)}\
.drawing .grid{stroke:var(--grid,#e3e5e8);stroke-width:1}\
.drawing .axis{stroke:var(--axis,#8b949e);stroke-width:1}\
.drawing .nominal{stroke:var(--axis,#8b949e);stroke-width:1}\
.drawing .mark{fill:var(--quiet,#5b6570);font-size:10px;font-variant-numeric:tabular-nums}\
.drawing .head{font-weight:600;font-size:12px}\
.drawing .corner{font-weight:600;font-variant-numeric:tabular-nums}\
.drawing .halo{paint-order:stroke;stroke:var(--paper,#fff);stroke-width:3px;stroke-linejoin:round}\
.drawing .curve{fill:none;stroke-width:1.6;stroke-linejoin:round}\
.drawing .leader{stroke-width:.7;fill:none;opacity:.6}\
.drawing .thin{stroke-width:1}\
.drawing .limit{stroke:var(--ink,#1d2327);stroke-width:1.4}\
.drawing .strong{fill:var(--ink,#1d2327)}\
.drawing .ringed{stroke:var(--paper,#fff);stroke-width:.8}\
.drawing .on{fill:var(--paper,#fff)}\
.drawing .thread,.drawing .t0{fill:var(--rule,#d5d9dd)}\
.drawing .t1{fill:color-mix(in srgb,var(--c2,#00785a) 35%,var(--paper,#fff))}\
.drawing .t2{fill:color-mix(in srgb,var(--c5,#856404) 35%,var(--paper,#fff))}\
.drawing .t3{fill:var(--grid,#e3e5e8)}\
.drawing .several{fill:var(--grid,#e3e5e8)}\
.drawing .block{stroke:var(--paper,#fff);stroke-width:.4}\
.drawing .several.block{stroke:var(--axis,#8b949e)}\
.drawing .asked.block{stroke:var(--ink,#1d2327);stroke-width:1}\
.drawing .band{opacity:.2}\
.drawing .asked.line{stroke:var(--bad,#b3261e);stroke-width:1.2}.drawing .asked.mark{fill:var(--bad,#b3261e)}\
.drawing .curve.c0,.drawing .leader.c0{stroke:var(--c0,#0067b0)}.drawing .fill.c0{fill:var(--c0,#0067b0)}\
.drawing .curve.c1,.drawing .leader.c1{stroke:var(--c1,#c14600)}.drawing .fill.c1{fill:var(--c1,#c14600)}\
.drawing .curve.c2,.drawing .leader.c2{stroke:var(--c2,#00785a)}.drawing .fill.c2{fill:var(--c2,#00785a)}\
.drawing .curve.c3,.drawing .leader.c3{stroke:var(--c3,#a8437f)}.drawing .fill.c3{fill:var(--c3,#a8437f)}\
.drawing .curve.c4,.drawing .leader.c4{stroke:var(--c4,#454d55)}.drawing .fill.c4{fill:var(--c4,#454d55)}\
.drawing .curve.c5,.drawing .leader.c5{stroke:var(--c5,#856404)}.drawing .fill.c5{fill:var(--c5,#856404)}\
.drawing .d1{stroke-dasharray:6 3}.drawing .d2{stroke-dasharray:1.5 2.5}\
.drawing .d3{stroke-dasharray:9 3 1.5 3}.drawing .d4{stroke-dasharray:3 2}\
.drawing .d5{stroke-dasharray:12 3}";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_curves_all_look_different() {
        let looks: BTreeSet<String> =
            (0..COLOURS * COLOURS).map(|number| CurveStyle::numbered(number).line()).collect();
        assert_eq!(looks.len(), COLOURS * COLOURS);
    }

    #[test]
    fn the_first_six_differ_without_colour() {
        let dashes: BTreeSet<usize> =
            (0..COLOURS).map(|number| CurveStyle::numbered(number).dash).collect();
        assert_eq!(dashes.len(), COLOURS);
    }

    #[test]
    fn scripts_and_styles_have_the_same_dashes() {
        for (number, dashes) in DASHES.iter().enumerate().skip(1) {
            let lengths: Vec<String> = dashes.iter().map(|length| length.to_string()).collect();
            let rule = format!(".d{number}{{stroke-dasharray:{}}}", lengths.join(" "));
            assert!(STYLE.contains(&rule), "{rule}");
        }
    }
}
