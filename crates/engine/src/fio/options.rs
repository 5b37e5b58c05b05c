//! Options of the engines that use fio.

use super::version::installed;
use std::path::PathBuf;
use steadfast_domain::Halt;
use steadfast_host::find_program;

/// Options of a [`Fio`](super::Fio) and of [`FioHosts`](super::FioHosts).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioOptions {
    /// The program: a name to be found on the path, or a path.
    pub program: PathBuf,
    /// Directory for job files and answers, created when the first step begins and used by this
    /// engine alone. In a run ([`TargetEngine::keep_files_in`]), only its last component counts.
    pub directory: PathBuf,
    /// fio's own engine (`io_uring` or `libaio`). `None` selects the kernel interface that
    /// [`crate::native::Native`] would use on this target.
    pub interface: Option<FioIoEngine>,
    /// True if a load of writes at queue depth 1 may flush, because only rates matter: fio
    /// (`psync`, `fdatasync`) does not report the time of a write until the commit. Response times
    /// are then those of the writes alone.
    pub commit_rates: bool,
    /// A step with more failed I/Os than this is void.
    pub fault_limit: u64,
}

impl FioOptions {
    /// Returns the options for the installed fio, with its files in `directory`.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        FioOptions {
            program: PathBuf::from("fio"),
            directory: directory.into(),
            interface: None,
            commit_rates: false,
            fault_limit: 100,
        }
    }

    /// Replaces the program's name by its path, so that every call runs the program whose version
    /// is recorded, and returns that version. Returns [`Halt::Refused`] if fio is missing or older
    /// than 3.20.
    pub(super) fn locate(&mut self) -> Result<String, Halt> {
        // If it does not exist, the first call reports that.
        if let Ok(path) = find_program(&self.program) {
            self.program = path;
        }
        installed(&self.program).map_err(Halt::Refused)
    }
}

/// The engine of fio that carries the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioIoEngine {
    /// `io_uring`, with registered buffers and files.
    IoUring,
    /// `libaio`.
    Libaio,
}

impl FioIoEngine {
    /// Returns fio's name of the engine.
    pub const fn name(self) -> &'static str {
        match self {
            FioIoEngine::IoUring => "io_uring",
            FioIoEngine::Libaio => "libaio",
        }
    }
}
