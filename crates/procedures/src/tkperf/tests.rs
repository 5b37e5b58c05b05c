//! TKperf's defects, each by the number of the list in docs/coming-from.md: none of them is
//! in a run of ours. What concerns files, devices and programs is tested with the binary.

use crate::parts::started_part;
use crate::testing::scripted::{
    GEOMETRY, ScriptedBench, broken_record, build, phases, record, scripted, steps, tally,
};
use std::collections::HashSet;
use steadfast_domain::findings::{Exhibit, Page, PlotKind, Table};
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Cursor, Op, Order};
use steadfast_domain::{
    Bytes, Findings, JournalEntry, Measurement, Nanos, Settings, Step, caveats as ids,
};

fn settings(tests: &str, change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::new(super::NAME, 7);
    settings.set("tests", tests);
    settings.command = "steadfast tkperf ssd drive /dev/x -nj 4 -iod 16".into();
    change(&mut settings);
    settings
}

/// Runs these tests and returns the journal entries.
fn run(settings: &Settings) -> ScriptedBench<fn(&Step) -> f64> {
    let mut bench = scripted((|_| 1000.0) as fn(&Step) -> f64);
    bench.response = |_| Some(Nanos::from_millis(3));
    build(settings).conduct(&mut bench).unwrap();
    bench
}

fn found(settings: &Settings) -> Findings {
    build(settings).study(&record(settings, run(settings).entries))
}

fn nj4(settings: &mut Settings) {
    (settings.threads, settings.depth) = (Some(4), Some(16));
}

fn pages(findings: &Findings) -> Vec<&Page> {
    findings.chapters.iter().chain(findings.parts.iter().flat_map(|p| &p.chapters)).collect()
}

fn page<'a>(findings: &'a Findings, title: &str) -> &'a Page {
    let found = pages(findings).into_iter().find(|page| page.title == title);
    found.unwrap_or_else(|| panic!("no page '{title}'"))
}

fn tables(findings: &Findings) -> Vec<&Table> {
    let exhibits = pages(findings).into_iter().flat_map(|page| &page.exhibits);
    exhibits.filter_map(Exhibit::as_table).collect()
}

fn facts(page: &Page) -> Vec<(String, Option<String>)> {
    let facts = page.exhibits.iter().filter_map(Exhibit::as_facts).map(|facts| &facts.rows);
    facts.flatten().map(|row| (row.label.clone(), row.value.clone())).collect()
}

const SSD: &str = "iops,lat,tp,writesat";

#[test]
fn tkperf_defect_01_no_two_steps_draw_the_same_offsets() {
    let bench = run(&settings(SSD, nj4));
    let steps = steps(&bench.entries);
    let begun: Vec<&&Step> = steps.iter().filter(|step| !step.continues).collect();
    let seeds: HashSet<u64> = begun.iter().map(|s| s.load.stimulus().unwrap().seed).collect();
    assert_eq!(seeds.len(), begun.len());
    let mut saturation = steps.iter().filter(|step| step.place.phase == "wsat/saturation");
    assert!(!saturation.next().unwrap().continues);
    let later: Vec<_> = saturation.collect();
    assert!(
        later.len() > 10 && later.iter().all(|step| step.continues),
        "one load, never restarted"
    );
}

#[test]
fn tkperf_defect_02_throughput_is_preconditioned_and_each_size_judged_by_itself() {
    let settings = settings("tp", nj4);
    let bench = run(&settings);
    let expected = ["1024K", "64K", "8K", "4K", "0.5K"]
        .map(|size| [format!("throughput/wipc-{size}"), format!("throughput/rounds-{size}")]);
    assert_eq!(phases(&bench.entries), expected.concat());
    for step in steps(&bench.entries) {
        for stream in &step.load.stimulus().unwrap().streams {
            let order = Order::Sequential(Cursor::Own);
            assert_eq!(stream.order, order, "one position for all threads");
        }
    }
    let restless = |step: &Step| match (step.place.phase.as_str(), step.place.round) {
        ("throughput/rounds-8K", round) if round % 2 == 0 => 3000.0,
        _ => 1000.0,
    };
    let mut bench = scripted(restless);
    let findings = bench.studied(&*build(&settings), &settings);
    let verdict = findings.parts[0].verdict.as_ref().unwrap();
    let steady: Vec<bool> = verdict.tracks.iter().map(|track| track.steady).collect();
    assert_eq!(steady, [true, true, false, true, true]);
    assert!(findings.parts[0].caveats.iter().all(|caveat| caveat.id != ids::NO_WIPC));
}

