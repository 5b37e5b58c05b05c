//! The simulated machine of device tools: its drive, another drive, and running programs.

mod nvme;

use crate::device_tools::ToolFault;
use crate::dice::Dice;
use crate::fault::PlantedBug;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::record::HostChange;
use steadfast_domain::{PurgeChoice, PurgeMethod};
use steadfast_host::{OutputStream, ProgramCall, SystemRoots};
use tempfile::TempDir;

/// Size of a drive in bytes.
const CAPACITY: usize = 64 * 4096;

/// Bytes of a long output that is still read in full.
const WORDY: usize = 300_000;

/// Number of bytes of an output that has too many.
const FLOOD: u64 = 16 << 20;

/// ID of the first program, beyond those of the real machine (`PID_MAX_LIMIT`).
const FIRST_ID: u32 = 5_000_000;

const SECOND: Duration = Duration::from_secs(1);

/// Time limits that docs/purge.md and the modules of `host::purge` state.
const QUERY_LIMIT: Duration = Duration::from_secs(60);
const VERSION_LIMIT: Duration = Duration::from_secs(10);
const ERASE_LIMIT: Duration = Duration::from_secs(12 * 3600);
const FORMAT_LIMIT: Duration = Duration::from_secs(6 * 3600);
const SANITIZE_LIMIT: Duration = Duration::from_secs(30);

/// Longest time from the user's stop, or from the end of a tool that cannot be canceled, to the end
/// of a purge: a few queries.
const STOP_MAX: Duration = Duration::from_secs(300);

/// Content of the drive that no tool is given.
const OTHER_CONTENT: &[u8] = b"another drive";
const OTHER_NAME: &str = "sdz";

/// Output of `hdparm -I` up to the security state.
const IDENTITY: &str = "
ATA device, with non-removable media
\tModel Number:       EXAMPLE SSD 1TB
Commands/features:
\t   *\tSANITIZE feature set
\t   *\tCRYPTO_SCRAMBLE_EXT command
\t   *\tBLOCK_ERASE_EXT command
";

/// Output of `sg_opcodes`.
const OPCODES: &str = " 00                6    Test Unit Ready
 04                6    Format Unit
 48     2         10    Sanitize, block erase
 48     3         10    Sanitize, cryptographic erase
";

/// A command set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveKind {
    Ata,
    Scsi,
    Nvme,
}

pub const DRIVES: [DriveKind; 3] = [DriveKind::Ata, DriveKind::Scsi, DriveKind::Nvme];

impl DriveKind {
    /// Returns the kernel name of the drive.
    pub const fn name(self) -> &'static str {
        match self {
            DriveKind::Ata => "sda",
            DriveKind::Scsi => "sdb",
            DriveKind::Nvme => "nvme0n1",
        }
    }

    /// Returns the purges of the drive.
    pub const fn choices(self) -> &'static [PurgeChoice] {
        use PurgeChoice::{Auto, Method};
        match self {
            DriveKind::Ata => &[
                Auto,
                Method(PurgeMethod::AtaSecurityEraseEnhanced),
                Method(PurgeMethod::AtaSanitizeBlock),
                Method(PurgeMethod::AtaSanitizeCrypto),
                Method(PurgeMethod::VendorCommand),
            ],
            DriveKind::Scsi => &[
                Auto,
                Method(PurgeMethod::ScsiSanitizeBlock),
                Method(PurgeMethod::ScsiSanitizeCrypto),
                Method(PurgeMethod::VendorCommand),
            ],
            DriveKind::Nvme => &[
                Auto,
                Method(PurgeMethod::NvmeFormat),
                Method(PurgeMethod::NvmeFormatCrypto),
                Method(PurgeMethod::NvmeSanitizeBlock),
                Method(PurgeMethod::NvmeSanitizeCrypto),
                Method(PurgeMethod::VendorCommand),
            ],
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            DriveKind::Ata => "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0",
            DriveKind::Scsi => "sys/devices/pci0000:00/0000:3b:00.0/host0/target0:0:1/0:0:1:0",
            DriveKind::Nvme => "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0",
        }
    }
}

