use super::*;
use std::io::{Cursor, Read};
use steadfast_domain::io_event::{IncompleteIos, RESPONSE_UNKNOWN, flags};
use steadfast_domain::{IoEvent, IoOp};

pub(super) fn input(content: impl Into<Vec<u8>>) -> ImportInput<'static> {
    ImportInput { name: "trace".into(), content: Box::new(Cursor::new(content.into())) }
}

pub(super) fn run(
    format: &TraceFormat,
    inputs: Vec<ImportInput<'_>>,
) -> (Result<ImportResult, ImportError>, Vec<IoEvent>) {
    let mut events = Vec::new();
    let result = import(format, inputs, &mut |event| {
        events.push(*event);
        Ok(())
    });
    (result, events)
}

pub(super) fn run_one(
    format: &TraceFormat,
    content: impl Into<Vec<u8>>,
) -> (Result<ImportResult, ImportError>, Vec<IoEvent>) {
    run(format, vec![input(content)])
}

/// Imports a trace that is accepted.
pub(super) fn import_ok(
    format: &TraceFormat,
    content: impl Into<Vec<u8>>,
) -> (ImportResult, Vec<IoEvent>) {
    let (result, events) = run_one(format, content);
    (result.unwrap(), events)
}

/// Returns the message of the error with which an import ends.
pub(super) fn error_of(format: &TraceFormat, content: impl Into<Vec<u8>>) -> String {
    run_one(format, content).0.unwrap_err().to_string()
}

/// Records of blktrace in either byte order.
pub(super) struct BlktraceBytes {
    big: bool,
    pub(super) bytes: Vec<u8>,
}

const DEVICE: u64 = 8 << 20 | 16;
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const SYNC: u32 = 1 << 19;

impl BlktraceBytes {
    pub(super) fn new(big: bool) -> Self {
        BlktraceBytes { big, bytes: Vec::new() }
    }

    /// Appends a record of version 7.
    pub(super) fn record(
        &mut self,
        time: u64,
        action: u32,
        sector: u64,
        bytes: u32,
        payload: &[u8],
    ) {
        let action = [(action.into(), 4), (42, 4)];
        self.append(7, [time, sector, bytes.into()], action, payload.len());
        self.bytes.extend_from_slice(payload);
    }

    /// Appends a record of version 8, in which the process precedes the action.
    pub(super) fn wide_record(
        &mut self,
        time: u64,
        action: u64,
        sector: u64,
        bytes: u32,
        payload: &[u8],
    ) {
        let action = [(42, 4), (action, 8)];
        self.append(8, [time, sector, bytes.into()], action, payload.len());
        self.bytes.extend([0; 12]);
        self.bytes.extend_from_slice(payload);
    }

    /// Appends the fields of a header, each a number and its length in bytes.
    fn append(
        &mut self,
        version: u64,
        [time, sector, bytes]: [u64; 3],
        action: [(u64, usize); 2],
        payload: usize,
    ) {
        let first = [(0x6561_7400 + version, 4), (0, 4), (time, 8), (sector, 8), (bytes, 4)];
        let last = [(DEVICE, 4), (3, 4), (0, 2), (payload as u64, 2)];
        for (number, length) in first.into_iter().chain(action).chain(last) {
            if self.big {
                self.bytes.extend(&number.to_be_bytes()[8 - length..]);
            } else {
                self.bytes.extend(&number.to_le_bytes()[..length]);
            }
        }
    }
}

/// A process name; a read from queue to completion; a write into which a second bio was merged; a
/// requeued read.
pub(super) fn blktrace_file(big: bool) -> Vec<u8> {
    let mut bin = BlktraceBytes::new(big);
    bin.record(0, 1 << 26, 0, 0, b"postgres\0");
    bin.record(1_000, 1 | READ | SYNC, 80, 4096, &[]);
    bin.record(1_100, 4 | READ | SYNC, 80, 4096, &[]);
    bin.record(1_400, 7 | READ | SYNC, 80, 4096, &[]);
    bin.record(2_000, 1 | WRITE, 160, 4096, &[]);
    bin.record(2_050, 1 | WRITE, 168, 4096, &[]);
    bin.record(2_060, 2 | WRITE, 168, 4096, &[]);
    bin.record(2_500, 7 | WRITE, 160, 8192, &[]);
    bin.record(9_400, 8 | READ | SYNC, 80, 4096, &[]);
    bin.record(9_500, 8 | WRITE, 160, 8192, &[]);
    bin.record(9_600, 7 | READ, 240, 512, &[]);
    bin.record(9_700, 6 | READ, 240, 512, &[]);
    bin.record(9_800, 7 | READ, 240, 512, &[]);
    bin.record(10_600, 8 | READ, 240, 512, &[]);
    bin.bytes
}

