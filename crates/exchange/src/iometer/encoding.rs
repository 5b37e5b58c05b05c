//! The text of a file: whatever an editor on Windows made of it.

/// Decodes UTF-8 and UTF-16, with or without a byte order mark; bytes that are
/// neither are one character each (Latin-1), as older editions of Windows wrote names.
pub(super) fn text(bytes: &[u8]) -> String {
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => narrow(rest),
        _ => narrow(bytes),
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn narrow(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_that_editors_write_is_read() {
        let wide = |unit: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            let mut bytes = mark.to_vec();
            bytes.extend("Größe".encode_utf16().flat_map(unit));
            bytes
        };
        let latin = [b'G', b'r', 0xf6, 0xdf, b'e'];
        assert_eq!(text("Größe".as_bytes()), "Größe");
        assert_eq!(text("\u{feff}Größe".as_bytes()), "Größe");
        assert_eq!(text(&latin), "Größe");
        assert_eq!(text(&wide(u16::to_le_bytes, [0xff, 0xfe])), "Größe");
        assert_eq!(text(&wide(u16::to_be_bytes, [0xfe, 0xff])), "Größe");
        assert_eq!(text(&[0xff, 0xfe, b'x']), "");
    }
}
