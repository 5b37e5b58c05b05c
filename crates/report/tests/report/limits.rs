//! Numbers judged by limits, with known verdicts.

use super::{PRINTED, findings, golden, html, suite};
use steadfast_domain::EndState;
use steadfast_domain::findings::{Cell, Exhibit};
use steadfast_report::{Limits, check, check_allowed, names, names_text};

const DATASHEET: &str = r#"
title = "SSD A, data sheet"

[[limit]]
title = "4K random read"
table = "iops"
row = "4"
column = "100/0"
min = "400k"

[[limit]]
title = "4K random write"
table = "iops"
row = "4"
column = "0/100"
min = 70_000

[[limit]]
title = "1M read rate"
table = "iops"
row = "1024"
column = "100/0"
scale = 1.048576
unit = "MB/s"
value = 1700
within = "5%"

[[limit]]
table = "iops"
row = "4"
column = "65/35"
min = 100000
max = 104022.5

[[limit]]
title = "no such row"
table = "iops"
row = "4K"
column = "100/0"
min = 1
"#;

#[test]
fn numbers_are_judged() {
    let limits = Limits::parse(DATASHEET).unwrap();
    let checked = check(&findings(false), &limits, &[]);
    let passed: Vec<bool> = checked.limits.iter().map(|judged| judged.pass).collect();
    assert_eq!(passed, [true, false, true, true, false]);
    assert!(!checked.pass);
    assert_eq!(checked.outcome(), "FAIL: 1 of 5 numbers is outside its limits, 1 is missing.");
    let margin = |at: usize| checked.limits[at].margin_percent.unwrap();
    assert!((margin(0) - (407_395.3 / 400_000.0 - 1.0) * 100.0).abs() < 1e-9);
    assert!((margin(1) - (61_969.4 / 70_000.0 - 1.0) * 100.0).abs() < 1e-9);
    assert_eq!(margin(3), 0.0, "limits are inclusive");
    let rate = &checked.limits[2];
    assert!((rate.measured.unwrap() - 1571.6 * 1.048576).abs() < 1e-9);
    assert_eq!((rate.min, rate.max), (Some(1615.0), Some(1785.0)));
    assert_eq!(checked.limits[3].title, "iops, 4, 65/35", "a title is not needed");
    let reason = checked.limits[4].reason.as_deref().unwrap();
    assert!(reason.contains("no row '4K'") && reason.contains("'1024'"), "{reason}");
    golden("check.txt", &checked.text(100));
    let page = html(&checked.report(&findings(false)), &PRINTED);
    assert!(page.contains("Check against limits") && page.contains("FAIL: missing"));
}

/// The report of a check has the verdict as its first badge, whatever the end of the run.
#[test]
fn the_report_of_a_check_shows_its_verdict() {
    let limits = |min: f64| {
        let text = format!("[[limit]]\ntable='iops'\nrow='4'\ncolumn='0/100'\nmin={min}\n");
        Limits::parse(&text).unwrap()
    };
    let allowed = ["quick".to_owned()];
    let mut running = findings(false);
    running.end = EndState::Unfinished;
    for (run, min, allowed, id, badge, class) in [
        (&findings(false), 1.0, &allowed[..], "check-pass", "PASS", "steady"),
        (&findings(false), 1e9, &allowed[..], "check-fail", "FAIL", "not-steady"),
        (&findings(false), 1.0, &[], "check-no-pass", "NO PASS", "not-steady"),
        (&running, 1.0, &allowed[..], "check-unfinished", "UNFINISHED", "not-steady"),
    ] {
        let checked = check(run, &limits(min), allowed);
        let report = checked.report(run);
        assert_eq!(report.id, id);
        let page = html(&report, &PRINTED);
        let badges = page.split("<ul class=\"badges\">").nth(1).unwrap();
        let first = badges.split("</li>").next().unwrap();
        assert!(first.ends_with(badge) || first.ends_with(&format!("{badge}</a>")), "{first}");
        assert!(page.contains(&format!("<p class=\"verdict {class}\">")), "{id}");
    }
}