#[test]
fn blktrace_of_either_byte_order_gives_whole_ios() {
    for big in [false, true] {
        let (imported, events) = import_ok(&TraceFormat::Blktrace, blktrace_file(big));
        assert_eq!((imported.records, imported.events, imported.passed_over), (14, 3, 2));
        assert_eq!(imported.conditions.devices[0].name, "8:16");
        assert_eq!(imported.conditions.unfinished, 0);
        let [read, write, again] = events[..] else { panic!("{events:?}") };
        assert_eq!((read.op, read.offset, read.bytes), (IoOp::Read, 40_960, 4_096));
        assert_eq!((read.issued_ns, read.queued_ns, read.response_ns), (400, 400, 8_000));
        assert_eq!((read.flags, read.depth, read.cpu), (flags::SYNC, 1, 3));
        assert_eq!(read.command.to_string(), "postgres");
        assert_eq!((write.bytes, write.depth, write.response_ns), (8_192, 2, 7_000));
        assert_eq!((again.response_ns, again.flags), (1_000, flags::REQUEUED));
    }
}

/// A read is requeued and issued again, and its completion is lost: the next read of the same sector
/// is another I/O.
#[test]
fn a_requeued_io_without_a_completion_hides_no_other() {
    let mut bin = BlktraceBytes::new(false);
    bin.record(1_000, 7 | READ, 240, 512, &[]);
    bin.record(1_100, 6 | READ, 240, 512, &[]);
    bin.record(1_200, 7 | READ, 240, 512, &[]);
    bin.record(5_000, 7 | READ, 240, 512, &[]);
    bin.record(5_700, 8 | READ, 240, 512, &[]);
    let (result, events) = import_ok(&TraceFormat::Blktrace, bin.bytes);
    assert_eq!(result.conditions.in_part.unwrap().unended, 1);
    let seen: Vec<_> =
        events.iter().map(|e| (e.issued_ns, e.completed_ns(), e.flags, e.depth)).collect();
    assert_eq!(seen, [(0, None, flags::REQUEUED, 1), (4_000, Some(4_700), 0, 1)]);
}

/// A bio that is merged to the front of a waiting request moves its start; the request was queued
/// with its first bio.
#[test]
fn a_request_that_grew_to_the_front_was_queued_with_its_first_bio() {
    let mut bin = BlktraceBytes::new(false);
    bin.record(1_000, 1 | WRITE, 168, 4096, &[]);
    bin.record(1_500, 1 | WRITE, 160, 4096, &[]);
    bin.record(1_510, 3 | WRITE, 160, 4096, &[]);
    bin.record(3_000, 7 | WRITE, 160, 8192, &[]);
    bin.record(4_000, 8 | WRITE, 160, 8192, &[]);
    let (result, events) = import_ok(&TraceFormat::Blktrace, bin.bytes);
    assert_eq!((result.conditions.unfinished, events.len()), (0, 1));
    assert_eq!((events[0].offset, events[0].bytes, events[0].queued_ns), (81_920, 8_192, 2_000));
}

#[test]
fn files_of_several_processors_are_merged_by_time() {
    let mut first = BlktraceBytes::new(false);
    let mut second = BlktraceBytes::new(false);
    first.record(100, 7 | READ, 8, 512, &[]);
    second.record(200, 8 | READ, 8, 512, &[]);
    second.record(300, 7 | READ, 16, 512, &[]);
    first.record(400, 8 | READ, 16, 512, &[]);
    let inputs = vec![input(second.bytes), input(first.bytes)];
    let (result, events) = run(&TraceFormat::Blktrace, inputs);
    assert_eq!(result.unwrap().conditions.unfinished, 0);
    assert_eq!(events.iter().map(|e| e.response_ns).collect::<Vec<_>>(), [100, 100]);
}

