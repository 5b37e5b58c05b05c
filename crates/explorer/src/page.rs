//! The page: its files, built from `ui/explorer/` and kept in `assets/`.

/// The kind of a JSON answer.
pub const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page itself.
pub const INDEX: &str = include_str!("../assets/index.html");
/// Its script.
pub const EXPLORER_JS: &str = include_str!("../assets/explorer.js");
/// Its style.
pub const EXPLORER_CSS: &str = include_str!("../assets/explorer.css");

/// A file of the page by its name: its kind and its content.
pub fn asset(path: &str) -> Option<(&'static str, &'static [u8])> {
    match path {
        "" | "index.html" => Some((HTML, INDEX.as_bytes())),
        "explorer.js" => Some((SCRIPT, EXPLORER_JS.as_bytes())),
        "explorer.css" => Some((STYLE, EXPLORER_CSS.as_bytes())),
        _ => None,
    }
}
