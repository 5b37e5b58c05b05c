//! Faults, and the calls that they can hit.

use crate::device_tools::ToolFault;

/// A call of the program to the world around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Opens, lists or examines.
    Look,
    Create,
    Rename,
    Remove,
    Read,
    Write,
    Cut,
    Sync,
    SyncDirectory,
    Lock,
    Setting,
    Purge,
    /// Starts a device tool.
    Tool,
    Idle,
    /// Takes captured I/Os from the probes.
    Take,
    /// Waits for the runs of other targets.
    Wait,
    /// Begins a step on the drive.
    Apply,
    /// Ends a step on the drive.
    Applied,
}

/// A fault, which hits the first call that it can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// The process is killed before the call.
    Kill,
    /// The machine loses its power before the call.
    PowerLoss,
    /// The call fails with `EIO`.
    Error,
    /// The call fails with `ENOSPC`; a write stores a part first.
    NoSpace,
    /// The disk remains full until the process ends.
    Full,
    /// A read or write transfers fewer bytes than requested.
    Short,
    /// A read or write is interrupted by a signal.
    Interrupted,
    /// A sync fails once, and the data that it should have written are dropped.
    LostSync,
    /// The wall clock jumps by this many milliseconds.
    ClockJump(i64),
    /// A host setting cannot be read or changed, a purge fails, or an idle time breaks off.
    HostError,
    /// I/Os of the step fail.
    DeviceErrors,
    /// The drive is reset: the step must be abandoned after it wrote.
    DeviceReset,
    /// The program could not run for most of the step.
    DeviceStall,
    /// The drive vanishes. It returns under another name.
    DeviceGone,
    /// A read returns data other than those written.
    WrongData,
    /// A device tool fails.
    Tool(ToolFault),
}

impl InjectedFault {
    /// Returns true if the fault can hit this call.
    pub fn fits(self, call: CallKind) -> bool {
        use CallKind::{
            Applied, Apply, Create, Idle, Purge, Read, Rename, Setting, Sync, Tool, Wait, Write,
        };
        match self {
            InjectedFault::Kill | InjectedFault::PowerLoss | InjectedFault::ClockJump(_) => true,
            InjectedFault::Error => {
                !matches!(call, Setting | Purge | Tool | Idle | Wait | Apply | Applied)
            }
            InjectedFault::NoSpace => matches!(call, Create | Rename | Write | Sync),
            InjectedFault::Full => matches!(call, Create | Write),
            InjectedFault::Short | InjectedFault::Interrupted => matches!(call, Read | Write),
            InjectedFault::LostSync => call == Sync,
            InjectedFault::HostError => matches!(call, Setting | Purge | Idle),
            InjectedFault::DeviceErrors
            | InjectedFault::DeviceStall
            | InjectedFault::DeviceGone => call == Apply,
            InjectedFault::DeviceReset | InjectedFault::WrongData => call == Applied,
            InjectedFault::Tool(_) => call == Tool,
        }
    }
}

/// A fault and the number of the first call that it may hit, starting at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFault {
    pub call: u64,
    pub fault: InjectedFault,
}

/// A defect planted in the storage or in the program, to test the simulator itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    NoSync,
    /// The sync of the list of targets does nothing.
    TornList,
    NoDirectorySync,
    /// A rename to an unused name replaces what another process has put there.
    RenameReplaces,
    /// Data written to any file reach a file of another program as well.
    StrayWrite,
    /// A file that another process has removed seems to have its name.
    LastingName,
    /// A lock keeps no other process out.
    NoLock,
    /// Written data reach the file twice.
    DoubledWrite,
    /// A line break that is written alone does not reach the file.
    LostLineBreak,
    /// A read error is taken for the end of the file.
    ErrorAsEnd,
    /// A read that was interrupted fails.
    InterruptedAsError,
    /// An unfinished output is not removed.
    KeptUnfinished,
    /// A resumed run forgets its last step.
    ForgottenStep,
    /// An idle time that broke off is repeated without end.
    EndlessWait,
    Leak,
    /// The findings lack the caveats of gaps.
    LostCaveat,
    /// The findings lack a number.
    LostMetric,
    /// A host setting is changed before the change is journaled.
    ChangeBeforeJournal,
    /// The recorder continues after an error of the probes as if they had nothing more.
    IgnoredSourceError,
    /// The run of the first target starts its loads without waiting for the others.
    LoneStart,
    /// A run that has ended keeps its place at the common start.
    KeptTicket,
    SharedFate,
    /// A run directory with the run of another target is taken for a complete one.
    IgnoredOtherRun,
    /// The results of a group lack a target whose run has not ended.
    SilentTarget,
    /// The report over all targets lacks one of them.
    LostTarget,
    /// The report over all targets lacks a caveat.
    LostTargetCaveat,
    /// A device tool that is killed continues.
    KeptTool,
    /// The clock stands still while a device tool runs.
    StoppedClock,
    /// The clock is half as fast as it should be.
    SlowClock,
    /// A process that a device tool left is in no list.
    HiddenChild,
    /// A purge that failed is taken for a success.
    TrustedTool,
    /// A power-cut command of unknown end is taken for a success.
    TrustedCut,
    /// A power meter waits half of the time between two readings.
    EarlyWake,
    /// The user's stop is not seen.
    IgnoredStop,
    /// The user's stop is seen only when the drive erases.
    LateStop,
    /// A stopped purge does not say that the drive still erases.
    SilentStop,
    /// A device tool also erases a drive that it was not given.
    StrayErase,
    /// The report over all targets has the numbers of one under the name of another.
    SwappedTargets,
}