/// blktrace's clock counts from the machine's start, a trace from its first event. The wall-clock
/// time was recorded two seconds before that event.
#[test]
fn a_blktrace_of_a_machine_up_for_months_begins_at_zero() {
    let up = 90 * 86_400 * 1_000_000_000;
    let wall_clock = [1_700_000_000u32, 5].map(u32::to_le_bytes).concat();
    let trace = |clock: u64| {
        let mut bin = BlktraceBytes::new(false);
        bin.record(up - 2_000_000_000, 1 << 26 | 1, 0, 0, &wall_clock);
        bin.record(clock, 1 | READ, 8, 512, &[]);
        bin.record(clock + 100, 7 | READ, 8, 512, &[]);
        bin.record(clock + 300, 8 | READ, 8, 512, &[]);
        let (result, events) = import_ok(&TraceFormat::Blktrace, bin.bytes);
        (result.conditions, events[0].issued_ns)
    };
    let (conditions, issued_ns) = trace(up);
    assert_eq!((issued_ns, conditions.lasted_ns), (100, 300));
    assert_eq!(conditions.began_unix_ns, Some(1_700_000_002_000_000_005));
    // Merged by `blkparse -d`: the events count from 0, the moment does not.
    let (conditions, issued_ns) = trace(0);
    assert_eq!((issued_ns, conditions.lasted_ns, conditions.began_unix_ns), (100, 300, None));
}

#[test]
fn a_blktrace_file_that_ends_inside_a_record_is_read_up_to_there() {
    let whole = blktrace_file(false);
    for (cut, records) in [(7, 13), (47, 13), (48 + 9, 12)] {
        let bytes = &whole[..whole.len() - cut];
        let (imported, events) = import_ok(&TraceFormat::Blktrace, bytes);
        let part = imported.conditions.in_part.unwrap();
        assert_eq!((imported.records, events.len(), part.unended), (records, 3, 1));
        assert_eq!((imported.cut.len(), imported.conditions.lost), (1, 1));
        let place = format!("byte {}: {records} records", 57 + 48 * (records - 1));
        assert!(imported.cut[0].contains(&place), "{place}: {:?}", imported.cut);
    }
    // Zeros after the last record, and from byte 512 on, within the eleventh.
    for (kept, records) in [(whole.len(), 14), (512, 10)] {
        let zeros = [&whole[..kept], &[0; 9_000]].concat();
        let imported = import_ok(&TraceFormat::Blktrace, zeros).0;
        assert_eq!(
            (imported.records, imported.cut.len(), imported.conditions.lost),
            (records, 1, 1)
        );
    }
    assert!(import_ok(&TraceFormat::Blktrace, whole).0.cut.is_empty());
    let error = error_of(&TraceFormat::Blktrace, [blktrace_file(false), vec![7; 60]].concat());
    assert!(error.contains("byte 681") && error.contains("14 records"), "{error}");
}

pub(super) const BLKPARSE: &str = "\
Input file sdb.blktrace.3 added
  8,16   3        1     0.000001000    42  Q  RS 80 + 8 [postgres]
  8,16   3        2     0.000001100    42  G  RS 80 + 8 [postgres]
  8,16   3        3     0.000001400    42  D  RS 80 + 8 [postgres]
  8,16   3        4     0.000002000    42  Q   W 160 + 8 [postgres]
  8,16   3        5     0.000002500    42  D   W 160 + 8 [postgres]
  8,16   3        6     0.000009400     0  C  RS 80 + 8 [0]
  8,16   3        7     0.000009500     0  C   W 160 + 8 [0]
  8,16   3        8     0.000009600    44  D  FN [kworker/3:1H]
  8,16   3        9     0.000009900     0  C  FN 0 [0]
CPU3 (sdb):
 Reads Queued:           1,        4KiB
";

#[test]
fn blkparse_text_gives_the_same_ios() {
    let (imported, events) = import_ok(&TraceFormat::Blkparse, BLKPARSE);
    assert_eq!((imported.records, imported.passed_over), (9, 1));
    assert_eq!(events.len(), 3);
    assert_eq!((events[0].offset, events[0].queued_ns), (40_960, 400));
    assert_eq!((events[0].response_ns, events[0].flags), (8_000, flags::SYNC));
    assert_eq!(events[1].depth, 2);
    assert_eq!((events[2].op, events[2].response_ns), (IoOp::Flush, 300));
}

