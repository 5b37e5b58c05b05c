//! Programs that convert files: imports of other tools' traces, a fold of a trace, and a merge of
//! fold files.
//!
//! The production code opens, unpacks and recognizes inputs (`import_inputs` of the program), parses
//! them and writes outputs (`tracefile::import`, `analysis::fleet`, `host::NewFile`). A name must
//! always lead to a complete conversion or to nothing: an input that was read in part must not become
//! a file that looks whole.

use crate::dice::Dice;
use crate::directory::SimulatedDirectory;
use crate::disk::ROOT;
use crate::fault::{InjectedFault, PlannedFault, PlantedBug};
use crate::import_inputs::ImportInputs;
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::world::{Process, TrialResult, World};
use anyhow::Context;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Cursor, Read, Seek, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::thread;
use steadfast_analysis::fleet::{FoldOptions, Merge, fingerprint, fold};
use steadfast_analysis::{Captured, PassOptions};
use steadfast_host::{NewFile, OverwritePolicy, ReadAccess};
use steadfast_tracefile::TraceError;
use steadfast_tracefile::import::{
    self, ColumnMapping, ColumnPlan, ImportError, ImportInput, ImportResult, TraceFormat,
};
use steadfast_tracefile::parquet::TraceMedium;
#[cfg(test)]
use steadfast_tracefile::{Batch, Fields, Trace};

const SOFTWARE: &str = "steadfast 0";
/// Number of I/Os of an input.
pub const IOS: u64 = 512;
/// Size of a read of a text, which comes through a pipe.
const PIPE_BYTES: usize = 4096;
const MICROSECOND: u64 = 1_000;
/// Start of the first trace; the second begins when the first has ended.
const BEGAN_NS: u64 = 1_700_000_000_000_000_000;
/// More calls than an undisturbed import of a text makes. Faults are planned among them.
const CALLS: u64 = 45;

const INPUTS: [&str; 9] = [
    "one.csv", "two.csv", "one.fold", "two.fold", "iolog.gz", "iolog.zst", "iolog.xz", "iolog.bz2",
    "trace.parquet",
];

/// Inputs, and the outputs of an undisturbed program.
struct ConvertedFiles {
    /// Content of each of [`INPUTS`].
    inputs: Vec<Vec<u8>>,
    /// Complete output of each of [`Conversion::ALL`].
    outputs: Vec<Vec<u8>>,
}

static FILES: LazyLock<Result<ConvertedFiles, String>> =
    LazyLock::new(|| ConvertedFiles::new().map_err(|error| format!("{error:#}")));

impl ConvertedFiles {
    fn new() -> anyhow::Result<ConvertedFiles> {
        let texts = [0, 1].map(input_text);
        let traces = [0, 1].map(|number| {
            let mut trace = Vec::new();
            import_text(number, texts[number as usize].as_bytes(), &mut trace)?;
            Ok::<_, ImportError>(trace)
        });
        let [one, two] = traces;
        let (one, two) = (one?, two?);
        let fold = |trace: &[u8]| {
            let mut folded = Vec::new();
            fold_trace(|| Ok(Cursor::new(trace.to_vec())), &mut folded)?;
            Ok::<_, anyhow::Error>(folded)
        };
        let folds = [fold(&one)?, fold(&two)?];
        let mut merged = Vec::new();
        merge_files(folds.clone().map(Cursor::new), &mut merged)?;
        let packed = packed_logs()?;
        let mut unpacked = Vec::new();
        for (name, content) in INPUTS[4..].iter().zip(&packed) {
            let mut output = Vec::new();
            let open =
                || -> io::Result<Box<dyn Read>> { Ok(Box::new(Cursor::new(content.clone()))) };
            import_recognized(name, &open, &mut output)?;
            unpacked.push(output);
        }
        let [first_text, second_text] = texts.map(String::into_bytes);
        let [first_fold, second_fold] = folds;
        let mut inputs = vec![first_text, second_text, first_fold.clone(), second_fold];
        inputs.extend(packed);
        inputs.push(one.clone());
        let mut outputs = vec![one.clone(), two, merged];
        outputs.extend(unpacked);
        outputs.push(first_fold);
        let mut table = Vec::new();
        import_table(Cursor::new(one), &mut table)?;
        outputs.push(table);
        Ok(ConvertedFiles { inputs, outputs })
    }
}