#[test]
fn tkperf_defect_03_more_jobs_do_not_precondition_more() {
    let written = |change: fn(&mut Settings)| -> u64 {
        let bench = run(&settings("iops", change));
        let applied = bench.entries.iter().filter_map(JournalEntry::applied);
        let writes = applied.filter(|(step, _)| step.place.phase == "iops/wipc");
        writes.map(|(_, outcome)| outcome.measurement.bytes().0).sum()
    };
    assert_eq!(written(nj4), 2 * GEOMETRY.capacity.0);
    assert_eq!(written(|_| ()), 2 * GEOMETRY.capacity.0);
}

#[test]
fn tkperf_defect_04_a_purge_that_fails_ends_the_run_and_the_report_names_the_purge() {
    for test in SSD.split(',') {
        let mut bench = scripted(|_| 1000.0);
        bench.purge_failure = Some("the drive refused to be formatted");
        let halted = build(&settings(test, |_| ())).conduct(&mut bench).unwrap_err();
        assert!(halted.to_string().contains("refused to be formatted"));
        assert!(steps(&bench.entries).is_empty(), "{test}: nothing was measured after it");
    }
    let findings = found(&settings("lat", |_| ()));
    let rows = findings.parts[0].header.blocks.iter().flat_map(|block| &block.rows);
    let purge = rows.filter(|row| row.id == "purge").find_map(|row| row.value.clone());
    assert!(purge.unwrap().contains("NVMe Format"));
}

#[test]
fn tkperf_defect_05_a_run_that_breaks_off_keeps_every_step() {
    let settings = settings("iops,lat", |_| ());
    let mut entries = run(&settings).entries;
    let second = entries.iter().position(|entry| started_part(entry) == Some("latency")).unwrap();
    entries.truncate(second + 5);
    let findings = build(&settings).study(&broken_record(&settings, entries));
    assert_eq!(findings.parts.len(), 2);
    let iops = tables(&findings).into_iter().find(|table| table.id == "tkperf-iops-table").unwrap();
    assert!(iops.rows.iter().all(|row| row.cells.len() == 7));
    assert!(findings.ending.contains("steady: IOPS"), "{}", findings.ending);
}

#[test]
fn tkperf_defect_06_the_three_dimensional_plots_are_there() {
    let findings = found(&settings("iops,lat", |_| ()));
    for (title, expected) in [("IOPS", 1), ("Latency", 2)] {
        let page = page(&findings, &format!("{title} - Measurement Plots"));
        let plots = page.exhibits.iter().filter_map(Exhibit::as_plot);
        let columns =
            plots.filter(|plot| plot.kind == PlotKind::Columns3d && !plot.series.is_empty());
        assert_eq!(columns.count(), expected, "{title}");
    }
}

#[test]
fn tkperf_defect_07_every_table_has_as_many_heads_as_cells() {
    let findings = found(&settings(SSD, |_| ()));
    let tables = tables(&findings);
    assert!(tables.len() > 15);
    for table in tables {
        assert!(
            table.rows.iter().all(|row| row.cells.len() == table.columns.len()),
            "{}",
            table.id
        );
        assert!(table.columns.iter().all(|column| !column.name.contains(['"', '|'])));
    }
}