/// Work of a tool on the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolWork {
    Nothing,
    SetPassword,
    /// Erases before the tool ends, and removes the password.
    Erase,
    /// Begins to erase; the drive continues by itself.
    Begin(EraseCommand),
    /// Cuts the power of the drive.
    CutPower,
}

/// A command after which the drive erases by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EraseCommand {
    is_crypto: bool,
    /// True for a Format of an NVMe drive.
    is_format: bool,
}

/// An erase that the drive carries out by itself.
#[derive(Debug)]
struct DriveWork {
    began: Duration,
    /// `None` if it never ends.
    takes: Option<Duration>,
    erases: bool,
    erase: EraseCommand,
    life: u32,
}

/// A running program, or a process that it left.
#[derive(Debug)]
struct ProgramState {
    id: u32,
    /// ID of the program that began its session.
    session: u32,
    about: String,
    began: Duration,
    limit: Duration,
    /// Time at which its work is done; `None` if it has none, or has done it.
    works_at: Option<Duration>,
    work: ToolWork,
    erases: bool,
    is_endless: bool,
    /// Time at which it ends by itself; `None` if it never does.
    ends_at: Option<Duration>,
    raw_status: i32,
    is_over: bool,
    stdout: ToolText,
    stderr: ToolText,
    /// Time at which the last process that can print ends, if it is another one.
    open_until: Duration,
    /// True if it is a process that a program left.
    is_left: bool,
    is_killed: bool,
    life: u32,
}

/// Rest of an output.
#[derive(Debug, Default)]
struct ToolText {
    text: Vec<u8>,
    flood: u64,
}

/// A machine with a drive to purge and a second drive.
pub struct SimulatedMachine {
    directory: TempDir,
    pub kind: DriveKind,
    bug: Option<PlantedBug>,
    dice: Dice,
    now: Duration,
    life: u32,
    life_began: Duration,
    filled: Vec<u8>,
    has_password: bool,
    journal: Vec<HostChange>,
    work: Option<DriveWork>,
    has_completed: bool,
    /// True if the drive was erased in this life.
    is_erased: bool,
    /// True if a tool changed the drive in this life.
    has_worked: bool,
    programs: Vec<ProgramState>,
    next_id: u32,
    removed: Vec<String>,
    /// True if the drive has refused a command in this life because it erases.
    has_refused: bool,
    /// True if an NVMe drive has accepted a command in this life that erases.
    has_accepted: bool,
    /// True if an NVMe drive does not answer any more in this life.
    is_gone: bool,
    /// Time at which the user stops the run, if at all.
    stop_at: Option<Duration>,
    /// Last time at which something ran that cannot be canceled.
    uncancelable_until: Duration,
    leaked: Vec<Vec<u8>>,
    /// True if the power was cut in this life.
    is_cut: bool,
    /// Times at which the command that measures the power was started in this life.
    meter_starts: Vec<Duration>,
    /// Milliwatts that it has printed, without a fault that makes them unusable.
    readings: Vec<f64>,
    milliwatts: u32,
    violation: Option<String>,
}