/// Returns the text of an input: issue time, operation, offset and length of each I/O. A line has 32
/// bytes, so that each read ends with a line: a text that ended there would look complete.
fn input_text(number: u64) -> String {
    let mut text = String::new();
    for io in 0..IOS {
        let op = if io % 3 == 0 { 'W' } else { 'R' };
        let (time, sector) = (100 + io * 1_000, (io * 7_919 + number) % 10_007 * 8);
        let _ = writeln!(text, "{time:08},{op},{sector:08},{bytes:011}", bytes = 4096 << (io % 3));
    }
    text
}

/// Returns a log of fio's I/Os, compressed by gzip, zstd, xz and bzip2.
fn packed_logs() -> io::Result<[Vec<u8>; 4]> {
    let mut log = "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n".to_owned();
    for io in 0..IOS {
        let op = if io % 3 == 0 { "write" } else { "read" };
        let _ = writeln!(log, "{io} /dev/sda {op} {} 4096", io * 7_919 % 10_007 * 4096);
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(log.as_bytes())?;
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(log.as_bytes())?;
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(log.as_bytes())?;
    let zstd = zstd::stream::encode_all(log.as_bytes(), 0)?;
    Ok([gzip.finish()?, zstd, xz.finish()?, bzip2.finish()?])
}

/// Imports a file as `trace import` does without options: unpacks and recognizes it.
fn import_recognized<W: io::Write + Send>(
    name: &str,
    open: &dyn Fn() -> io::Result<Box<dyn Read>>,
    output: W,
) -> anyhow::Result<()> {
    let files = [PathBuf::from(name)];
    let ImportInputs { inputs, proven_format, .. } =
        ImportInputs::open(&files, false, &|_| open())?;
    let format = proven_format.context("the format is unknown")?;
    import::write_trace(output, SOFTWARE, Some(BEGAN_NS), |sink| {
        import::import(&format, inputs, sink)
    })?;
    Ok(())
}

/// A text that is read in parts.
struct Pipe<R>(R);

impl<R: Read> Read for Pipe<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(PIPE_BYTES);
        self.0.read(&mut buffer[..end])
    }
}

/// Imports the text of an input.
fn import_text<W: io::Write + Send>(
    number: u64,
    text: impl Read,
    output: W,
) -> Result<ImportResult, ImportError> {
    let columns = "time=1:us,op=2,offset=3:sectors,bytes=4";
    let plan = ColumnPlan::parse(columns).map_err(ImportError::Unsuitable)?;
    let name = INPUTS[number as usize].to_owned();
    let input = ImportInput { name, content: Box::new(Pipe(text)) };
    let began = BEGAN_NS + number * 2 * IOS * 1_000 * MICROSECOND;
    import::write_trace(output, SOFTWARE, Some(began), |sink| {
        import::import(&TraceFormat::Columns(plan), vec![input], sink)
    })
}

/// Imports a Parquet file as a table of another program, with a mapping of its columns.
fn import_table<W: io::Write + Send>(table: impl TraceMedium, output: W) -> anyhow::Result<()> {
    let mapping = ColumnMapping::parse(
        r#"
        time = { column = "issued_ns", unit = "ns" }
        op = { column = "op", values = { "0" = "read", "1" = "write" } }
        offset = "offset"
        bytes = "bytes"
        "#,
    )
    .map_err(anyhow::Error::msg)?;
    import::write_trace(output, SOFTWARE, Some(BEGAN_NS), |sink| {
        import::import_parquet(&mapping, INPUTS[8], table, sink)
    })?;
    Ok(())
}

/// Folds a trace, which `open` opens.
fn fold_trace<M: TraceMedium, W: io::Write + Send>(
    open: impl Fn() -> anyhow::Result<M>,
    output: W,
) -> anyhow::Result<()> {
    let options = FoldOptions {
        step_ns: 1_000_000_000,
        processes: false,
        window: PassOptions::default().window,
        threads: false,
        files: false,
    };
    let identity = fingerprint(&mut open()?, "trace.parquet")?;
    let captured = Captured::open(open()?)?;
    let folded = fold(&captured, vec![identity], &PassOptions::default(), &options)?;
    let mut merge = Merge::new(&options);
    merge.add(folded)?;
    merge.check()?;
    merge.write(output)?.flush()?;
    Ok(())
}

/// Merges two fold files.
fn merge_files<R: Read + Seek + Send + 'static, W: io::Write + Send>(
    files: [R; 2],
    output: W,
) -> Result<(), TraceError> {
    let mut merge = Merge::default();
    for (file, name) in files.into_iter().zip(&INPUTS[2..]) {
        merge.add_file(file, name)?;
    }
    merge.check()?;
    merge.write(output)?.flush()?;
    Ok(())
}

/// Conversion that a program makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    ImportFirst,
    ImportSecond,
    Merge,
    ImportGzip,
    ImportZstd,
    ImportXz,
    ImportBzip2,
    Fold,
    ImportTable,
}

