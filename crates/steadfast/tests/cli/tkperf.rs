//! TKperf's command line: its options as its users type them, on files, loop devices and simulated
//! drives; and logs of TKperf, written here by their grammar.

use super::fixtures::*;
use super::report_assertions::assert_captions_are_true;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use steadfast_domain::Findings;

/// Rounds x mixes x sizes of one value.
fn matrix(rounds: usize, mixes: usize, sizes: usize, cell: &str) -> String {
    let list = |count: usize, item: &str| format!("[{}]", vec![item; count].join(", "));
    list(rounds, &list(mixes, &list(sizes, cell)))
}

/// A log of two tests, as TKperf 2.2 writes it.
fn log() -> String {
    let options = "<fioversion>\"fio-3.1\\n\"</fioversion><numjobs>1</numjobs>\
        <iodepth>1</iodepth><runtime>60</runtime>";
    let steady = "<stdyrounds>[0, 1, 2, 3, 4]</stdyrounds><stdyvalues>[1, 1, 1, 1, 1]</stdyvalues>\
        <stdyslope>[0.0, 1.0]</stdyslope><stdyavg>1</stdyavg><reachstdystate>true</reachstdystate>\
        <rndnr>4</rndnr>";
    let iops = matrix(5, 7, 8, "10007");
    let lat = matrix(5, 3, 3, "[11.0, 4001.0, 101.5]");
    format!(
        "<old><testdate>\"2018-10-25\"</testdate><devinfo>\"Intel | P4610\\n\"</devinfo>\
         <featmatrix>\"| f | g |\\n\"</featmatrix><kernel>\"4.15\\n\"</kernel>\
         <lsb>\"Description:\\tUbuntu\\n\"</lsb><ioperfversion>\"2.2\"</ioperfversion>\
         <cmdline>\"tkperf ssd old /dev/x\"</cmdline>\
         <iops>{options}<roundmat>{iops}</roundmat>{steady}</iops>\
         <lat>{options}<roundmat>{lat}</roundmat>{steady}</lat></old>"
    )
}

fn findings(run: &Path) -> Findings {
    read_json(run.join("findings.json"))
}

#[test]
fn its_users_command_lines_are_planned_and_nothing_is_touched() {
    let here = &TestDirectory::new();
    let lines = [
        ("ssd intel320 sim:small -nj 2 -iod 16 -rfb", "iops/rounds"),
        ("ssd IntelDCP4610 sim:small -rt 30 -nj 4 -iod 64 -rfb -i nvme", "30 s each"),
        ("ssd a sim:small --numjobs 2 --iodepth=4 -ssdt tp -ssdt writesat -q", "wsat/saturation"),
        ("ssd a sim:small -ft -ssd lat -m me@x -s host -g cmd -d", "latency/rounds"),
        ("hdd disk sim:small -hddt iops", "hdd-iops/zones"),
        ("hdd disk sim:small -hddt tp --zones 7 --assume 1GB", "hdd-throughput/zones-4K"),
        ("ssd a image.bin --size 1GiB", "throughput/wipc-0.5K"),
        ("ssd a /dev/not-here --size 960GB", "960 GB"),
    ];
    for (line, part) in lines {
        let plan = succeed(here, &format!("tkperf {line} --plan"));
        assert!(plan.contains(part), "{line}: {plan}");
    }
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0);
    refuse(here, "tkperf ssd a /dev/not-here --plan", &["--size 960GB"]);
}

#[test]
fn options_that_do_nothing_here_say_so_in_a_line() {
    let here = &TestDirectory::new();
    let line = "tkperf ssd a sim:small --plan -ft -rfb -i sas -m me -s host -g x -d";
    let text = stderr(&run_in(here, line));
    let parts = ["-ft: ", "--yes-destroy SERIAL", "in use is refused", "-rfb: ", "-i: ", "-g: "];
    assert_contains(&text, &parts);
    assert_eq!(text.lines().filter(|line| line.starts_with('-')).count(), 6, "{text}");
    let quiet = stderr(&run_in(here, &format!("{line} -q")));
    assert!(!quiet.contains("-ft:"), "{quiet}");
}

