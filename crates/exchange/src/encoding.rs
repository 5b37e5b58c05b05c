//! Character encodings of text files as found in the wild.

/// Decodes a file as UTF-8 or UTF-16, with or without a byte order mark; any other file is taken as
/// Latin-1 (one character per byte).
pub fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // Files of these tools begin with an ASCII character.
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes),
        [0, second, ..] if *second != 0 => utf16(bytes, u16::from_be_bytes),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_was_saved() {
        let text = "[Read]\r\n µs";
        let le = text.encode_utf16().flat_map(u16::to_le_bytes);
        let be = text.encode_utf16().flat_map(u16::to_be_bytes);
        let with = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let forms = [
            text.as_bytes().to_vec(),
            with(&[0xef, 0xbb, 0xbf], text.into()),
            with(&[0xff, 0xfe], le.clone().collect()),
            le.collect(),
            with(&[0xfe, 0xff], be.clone().collect()),
            be.collect(),
            text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
        ];
        for form in forms {
            assert_eq!(decode(&form), text);
        }
        assert_eq!(decode(&[0xff, 0xfe, 0x41]), "", "half a character is none");
    }
}