#[test]
fn tkperf_defect_09_the_feature_matrix_stands_beside_the_description_of_the_device() {
    let user_texts = |s: &mut Settings| {
        s.set("description", "Made of *glass*\n\tin 1987");
        s.set("feature-matrix", "| a | b |\n|---|---|");
        s.set("name", "980pro");
    };
    let findings = found(&settings("lat", user_texts));
    let page = page(&findings, "Setup Information");
    let listings: Vec<&str> = page.exhibits.iter().filter_map(Exhibit::as_listing).collect();
    assert_eq!(listings[..2], ["Made of *glass*\n\tin 1987", "| a | b |\n|---|---|"]);
    assert!(listings[2].starts_with("steadfast tkperf ssd"), "the command line as it was typed");
}

#[test]
fn tkperf_defect_10_a_report_of_one_test_has_every_section_and_says_its_step_time() {
    let half_a_minute = |s: &mut Settings| s.step_time = Some(Nanos::from_secs(30));
    let findings = found(&settings("lat", half_a_minute));
    let titles: Vec<&str> = pages(&findings).iter().map(|page| page.title.as_str()).collect();
    let expected = [
        "Setup Information",
        "General Information",
        "Latency - Test Loop",
        "Latency - Steady State Information",
        "Latency - Measurement Plots",
        "Latency - Measurement Window Summary Table",
    ];
    assert!(expected.iter().all(|title| titles.contains(title)), "{titles:?}");
    let of_run = facts(page(&findings, "Setup Information"));
    let step = of_run.iter().find(|(label, _)| label.contains("-rt")).unwrap();
    assert_eq!(step.1.as_deref(), Some("30 s"));
    let steady = facts(page(&findings, "Latency - Steady State Information"));
    assert_eq!(steady[0].1.as_deref(), Some("yes"));
    assert_eq!(steady[1].1.as_deref(), Some("1, 2, 3, 4, 5"), "five rounds, from 1");
    assert_eq!(steady[2].1.as_deref(), Some("3.0000, 3.0000, 3.0000, 3.0000, 3.0000"));
    let loops = page(&findings, "Latency - Test Loop");
    assert!(format!("{loops:?}").contains("30 s") && !format!("{loops:?}").contains("60 s"));
}

#[test]
fn tkperf_defect_10_a_day_of_write_saturation_is_a_day_whatever_the_step() {
    for seconds in [60, 30, 7] {
        let settings = settings("writesat", |s| s.step_time = Some(Nanos::from_secs(seconds)));
        let bench = scripted(|_| 1.0).conducted(&*build(&settings));
        let applied = bench.entries.iter().filter_map(JournalEntry::applied);
        let lasted = Nanos(applied.map(|(_, outcome)| outcome.measurement.elapsed.0).sum());
        let day = Nanos::from_secs(86_400);
        assert!(lasted >= day && lasted.0 - day.0 < 7_000_000_000, "{seconds}: {lasted}");
    }
}

/// Reads of 1 ms and writes of 9 ms: 65 reads and 35 writes of a hundred I/Os.
fn uneven(_: &Step, measurement: &mut Measurement) {
    for stream in &mut measurement.streams {
        let each = Nanos::from_millis(if stream.op == Op::Read { 1 } else { 9 });
        stream.tally = tally(stream.tally.ios, stream.tally.bytes, Some(each));
    }
}

#[test]
fn tkperf_defect_11_the_maximum_of_a_mix_is_that_of_an_io_not_a_weighted_mean() {
    let settings = settings("lat", |_| ());
    let mut bench = scripted(|_| 1000.0);
    bench.response = |_| Some(Nanos::from_millis(1));
    bench.retouch = uneven;
    let findings = bench.studied(&*build(&settings), &settings);
    let cell = |id: &str| {
        let table = tables(&findings).into_iter().find(|table| table.id == id).unwrap();
        let column = table.columns.iter().position(|column| column.id == "65/35").unwrap();
        format!("{:?}", table.rows.iter().find(|row| row.id == "4").unwrap().cells[column])
    };
    // TKperf would say 0.65 x 1 + 0.35 x 9 = 3.8 for both.
    assert!(cell("tkperf-latency-mean").contains("value: 3.8"), "{}", cell("tkperf-latency-mean"));
    assert!(cell("tkperf-latency-max").contains("value: 9.0"), "{}", cell("tkperf-latency-max"));
    assert!(cell("tkperf-latency-min").contains("value: 1.0"), "{}", cell("tkperf-latency-min"));
}

