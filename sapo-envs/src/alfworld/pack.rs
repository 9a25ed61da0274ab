//! Packs and recordings: line files, plain, gzip or zstd, told apart by their first bytes.

use std::io::{Read, Write};
use std::path::Path;

use serde::Deserialize;

use super::error::AlfWorldError;
use super::source::PackLine;

/// The largest window that a zstd file may ask for: 2^27 bytes.
const WINDOW_LOG: u32 = 27;

/// A line of a pack with the game's name, not yet parsed further.
pub(crate) struct NamedLine {
    pub(crate) name: String,
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// Reads the lines of a pack.
pub(crate) fn read_pack(path: &Path) -> Result<Vec<NamedLine>, AlfWorldError> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let named = |(index, line): (usize, &str)| {
        let number = index + 1;
        let Named { name } =
            serde_json::from_str(line).map_err(|error| AlfWorldError::Foreign {
                file: format!("{}, line {number}", path.display()),
                message: format!("{error}; a pack has one game a line"),
            })?;
        Ok(NamedLine { name, number, text: line.to_owned() })
    };
    lines.map(named).collect()
}

/// Writes games as a pack, zstd-compressed if the name ends in `.zst`.
///
/// # Errors
/// If the file cannot be written.
pub fn write_pack<'a>(
    path: &Path,
    games: impl IntoIterator<Item = &'a PackLine>,
) -> Result<(), AlfWorldError> {
    let failed = |source| AlfWorldError::Write { path: path.to_owned(), source };
    let mut text = Vec::new();
    for game in games {
        serde_json::to_writer(&mut text, game).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
    }
    let is_zstd = path.extension().is_some_and(|extension| extension == "zst");
    let bytes = if is_zstd { zstd::encode_all(&text[..], 19).map_err(failed)? } else { text };
    std::fs::File::create(path).and_then(|mut file| file.write_all(&bytes)).map_err(failed)
}

/// Reads a text file, decompressed.
pub(crate) fn read_text(path: &Path) -> Result<String, AlfWorldError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => AlfWorldError::Missing { path: path.to_owned() },
        _ => AlfWorldError::Read { path: path.to_owned(), source },
    };
    let bytes = std::fs::read(path).map_err(failed)?;
    decompress(&bytes).map_err(failed)
}

fn decompress(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text)?;
    } else if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::new(bytes)?;
        decoder.window_log_max(WINDOW_LOG)?;
        decoder.read_to_string(&mut text)?;
    } else {
        let mut bytes = bytes;
        bytes.read_to_string(&mut text)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_told_by_the_first_bytes() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"text").unwrap();
        assert_eq!(decompress(&gzip.finish().unwrap()).unwrap(), "text");
        assert_eq!(decompress(&zstd::encode_all(&b"text"[..], 1).unwrap()).unwrap(), "text");
        assert_eq!(decompress(b"text").unwrap(), "text");
        assert!(decompress(&[0xff, 0xfe]).is_err());
    }
}
