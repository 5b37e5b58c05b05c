//! Types and arithmetic of SSD performance testing.
//!
//! Three types are central: [`Load`] describes the I/Os to apply to a device, [`Record`] what
//! happened, and [`Findings`] what it means. Test specifications are written against the traits
//! [`Bench`] and [`Procedure`]; [`judge`] implements the steady-state rule.
//!
//! Nothing in this crate reads a file, a clock or a device. The terms are those of the standards;
//! `docs/vocabulary.md` defines them.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod applied;
pub mod bench;
pub mod caveats;
pub mod change_points;
pub mod conditions;
pub mod content_sample;
pub mod device;
pub mod device_log;
pub mod device_number;
pub mod direct_buffer;
pub mod drive_page;
pub mod empirical;
pub mod findings;
pub mod fio_steady_state;
pub mod foreign_io;
pub mod foreign_run;
pub mod glossary;
pub mod hex;
pub mod histogram;
pub mod io_control;
pub mod io_event;
pub mod io_matcher;
pub mod kernel_counts;
pub mod level_changes;
pub mod load_words;
pub mod measurement;
pub mod notation;
pub mod offset_distribution;
pub mod outcome;
pub mod permutation;
pub mod power_cut;
pub mod proof;
pub mod purge;
pub mod random_bits;
pub mod rate;
pub mod record;
pub mod replayed;
pub mod script;
pub mod script_source;
pub mod segments;
pub mod sequence;
mod serde_text;
pub mod service_level;
pub mod settings;
pub mod significance;
pub mod start_error;
pub mod steady_state;
pub mod step;
pub mod stimulus;
pub mod suggestion;
pub mod tally;
pub mod text;
pub mod time_zone;
pub mod units;
pub mod value_range;
pub mod varint;

pub use applied::{AppliedStep, AppliedWorkload};
pub use bench::{Bench, Halt, Procedure};
pub use conditions::{Conditions, WriteCache};
pub use device::{Device, DiskArray, Host, Transport, ZoneModel};
pub use device_number::DeviceNumber;
pub use direct_buffer::DirectBuffer;
pub use findings::{Caveat, CaveatKind, EndState, Exhibit, Findings};
pub use foreign_io::ForeignIo;
pub use foreign_run::{
    ClaimedSteadyState, ConcurrentIos, ForeignIos, ForeignKind, ForeignMeasured, ForeignOutcome,
    ForeignResults, ForeignRun, ForeignTest, ForeignValue,
};
pub use histogram::{CoarseHistogram, FineHistogram, Histogram, QuarterHistogram};
pub use io_control::{GroupLimits, IoControl, LoadGroup};
pub use io_event::{CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
pub use measurement::Measurement;
pub use offset_distribution::Distribution;
pub use outcome::{Gap, Outcome};
pub use proof::{DirectoryProof, Proof};
pub use purge::{Purge, PurgeChoice, PurgeFailure, PurgeMethod, ReadBack};
pub use record::{JournalEntry, Note, Record};
pub use replayed::ReplayResult;
pub use script::{DueIo, Script, ScriptError, ScriptLoad};
pub use script_source::{ChosenIos, ScriptSource};
pub use segments::Segments;
pub use sequence::{Sequence, SequenceLoad, SequenceStep};
pub use service_level::ServiceLevel;
pub use settings::{Class, Profile, Settings};
pub use start_error::StartError;
pub use steady_state::{Criteria, Track, Verdict, judge};
pub use step::{Load, Step, StepPlace};
pub use stimulus::{Demand, IoStream, Op, Order, Stimulus};
pub use suggestion::{nearest, suggestion};
pub use tally::Tally;
pub use units::{Bytes, Nanos};
pub use value_range::ValueRange;