/// A limit without a title is named once, by its place.
#[test]
fn a_limit_without_a_title_is_named_once() {
    let limits = "[[limit]]\ntable='iops'\nrow='4K'\ncolumn='0/100'\nmin=1\n";
    let checked = check(&findings(false), &Limits::parse(limits).unwrap(), &[]);
    let text = checked.text(400);
    let reason = text.lines().find(|line| line.contains("no row")).unwrap();
    assert_eq!(reason.matches("iops, 4K, 0/100").count(), 1, "{reason}");
}

#[test]
fn a_missing_number_fails_with_its_reason() {
    let one = |part: &str, table: &str, column: &str| {
        let text = format!(
            "[[limit]]\n{part}table = '{table}'\nrow = '4'\ncolumn = '{column}'\nmax = 1e9\n"
        );
        Limits::parse(&text).unwrap()
    };
    let reason = |limits: &Limits| check(&suite(), limits, &[]).limits[0].reason.clone();
    assert!(reason(&one("", "iops", "0/100")).unwrap().contains("add part = ID"));
    assert_eq!(reason(&one("part = 'wsat'\n", "iops", "0/100")), None);
    assert!(reason(&one("part = 'XSR'\n", "iops", "0/100")).unwrap().contains("'Latency'"));
    assert!(
        reason(&one("part = 'WSAT'\n", "art", "0/100")).unwrap().contains("the tables are 'iops'")
    );
    assert!(reason(&one("part = 'WSAT'\n", "iops", "1/99")).unwrap().contains("no column"));
    let mut dashes = findings(false);
    dashes.form_pages.clear();
    dashes.long_tables.clear();
    if let Exhibit::Table(table) = &mut dashes.summary[0] {
        table.rows[1].cells = vec![Cell::Missing, Cell::text("n/a")];
    }
    let reason =
        |column: &str| check(&dashes, &one("", "iops", column), &[]).limits[0].reason.clone();
    assert_eq!(reason("0/100").unwrap(), "not measured");
    assert_eq!(reason("5/95").unwrap(), "the value is not a number: 'n/a'");
    assert_eq!(reason("100/0").unwrap(), "not measured");
}

#[test]
fn a_name_that_no_objection_has_is_not_allowed() {
    let allowed = |name: &str| check_allowed(&findings(false), &[name.to_owned()]);
    for name in ["simulated", "quick", "gap", "unsteady", "method", "miscompares"] {
        assert_eq!(allowed(name), Ok(()), "{name}");
    }
    for name in ["simluated", "", "quick simulated"] {
        assert!(allowed(name).is_err(), "{name}");
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    for (limit, message) in [
        ("", "give min, max"),
        ("value = 5", "give min, max"),
        ("min = 1\nwithin = '5%'", "give min, max"),
        ("min = 2\nmax = 1", "more than max"),
        ("min = 'many'", "min is not a number"),
        ("min = nan", "min is not a number"),
        ("value = 5\nwithin = '5'", "percentage"),
        ("min = 1\nscale = 0", "scale"),
        ("min = 1\nmaximum = 2", "maximum"),
        ("min = [", "line 5"),
    ] {
        let text = format!("[[limit]]\ntable='t'\nrow='r'\ncolumn='c'\n{limit}\n");
        let error = Limits::parse(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{limit}: {error}");
    }
    assert!(Limits::parse("").unwrap_err().to_string().contains("[[limit]]"));
    assert!(Limits::parse("title = 'x'\nlimits = 3").is_err());
}

#[test]
fn the_names_that_a_limit_can_use_are_listed() {
    let of_one = names(&findings(false));
    let ids: Vec<&str> = of_one.iter().map(|names| names.table.as_str()).collect();
    assert_eq!(ids, ["iops", "steps"]);
    assert_eq!(of_one[0].columns[6], "100/0");
    let listed = names_text(&names(&suite()), 100);
    assert!(listed.contains("part = \"WSAT\"  table = \"iops\"  # IOPS"), "{listed}");
    assert!(listed.contains("  row: \"0.5\", \"4\""), "{listed}");
}