impl Conversion {
    const ALL: [Conversion; 9] = [
        Conversion::ImportFirst,
        Conversion::ImportSecond,
        Conversion::Merge,
        Conversion::ImportGzip,
        Conversion::ImportZstd,
        Conversion::ImportXz,
        Conversion::ImportBzip2,
        Conversion::Fold,
        Conversion::ImportTable,
    ];

    /// Returns the name of the output.
    fn output(self) -> &'static str {
        match self {
            Conversion::ImportFirst => "one.parquet",
            Conversion::ImportSecond => "two.parquet",
            Conversion::Merge => "both.fold",
            Conversion::ImportGzip => "gzip.parquet",
            Conversion::ImportZstd => "zstd.parquet",
            Conversion::ImportXz => "xz.parquet",
            Conversion::ImportBzip2 => "bzip2.parquet",
            Conversion::Fold => "trace.fold",
            Conversion::ImportTable => "table.parquet",
        }
    }

    /// Returns the name of the input that is recognized by its content.
    fn recognized_input(self) -> &'static str {
        match self {
            Conversion::ImportGzip => INPUTS[4],
            Conversion::ImportZstd => INPUTS[5],
            Conversion::ImportXz => INPUTS[6],
            _ => INPUTS[7],
        }
    }

    /// Converts the files in the directory.
    fn execute(
        self,
        directory: &SimulatedDirectory,
        policy: OverwritePolicy,
    ) -> anyhow::Result<()> {
        let name = OsStr::new(self.output());
        let output = NewFile::create_in(directory, name, policy, ReadAccess::Usual)?;
        let sink = output.handle()?;
        match self {
            Conversion::ImportFirst => {
                drop(import_text(0, directory.open_named(INPUTS[0])?, sink)?)
            }
            Conversion::ImportSecond => {
                drop(import_text(1, directory.open_named(INPUTS[1])?, sink)?)
            }
            Conversion::Merge => {
                let files = [directory.open_named(INPUTS[2])?, directory.open_named(INPUTS[3])?];
                merge_files(files, io::BufWriter::new(sink))?;
            }
            Conversion::Fold => {
                fold_trace(|| Ok(directory.open_named(INPUTS[8])?), io::BufWriter::new(sink))?;
            }
            Conversion::ImportTable => import_table(directory.open_named(INPUTS[8])?, sink)?,
            packed => {
                let name = packed.recognized_input();
                let open = || -> io::Result<Box<dyn Read>> {
                    Ok(Box::new(directory.open_named(name).map_err(io::Error::other)?))
                };
                import_recognized(name, &open, sink)?;
            }
        }
        output.persist()?;
        Ok(())
    }
}

/// Programs that convert at the same time.
#[derive(Debug, Clone)]
struct ConvertingLife {
    programs: Vec<Conversion>,
    policy: OverwritePolicy,
    faults: Vec<PlannedFault>,
}

impl ConvertingLife {
    fn new(dice: &mut Dice) -> ConvertingLife {
        use InjectedFault::{Error, Full, Interrupted, Kill, LostSync, NoSpace, PowerLoss, Short};
        let any: &[InjectedFault] = &[
            Error, Error, Error, Full, Interrupted, Kill, Kill, LostSync, NoSpace, PowerLoss, Short,
        ];
        // A program must succeed in spite of these.
        let survivable: &[InjectedFault] = &[Interrupted, Short];
        let kinds = if dice.percent(30) { survivable } else { any };
        let count = 1 + dice.below(2);
        // In a text, a read can end with a line: those are chosen more often.
        let all = Conversion::ALL;
        let from = if dice.percent(70) { &all[..2] } else { &all[2..] };
        let programs = (0..count).map(|_| *dice.choose(from)).collect();
        let mut faults = Vec::new();
        for _ in 0..dice.below(4) {
            let call = 1 + dice.below(CALLS * count);
            faults.push(PlannedFault { call, fault: *dice.choose(kinds) });
        }
        let policy =
            if dice.percent(50) { OverwritePolicy::Keep } else { OverwritePolicy::Overwrite };
        ConvertingLife { programs, policy, faults }
    }
}

/// Programs that convert files of one directory, in the order in which they are started.
#[derive(Debug, Clone)]
pub struct ConversionScenario {
    seed: u64,
    lives: Vec<ConvertingLife>,
}

impl ConversionScenario {
    fn new(seed: u64) -> ConversionScenario {
        let mut dice = Dice::new(seed ^ 0x636f_6e76_6572_7421);
        let count = 1 + dice.below(4);
        let lives = (0..count).map(|_| ConvertingLife::new(&mut dice)).collect();
        ConversionScenario { seed, lives }
    }

