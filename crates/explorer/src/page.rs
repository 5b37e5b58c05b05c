//! The files of the page, built from `ui/explorer/` and kept in `assets/`.

pub const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

pub const INDEX: &str = include_str!("../assets/index.html");
pub const EXPLORER_JS: &str = include_str!("../assets/explorer.js");
pub const EXPLORER_CSS: &str = include_str!("../assets/explorer.css");

/// Returns the content type and the content of a file of the page; `None` if there is no such file.
pub fn asset(path: &str) -> Option<(&'static str, &'static [u8])> {
    match path {
        "" | "index.html" => Some((HTML, INDEX.as_bytes())),
        "explorer.js" => Some((SCRIPT, EXPLORER_JS.as_bytes())),
        "explorer.css" => Some((STYLE, EXPLORER_CSS.as_bytes())),
        _ => None,
    }
}