#[test]
fn wrong_modes_and_tkperf_cmp_say_what_to_type_instead() {
    let here = &TestDirectory::new();
    let raid = "tkperf raid r5 /dev/not-here -c raid.cfg";
    refuse(here, raid, &["no arrays", "mdadm", "steadfast tkperf raid r5 DEVICE"]);
    std::fs::write(here.join("image"), [0; 4096]).unwrap();
    refuse(here, "tkperf raid r5 image", &["no array", "steadfast tkperf ssd r5 image"]);
    refuse(here, "tkperf-cmp ssd a.xml b.xml -z", &["steadfast compare A B"]);
    refuse(here, "tkperf ssd a sim:small -hddt tp", &["-hddt", "hdd mode"]);
    refuse(here, "tkperf hdd a sim:small -ssdt tp", &["-ssdt", "ssd mode"]);
    refuse(here, "tkperf ssd a sim:small -ssdt wsat", &["writesat"]);
    refuse(here, "tkperf ssd a sim:small -rt 0", &["1..=86400"]);
    refuse(here, "tkperf ssd a", &["<DEVICE>"]);
    let version = succeed(here, "tkperf -v");
    assert!(version.starts_with("steadfast "), "{version}");
}

#[test]
fn tkperf_defect_04_a_purge_that_cannot_be_is_refused_before_anything_is_written() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let (target, name) = (&device.path, device.name());
    let line = format!(
        "tkperf ssd a {target} -i nvme --yes-destroy {name} --purge nvme-format -ssdt writesat"
    );
    refuse(here, &line, &["nvme-format"]);
    assert!(!here.join("a").exists());
}

#[test]
fn tkperf_defect_08_no_other_program_is_needed_and_a_name_may_begin_with_a_digit() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("d.txt"), "\tA drive\n of two lines\n").unwrap();
    std::fs::write(here.join("f.txt"), "| feature |\n").unwrap();
    let line = "tkperf ssd 980pro image.bin --size 64MiB -rt 1 -dsc d.txt -fm f.txt -ssdt writesat \
                --max-rounds 2 -q";
    let output = command_in(here, line).env("PATH", "").output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found = findings(&here.join("980pro"));
    let setup = found.chapters.iter().find(|page| page.title == "Setup Information").unwrap();
    let text = format!("{setup:?}");
    assert!(text.contains("A drive\\n of two lines") && text.contains("| feature |"), "{text}");
    assert!(text.contains("-dsc d.txt"), "the command line as it was typed");
    for file in ["report.html", "wsat-rnd-4k-w-minutes.csv"] {
        assert!(here.join("980pro").join(file).exists(), "{file}");
    }
}

#[test]
fn tkperf_defect_12_a_device_in_use_is_refused_whatever_ft_says() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let line = format!("tkperf ssd a {} -ft -ssdt writesat --purge none", device.path);
    refuse(here, &line, &["--yes-destroy"]);
    let exclusive =
        std::fs::File::options().read(true).custom_flags(libc::O_EXCL).open(&device.path).unwrap();
    refuse(here, &format!("{line} --yes-destroy {}", device.name()), &[&device.path]);
    drop(exclusive);
    assert!(!here.join("a").exists());
}

#[test]
fn tkperf_defect_14_a_run_can_be_resumed() {
    let here = &TestDirectory::new();
    succeed(here, "tkperf hdd disk sim:small -hddt tp --zones 3 -q");
    let before = findings(&here.join("disk"));
    cut_journal(&here.join("disk"), |lines| lines.len() / 2);
    succeed(here, "resume disk");
    assert_eq!(before.parts[0].summary, findings(&here.join("disk")).parts[0].summary);
}