impl SimulatedMachine {
    pub fn new(kind: DriveKind, seed: u64, bug: Option<PlantedBug>) -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = tempfile::tempdir_in(parent)?;
        let machine = SimulatedMachine {
            directory,
            kind,
            bug,
            dice: Dice::new(seed ^ 0x6d61_6368_696e_6521),
            now: Duration::from_secs(1_000_000),
            life: 0,
            life_began: Duration::ZERO,
            filled: Vec::new(),
            has_password: false,
            journal: Vec::new(),
            work: None,
            has_completed: false,
            is_erased: false,
            has_worked: false,
            programs: Vec::new(),
            next_id: FIRST_ID,
            removed: Vec::new(),
            has_refused: false,
            has_accepted: false,
            is_gone: false,
            stop_at: None,
            uncancelable_until: Duration::ZERO,
            leaked: Vec::new(),
            is_cut: false,
            meter_starts: Vec::new(),
            readings: Vec::new(),
            milliwatts: 0,
            violation: None,
        };
        machine.lay_out()?;
        Ok(machine)
    }

    /// Writes the files that describe the machine.
    fn lay_out(&self) -> io::Result<()> {
        let (name, above) = (self.kind.name(), self.kind.directory());
        let node = match self.kind {
            DriveKind::Nvme => format!("{above}/{name}"),
            DriveKind::Ata | DriveKind::Scsi => format!("{above}/block/{name}"),
        };
        self.write(&format!("{node}/size"), format!("{}\n", CAPACITY / 512).as_bytes())?;
        self.write(&format!("{node}/dev"), b"8:0\n")?;
        self.write(&format!("{node}/queue/logical_block_size"), b"512\n")?;
        symlink(self.path(above), self.path(&format!("{node}/device")))?;
        if self.kind == DriveKind::Nvme {
            self.write(&format!("{node}/nsid"), b"1\n")?;
            self.write(&format!("{above}/address"), b"0000:01:00.0\n")?;
            self.write(&format!("{above}/serial"), format!("{}\n", nvme::SERIAL).as_bytes())?;
            self.write(&format!("{above}/subsysnqn"), b"nqn.2014.org.example:nvme\n")?;
            self.write("dev/nvme0", b"")?;
        }
        fs::create_dir_all(self.path("sys/class/block"))?;
        symlink(self.path(&node), self.path(&format!("sys/class/block/{name}")))?;
        fs::create_dir_all(self.path("sys/block"))?;
        fs::create_dir_all(self.path("proc"))?;
        self.write("tool", b"")?;
        fs::set_permissions(self.tool_path(), PermissionsExt::from_mode(0o755))?;
        self.write(&format!("dev/{OTHER_NAME}"), OTHER_CONTENT)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, content)
    }

    pub fn roots(&self) -> SystemRoots {
        SystemRoots {
            sys: self.path("sys"),
            proc: self.path("proc"),
            dev: self.path("dev"),
            etc: self.path("etc"),
            run: self.path("run"),
            loops: Some(self.path("loops")),
            tables: Some(self.path("tables")),
        }
    }

    /// Returns the path of the user's purge command.
    pub fn tool_path(&self) -> PathBuf {
        self.path("tool")
    }

    /// Returns a text without the directory of this machine, whose name is random.
    pub fn plain(&self, text: &str) -> String {
        text.replace(&*self.directory.path().to_string_lossy(), "")
    }

    /// Returns the path of the drive.
    pub fn device(&self) -> String {
        self.path("dev").join(self.kind.name()).to_string_lossy().into_owned()
    }

    /// Begins a life: the drive has data, and all tools are installed. The user stops the run after
    /// this time.
    pub fn begin_life(&mut self, stop: Option<Duration>) -> io::Result<()> {
        self.life += 1;
        (self.is_erased, self.has_worked) = (false, false);
        self.life_began = self.now;
        self.stop_at = stop.map(|stop| self.now + stop);
        (self.has_refused, self.has_accepted, self.is_gone) = (false, false, false);
        self.is_cut = false;
        self.meter_starts.clear();
        self.readings.clear();
        self.removed.clear();
        self.leaked.clear();
        self.filled = noise(&mut self.dice, CAPACITY);
        self.store(&self.filled)
    }

    /// Ends a life: `restore` undoes the change that the journal has. Programs of a killed process
    /// continue, and the next one sees them.
    pub fn end_life(&mut self) -> io::Result<()> {
        self.programs.retain(|program| !program.is_over);
        for program in self.programs.iter().filter(|program| program.limit == ERASE_LIMIT) {
            self.list(program)?;
        }
        if !self.programs.iter().any(|program| program.work == ToolWork::SetPassword) {
            self.has_password = false;
            self.journal.clear();
        }
        Ok(())
    }

    /// Waits until everything has ended, and resets the drive.
    pub fn rest(&mut self) {
        self.advance(Duration::from_secs(1000 * 3600));
        self.programs.iter().for_each(|program| self.unlist(program.id));
        self.programs.clear();
        (self.work, self.has_password) = (None, false);
        self.journal.clear();
    }

    fn store(&self, content: &[u8]) -> io::Result<()> {
        fs::write(self.device(), content)
    }

    pub fn journal(&mut self, change: &HostChange) {
        if self.bug != Some(PlantedBug::ChangeBeforeJournal) {
            self.journal.push(change.clone());
        }
    }

    /// Returns the time that the program sees.
    pub fn clock(&self) -> Duration {
        if self.bug == Some(PlantedBug::StoppedClock)
            && let Some(program) = self.running()
        {
            return program.began;
        }
        if self.bug == Some(PlantedBug::SlowClock) { self.now / 2 } else { self.now }
    }

    fn running(&self) -> Option<&ProgramState> {
        let is_running = |program: &&ProgramState| {
            program.life == self.life && !program.is_over && !program.is_left
        };
        self.programs.iter().rev().find(is_running)
    }

    /// Waits for at least this time, and longer if the program has waited for long. Returns the
    /// time since the life began.
    pub fn pause(&mut self, time: Duration) -> Duration {
        let running = self.running();
        let stopped = self.stop_at.filter(|at| *at <= self.now);
        let waits_since = stopped.unwrap_or(self.life_began);
        let since = self.now - running.map_or(waits_since, |program| program.began);
        let mut pause = time.max(since / 8);
        if let Some(stop) = self.stop_at.filter(|at| *at > self.now) {
            pause = pause.min(time.max(stop - self.now));
        }
        if let Some(end) = running.and_then(|program| program.ends_at) {
            pause = pause.min(time.max(end.saturating_sub(self.now)));
        }
        self.advance(pause);
        self.now - self.life_began
    }

    /// Lets time pass, and what is due happen.
    fn advance(&mut self, time: Duration) {
        let can_be_canceled = |program: &ProgramState| {
            program.life != self.life || program.is_over || program.limit <= QUERY_LIMIT
        };
        let is_bound = !self.programs.iter().all(can_be_canceled);
        self.now += time;
        if is_bound {
            self.uncancelable_until = self.now;
        }
        for position in 0..self.programs.len() {
            let program = &mut self.programs[position];
            if program.is_over {
                continue;
            }
            let is_done = program.works_at.is_some_and(|at| at <= self.now);
            let (id, work) = (program.id, program.work);
            if program.ends_at.is_some_and(|at| at <= self.now) {
                program.is_over = true;
                self.unlist(id);
            }
            if is_done {
                self.programs[position].works_at = None;
                self.perform(position, work);
            }
        }
        let is_done =
            |work: &mut DriveWork| work.takes.is_some_and(|takes| work.began + takes <= self.now);
        if let Some(work) = self.work.take_if(is_done) {
            self.has_completed |= !work.erase.is_format;
            self.erase(work.erases, work.erase.is_crypto);
        }
    }

    /// Returns true if the user has stopped the run.
    fn has_stopped(&self) -> bool {
        self.stop_at.is_some_and(|at| at <= self.now)
    }

    /// Returns true if the program sees that the user has stopped the run.
    pub fn shows_stop(&self) -> bool {
        let is_seen = self.bug != Some(PlantedBug::LateStop) || self.is_erasing();
        self.has_stopped() && is_seen && self.bug != Some(PlantedBug::IgnoredStop)
    }

    /// Checks that a command that erases is not started after the user's stop.
    fn check_not_stopped(&mut self, about: &str) {
        if self.has_stopped() {
            self.violate(format!("{about} was started after the stop"));
        }
    }

    /// Checks that a purge ended soon after the user's stop.
    pub fn check_end_after_stop(&self) -> Result<(), String> {
        let Some(stop) = self.stop_at else { return Ok(()) };
        let since = self.now.saturating_sub(stop.max(self.uncancelable_until));
        if since > STOP_MAX {
            return Err(format!("a purge ended {since:?} after the stop"));
        }
        Ok(())
    }

    /// Does the work of a program.
    fn perform(&mut self, position: usize, work: ToolWork) {
        let program = &self.programs[position];
        let (erases, is_endless) = (program.erases, program.is_endless);
        self.has_worked |= work != ToolWork::Nothing && program.life == self.life;
        match work {
            ToolWork::Nothing => {}
            ToolWork::SetPassword => {
                self.has_password = true;
                if self.journal.is_empty() {
                    self.violate("a password was set that is not in the journal".to_owned());
                }
            }
            ToolWork::Erase => {
                self.has_password = false;
                self.erase(erases, false);
            }
            ToolWork::Begin(erase) => self.begin(erase, erases, is_endless),
            ToolWork::CutPower => self.is_cut = true,
        }
    }

    /// Begins an erase that the drive carries out by itself.
    fn begin(&mut self, erase: EraseCommand, erases: bool, is_endless: bool) {
        let takes = Duration::from_secs(5 + self.dice.below(600));
        let (began, life) = (self.now, self.life);
        let takes = (!is_endless).then_some(takes);
        self.work = Some(DriveWork { began, takes, erases, erase, life });
        self.has_completed &= erase.is_format;
        self.has_worked = true;
    }

    /// Lets the progress of the drive's work start again.
    fn restart_work(&mut self) {
        let now = self.now;
        self.work.iter_mut().for_each(|work| work.began = now);
    }

    fn erase(&mut self, erases: bool, is_crypto: bool) {
        if !erases {
            return;
        }
        self.is_erased = true;
        let content = if is_crypto { noise(&mut self.dice, CAPACITY) } else { vec![0; CAPACITY] };
        let mut stored = self.store(&content);
        if self.bug == Some(PlantedBug::StrayErase) {
            stored = stored.and(fs::write(self.path("dev").join(OTHER_NAME), b""));
        }
        if let Err(error) = stored {
            self.violate(format!("the simulated drive: {error}"));
        }
    }

    fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// Starts a program, which this fault hits.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, call: &ProgramCall<'_>, fault: Option<ToolFault>) -> io::Result<u32> {
        let about = format!("{} {}", call.program, call.arguments.join(" "));
        let directory = self.path("dev").to_string_lossy().into_owned();
        let own = [self.device(), self.path("dev/nvme0").to_string_lossy().into_owned()];
        if call
            .arguments
            .iter()
            .any(|word| word.contains(&directory) && !own.contains(&(*word).to_owned()))
        {
            self.violate(format!("a drive was given that was not named: {about}"));
        }
        let is_meter = call.arguments == ["power"];
        if is_meter {
            self.meter_starts.push(self.now);
        }
        if fault == Some(ToolFault::Removed) {
            self.removed.push(call.program.to_owned());
        }
        if self.removed.iter().any(|removed| removed == call.program) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        if let Some(ToolFault::Start(errno)) = fault {
            return Err(io::Error::from_raw_os_error(errno));
        }
        self.programs.retain(|program| !program.is_over);
        let mut program = self.answered(call, about, fault);
        if program.work != ToolWork::Nothing {
            self.check_not_stopped(&program.about);
        }
        self.disturb(&mut program, fault);
        if is_meter && !fault.is_some_and(ToolFault::spoils_output) {
            self.readings.push(f64::from(self.milliwatts));
        }
        let id = program.id;
        self.programs.push(program);
        Ok(id)
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns a program with its answer, unless this fault spoils it.
    fn answered(
        &mut self,
        call: &ProgramCall<'_>,
        about: String,
        fault: Option<ToolFault>,
    ) -> ProgramState {
        let is_busy = self.work.is_some();
        let (mut stdout, mut stderr, mut code) = (String::new(), String::new(), 0);
        let (mut work, mut takes) = (ToolWork::Nothing, SECOND);
        let has = |option: &str| call.arguments.contains(&option);
        let is_crypto =
            ["--sanitize-crypto-scramble", "--crypto", "--sanact=4"].iter().any(|word| has(word));
        match (call.program, call.arguments.first().copied().unwrap_or_default()) {
            ("hdparm", "-I") => {
                let not = if self.has_password { "" } else { "not" };
                stdout = format!(
                    "{IDENTITY}Security: \n\t\tsupported\n\t{not}\tenabled\n\tnot\tlocked\n\tnot\t\
                     frozen\n\tnot\texpired: security count\n\t\tsupported: enhanced erase\n\t2min \
                     for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.\n"
                );
            }
            ("hdparm", "--sanitize-status") => {
                let progress = format!(
                    "    State:    SD2 Sanitize operation In Process\n    Progress: 0x7f ({}%)\n",
                    self.percent()
                );
                stdout = match (is_busy, self.has_completed) {
                    (true, _) => progress,
                    (_, true) => "    State:    SD0 Sanitize Idle\n    Last Sanitize Operation \
                                  Completed Without Error\n"
                        .to_owned(),
                    _ => "    State:    SD0 Sanitize Idle\n".to_owned(),
                };
            }
            ("sg_opcodes", _) => stdout = OPCODES.to_owned(),
            ("sg_requests", _) if is_busy => {
                stdout = format!("Progress indication: {}% done\n", self.percent());
            }
            ("sg_requests", _) => {}
            ("sg_turs", _) => code = if is_busy { 2 } else { 0 },
            (_, "--version") => stdout = "tool 1.0\n".to_owned(),
            (_, "power") => {
                self.milliwatts = 1 + self.dice.below(9_000) as u32;
                stdout = format!("{} mW\n", self.milliwatts);
                takes = SECOND / 5;
            }
            (_, "off") => (work, takes) = (ToolWork::CutPower, 5 * SECOND),
            _ if is_busy => {
                (code, stderr) = (1, "the drive is busy\n".to_owned());
                self.has_refused |= fault.is_none();
            }
            ("hdparm", "--user-master") if has("--security-set-pass") => {
                work = ToolWork::SetPassword;
            }
            ("hdparm", "--user-master") => {
                takes = 120 * SECOND;
                if self.has_password {
                    work = ToolWork::Erase;
                } else {
                    (code, stderr) = (5, "no password is set\n".to_owned());
                }
            }
            ("hdparm" | "sg_format" | "sg_sanitize", _) | ("nvme", "sanitize") => {
                work = ToolWork::Begin(EraseCommand { is_crypto, is_format: false });
            }
            ("nvme", _) => (work, takes) = (ToolWork::Erase, 300 * SECOND),
            _ => {
                (work, takes) = (ToolWork::Erase, 3600 * SECOND);
                stdout = "erased\n".to_owned();
            }
        }
        let is_command = self.tool_path().as_os_str() == call.program;
        let limit = if has("--version") {
            VERSION_LIMIT
        } else if has("power") {
            3 * SECOND
        } else if has("off") {
            600 * SECOND
        } else if has("sanitize") {
            SANITIZE_LIMIT
        } else if has("format") {
            FORMAT_LIMIT
        } else if is_command || has("--security-erase") || has("--security-erase-enhanced") {
            ERASE_LIMIT
        } else {
            QUERY_LIMIT
        };
        let ends_at = self.now + takes;
        let id = self.new_id();
        ProgramState {
            id,
            session: id,
            about,
            began: self.now,
            limit,
            works_at: Some(ends_at),
            work,
            erases: true,
            is_endless: false,
            ends_at: Some(ends_at),
            raw_status: code << 8,
            is_over: false,
            stdout: ToolText { text: stdout.into_bytes(), flood: 0 },
            stderr: ToolText { text: stderr.into_bytes(), flood: 0 },
            open_until: Duration::ZERO,
            is_left: false,
            is_killed: false,
            life: self.life,
        }
    }

    /// Returns the progress of the drive's work in percent.
    fn percent(&self) -> u128 {
        let Some(work) = &self.work else { return 0 };
        let since = (self.now - work.began).as_millis();
        work.takes.map_or(50, |takes| 100 * since / takes.as_millis().max(1))
    }

    /// Lets a fault hit a program.
    fn disturb(&mut self, program: &mut ProgramState, fault: Option<ToolFault>) {
        let end = self.now + program.limit / 2;
        match fault {
            None | Some(ToolFault::Start(_) | ToolFault::Removed) => {}
            Some(ToolFault::Exit { raw_status, has_worked }) => {
                program.raw_status = raw_status;
                program.stderr.text = b"it failed\n".to_vec();
                if !has_worked {
                    program.works_at = None;
                }
            }
            Some(ToolFault::Hang { has_worked }) => {
                program.ends_at = None;
                if !has_worked {
                    program.works_at = None;
                }
            }
            Some(ToolFault::Late) => {
                (program.works_at, program.ends_at) = (Some(end), Some(end));
            }
            Some(ToolFault::Silent) => program.stdout.text.clear(),
            Some(ToolFault::Garbage) => {
                program.stdout.text = noise(&mut self.dice, 300);
                program.stdout.text[0] = 0xff;
            }
            Some(ToolFault::Torn) => {
                let length = program.stdout.text.len() as u64;
                let length = self.dice.below(length) as usize;
                program.stdout.text.truncate(length);
            }
            Some(ToolFault::Flood(OutputStream::Stdout)) => program.stdout.flood = FLOOD,
            Some(ToolFault::Flood(OutputStream::Stderr)) => program.stderr.flood = FLOOD,
            Some(ToolFault::KeptOutput) => program.open_until = self.now + 3600 * SECOND,
            Some(ToolFault::Left(time)) => self.leave(program, time),
            Some(ToolFault::Wordy) => {
                program.raw_status = 1 << 8;
                program.stderr.text = vec![b'x'; WORDY];
            }
            Some(ToolFault::NoWork) => program.erases = false,
            Some(ToolFault::EndlessWork) => program.is_endless = true,
            Some(ToolFault::Restarted) => self.restart_work(),
        }
    }

    /// Lets the user's command end at once, and a process that it leaves do its work.
    fn leave(&mut self, program: &mut ProgramState, time: Duration) {
        let is_own = self.tool_path().as_os_str() != program.about.split(' ').next().unwrap_or("");
        if program.work != ToolWork::Erase || is_own {
            return;
        }
        program.ends_at = Some(self.now + SECOND);
        let left = ProgramState {
            id: self.new_id(),
            about: program.about.clone(),
            works_at: Some(self.now + time),
            ends_at: Some(self.now + time),
            stdout: ToolText::default(),
            stderr: ToolText::default(),
            is_left: true,
            ..*program
        };
        program.works_at = None;
        if self.bug != Some(PlantedBug::HiddenChild)
            && let Err(error) = self.list(&left)
        {
            self.violate(format!("the simulated /proc: {error}"));
        }
        self.programs.push(left);
    }

    /// Lists a process of the user's command in `/proc`.
    fn list(&self, program: &ProgramState) -> io::Result<()> {
        let (id, session, name) = (program.id, program.session, self.kind.name());
        let stat = format!("{id} (tool) S 1 {session} {session} 0");
        self.write(&format!("proc/{id}/stat"), stat.as_bytes())?;
        let variable = format!("STEADFAST_PURGES={name}\0");
        self.write(&format!("proc/{id}/environ"), variable.as_bytes())?;
        let line = program.about.replace(' ', "\0") + "\0";
        self.write(&format!("proc/{id}/cmdline"), line.as_bytes())
    }

    fn unlist(&self, id: u32) {
        let _ = fs::remove_dir_all(self.path(&format!("proc/{id}")));
    }

    fn program(&mut self, id: u32) -> Option<&mut ProgramState> {
        self.programs.iter_mut().find(|program| program.id == id)
    }

    /// Returns the status of a program that has ended, as the kernel encodes it.
    pub fn raw_status(&mut self, id: u32) -> Option<i32> {
        self.program(id).filter(|program| program.is_over).map(|program| program.raw_status)
    }

    /// Reads an output of a program, 0 at its end; `None` if it has nothing now.
    pub fn read(&mut self, id: u32, stream: OutputStream, buffer: &mut [u8]) -> Option<usize> {
        let (now, is_leaking) = (self.now, self.bug == Some(PlantedBug::Leak));
        let program = self.program(id)?;
        let is_open = !program.is_over || program.open_until > now;
        let rest = match stream {
            OutputStream::Stdout => &mut program.stdout,
            OutputStream::Stderr => &mut program.stderr,
        };
        let length = if rest.text.is_empty() {
            let length = rest.flood.min(buffer.len() as u64) as usize;
            buffer[..length].fill(0xff);
            rest.flood -= length as u64;
            length
        } else {
            let length = rest.text.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest.text[..length]);
            rest.text.drain(..length);
            length
        };
        if is_leaking {
            self.leaked.push(buffer[..length].to_vec());
        }
        (length > 0 || !is_open).then_some(length)
    }

    /// Returns true if the power was cut in this life.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns true if the last tool ended by itself, and nothing keeps its output open.
    pub fn has_ended_by_itself(&self) -> bool {
        let has_ended =
            |program: &ProgramState| !program.is_killed && program.open_until == Duration::ZERO;
        self.programs.last().is_some_and(has_ended)
    }

    /// Returns the times at which the power was measured, and the usable readings in milliwatts.
    pub fn power_readings(&self) -> (&[Duration], &[f64]) {
        (&self.meter_starts, &self.readings)
    }

    /// Waits for this time. Returns the time since the life began.
    pub fn pause_for(&mut self, time: Duration) -> Duration {
        self.advance(time);
        self.elapsed()
    }

    /// Returns the time since the life began.
    pub fn elapsed(&self) -> Duration {
        self.now - self.life_began
    }

    /// Kills a program with its process group.
    pub fn kill(&mut self, id: u32) {
        let (now, is_kept) = (self.now, self.bug == Some(PlantedBug::KeptTool));
        let Some(program) = self.program(id) else { return };
        let (took, limit) = (now - program.began, program.limit);
        (program.is_over, program.is_killed) = (!is_kept, true);
        if took > limit + limit / 4 {
            let what = format!("{} was killed after {took:?}", program.about);
            self.violate(what);
        }
    }

    /// Checks what the programs did, and that none runs that was not reported.
    pub fn check_programs(&self, has_ended: bool) -> Result<(), String> {
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        match self.running() {
            Some(program) if has_ended => Err(format!("{} still runs", program.about)),
            _ => Ok(()),
        }
    }

    /// Checks the drive that no tool was given.
    pub fn check_other_drive(&self) -> Result<(), String> {
        let content = fs::read(self.path("dev").join(OTHER_NAME));
        if content.is_ok_and(|content| content == OTHER_CONTENT) {
            Ok(())
        } else {
            Err("the other drive was changed".to_owned())
        }
    }

    /// Returns true if an erase that began in this life has not ended.
    pub fn is_erasing(&self) -> bool {
        let is_of_life = |life: u32| life == self.life;
        self.work.as_ref().is_some_and(|work| is_of_life(work.life))
            || self.programs.iter().any(|p| p.is_left && !p.is_over && is_of_life(p.life))
    }

    /// Returns true if the drive erases, maybe by a command of an earlier life, and has refused a
    /// command for that reason.
    pub fn has_refused(&self) -> bool {
        self.work.is_some() && self.has_refused
    }

    /// Returns true if the drive was erased in this life.
    pub fn is_erased(&self) -> bool {
        self.is_erased
    }

    /// Returns true if a tool or the program has changed the drive in this life, apart from an erase
    /// that an earlier one began.
    pub fn has_changed(&self) -> bool {
        let has_content = |content: Vec<u8>| content == self.filled;
        self.has_worked || !self.is_erased && !fs::read(self.device()).is_ok_and(has_content)
    }

    /// Returns true if a reason names a tool, or what was read back.
    pub fn names_tool(&self, why: &str) -> bool {
        let tool = self.tool_path();
        [
            "not blank",
            "hdparm",
            "sg_",
            "nvme ",
            "Format",
            "anitize",
            "Identify",
            "serial number",
            &tool.to_string_lossy(),
        ]
        .iter()
        .any(|name| why.contains(name))
    }
}

fn noise(dice: &mut Dice, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&dice.below(u64::MAX).to_le_bytes()[..word.len()]);
    }
    bytes
}