/// A pass-through command has bytes and no sector, and is not a read of user data.
#[test]
fn blkparse_text_distinguishes_pass_through_commands() {
    let text =
        "  8,0    1        1     0.000000000   900  D   R 36 (12 00 00 00 24 00 ..) [smart ctl]
  8,0    1        2     0.000000500   900  D   R 80 + 8 [smart ctl]
  8,0    1        3     0.000001000     0  C   R (12 00 00 00 24 00 ..) [0]
  8,0    1        4     0.000002000     0  C   R 80 + 8 [5]
";
    let (result, events) = import_ok(&TraceFormat::Blkparse, text);
    assert_eq!(result.conditions.unfinished, 0);
    let seen: Vec<_> =
        events.iter().map(|e| (e.op, e.offset, e.bytes, e.response_ns, e.flags)).collect();
    assert_eq!(
        seen,
        [(IoOp::Other, 0, 36, 1_000, 0), (IoOp::Read, 40_960, 4_096, 1_500, flags::FAILED)]
    );
    assert_eq!(events[1].command.to_string(), "smart ctl");
}

#[test]
fn fio_logs_of_every_kind() {
    let v2 = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 0 4096\n\
              /dev/sdb wait 250 0\n/dev/sdb write 8192 512\n/dev/sdb datasync 0 0\n\
              /dev/sdb wait 200 0\n/dev/sdb wait 300 0\n/dev/sdb read 512 512\n/dev/sdb close\n";
    let (result, events) = import_ok(&TraceFormat::FioIolog, v2);
    assert_eq!(result.conditions.devices[0].name, "/dev/sdb");
    let seen: Vec<_> = events.iter().map(|e| (e.op, e.issued_ns, e.offset, e.bytes)).collect();
    assert_eq!(
        seen,
        [
            (IoOp::Read, 0, 0, 4096),
            (IoOp::Write, 250_000_000, 8192, 512),
            (IoOp::Flush, 250_000_000, 0, 0),
            (IoOp::Read, 300_000_000, 512, 512),
        ]
    );
    let short = "fio version 2 iolog\nf add\nf wait 250\n";
    assert!(error_of(&TraceFormat::FioIolog, short).contains("line 3: expected a length"));
    assert!(events.iter().all(|e| e.response_ns == RESPONSE_UNKNOWN));
    let v3 = "fio version 3 iolog\n5 f add\n5 f open\n5 f read 0 4096\n12 f trim 4096 8192\n";
    let (result, events) = import_ok(&TraceFormat::FioIolog, v3);
    assert_eq!(result.events, 2);
    assert_eq!((events[1].op, events[1].issued_ns), (IoOp::Discard, 7_000));
    let log = "3, 250000, 0, 4096, 8192, 0\n4, 100000, 1, 512, 0x1000, 0\n";
    let (result, events) = import_ok(&TraceFormat::FioLatencyLog, log);
    assert_eq!(result.events, 2);
    assert_eq!((events[0].issued_ns, events[0].response_ns), (2_750_000, 250_000));
    assert_eq!((events[1].op, events[1].offset), (IoOp::Write, 4_096));
}

#[test]
fn published_csv_traces_and_any_other() {
    let msr = "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
               128166372016382155,usr,0,Write,1317441536,8192,1963\n";
    let (ImportResult { conditions, .. }, events) =
        import_ok(&TraceFormat::named("msr-cambridge").unwrap(), msr);
    assert_eq!(conditions.devices[0].name, "usr.0");
    // 2007-02-22 17:00:00.3061629 UTC.
    assert_eq!(conditions.began_unix_ns, Some(1_172_163_600_306_162_900));
    assert_eq!((events[0].issued_ns, events[0].response_ns), (0, 4_128_600));
    assert_eq!((events[1].issued_ns, events[1].bytes), (1_332_052_600, 8_192));
    let alibaba =
        "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n";
    let (found, events) = import_ok(&TraceFormat::named("alibaba").unwrap(), alibaba);
    assert_eq!(found.events, 2);
    assert_eq!(found.conditions.began_unix_ns, Some(1_577_808_144_360_767_000));
    assert_eq!((events[1].op, events[1].issued_ns, events[1].device), (IoOp::Read, 46_000, 1));
    let tencent = "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n";
    let (found, events) = import_ok(&TraceFormat::named("tencent").unwrap(), tencent);
    assert_eq!(found.events, 2);
    assert_eq!(found.conditions.began_unix_ns, Some(1_538_323_200_000_000_000));
    assert_eq!((events[0].offset, events[0].bytes), (12_910_952 * 512, 65_536));
    let plan = ColumnPlan::parse("time=2:us,op=3,offset=5:sectors,bytes=4,separator=tab").unwrap();
    let tabs = "n\ttime\tcommand\tsize\tlba\n1\t10.5\t0x2a\t4096\t8\n2\t12.25\t28\t512\t9\n";
    let (result, events) = import_ok(&TraceFormat::Columns(plan), tabs);
    assert_eq!(result.passed_over, 1);
    assert_eq!((events[0].op, events[0].offset), (IoOp::Write, 4_096));
    assert_eq!((events[1].op, events[1].issued_ns), (IoOp::Read, 1_750));
}

