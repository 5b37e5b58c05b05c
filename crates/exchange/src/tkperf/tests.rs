//! Logs written for these tests, with values by a rule, so that every position is known.

use super::read;
use crate::testing::mutations::{MUTATIONS, mutated};
use std::fmt::Write;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, ForeignKind, ForeignRun, ForeignTest};

/// Returns a list `[1, 2, 3]` of values by a rule.
fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..count).map(item).collect();
    format!("[{}]", items.join(", "))
}

/// Rounds x mixes x sizes; the value encodes its position: round * 10,000 + mix * 100 + size.
fn matrix(rounds: usize, mixes: usize, sizes: usize, cell: impl Fn(usize) -> String) -> String {
    list(rounds, |r| list(mixes, |m| list(sizes, |s| cell(r * 10_000 + m * 100 + s))))
}

const OPTIONS: &str = "<fioversion>\"fio-2.1.9\\n\"</fioversion><numjobs>2</numjobs>\
     <iodepth>16</iodepth><runtime>60</runtime>";
const STEADY: &str = "<stdyrounds>[1, 2, 3, 4, 5]</stdyrounds><stdyvalues>[7, 7, 7, 7, 7]\
     </stdyvalues><stdyslope>[0.0, 7.0]</stdyslope><stdyavg>7</stdyavg>\
     <reachStdyState>true</reachStdyState><rndnr>5</rndnr>";

fn test(name: &str, lists: &str, rest: &str) -> String {
    format!("<{name}>{OPTIONS}<roundmat>{lists}</roundmat>{rest}</{name}>\n")
}

fn head() -> String {
    "<testdate>\"2014-09-25\"</testdate><devinfo>\"\\tModel Number: A &amp; B\\n\"</devinfo>\
     <featmatrix>\"|x| y\\n\"</featmatrix><kernel>\"3.2.0\\n\"</kernel><lsb>\"Description:\\tX\"</lsb>\
     <ioperfversion>\"2.0\"</ioperfversion><cmdline>\"tkperf ssd drive /dev/sdx -nj 2\"</cmdline>\n"
        .to_owned()
}

fn plain(value: usize) -> String {
    value.to_string()
}

fn triple(value: usize) -> String {
    format!("[1.0, {value}.5, {value}]")
}

fn saturation(minutes: usize) -> String {
    format!("[{}, {}]", list(minutes, |n| plain(100 + n)), list(minutes, triple))
}

/// A log with everything that a run on a solid-state drive holds.
fn whole() -> String {
    let rates = list(5, |s| list(2, |d| list(6, |r| plain(s * 10_000 + d * 100 + r))));
    let mut text = format!("<drive>{}", head());
    text.push_str(&test("iops", &matrix(6, 7, 8, plain), STEADY));
    text.push_str(&test("lat", &matrix(6, 3, 3, triple), STEADY));
    text.push_str(&test("tp", &rates, STEADY));
    text.push_str(&test("writesat", &saturation(11), "<rndnr>10</rndnr>"));
    text.push_str("</drive>");
    text
}

fn log(text: &str) -> ForeignRun {
    read(text.as_bytes()).unwrap()
}

