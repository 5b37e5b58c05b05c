//! The embedded fonts, and widths of texts in them.

use std::sync::OnceLock;
use typst::foundations::Bytes;
use typst::layout::Abs;
use typst::text::{Font, FontInstance, FontStyle, FontVariations, FontWeight};

const FAMILY: &str = "Libertinus Serif";

/// Returns the fonts. They are parsed once, since all reports use the same.
pub(crate) fn fonts() -> &'static [Font] {
    static FONTS: OnceLock<Vec<Font>> = OnceLock::new();
    FONTS.get_or_init(|| {
        typst_assets::fonts().flat_map(|data| Font::iter(Bytes::new(data))).collect()
    })
}

fn font_of_weight(weight: FontWeight) -> Option<FontInstance> {
    let font = fonts().iter().find(|font| {
        let info = font.info();
        info.family == FAMILY
            && info.variant.weight == weight
            && info.variant.style == FontStyle::Normal
    })?;
    let variant = font.info().variant;
    Some(font.clone().instantiate(variant, Abs::pt(10.0), &FontVariations::default()))
}

/// Returns the width of a text in one line, relative to the font size. Kerning, which makes texts
/// narrower, is left out; a letter that the font lacks counts as wide as the size.
pub(crate) fn text_width(text: &str, is_bold: bool) -> f64 {
    static FACES: OnceLock<[Option<FontInstance>; 2]> = OnceLock::new();
    let faces = FACES.get_or_init(|| [FontWeight::REGULAR, FontWeight::BOLD].map(font_of_weight));
    let font = faces[usize::from(is_bold)].as_ref();
    let advance = |letter: char| {
        let face = font?.ttf();
        let advance = face.glyph_hor_advance(face.glyph_index(letter)?)?;
        Some(f64::from(advance) / f64::from(face.units_per_em()))
    };
    text.chars().map(|letter| advance(letter).unwrap_or(1.0)).sum()
}
