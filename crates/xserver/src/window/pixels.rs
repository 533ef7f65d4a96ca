//! What the pixels of a display are, and how large a picture is there.

use tactus_model::pixels::PixelFormat;
use x11rb::protocol::xproto::{ImageOrder, Screen, Setup, VisualClass, Visualtype};

/// The format of the pixels of a screen.
///
/// # Errors
/// No frame can have this format; the text says what it is.
pub fn format(setup: &Setup, screen: &Screen) -> Result<PixelFormat, String> {
    let depth = screen.root_depth;
    let visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
    let visual = visuals.into_iter().find(|visual| visual.visual_id == screen.root_visual);
    let bits = setup.pixmap_formats.iter().find(|format| format.depth == depth);
    let (Some(visual), Some(bits)) = (visual, bits.map(|format| format.bits_per_pixel)) else {
        return Err(format!("depth {depth} without a format"));
    };
    let native =
        if cfg!(target_endian = "big") { ImageOrder::MSB_FIRST } else { ImageOrder::LSB_FIRST };
    let has_order = bits == 8 || setup.image_byte_order == native;
    known(visual, depth, bits).filter(|_| has_order).ok_or_else(|| {
        let Visualtype { class, red_mask, green_mask, blue_mask, .. } = *visual;
        format!(
            "depth {depth}, {bits} bits, {class:?}, masks {red_mask:x} {green_mask:x} {blue_mask:x}"
        )
    })
}

fn known(visual: &Visualtype, depth: u8, bits: u8) -> Option<PixelFormat> {
    let masks = (visual.red_mask, visual.green_mask, visual.blue_mask);
    match (visual.class, bits, masks) {
        (VisualClass::TRUE_COLOR, 32, (0xff0000, 0xff00, 0xff)) => Some(PixelFormat::Bgr0),
        (VisualClass::TRUE_COLOR, 32, (0xff, 0xff00, 0xff0000)) => Some(PixelFormat::Rgb0),
        (VisualClass::TRUE_COLOR, 16, (0xf800, 0x7e0, 0x1f)) => Some(PixelFormat::Rgb565),
        (VisualClass::TRUE_COLOR, 16, (0x7c00, 0x3e0, 0x1f)) => Some(PixelFormat::Rgb555),
        (VisualClass::TRUE_COLOR, 8, (0x7, 0x38, 0xc0)) => Some(PixelFormat::Bgr233),
        (VisualClass::STATIC_GRAY, 8, _) if depth == 8 => Some(PixelFormat::Gray),
        _ => None,
    }
}

/// The size of a picture on a screen: as it is, or smaller with its aspect. Lines have a multiple of
/// four bytes, as the server wants them.
pub fn fit(size: (u32, u32), screen: (u16, u16), format: PixelFormat) -> (u16, u16) {
    let ratio = |side: u32, most: u16| f64::from(most) / f64::from(side.max(1));
    let factor = ratio(size.0, screen.0).min(ratio(size.1, screen.1)).min(1.0);
    let step = 4 / format.bytes() as u32;
    let scaled = |side: u32, most: u16| ((f64::from(side) * factor) as u32).clamp(1, most.into());
    let width = (scaled(size.0, screen.0) / step * step).max(step);
    (width as u16, scaled(size.1, screen.1) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_fit_into_screens() {
        let rgb = PixelFormat::Bgr0;
        assert_eq!(fit((1280, 720), (1920, 1080), rgb), (1280, 720));
        assert_eq!(fit((1280, 720), (640, 480), rgb), (640, 360));
        assert_eq!(fit((720, 1280), (640, 480), rgb), (270, 480));
        assert_eq!(fit((1279, 1), (1920, 1080), PixelFormat::Rgb565), (1278, 1));
        assert_eq!(fit((8192, 1), (640, 480), PixelFormat::Gray), (640, 1));
        assert_eq!(fit((1, 1), (640, 480), PixelFormat::Gray), (4, 1));
    }

    #[test]
    fn formats_are_known_by_their_masks() {
        let visual = |class, red_mask, green_mask, blue_mask| Visualtype {
            class,
            red_mask,
            green_mask,
            blue_mask,
            ..Visualtype::default()
        };
        let true_color = VisualClass::TRUE_COLOR;
        assert_eq!(
            known(&visual(true_color, 0xf800, 0x7e0, 0x1f), 16, 16),
            Some(PixelFormat::Rgb565)
        );
        assert_eq!(known(&visual(VisualClass::PSEUDO_COLOR, 0, 0, 0), 8, 8), None);
        assert_eq!(known(&visual(true_color, 0xff0000, 0xff00, 0xff), 24, 24), None, "packed");
    }
}