/// biosnoop prints an I/O when it completes; the second line was issued before the first.
#[test]
fn times_of_completion_give_the_times_of_issue() {
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                1000000010.000500 dd 7 vda R 8 4096 0.25\n\
                1000000010.000600 dd 7 vda W 16 512 0.5\n\
                1000000010.002000 dd 7 vda R 24 4096 1.0\n";
    let columns = "completed=1:s:unix,response=8:ms,op=5,offset=6:sectors,bytes=7,command=2,pid=3,\
                   separator=space";
    let plan = ColumnPlan::parse(columns).unwrap();
    let (ImportResult { conditions, .. }, events) = import_ok(&TraceFormat::Columns(plan), text);
    assert_eq!(conditions.began_unix_ns, Some(1_000_000_010_000_100_000));
    assert!(conditions.remarks[0].contains("'TIME(s)', was read as the time of completion"));
    let times: Vec<(u64, u64)> = events.iter().map(|io| (io.issued_ns, io.response_ns)).collect();
    assert_eq!(times, [(150_000, 250_000), (0, 500_000), (900_000, 1_000_000)]);

    let as_issue = columns.replace("completed", "time");
    let plan = ColumnPlan::parse(&as_issue).unwrap();
    let refusal = error_of(&TraceFormat::Columns(plan), text);
    assert!(refusal.contains("completed=1 in place of time=1"), "{refusal}");
    for (wrong, what) in [
        ("completed=1,op=2,offset=3,bytes=4", "response=NUMBER:UNIT"),
        ("completed=1,time=1,response=5,op=2,offset=3,bytes=4", "give one of them"),
        ("time=1:bytes:unix,op=2,offset=3,bytes=4", "a time is counted in"),
    ] {
        let refusal = ColumnPlan::parse(wrong).unwrap_err();
        assert!(refusal.contains(what), "{refusal}");
    }
    let plan = ColumnPlan::parse("completed=1:us,response=2:us,op=3,offset=4,bytes=5").unwrap();
    for (text, what) in [("5,,R,0,512\n", "found none"), ("5,6,R,0,512\n", "longer than")] {
        let (result, events) = run_one(&TraceFormat::Columns(plan.clone()), text);
        let refusal = result.unwrap_err().to_string();
        assert!(refusal.contains(what) && events.is_empty(), "{refusal}");
    }
}

/// The columns follow the header of each version. The first I/O was issued before the origin of the
/// times, and a command may contain blanks.
#[test]
fn biosnoop_is_read_by_its_header() {
    let bcc = "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n\
               0.000000    supervise      1950   xvda1     W 13092560   4096      0.74\n\
               0.000200    Web Content :3 1951   xvda1     R 8          512       0.10\n\
               1.000000    ?              0      nvme0n1   FWFS 16      8192      2.00\n\
               1.001000    ?              0      nvme0n1   FF 0         0         1.00\n";
    assert_eq!(recognize(bcc.as_bytes()), Some(TraceFormat::Biosnoop));
    let (ImportResult { conditions, .. }, events) = import_ok(&TraceFormat::Biosnoop, bcc);
    let names: Vec<&str> = conditions.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["xvda1", "nvme0n1"]);
    let seen: Vec<_> = events
        .iter()
        .map(|e| (e.op, e.issued_ns, e.response_ns, e.offset, e.bytes, e.command.to_string()))
        .collect();
    let expected = [
        (IoOp::Write, 0, 740_000, 13_092_560 * 512, 4096, "supervise"),
        (IoOp::Read, 840_000, 100_000, 4096, 512, "Web Content :3"),
        (IoOp::Write, 998_740_000, 2_000_000, 8192, 8192, "?"),
        (IoOp::Flush, 1_000_740_000, 1_000_000, 0, 0, "?"),
    ];
    assert_eq!(
        seen,
        expected.map(|(op, at, lat, from, bytes, name)| {
            (op, at, lat, from, bytes, name.to_owned())
        })
    );
    let queued = "Tracing block device I/O... Hit Ctrl-C to end.\n\
                  TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n\
                  0.5 dd 7 sda RA 8 4096 0.013 0.25\n";
    assert_eq!(recognize(queued.as_bytes()), Some(TraceFormat::Biosnoop));
    let (result, events) = import_ok(&TraceFormat::Biosnoop, queued);
    assert_eq!((result.events, events[0].response_ns), (1, 250_000));
    let bpftrace = "TIME(ms)     DISK    COMM             PID    LAT(ms)\n1 sda dd 7 1\n";
    let header = bcc.lines().next().unwrap();
    let cut = format!("{header}\n0.1 dd 7 sda R 8 4096\n");
    for (text, what) in [
        (bpftrace, "no column SECTOR"),
        ("0.5 dd 7 sda R 8 4096 0.25\n", "biosnoop's header"),
        (&*cut, "line 2"),
    ] {
        let refusal = error_of(&TraceFormat::Biosnoop, text);
        assert!(refusal.contains(what), "{refusal}");
    }
}