    /// Returns a scenario in which two programs write one file that neither may replace.
    #[cfg(test)]
    fn of_two_writers(seed: u64) -> ConversionScenario {
        let programs = vec![Conversion::ImportFirst; 2];
        let life = ConvertingLife { programs, policy: OverwritePolicy::Keep, faults: Vec::new() };
        ConversionScenario { seed, lives: vec![life] }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl Shrink for ConversionScenario {
    fn smaller(&self) -> Vec<ConversionScenario> {
        let lives = smaller_lives(&self.lives, |life| {
            let mut smaller = Vec::new();
            if life.programs.len() > 1 {
                for program in &life.programs {
                    smaller.push(ConvertingLife { programs: vec![*program], ..life.clone() });
                }
            }
            let faults = fewer_faults(&life.faults).into_iter().chain(earlier_faults(&life.faults));
            smaller.extend(faults.map(|faults| ConvertingLife { faults, ..life.clone() }));
            smaller
        });
        lives.into_iter().map(|lives| ConversionScenario { lives, ..self.clone() }).collect()
    }
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (ConversionScenario, TrialResult) {
    let scenario = ConversionScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays two programs that write one file which neither may replace.
#[cfg(test)]
pub fn play_two_writers(seed: u64, bug: Option<PlantedBug>) -> (ConversionScenario, TrialResult) {
    let scenario = ConversionScenario::of_two_writers(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario. After its lives the power is lost, each of its conversions is executed without a
/// fault, and the power is lost again.
pub fn play(scenario: &ConversionScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    let files = match &*FILES {
        Ok(files) => files,
        Err(error) => {
            world.violate(|| format!("an undisturbed conversion fails: {error}"));
            return world.take_result();
        }
    };
    world.require(put_inputs(&world, files));
    let is_used = |conversion: &Conversion| {
        scenario.lives.iter().any(|life| life.programs.contains(conversion))
    };
    let used = Conversion::ALL.into_iter().filter(is_used);
    let undisturbed: Vec<ConvertingLife> = used
        .map(|conversion| ConvertingLife {
            programs: vec![conversion],
            policy: OverwritePolicy::Overwrite,
            faults: Vec::new(),
        })
        .collect();
    let mut reported = ReportedOutputs::default();
    for lives in [scenario.lives.as_slice(), &undisturbed] {
        for life in lives {
            let about = format!("-- {:?}, {:?}, {:?}", life.programs, life.policy, life.faults);
            world.state().log(|| about);
            let before = world.state().disk.contents(ROOT);
            let ends = live(&world, life);
            world.require(check_ends(life, &ends, &before));
            for end in ends {
                reported[end.conversion as usize] |= end.ended == Some(true);
            }
            world.require(check_files(&world, files, reported));
            world.require(check_leftovers(&world, life, &before));
        }
        world.state().lose_power();
        world.require(check_files(&world, files, reported));
    }
    world.take_result()
}

/// True for each conversion whose output a program has reported as written.
type ReportedOutputs = [bool; Conversion::ALL.len()];

/// Content of each file on the disk, by name.
type DiskContents = BTreeMap<String, Vec<u8>>;

/// Puts the inputs on the disk, for good.
fn put_inputs(world: &World, files: &ConvertedFiles) -> Result<(), String> {
    let disk = &mut world.state().disk;
    for (name, content) in INPUTS.iter().zip(&files.inputs) {
        let inode = disk.create(ROOT, name, false).map_err(|error| error.to_string())?;
        disk.append(inode, content).map_err(|error| error.to_string())?;
        disk.store_all(ROOT, inode);
    }
    Ok(())
}

/// The end of a program.
struct ConversionEnd {
    conversion: Conversion,
    /// True if the program reported success, false if it reported an error, `None` if it was
    /// killed.
    ended: Option<bool>,
    /// True if a fault has hit one of its calls, or the disk is full.
    was_hit: bool,
}

/// Executes the programs of a life.
fn live(world: &Arc<World>, life: &ConvertingLife) -> Vec<ConversionEnd> {
    let processes = world.start(life.programs.len(), &life.faults);
    let convert = |process: &Process, conversion: Conversion| {
        let ended = process.run(|| {
            let directory = SimulatedDirectory::root(process);
            let ended = conversion.execute(&directory, life.policy);
            process.world.state().log(|| match &ended {
                Ok(()) => format!("       {conversion:?}: done"),
                Err(error) => format!("       {conversion:?}: {error:#}"),
            });
            ended.is_ok()
        });
        ConversionEnd { conversion, ended, was_hit: process.was_hit(process.number) }
    };
    thread::scope(|scope| {
        let programs = processes.iter().zip(&life.programs);
        let threads: Vec<_> = programs
            .map(|(process, conversion)| scope.spawn(move || convert(process, *conversion)))
            .collect();
        // A panic of the program was caught.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Checks that each error had a cause, and that no success replaced a file that had to be kept.
fn check_ends(
    life: &ConvertingLife,
    ends: &[ConversionEnd],
    before: &DiskContents,
) -> Result<(), String> {
    let must_keep = life.policy == OverwritePolicy::Keep;
    let is_survivable = |planned: &PlannedFault| {
        matches!(planned.fault, InjectedFault::Short | InjectedFault::Interrupted)
    };
    for (index, end) in ends.iter().enumerate() {
        let name = end.conversion.output();
        let mut others = ends.iter().enumerate().filter(|(other_index, other)| {
            *other_index != index && other.conversion == end.conversion
        });
        let existed = before.contains_key(name);
        match end.ended {
            Some(true) => {
                let is_written_twice = others.any(|(_, other)| other.ended == Some(true));
                if must_keep && (existed || is_written_twice) {
                    return Err(format!("{name} was replaced"));
                }
            }
            Some(false) => {
                // Another program may have taken the name, unless it failed without a cause, too.
                let is_taken_by_other =
                    others.any(|(_, other)| other.ended != Some(false) || other.was_hit);
                let is_name_taken = (must_keep && existed) || is_taken_by_other;
                let has_failed = end.was_hit && !life.faults.iter().all(is_survivable);
                if !is_name_taken && !has_failed {
                    return Err(format!("{name} was not written although no call failed"));
                }
            }
            None => {}
        }
    }
    Ok(())
}

/// Checks that programs that ended by themselves left only their outputs.
fn check_leftovers(
    world: &World,
    life: &ConvertingLife,
    before: &DiskContents,
) -> Result<(), String> {
    // What is killed leaves its unfinished file, and so does a removal that fails.
    let may_leave = |planned: &PlannedFault| {
        use InjectedFault::{Error, Kill, PowerLoss};
        matches!(planned.fault, Error | Kill | PowerLoss)
    };
    if life.faults.iter().any(may_leave) {
        return Ok(());
    }
    let outputs = Conversion::ALL.map(Conversion::output);
    for name in world.state().disk.contents(ROOT).into_keys() {
        if !before.contains_key(&name) && !outputs.contains(&name.as_str()) {
            return Err(format!("{name} was left behind"));
        }
    }
    Ok(())
}

/// Checks that inputs have not changed, that each output is complete or absent, and that each one
/// that was reported as written is there.
fn check_files(
    world: &World,
    files: &ConvertedFiles,
    reported: ReportedOutputs,
) -> Result<(), String> {
    let state = world.state();
    state.disk.check_bystanders()?;
    let found = state.disk.contents(ROOT);
    for (name, content) in INPUTS.iter().zip(&files.inputs) {
        if found.get(*name) != Some(content) {
            return Err(format!("the input {name} was changed"));
        }
    }
    for conversion in Conversion::ALL {
        let (name, at) = (conversion.output(), conversion as usize);
        match found.get(name) {
            Some(content) if *content != files.outputs[at] => {
                return Err(format!("{name} is incomplete: {} bytes", content.len()));
            }
            None if reported[at] => return Err(format!("{name} was reported and is not there")),
            _ => {}
        }
    }
    Ok(())
}

/// Offset and length of an I/O.
#[cfg(test)]
pub type IoPlace = (u64, u32);

/// Returns the I/Os of the first input.
#[cfg(test)]
pub fn ios_of_first_input() -> Vec<IoPlace> {
    let text = String::from_utf8(FILES.as_ref().unwrap().inputs[0].clone()).unwrap();
    let mut ios = Vec::new();
    for line in text.lines() {
        let numbers: Vec<u64> = line.split(',').filter_map(|field| field.parse().ok()).collect();
        ios.push((numbers[1] * 512, numbers[2] as u32));
    }
    ios
}

/// Returns the I/Os of the undisturbed import of the first input.
#[cfg(test)]
pub fn ios_of_first_import() -> Vec<IoPlace> {
    let imported = FILES.as_ref().unwrap().outputs[0].clone();
    let trace = Trace::open(Cursor::new(imported)).unwrap();
    let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
    while batches.read(1 << 16, &mut batch).unwrap() > 0 {}
    let events = (0..batch.len()).map(|row| batch.event(row));
    events.map(|event| (event.offset, event.bytes)).collect()
}