#[test]
fn tkperf_defect_13_a_drive_of_4_kib_sectors_has_its_own_capacity_and_no_512_byte_step() {
    let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
    for tests in [SSD, "hdd-iops,hdd-tp"] {
        let settings = settings(tests, |_| ());
        let bench =
            scripted(|_| 1000.0).conducted(&*crate::procedure(&settings, geometry, &[]).unwrap());
        for step in steps(&bench.entries) {
            let stimulus = step.load.stimulus().unwrap();
            assert!(stimulus.active_range.end() <= geometry.capacity, "{tests}");
            assert!(stimulus.streams.iter().all(|stream| stream.size >= Bytes::kib(4)));
        }
    }
    let last = |tests: &str| {
        let settings = settings(tests, |_| ());
        let bench =
            scripted(|_| 1000.0).conducted(&*crate::procedure(&settings, geometry, &[]).unwrap());
        steps(&bench.entries).last().unwrap().load.stimulus().unwrap().active_range.end()
    };
    assert_eq!(last("hdd-iops"), geometry.capacity, "all of it is measured");
}

#[test]
fn the_latency_test_has_one_outstanding_io_whatever_the_others_have() {
    let bench = run(&settings("iops,lat", nj4));
    let demands = |phase: &str| -> HashSet<String> {
        let all = steps(&bench.entries);
        let own = all.iter().filter(|step| step.place.phase == phase);
        own.map(|step| step.load.stimulus().unwrap().demand.to_string()).collect()
    };
    assert_eq!(demands("iops/rounds"), HashSet::from(["T4Q16".to_owned()]));
    assert_eq!(demands("latency/rounds"), HashSet::from(["T1Q1".to_owned()]));
    let findings = found(&settings("lat", nj4));
    assert!(findings.parts[0].caveats.iter().all(|caveat| caveat.id != ids::DEMAND));
}

/// One advice: the last test can be continued, an earlier one only be run again.
#[test]
fn after_a_run_that_is_not_steady_the_advice_names_the_tests() {
    let settings = settings("iops,tp,lat", |_| ());
    let remedy = |is_unsteady: fn(&str) -> bool| {
        let mut bench = scripted(|step| {
            let growth = if is_unsteady(&step.place.phase) { 2.0 } else { 1.0f64 };
            1000.0 * growth.powi(step.place.round as i32)
        });
        bench.response = |_| Some(Nanos::from_millis(3));
        let findings = bench.studied(&*build(&settings), &settings);
        let caveat = findings.caveats.into_iter().find(|c| c.id == ids::PART_NOT_STEADY);
        caveat.unwrap().remedy
    };
    let earlier = remedy(|phase| phase == "iops/rounds" || phase == "throughput/rounds-64K");
    assert!(earlier.starts_with("IOPS, Throughput cannot be resumed"), "{earlier}");
    assert!(earlier.ends_with("run again with `-ssdt iops -ssdt tp --max-rounds N`."), "{earlier}");
}

#[test]
fn the_sections_are_those_of_a_tkperf_report_and_the_pages_of_the_snia_form_are_not() {
    let findings = found(&settings(SSD, |_| ()));
    assert!(findings.parts.iter().all(|part| part.form_pages.is_empty()));
    let titles: Vec<&str> = findings.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(titles, ["IOPS", "Throughput", "Latency", "WSAT RND 4K W"]);
    let plots = |title: &str| {
        let page = page(&findings, title);
        page.exhibits.iter().filter(|exhibit| matches!(exhibit, Exhibit::Plot(_))).count()
    };
    assert_eq!(plots("IOPS - Measurement Plots"), 4, "convergence, verification, 2D, 3D");
    assert_eq!(plots("Latency - Measurement Plots"), 6);
    assert_eq!(plots("Throughput - Measurement Plots"), 3 + 5, "each size is verified");
    assert_eq!(plots("Write Saturation - Measurement Plots"), 2);
}