/// Simulators number operations in their own ways.
#[test]
fn numbers_of_operations_have_the_meaning_in_the_plan() {
    let seen = |columns: &str, text: &str| {
        let plan = ColumnPlan::parse(columns).unwrap();
        let (imported, events) = import_ok(&TraceFormat::Columns(plan), text);
        let ios: Vec<_> =
            events.iter().map(|e| (e.issued_ns, e.op, e.offset / 512, e.bytes / 512)).collect();
        (imported.passed_over, ios)
    };
    let (read, write) = (IoOp::Read, IoOp::Write);
    // MQSim: nanoseconds, device, sector, sectors, 0 writes and 1 reads.
    let mqsim = "time=1:ns,device=2,offset=3:sectors,bytes=4:sectors,op=5:0=write;1=read,\
                 separator=space";
    let text = "4851300 1 524288 16 0\n4864300 1 524304 8 1\n";
    assert_eq!(seen(mqsim, text), (0, vec![(0, write, 524_288, 16), (13_000, read, 524_304, 8)]));
    // DiskSim: milliseconds with a fraction, device, block, blocks, 1 reads.
    let disksim = "time=1:ms,device=2,offset=3:sectors,bytes=4:sectors,op=5:0=write;1=read,\
                   separator=space";
    let text = "13.191135 30 0 5 1\n17.829285 20 576560 6 0\n";
    assert_eq!(seen(disksim, text), (0, vec![(0, read, 0, 5), (4_638_150, write, 576_560, 6)]));
    // blkreplay: lines about the trace, one of them blank, then columns.
    let blkreplay = "time=1:s,offset=2:sectors,bytes=3:sectors,op=4,response=6:s,\
                     separator=semicolon,skip=4,header=no";
    let text = "This is a recording of 2012; 3 hosts ; 7 ; R\nby the night shift\n\nINFO: 2\n\
                0.000000000 ; 1024 ; 8 ; W ; 0.0 ; 0.000125000\n\
                0.500000000 ; 2048 ; 16 ; R ; 0.0 ; 0.000250000\n";
    let wanted = vec![(0, write, 1024, 8), (500_000_000, read, 2048, 16)];
    assert_eq!(seen(blkreplay, text), (3, wanted));
    // A value that the plan does not list is not an operation, not even a usual name.
    let plan = ColumnPlan::parse(mqsim).unwrap();
    let error = error_of(&TraceFormat::Columns(plan), "1 1 8 8 R\n");
    assert!(error.contains("line 1") && error.contains("'R'"), "{error}");
}

/// I/Os of the same millisecond would count as outstanding together.
#[test]
fn coarse_times_give_no_queue_depth() {
    let log = "3, 250000, 0, 4096, 8192, 0\n";
    assert!(import_ok(&TraceFormat::FioLatencyLog, log).0.conditions.rounded_times);
    // One time for all I/Os is as coarse.
    for (times, is_rounded) in
        [(&["12"][..], true), (&["12.25"][..], false), (&["0.5"; 2][..], true)]
    {
        let text: String = times.iter().map(|time| format!("{time},R,512,4096,80\n")).collect();
        let (result, _) = import_ok(&plain(",response=5:us"), text);
        assert_eq!(result.conditions.rounded_times, is_rounded, "{times:?}");
    }
}

