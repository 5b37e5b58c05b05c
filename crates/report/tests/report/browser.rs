//! The page in a browser: its script runs from a file without a network, and does what it is
//! for. Debian's Chromium, without a window.

use super::pictures::heat;
use super::{PRINTED, findings};
use std::path::Path;
use std::process::Command;
use steadfast_domain::findings::{Exhibit, Page};
use steadfast_report::html;

/// What is done in the page, and what came of it, as JSON in the root's `data-probe`.
const PROBE: &str = r#"<script>
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("load", () => {
  const figures = [...document.querySelectorAll("figure.chart")];
  const figure = figures[0];
  const cover = figure.querySelector("svg > rect:last-child");
  const tip = figure.querySelector(".tip");
  const fire = (name, part) => {
    const box = cover.getBoundingClientRect();
    const at = { clientX: box.left + part * box.width, clientY: box.top + box.height / 2 };
    cover.dispatchEvent(new PointerEvent(name, { bubbles: true, pointerId: 1, pointerType: "mouse", ...at }));
  };
  cover.setPointerCapture = () => undefined;
  fire("pointermove", 0.3);
  const tip_text = tip.hidden ? "" : tip.textContent;
  const cursors = figures.filter((one) => [...one.querySelectorAll("svg > line")].some(
    (line) => line.getAttribute("stroke-dasharray") === "3 3" && line.style.display === "")).length;
  const group = figure.querySelector('g[data-series="0"]');
  const key = figure.querySelector(".keys button");
  key.click();
  const hidden = group.style.display;
  key.click();
  fire("pointerdown", 0.1);
  fire("pointermove", 0.6);
  fire("pointerup", 0.6);
  const zoomed = group.style.display;
  const drawn = figure.querySelectorAll("svg > g:not([data-series]) polyline").length;
  [...figure.querySelectorAll(".keys button")].pop().click();
  const back = group.style.display;
  const table = [...document.querySelectorAll("table.values")].find((one) => one.tBodies[0].rows.length === 8);
  table.tHead.rows[1].cells[1].querySelector("button").click();
  const first = table.tBodies[0].rows[0].cells[0].textContent;
  const tipOver = (shape, across, up) => {
    const box = shape.getBoundingClientRect();
    const at = { clientX: box.left + across * box.width, clientY: box.bottom - up * box.height };
    shape.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse", ...at }));
    const tip = shape.closest("figure").querySelector(".tip");
    return tip.hidden ? "" : [...tip.children].map((line) => line.textContent).join("; ");
  };
  const column = tipOver(document.querySelector('[data-value="6,2"] polygon'), 0.5, 0.5);
  const floor = tipOver(document.querySelector('[data-value]').parentNode.querySelector("svg > polygon"), 0.5, 0.5);
  const cells = figures.find((one) => one.querySelector("image")).querySelector("svg > rect:last-child");
  const cell = tipOver(cells, 0.01, 0.01);
  const corner = tipOver(cells, 0.99, 0.99);
  document.querySelector(".theme button").click();
  const theme = document.documentElement.dataset.theme;
  const stroke = (shape) => shape?.querySelector("[stroke]")?.getAttribute("stroke");
  const strange = figures.flatMap((one) => [...one.querySelectorAll(".keys button[aria-pressed]")].filter(
    (key, at) => !stroke(key) || stroke(key) !== stroke(one.querySelector(`g[data-series="${at}"]`)))).length;
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const small = [...document.querySelectorAll("main :not(svg):not(svg *):not(script):not(style)")]
    .filter((one) => one.checkVisibility() && parseFloat(getComputedStyle(one).fontSize) < 11.9).length;
  document.documentElement.dataset.probe = JSON.stringify({
    errors, column, floor, cell, corner, tip_text, cursors, hidden, zoomed, drawn, back, first, theme, strange, wide, small,
    skip: document.querySelectorAll("a.skip").length,
    named: document.querySelectorAll('svg[role="img"][aria-label]').length === document.querySelectorAll("svg:not([aria-hidden])").length,
  });
});
</script></head>"#;

/// The page after its script ran, in a window of this width; `None` without a browser.
fn probe(page: &str, width: u32) -> Option<serde_json::Value> {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.html");
    std::fs::write(&path, page.replacen("</head>", PROBE, 1)).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"])
        .arg(format!("--user-data-dir={}", scratch.path().join("profile").display()))
        .arg(format!("--window-size={width},900"))
        .arg("--dump-dom")
        .arg(format!("file://{}", path.canonicalize().unwrap().display()))
        .output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: the page in a browser: chromium is not installed");
        return None;
    };
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, rest)) = dom.split_once("data-probe=\"") else {
        panic!("the script did not come to its end: {}", String::from_utf8_lossy(&output.stderr));
    };
    let json = rest.split('"').next().unwrap();
    let json = json.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&");
    Some(serde_json::from_str(&json).unwrap())
}

#[test]
fn the_page_answers_to_a_pointer_and_fits_a_telephone() {
    let mut one = findings(false);
    one.form_pages.push(Page::new("Heat Map", vec![Exhibit::Plot(heat())]));
    let page = html(&one, &PRINTED);
    let Some(found) = probe(&page, 1200) else { return };
    assert_eq!(found["errors"], serde_json::json!([]), "{found}");
    // The first drawing is the convergence: seven rounds, the fourth without a value.
    let tip_text = found["tip_text"].as_str().unwrap();
    assert!(tip_text.starts_with("Round: ") && tip_text.contains("RND 0.5K W: "), "{tip_text}");
    assert!(found["cursors"].as_u64() >= Some(1), "{found}");
    for (place, expected) in [
        ("column", "Block size (KiB): 8; 100/0; IOPS: "),
        ("cell", "Block size (KiB): 0.5; Read/write mix (%): 0/100; IOPS: "),
        ("corner", "Block size (KiB): 1024; Read/write mix (%): 100/0; IOPS: "),
    ] {
        let text = found[place].as_str().unwrap();
        let value = text.strip_prefix(expected).unwrap_or_else(|| panic!("{place}: {text}"));
        assert!(value.starts_with(|c: char| c.is_ascii_digit()), "{place}: {text}");
    }
    assert_eq!(found["floor"], "", "the floor under the columns has no value");
    assert_eq!(found["hidden"], "none", "a series is hidden by its button");
    assert_eq!((&found["zoomed"], &found["back"]), (&"none".into(), &"".into()), "{found}");
    assert!(found["drawn"].as_u64() >= Some(8), "a line of every series: {found}");
    assert_eq!(found["first"], "4", "sorted by its greatest number: {found}");
    assert_eq!((&found["theme"], &found["named"]), (&"dark".into(), &true.into()), "{found}");
    assert_eq!(found["skip"], 2);
    assert_eq!(found["strange"], 0, "the mark of a button is that of its series: {found}");
    for width in [500, 1200] {
        let found = probe(&page, width).unwrap();
        assert_eq!((&found["wide"], &found["small"]), (&0.into(), &0.into()), "{width}: {found}");
    }
}

/// FNV-1a, as ui/vite.config.js has it.
fn digest(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let bytes = files.iter().flat_map(|file| std::fs::read(file).unwrap());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[test]
fn the_script_is_made_of_the_sources_that_are_there() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = std::fs::read_to_string(home.join("src/report.js")).unwrap();
    let expected = digest(&home.join("../../ui/src"));
    let first = made.lines().next().unwrap();
    assert!(first.contains(&expected), "{first}: the sources are {expected}; run `make ui`");
}
