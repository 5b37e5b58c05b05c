//! Results in fixtures of our own; what fio itself writes is tested with the program.

use super::*;
use crate::identify::identify;
use crate::testing::mutations::{MUTATIONS, mutated};
use steadfast_domain::ForeignIos;

fn fixture(file: &str, text: &str) -> ForeignResults {
    read(identify(file, text.as_bytes()).unwrap(), file, text.as_bytes()).unwrap()
}

/// A direction as fio writes it; times in nanoseconds.
fn direction(ios: u64, iops: f64, mean: f64, bins: &str) -> String {
    format!(
        "{{\"total_ios\":{ios},\"iops\":{iops},\"bw_bytes\":{},\"lat_ns\":{{\"min\":{},\"max\":{},\"mean\":{mean},\
         \"N\":{ios}}},\"clat_ns\":{{\"mean\":1,\"max\":1,\"percentile\":{{\"99.000000\":7000}}{bins}}}}}",
        iops * 4096.0,
        mean / 2.0,
        mean * 3.0
    )
}

fn job(name: &str, group: u32, read: &str, write: &str) -> String {
    format!(
        "{{\"jobname\":\"{name}\",\"groupid\":{group},\"error\":0,\"job options\":{{\"rw\":\"randrw\",\
         \"bs\":\"4k\",\"iodepth\":\"8\"}},\"read\":{read},\"write\":{write}}}"
    )
}

fn fio(jobs: &[String]) -> String {
    format!(
        "fio: a note\n{{\n\"fio version\" : \"fio-3.33\",\"timestamp_ms\":7,\"jobs\":[{}]}}\n",
        jobs.join(",")
    )
}

const NONE: &str = "{\"total_ios\":0,\"iops\":0}";

#[test]
fn jobs_of_a_group_add_up_and_groups_are_steps() {
    let busy = direction(2000, 100.0, 2e6, ",\"bins\":{\"1000000\":1000,\"3000000\":1000}");
    let text = fio(&[
        job("a", 0, &busy, NONE),
        job("a", 0, &busy, NONE),
        job("b", 0, NONE, &direction(1000, 50.0, 5e6, "")),
        job("c", 1, &busy, &busy),
    ]);
    let results = fixture("r.json", &text);
    assert_eq!((results.id.as_str(), results.unix_ms), ("fio", Some(7)));
    assert_eq!(results.version.as_deref(), Some("3.33"));
    let labels: Vec<&str> = results.tests.iter().map(|test| test.label.as_str()).collect();
    assert_eq!(labels, ["a + b", "c"]);
    let step = &results.tests[0];
    // By hand: (2 x 2000 x 2 ms + 1000 x 5 ms) / 5000.
    assert_eq!((step.all.iops, step.all.ios), (Some(250.0), Some(5000)));
    assert_eq!((step.all.mean_ms, step.all.longest_ms), (Some(2.6), Some(15.0)));
    assert_eq!((step.all.shortest_ms, step.writes.shortest_ms), (Some(1.0), Some(2.5)));
    assert_eq!(step.all.bytes_per_second, Some(250.0 * 4096.0));
    assert_eq!((step.reads.iops, step.writes.iops), (Some(200.0), Some(50.0)));
    assert_eq!(step.all.percentile(99.0), None, "b has no histogram");
    assert_eq!(step.reads.percentile(50.0), Some(1.0), "of both clones");
    assert_eq!(step.reads.percentile(75.0), Some(3.0));
    assert_eq!(step.writes.percentile(99.0), Some(0.007), "as fio states it");
    let concurrent: Vec<&str> = step.concurrent.iter().map(|load| load.name.as_str()).collect();
    assert_eq!(concurrent, ["a", "b"]);
    assert!(results.tests[1].load.as_deref().unwrap().contains("bs=4k"));
}

/// Files of FioSynth are named for the test; before fio 3 times were microseconds.
#[test]
fn names_of_fiosynth_and_times_of_fio_2() {
    let old = "{\"total_ios\":20000,\"iops\":10,\"bw\":40,\"lat\":{\"mean\":2000,\"max\":9000},\
        \"clat\":{\"percentile\":{\"50.000000\":1000}}}";
    let text = fio(&[job("job1", 0, old, NONE)]);
    let results = fixture("4K_read_run3.json", &text);
    assert_eq!((results.id.as_str(), results.round), ("fiosynth", Some(3)));
    let test = &results.tests[0];
    assert_eq!(test.label, "4K_read");
    assert_eq!((test.all.mean_ms, test.all.longest_ms), (Some(2.0), Some(9.0)));
    assert_eq!((test.all.percentile(50.0), test.all.bytes_per_second), (Some(1.0), Some(40960.0)));
}