#[test]
fn a_file_that_lists_one_device_after_the_other_begins_at_the_earliest_time() {
    let line = |at: u64, device: u64| format!("{at},R,{},4096,{device}\n", device * 4096);
    let text: String =
        (0..500).map(|n| line(1000 + n, 1)).chain((0..500).map(|n| line(n, 0))).collect();
    let (result, events) = import_ok(&plain(",device=5"), text.clone());
    assert!(result.conditions.remarks.iter().all(|remark| !remark.contains("issued before")));
    let times: Vec<u64> = events.iter().map(|event| event.issued_ns / 1_000_000_000).collect();
    assert_eq!(times, (1000..1500).chain(0..500).collect::<Vec<_>>());
    // More rows than are held back.
    let text: String = (0..70_000).map(|n| line(5 + n, 1)).chain([line(4, 0)]).collect();
    let error = error_of(&plain(",device=5"), text.clone());
    assert!(error.contains("70001") && error.contains("sort"), "{error}");
}

/// A read whose completion is missing, and later another of the same sector.
#[test]
fn a_missing_completion_affects_no_other_io() {
    let mut bin = BlktraceBytes::new(false);
    for number in 0..1000u64 {
        let sector = if number == 500 { 8 } else { number * 8 };
        bin.record(number * 1_000, 7 | READ, sector, 4096, &[]);
        if number != 1 {
            bin.record(number * 1_000 + 400, 8 | READ, sector, 4096, &[]);
        }
    }
    bin.record(2_000_000, 7 | READ, 80_000, 4096, &[]);
    let (ImportResult { conditions, .. }, events) = import_ok(&TraceFormat::Blktrace, bin.bytes);
    let part = IncompleteIos { unended: 2, ..IncompleteIos::default() };
    assert_eq!((conditions.in_part, conditions.unfinished), (Some(part), 0));
    let unknown = events.iter().filter(|e| e.response_ns == RESPONSE_UNKNOWN);
    assert_eq!(unknown.map(|e| e.issued_ns).collect::<Vec<_>>(), [1_000, 2_000_000]);
    assert!(events.iter().all(|e| e.response_ns == 400 || e.response_ns == RESPONSE_UNKNOWN));
    assert_eq!(events.len(), 1001);
}

fn plain(more: &str) -> TraceFormat {
    let columns = format!("time=1:s,op=2,offset=3,bytes=4{more}");
    TraceFormat::Columns(ColumnPlan::parse(&columns).unwrap())
}

#[test]
fn columns_as_other_programs_write_them() {
    // No response time where the column is empty; SCSI commands that move no data.
    let text = "t,op,at,size,rt\n1,0x28,8,512,0.25\n2,2A,8,512,\n3,0x12,0,36,0.5\n";
    let (result, events) = import_ok(&plain(",response=5:ms"), text);
    assert_eq!(result.passed_over, 1);
    let seen: Vec<_> = events.iter().map(|e| (e.op, e.response_ns)).collect();
    assert_eq!(
        seen,
        [(IoOp::Read, 250_000), (IoOp::Write, RESPONSE_UNKNOWN), (IoOp::Other, 500_000)]
    );
    // Runs of blanks; quoted columns with the separator in them; a byte-order mark.
    let blanks = " 1   R  512 \t 4096\n20  W 1024  4096\n";
    let quoted = "\u{feff}\"1\",\"R\",\"512\",\"4096\",\"a, b\"\r\n\"20\",W,1024,4096,c\r\n";
    for (more, text) in [(",separator=space", blanks), (",command=5", quoted)] {
        let (result, events) = import_ok(&plain(more), text);
        assert_eq!(result.events, 2);
        let seen: Vec<_> = events.iter().map(|e| (e.issued_ns, e.op, e.offset, e.bytes)).collect();
        let seconds = 1_000_000_000;
        let wanted = [(0, IoOp::Read, 512, 4096), (19 * seconds, IoOp::Write, 1024, 4096)];
        assert_eq!(seen, wanted);
    }
    let (_, events) = run_one(&plain(",command=5"), quoted);
    assert_eq!(events[0].command.to_string(), "a, b");
}

