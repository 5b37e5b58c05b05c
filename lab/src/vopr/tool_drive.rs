//! The simulated machine of device tools: its drive, another drive, and running programs.

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

/// Number of bytes of an output that has too many.
const FLOOD: u64 = 16 << 20;

/// ID of the first program, beyond those of the real machine (`PID_MAX_LIMIT`).
const FIRST_ID: u32 = 5_000_000;

const SECOND: Duration = Duration::from_secs(1);

/// Time limits that docs/purge.md and the modules of `host::purge` state.
const QUERY_LIMIT: Duration = Duration::from_secs(60);
const VERSION_LIMIT: Duration = Duration::from_secs(10);
const ERASE_LIMIT: Duration = Duration::from_secs(12 * 3600);

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
}

pub const DRIVES: [DriveKind; 2] = [DriveKind::Ata, DriveKind::Scsi];

impl DriveKind {
    /// Returns the kernel name of the drive.
    pub const fn name(self) -> &'static str {
        match self {
            DriveKind::Ata => "sda",
            DriveKind::Scsi => "sdb",
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
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            DriveKind::Ata => "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0",
            DriveKind::Scsi => "sys/devices/pci0000:00/0000:3b:00.0/host0/target0:0:1/0:0:1:0",
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
    Begin {
        is_crypto: bool,
    },
}

/// An erase that the drive carries out by itself.
#[derive(Debug)]
struct DriveWork {
    began: Duration,
    /// `None` if it never ends.
    takes: Option<Duration>,
    erases: bool,
    is_crypto: bool,
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
    life: u32,
}

/// Rest of an output.
#[derive(Debug, Default)]
struct ToolText {
    text: Vec<u8>,
    flood: u64,
}

/// A machine with two drives, one of which is purged.
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
    leaked: Vec<Vec<u8>>,
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
            leaked: Vec::new(),
            violation: None,
        };
        machine.lay_out()?;
        Ok(machine)
    }

    /// Writes the files that describe the machine.
    fn lay_out(&self) -> io::Result<()> {
        let (name, above) = (self.kind.name(), self.kind.directory());
        let node = format!("{above}/block/{name}");
        self.write(&format!("{node}/size"), format!("{}\n", CAPACITY / 512).as_bytes())?;
        self.write(&format!("{node}/dev"), b"8:0\n")?;
        self.write(&format!("{node}/queue/logical_block_size"), b"512\n")?;
        symlink(self.path(above), self.path(&format!("{node}/device")))?;
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

    /// Begins a life: the drive has data, and all tools are installed.
    pub fn begin_life(&mut self) -> io::Result<()> {
        self.life += 1;
        (self.is_erased, self.has_worked) = (false, false);
        self.life_began = self.now;
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
        let since = self.now - running.map_or(self.life_began, |program| program.began);
        let mut pause = time.max(since / 8);
        if let Some(end) = running.and_then(|program| program.ends_at) {
            pause = pause.min(time.max(end.saturating_sub(self.now)));
        }
        self.advance(pause);
        self.now - self.life_began
    }

    /// Lets time pass, and what is due happen.
    fn advance(&mut self, time: Duration) {
        self.now += time;
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
            self.has_completed = true;
            self.erase(work.erases, work.is_crypto);
        }
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
            ToolWork::Begin { is_crypto } => {
                let takes = Duration::from_secs(5 + self.dice.below(600));
                let (began, life) = (self.now, self.life);
                let takes = (!is_endless).then_some(takes);
                self.work = Some(DriveWork { began, takes, erases, is_crypto, life });
                self.has_completed = false;
            }
        }
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
        let device = self.device();
        if call.arguments.iter().any(|word| word.contains(&directory) && *word != device) {
            self.violate(format!("a drive was given that was not named: {about}"));
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
        let mut program = self.answered(call, about);
        self.disturb(&mut program, fault);
        let id = program.id;
        self.programs.push(program);
        Ok(id)
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns a program with its answer.
    fn answered(&mut self, call: &ProgramCall<'_>, about: String) -> ProgramState {
        let is_busy = self.work.is_some();
        let (mut stdout, mut stderr, mut code) = (String::new(), String::new(), 0);
        let (mut work, mut takes) = (ToolWork::Nothing, SECOND);
        let has = |option: &str| call.arguments.contains(&option);
        let begins_crypto = has("--sanitize-crypto-scramble") || has("--crypto");
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
            _ if is_busy => (code, stderr) = (1, "the drive is busy\n".to_owned()),
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
            ("hdparm" | "sg_format" | "sg_sanitize", _) => {
                work = ToolWork::Begin { is_crypto: begins_crypto };
            }
            _ => {
                (work, takes) = (ToolWork::Erase, 3600 * SECOND);
                stdout = "erased\n".to_owned();
            }
        }
        let is_command = self.tool_path().as_os_str() == call.program;
        let limit = if has("--version") {
            VERSION_LIMIT
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
            Some(ToolFault::Garbage) => program.stdout.text = noise(&mut self.dice, 300),
            Some(ToolFault::Torn) => {
                let length = program.stdout.text.len() as u64;
                let length = self.dice.below(length) as usize;
                program.stdout.text.truncate(length);
            }
            Some(ToolFault::Flood(OutputStream::Stdout)) => program.stdout.flood = FLOOD,
            Some(ToolFault::Flood(OutputStream::Stderr)) => program.stderr.flood = FLOOD,
            Some(ToolFault::KeptOutput) => program.open_until = self.now + 3600 * SECOND,
            Some(ToolFault::Left(time)) => self.leave(program, time),
            Some(ToolFault::NoWork) => program.erases = false,
            Some(ToolFault::EndlessWork) => program.is_endless = true,
            Some(ToolFault::Restarted) => {
                let now = self.now;
                self.work.iter_mut().for_each(|work| work.began = now);
            }
        }
    }

    /// Lets the user's command end at once, and a process that it leaves do its work.
    fn leave(&mut self, program: &mut ProgramState, time: Duration) {
        if program.work != ToolWork::Erase || program.about.starts_with("hdparm") {
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

    /// Kills a program with its process group.
    pub fn kill(&mut self, id: u32) {
        let (now, is_kept) = (self.now, self.bug == Some(PlantedBug::KeptTool));
        let Some(program) = self.program(id) else { return };
        let (took, limit) = (now - program.began, program.limit);
        program.is_over = !is_kept;
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
        ["not blank", "hdparm", "sg_", &tool.to_string_lossy()]
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
