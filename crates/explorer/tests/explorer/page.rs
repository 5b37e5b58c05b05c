//! The embedded page is built from the current sources.

use std::path::{Path, PathBuf};

/// Returns the FNV-1a hash of the files, as ui/explorer/vite.config.js computes it.
fn digest(directories: &[PathBuf]) -> String {
    let files = directories.iter().flat_map(|directory| {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    });
    let bytes = files.flat_map(|file| std::fs::read(file).unwrap());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[test]
fn the_page_is_built_from_the_current_sources() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ui = home.join("../../ui");
    let expected = digest(&[ui.join("explorer/src"), ui.join("src")]);
    for name in ["explorer.js", "explorer.css"] {
        let asset = std::fs::read_to_string(home.join("assets").join(name)).unwrap();
        let first = asset.lines().next().unwrap();
        assert!(first.contains(&expected), "{first}: the sources are {expected}; run `make ui`");
    }
    let source = std::fs::read_to_string(ui.join("explorer/src/index.html")).unwrap();
    assert_eq!(std::fs::read_to_string(home.join("assets/index.html")).unwrap(), source);
}