fn why(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

fn one(name: &str, lists: &str) -> String {
    format!("<x>{}{}</x>", head(), test(name, lists, STEADY))
}

fn at(test: &ForeignTest, round: u32, pattern: AccessPattern) -> steadfast_domain::ForeignMeasured {
    test.values.iter().find(|v| v.round == round && v.pattern == pattern).unwrap().measured
}

#[test]
fn every_value_of_a_log_is_where_its_place_in_the_matrix_says() {
    let run = log(&whole());
    assert_eq!((run.name.as_str(), run.remarks.as_slice()), ("drive", &[] as &[String]));
    assert_eq!(run.device.as_deref(), Some("Model Number: A & B"));
    assert_eq!(run.command.as_deref(), Some("tkperf ssd drive /dev/sdx -nj 2"));
    let [iops, lat, tp, wsat] = run.tests.as_slice() else { panic!("{}", run.tests.len()) };
    assert_eq!((iops.jobs, iops.depth, iops.step_seconds), (Some(2), Some(16), Some(60)));
    assert_eq!(iops.engine.as_deref(), Some("fio-2.1.9"));
    assert_eq!(iops.claimed_steady_state.as_ref().unwrap().rounds, [2, 3, 4, 5, 6]);
    assert_eq!(iops.claimed_steady_state.as_ref().unwrap().reached, Some(true));
    assert_eq!(iops.values.len(), 6 * 7 * 8);
    let random = AccessPattern::random;
    assert_eq!(at(iops, 6, random(Bytes(512), 0)).iops, Some(50_607.0));
    assert_eq!(at(iops, 1, random(Bytes::kib(1024), 95)).iops, Some(100.0));
    let found = at(lat, 2, random(Bytes::kib(4), 65));
    assert_eq!((found.mean_ms, found.longest_ms), (Some(10.101), Some(10.1015)));
    assert_eq!(found.shortest_ms, Some(0.001), "[min, max, mean] in microseconds");
    let found = at(tp, 3, AccessPattern::sequential(Bytes::kib(64), 0));
    assert_eq!(found.bytes_per_second, Some(10_102.0 * 1024.0), "KiB/s");
    assert_eq!((wsat.kind, wsat.values.len()), (ForeignKind::WriteSaturation, 11));
    assert!(wsat.claimed_steady_state.is_none(), "it judges nothing");
    assert_eq!(wsat.values[10].measured.iops, Some(110.0));
}

#[test]
fn a_drive_with_sectors_of_4_kib_has_no_column_of_512_bytes() {
    let run = log(&one("iops", &matrix(5, 7, 7, plain)));
    assert_eq!(run.tests[0].values.iter().map(|v| v.pattern.size).min(), Some(Bytes::kib(4)));
    assert_eq!(log(&one("lat", &matrix(5, 3, 2, triple))).tests[0].values.len(), 5 * 3 * 2);
}

#[test]
fn a_hard_disk_is_known_by_its_shape() {
    let rates = list(2, |s| list(2, |d| list(128, |r| plain(s * 10_000 + d * 1_000 + r))));
    let text = format!(
        "<x>{}{}{}</x>",
        head(),
        test("iops", &matrix(128, 3, 3, plain), "<rndnr>128</rndnr>"),
        test("tp", &rates, "")
    );
    let run = log(&text);
    let kinds: Vec<ForeignKind> = run.tests.iter().map(|test| test.kind).collect();
    assert_eq!(kinds, [ForeignKind::ZoneIops, ForeignKind::ZoneThroughput]);
    let last = run.tests[0].values.last().unwrap();
    assert_eq!((last.round, last.measured.iops), (128, Some(1_270_202.0)));
}

#[test]
fn a_mark_of_the_encoding_windows_line_ends_and_a_declaration_do_not_matter() {
    let text = whole().replace('\n', "\r\n");
    let text = format!("\u{feff}<?xml version='1.0' encoding='ASCII'?>\r\n{text}\r\n  ");
    assert_eq!(log(&text).tests, log(&whole()).tests);
}

#[test]
fn what_is_missing_or_strange_is_named_and_the_rest_is_read() {
    let text = format!("<old>\n<color>1</color>\n{}</old>", {
        let lists = matrix(5, 7, 8, plain);
        format!("<iops><roundmat>{lists}</roundmat><secret>1</secret></iops>")
    });
    let run = log(&text);
    let remarks = run.remarks.join("\n");
    for part in ["line 2: <color>", "<secret>", "no <numjobs>", "devinfo", "cmdline"] {
        assert!(remarks.contains(part), "{part}: {remarks}");
    }
    assert_eq!((run.tests[0].jobs, run.tests[0].claimed_steady_state.as_ref()), (None, None));
}

#[test]
fn what_cannot_be_a_log_is_refused_with_its_line() {
    let cases = [
        ("", "not XML"),
        ("not xml", "not XML"),
        ("<a><iops></a>", "not XML"),
        ("<a/>", "no test of TKperf"),
        ("<html><body>x</body></html>", "no test of TKperf"),
        ("<a>\n<iops></iops></a>", "line 2: <iops> has no <roundmat>"),
        ("<a><iops><roundmat>[[1,</roundmat></iops></a>", "is not JSON"),
        ("<a><iops><roundmat>[[[1, NaN]]]</roundmat></iops></a>", "is not JSON"),
        ("<a><tp><roundmat>7</roundmat></tp></a>", "roundmat is not a list"),
        ("<a><iops><roundmat>[[[1,2],[3,4]]]</roundmat></iops></a>", "has 2 mixes"),
    ];
    for (text, part) in cases {
        assert!(why(text).contains(part), "{text}: {}", why(text));
    }
    let sizes = why(&one("iops", &matrix(5, 7, 5, plain)));
    assert!(sizes.contains("has 5 block sizes"), "{sizes}");
    let negative = why(&one("iops", &matrix(5, 7, 8, |n| format!("-{n}.5"))));
    assert!(negative.contains("RND 1024K R of round 1") && negative.contains("'-0.5'"));
    let uneven = why(&one("writesat", "[[1, 2], [[1, 2, 3]]]"));
    assert!(uneven.contains("IOPS of 2 rounds and latencies of 1"), "{uneven}");
    let ragged = why(&one("iops", &matrix(2, 7, 8, plain).replacen("10003, ", "", 1)));
    assert!(ragged.contains("round 2, 100 % reads has 7 block sizes"), "{ragged}");
    assert_eq!(read(b"<a>\n\xff</a>").unwrap_err().line, Some(2));
}

/// A document that defines entities is refused: TKperf never writes any, and they can make a parser
/// run out of memory.
#[test]
fn entities_of_a_documents_own_are_refused() {
    assert!(why(&format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{}", whole())).contains("not XML"));
}

#[test]
fn a_null_in_a_matrix_is_a_value_that_is_missing() {
    let run = log(&one("iops", &matrix(5, 7, 8, plain).replacen("10003", "null", 1)));
    assert_eq!(at(&run.tests[0], 2, AccessPattern::random(Bytes::kib(32), 100)).iops, None);
}

#[test]
fn a_hundred_thousand_mutations_are_read_or_refused_and_never_panic() {
    let rates = list(5, |s| list(2, |d| list(2, |r| plain(s + d + r))));
    let mut text = format!("<drive>{}", head());
    for (name, lists) in [
        ("iops", matrix(1, 7, 8, plain)),
        ("lat", matrix(1, 3, 3, triple)),
        ("tp", rates),
        ("writesat", saturation(3)),
    ] {
        write!(text, "{}", test(name, &lists, STEADY)).unwrap();
    }
    text.push_str("</drive>");
    let (mut accepted, mut refused) = (0, 0);
    for bytes in mutated(text.as_bytes(), 0..MUTATIONS) {
        match read(&bytes) {
            Ok(_) => accepted += 1,
            Err(why) => {
                assert!(!why.message.is_empty());
                refused += 1;
            }
        }
    }
    assert!(accepted > 250 && refused > 2_500, "{accepted} {refused}");
}