#[test]
fn what_is_no_result_says_why() {
    let refused = |text: &str| read(FileKind::FioJson, "x", text.as_bytes()).unwrap_err().message;
    assert!(refused("{\"fio version\":\"fio-3\",\"jobs\":[").contains("incomplete"));
    assert!(refused("{\"fio version\":\"fio-3\",\"jobs\":[]}").contains("no test"));
    assert!(refused("{\"fio version\":\"fio-3\"}").contains("no result of fio"));
    assert!(refused("nothing").contains("no JSON object"));
    assert_eq!(read(FileKind::FioTerse, "x", b"3;fio-3.33;a;0;0;1;2").unwrap_err().line, Some(1));
}

const DISKSPD_XML: &str = "<Results>\n<System><ComputerName>HOST</ComputerName><Tool><Version>2.1\
    </Version></Tool></System><Profile><TimeSpans><TimeSpan><Targets><Target><Path>x</Path>\
    <BlockSize>4096</BlockSize><Random>4096</Random><WriteRatio>30</WriteRatio><RequestCount>8\
    </RequestCount><ThreadsPerFile>2</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans>\
    </Profile><TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds><Latency>\
    <AverageReadMilliseconds>1.500</AverageReadMilliseconds><AverageTotalMilliseconds>2.000\
    </AverageTotalMilliseconds><Bucket><Percentile>0</Percentile><ReadMilliseconds>0.086\
    </ReadMilliseconds><WriteMilliseconds>0.199</WriteMilliseconds><TotalMilliseconds>0.086\
    </TotalMilliseconds></Bucket><Bucket><Percentile>99</Percentile><ReadMilliseconds>4.000\
    </ReadMilliseconds><TotalMilliseconds>5.000</TotalMilliseconds></Bucket><Bucket><Percentile>100\
    </Percentile><ReadMilliseconds>8.000</ReadMilliseconds><TotalMilliseconds>9.000\
    </TotalMilliseconds></Bucket></Latency><Thread><Target><ReadBytes>28672000</ReadBytes>\
    <ReadCount>7000</ReadCount><WriteBytes>12288000</WriteBytes><WriteCount>3000</WriteCount>\
    </Target></Thread><Thread><Target><ReadBytes>28672000</ReadBytes><ReadCount>7000</ReadCount>\
    <WriteBytes>12288000</WriteBytes><WriteCount>3000</WriteCount></Target></Thread></TimeSpan>\
    </Results>";

#[test]
fn diskspd_xml_adds_up_its_threads() {
    let results = fixture("r.xml", DISKSPD_XML);
    let test = &results.tests[0];
    assert_eq!(
        (test.reads.iops, test.writes.iops, test.all.iops),
        (Some(1400.0), Some(600.0), Some(2000.0))
    );
    assert_eq!(test.all.bytes_per_second, Some(2000.0 * 4096.0));
    assert_eq!((test.all.mean_ms, test.all.longest_ms), (Some(2.0), Some(9.0)));
    assert_eq!((test.reads.percentile(99.0), test.all.percentile(99.0)), (Some(4.0), Some(5.0)));
    assert_eq!(test.label, "timespan 1: random 4096 B, 30 % writes");
    assert_eq!(results.version.as_deref(), Some("2.1"));
    let without = DISKSPD_XML.replace("<Latency>", "<X>").replace("</Latency>", "</X>");
    let results = fixture("r.xml", &without);
    assert_eq!(results.tests[0].all.mean_ms, None);
    assert!(results.absent[0].contains("-L"));
}

const DISKSPD_TEXT: &str = "\nCommand Line: diskspd -b4K -w30 x.dat\n\nInput parameters:\n\n\
    \ttimespan:   1\n\t-------------\n\tduration: 10s\n\tpath: 'x.dat'\n\
    \t\tperforming mix test (read/write ratio: 70/30)\n\t\tblock size: 4KiB\n\
    \t\tnumber of outstanding I/O operations per thread: 8\n\nSystem information:\n\n\
    \tcomputer name: HOST\n\nResults for timespan 1:\n*****\n\nactual test time:\t10.00s\n\n\
    Total IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n\
    ---\n     0 |        81920000 |        20000 |       7.81 |    2000.00 |    2.000 |     1.0 | x.dat (1GiB)\n---\n\
    total:          81920000 |        20000 |       7.81 |    2000.00 |    2.000 |     1.0\n\n\
    Read IO\n---\ntotal:          57344000 |        14000 |       5.47 |    1400.00 |    1.500 |     1.0\n\n\
    Write IO\n---\ntotal:          24576000 |         6000 |       2.34 |     600.00 |    3.167 |     1.0\n\n\n\
    Total latency distribution:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n---\n\
    \x20   min |      0.086 |      0.199 |      0.086\n   99th |      4.000 |      N/A |      5.000\n\
    3-nines |     34.938 |     25.804 |     34.360\n    max |      8.000 |     9.000 |      9.000\n";