#[test]
fn a_run_on_a_simulated_drive_has_the_sections_of_a_tkperf_report() {
    let here = &TestDirectory::new();
    let line = "tkperf ssd drive sim:small -nj 2 -iod 16 -rt 1 -ssdt lat -ssdt tp -q";
    let output = run_ending(here, line, &[0, 3]);
    assert!(stdout(&output).contains("Latency"));
    let found = findings(&here.join("drive"));
    assert_captions_are_true(&found.parts[0]);
    assert_captions_are_true(&found.parts[1]);
    let html = std::fs::read_to_string(here.join("drive/report.html")).unwrap();
    let titles = [
        "Setup Information", "General Information", "Latency - Steady State Information",
        "LAT 3D Measurement Plot: average", "Throughput Measurement Plot",
        "Measurement Window Summary Table", "Number of outstanding IOs (-iod)",
    ];
    assert_contains(&html, &titles);
}

#[test]
fn a_disk_is_shown_over_its_zones() {
    let here = &TestDirectory::new();
    succeed(here, "tkperf hdd disk sim:small -rt 1 --zones 5 -q");
    let found = findings(&here.join("disk"));
    let titles: Vec<&str> = found.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(titles, ["HDD IOPS", "HDD Throughput"]);
    for part in &found.parts {
        assert_eq!(part.ending, "5 of 5 zones measured.");
        assert_captions_are_true(part);
    }
    assert!(here.join("disk/hdd-iops-hdd-iops-every-zone.csv").exists());
}

#[test]
fn a_log_of_tkperf_is_reported_and_compared_with_a_new_run() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("old.xml"), log()).unwrap();
    let text = succeed(here, "tkperf ssd old /dev/gone -xml");
    assert!(text.contains("10,007") && text.contains("own run, read from its XML log"), "{text}");
    succeed(here, "tkperf --read old.xml -o report");
    assert_eq!(findings(&here.join("report")).chapters[0].title, "What TKperf's numbers are worth");
    let html = std::fs::read_to_string(here.join("report/report.html")).unwrap();
    assert!(html.contains("Intel | P4610") && html.contains("| f | g |"), "both are shown");
    run_ending(here, "tkperf ssd new sim:small -rt 1 -ssdt lat -q", &[0, 3]);
    succeed(here, "compare old.xml new -o both.json");
    let compared: Findings = read_json(here.join("both.json"));
    assert_eq!(compared.title, "Comparison: Latency");
    let text = format!("{compared:?}");
    assert!(text.contains("0.1015") || text.contains("0.10150"), "101.5 us of the old run");
}

#[test]
fn a_bad_log_is_refused_with_its_name_and_line() {
    let here = &TestDirectory::new();
    let log = "<a>\n<iops><roundmat>[[1,</roundmat></iops></a>";
    std::fs::write(here.join("bad.xml"), log).unwrap();
    refuse(here, "tkperf --read bad.xml", &["bad.xml", "line 2", "JSON"]);
    std::fs::write(here.join("page.xml"), "<html/>").unwrap();
    refuse(here, "compare page.xml bad.xml", &["page.xml", "no findings"]);
    refuse(here, "tkperf --read gone.xml", &["gone.xml"]);
    refuse(here, "tkperf ssd gone /dev/x -xml", &["gone.xml"]);
}

#[test]
fn mutated_logs_that_can_be_read_are_reported_without_a_panic() {
    let text = log();
    let mut draws = 7u64;
    let mut below = |bound: usize| {
        draws += 1;
        (steadfast_domain::random_bits::mix64(draws) % bound as u64) as usize
    };
    let mut shown = 0;
    for _ in 0..1_009 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            bytes[at] = b"0123456789[],.-e nul<"[below(21)];
        }
        let Ok(run) = steadfast_exchange::tkperf::read(&bytes) else { continue };
        let found = steadfast_procedures::tkperf::foreign::findings(&run, "steadfast");
        assert!(!steadfast_report::text(&found, 100).is_empty());
        shown += 1;
    }
    assert!(shown > 100, "{shown}");
}