/// A file without line ends, or with an open quotation, is refused with its line number and not read
/// into memory.
#[test]
fn endless_lines_are_refused_by_number() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 += into.len() as u64;
            assert!(self.0 < 8 << 20, "the whole file is read");
            into.fill(b'7');
            Ok(into.len())
        }
    }
    for (format, start) in [
        (TraceFormat::Blkparse, "8,0 1 1 0.5 7 Q R 8 + 8 [a]\n"),
        (TraceFormat::FioIolog, "fio version 2 iolog\n"),
        (TraceFormat::FioLatencyLog, "3, 250000, 0, 4096, 8192, 0\n"),
        (plain(""), "1,R,512,4096\n"),
    ] {
        let content = Cursor::new(start.as_bytes().to_vec()).chain(Endless(0));
        let endless = ImportInput { name: "trace".into(), content: Box::new(content) };
        let error = run(&format, vec![endless]).0.unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("longer than"), "{error}");
    }
    let error = error_of(&plain(""), "1,R,512,4096\n\"2,R,512,4096\n3,R,512,4096\n");
    assert!(error.contains("line 2") && error.contains("'\"2,R,512,4096'"), "{error}");
}

#[test]
fn errors_name_the_line_the_text_and_the_records_before() {
    let cases: [(TraceFormat, &str, &[&str]); 11] = [
        (
            TraceFormat::Blkparse,
            "8,0 1 1 0.5 7 Q R 8 + 8 [a]\nrubbish\n",
            &["line 2", "rubbish", "1 rec"],
        ),
        (TraceFormat::Blkparse, "8,0 1 1 x.5 7 Q R 8 + 8 [a]\n", &["line 1", "seconds"]),
        (TraceFormat::FioIolog, "fio version 9 iolog\n", &["line 1", "version 3"]),
        (TraceFormat::FioIolog, "fio version 2 iolog\nf burn 1 2\n", &["line 2", "burn"]),
        (TraceFormat::FioIolog, "fio version 2 iolog\nf read 4096", &["line 2", "a length"]),
        (TraceFormat::FioLatencyLog, "1, 2, 0, 4096\n", &["line 1", "log_offset=1"]),
        // Without log_offset the fifth field is the priority; averages have no size.
        (TraceFormat::FioLatencyLog, "19, 28812, 0, 4096, 0\n", &["line 1", "log_offset=1"]),
        (TraceFormat::FioLatencyLog, "100, 9043, 0, 0, 0, 0\n", &["line 1", "log_avg_msec"]),
        (
            TraceFormat::named("alibaba").unwrap(),
            "1,W,0,512,1577808144360767\n1,X,0,512,1577808144360767\n",
            &["line 2", "operation", "'X'"],
        ),
        (plain(""), "1.5e,R,512,4096\n", &["line 1", "a time", "1.5e", "0 rec"]),
        (plain(""), "18446744073709551615,R,512,4096\n", &["line 1", "a time"]),
    ];
    for (format, text, parts) in cases {
        let error = error_of(&format, text);
        for part in parts {
            assert!(error.contains(part), "{format:?} should say '{part}': {error}");
        }
    }
    let bad = [
        "time=2",
        "time=0,op=1,offset=2,bytes=3",
        "what=1",
        "time=1:parsec",
        "time",
        "time=1:bytes,op=2,offset=3,bytes=4",
        "time=1,op=2,offset=3,bytes=4:us",
        "time=1,op=2,offset=3:ms,bytes=4",
        "time=1,op=2,offset=3,bytes=4,response=5:sectors",
        "time=1,op=2,offset=3,bytes=4,header=maybe",
        "time=1,op=2,offset=3,bytes=4,skip=some",
        "time=1,op=2:0=erase,offset=3,bytes=4",
        "time=1,op=2:0,offset=3,bytes=4",
    ];
    for plan in bad {
        assert!(ColumnPlan::parse(plan).is_err(), "{plan}");
    }
}

#[test]
fn formats_are_recognized_by_their_beginning() {
    assert_eq!(recognize(&blktrace_file(true)), Some(TraceFormat::Blktrace));
    assert_eq!(recognize(BLKPARSE.as_bytes()), Some(TraceFormat::Blkparse));
    assert_eq!(recognize(b"fio version 3 iolog\n"), Some(TraceFormat::FioIolog));
    assert_eq!(recognize(b"1,2,3\n"), None);
    assert_eq!(recognize(b""), None);
}