#[test]
fn diskspd_text_and_xml_say_the_same() {
    let (text, xml) = (fixture("r.txt", DISKSPD_TEXT), fixture("r.xml", DISKSPD_XML));
    let (text, xml) = (&text.tests[0], &xml.tests[0]);
    let rates = |ios: &ForeignIos| (ios.ios, ios.iops, ios.bytes_per_second, ios.longest_ms);
    assert_eq!(rates(&text.all), rates(&xml.all));
    for test in [text, xml] {
        let least = [&test.reads, &test.writes, &test.all].map(|ios| ios.shortest_ms);
        assert_eq!(least, [Some(0.086), Some(0.199), Some(0.086)]);
    }
    assert_eq!(text.reads.iops, xml.reads.iops);
    assert_eq!((text.reads.mean_ms, text.reads.percentile(99.0)), (Some(1.5), Some(4.0)));
    assert_eq!((text.writes.percentile(99.0), text.writes.longest_ms), (None, Some(9.0)));
    assert_eq!(text.all.percentile(99.9), Some(34.36));
    assert!(text.load.as_deref().unwrap().contains("70/30"), "{:?}", text.load);
}

const VDBENCH: &str = "<pre>\n*\n* 'flatfile.html' contains\n* Run : Name of run\n         tod               timestamp        Run   Interval    \
    reqrate       rate     MB/sec   bytes/io      read%       resp  read_resp write_resp   resp_max   resp_std   \
    xfersize    threads    version \n\
    10:00:01.000 01/01/2024-10:00:01-UTC        rd1          1  999988    500.0000     1.9531       4096    \
    70.0000     1.0000     0.8000     1.4667    20.0000     1.0       4096          8    50407\n\
    10:00:03.000 01/01/2024-10:00:03-UTC        rd1    avg_2-3  999988   1000.0000     3.9063       4096    \
    70.0000     2.0000     1.8000     2.4667    30.0000     1.0       4096          8    50407\n\
    10:00:09.000 01/01/2024-10:00:09-UTC        rd2    avg_2-3     100    100.0000     3.9063       4096    \
    100.0000     2.0000     2.0000     0.0000        n/a     1.0        n/a          8    50407\n";

#[test]
fn vdbench_has_the_averages_of_each_run() {
    let results = fixture("flatfile.html", VDBENCH);
    let labels: Vec<&str> = results.tests.iter().map(|test| test.label.as_str()).collect();
    assert_eq!(labels, ["rd1", "rd2"]);
    let test = &results.tests[0];
    assert_eq!(
        (test.all.iops, test.all.mean_ms, test.all.longest_ms),
        (Some(1000.0), Some(2.0), Some(30.0))
    );
    assert_eq!(test.all.bytes_per_second, Some(3.9063 * 1_048_576.0));
    assert_eq!((test.reads.mean_ms, test.writes.mean_ms), (Some(1.8), Some(2.4667)));
    assert_eq!(test.demand.as_deref(), Some("threads=8"));
    let second = &results.tests[1];
    assert_eq!((second.all.longest_ms, second.writes.mean_ms), (None, None));
    assert_eq!(second.load.as_deref().unwrap(), "reqrate=100");
}

#[test]
fn the_table_of_fiosynth_is_in_kib_and_microseconds() {
    let text = "Jobname,Read_IOPS,Read_BW,Write_IOPS,Write_BW,Mean_Read_Latency,Max_Read_Latency,\
        Min_Read_Latency,P99_Read_Latency,P99.9_Read_Latency,Mean_Write_Latency\n\
        \"4K, L2\",100.5,402,0,0,2000,9000,50,4000,0,0\ntargets,na,na,na,na,na,na,na,na,na,na\n";
    let results = fixture("fio_fb_results.csv", text);
    assert_eq!(results.tests.len(), 1);
    let test = &results.tests[0];
    assert_eq!((test.label.as_str(), test.all.iops), ("4K, L2", Some(100.5)));
    assert_eq!(test.reads.bytes_per_second, Some(402.0 * 1024.0));
    assert_eq!((test.reads.mean_ms, test.reads.percentile(99.0)), (Some(2.0), Some(4.0)));
    assert_eq!((test.reads.percentile(99.9), test.writes.iops), (None, None));
    assert_eq!((test.reads.shortest_ms, test.writes.shortest_ms), (Some(0.05), None));
}

#[test]
fn no_mutation_makes_a_reader_panic() {
    let json = fio(&[job("a", 0, &direction(9, 1.0, 1.0, ",\"bins\":{\"1\":1}"), NONE)]);
    let fixtures = [
        (FileKind::FioJson, json.as_str()),
        (FileKind::DiskspdXml, DISKSPD_XML),
        (FileKind::DiskspdText, DISKSPD_TEXT),
        (FileKind::VdbenchFlat, VDBENCH),
    ];
    for (kind, text) in fixtures {
        for bytes in mutated(text.as_bytes(), 0..MUTATIONS / 20) {
            let _ = identify("x", &bytes);
            let _ = read(kind, "x", &bytes);
        }
    }
}
