//! Ways to use a device on another host. No used device is overwritten, however it is confirmed, and
//! no byte of it changes; the same device without a use is overwritten.

use super::fixtures::{Arguments, code, python, run_in, stderr, turn_to_attach};
use super::hosts::NamespaceHosts;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const MIB: usize = 1 << 20;

/// Most of a state's time is spent waiting for a holder to let go.
const WORKERS: usize = 4;

const HOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/hold.py");

type StageResult<T> = Result<T, String>;

/// The parts of a state, removed in the opposite order.
struct HostStage {
    directory: tempfile::TempDir,
    undo: Vec<UndoStep>,
    /// The loop device, and its file.
    device: PathBuf,
    image: PathBuf,
    /// Bytes of the file that nobody may change. The kernel may swap, behind the first page of a
    /// swap area.
    kept: usize,
}

enum UndoStep {
    Run(Vec<String>),
    End(Child),
}

impl Drop for HostStage {
    fn drop(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                UndoStep::Run(command) => drop(run(&command.words())),
                UndoStep::End(mut child) => {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        }
    }
}

fn run(command: &[&str]) -> StageResult<String> {
    let output = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{command:?}: {}", stderr(&output).trim()))
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl HostStage {
    /// A loop device that holds a file system.
    fn new() -> StageResult<HostStage> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        make_ext4(&image, 4 * MIB)?;
        HostStage::over(directory, image, &[])
    }

    fn over(
        directory: tempfile::TempDir,
        image: PathBuf,
        options: &[&str],
    ) -> StageResult<HostStage> {
        let kept = fs::metadata(&image).unwrap().len() as usize;
        let mut stage =
            HostStage { directory, undo: Vec::new(), device: PathBuf::new(), image, kept };
        stage.device = stage.attach(&stage.image.clone(), options)?;
        Ok(stage)
    }

    /// A loop device with two partitions, the first of which holds a file system.
    fn partitioned() -> StageResult<HostStage> {
        let directory = tempfile::tempdir().unwrap();
        let (image, part) = (directory.path().join("image"), directory.path().join("part"));
        make_ext4(&part, 4 * MIB)?;
        let mut bytes = vec![0; MIB];
        bytes.extend(fs::read(&part).unwrap());
        bytes.resize(9 * MIB, 0);
        for (entry, start) in [(446, 2048_u32), (462, 2048 + 8192)] {
            bytes[entry + 4] = 0x83;
            bytes[entry + 8..entry + 12].copy_from_slice(&start.to_le_bytes());
            bytes[entry + 12..entry + 16].copy_from_slice(&8192_u32.to_le_bytes());
        }
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        fs::write(&image, bytes).unwrap();
        let stage = HostStage::over(directory, image, &["--partscan"])?;
        for (number, start) in [("1", "2048"), ("2", "10240")] {
            if !stage.part(number).exists() {
                run(&["addpart", text(&stage.device), number, start, "8192"])?;
            }
        }
        Ok(stage)
    }

    /// A loop device over a file in the upper layer of an overlay.
    fn in_overlay() -> StageResult<HostStage> {
        let mut stage = HostStage::without_device();
        let disk = stage.at("disk");
        stage.mount_at("tmpfs", "size=32m", &disk)?;
        for name in ["lower", "upper", "work"] {
            fs::create_dir(disk.join(name)).unwrap();
        }
        stage.image = disk.join("upper/image");
        make_ext4(&stage.image, 4 * MIB)?;
        let at = disk.display();
        let options = format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work");
        stage.mount_at("overlay", &options, &disk.join("merged"))?;
        stage.device = stage.attach(&stage.image.clone(), &[])?;
        Ok(stage)
    }

    /// A loop device over a file that a FUSE file system shows, too.
    fn behind_fuse() -> StageResult<HostStage> {
        let mut stage = HostStage::without_device();
        let (source, point) = (stage.at("source"), stage.at("fuse"));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&point).unwrap();
        stage.image = source.join("image");
        make_ext4(&stage.image, 4 * MIB)?;
        run(&["bindfs", text(&source), text(&point)])?;
        stage.undo_by(&["umount", "--lazy", text(&point)]);
        stage.device = stage.attach(&stage.image.clone(), &[])?;
        Ok(stage)
    }

    fn without_device() -> HostStage {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        HostStage { directory, undo: Vec::new(), device: PathBuf::new(), image, kept: 4 * MIB }
    }

    fn mount_at(&mut self, kind: &str, options: &str, point: &Path) -> StageResult<()> {
        fs::create_dir_all(point).unwrap();
        run(&["mount", "-t", kind, "-o", options, kind, text(point)])?;
        self.undo_by(&["umount", "--lazy", text(point)]);
        Ok(())
    }

    fn undo_by(&mut self, command: &[&str]) {
        self.undo.push(UndoStep::Run(command.iter().map(|word| (*word).to_owned()).collect()));
    }

    fn part(&self, number: &str) -> PathBuf {
        format!("{}p{number}", self.device.display()).into()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn attach(&mut self, file: &Path, options: &[&str]) -> StageResult<PathBuf> {
        let command = [&["losetup", "--find", "--show"], options, &[text(file)]].concat();
        let turn = turn_to_attach();
        // Two that ask for a free device at once may be given the same.
        let mut attached = run(&command);
        for _ in 0..40 {
            if attached.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            attached = run(&command);
        }
        drop(turn);
        let device = attached?;
        self.undo_by(&["losetup", "--detach", &device]);
        Ok(device.into())
    }

    fn mount(&mut self, device: &Path) -> StageResult<()> {
        let point = self.at("point");
        fs::create_dir_all(&point).unwrap();
        run(&["mount", "-o", "ro", "-t", "ext4", text(device), text(&point)])?;
        self.undo_by(&["umount", text(&point)]);
        Ok(())
    }

    /// Mounts a loop device over a file or a device.
    fn mount_above(&mut self, file: &Path, options: &[&str]) -> StageResult<()> {
        let above = self.attach(file, options)?;
        self.mount(&above)
    }

    /// Swaps to a device or a file that begins `start` bytes into the image.
    fn swap(&mut self, path: &Path, start: usize) -> StageResult<()> {
        self.kept = start + 4096;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        run(&["mkswap", text(path)])?;
        run(&["swapon", text(path)])?;
        self.undo_by(&["swapoff", text(path)]);
        Ok(())
    }

    fn second_node(&self, device: &Path) -> StageResult<PathBuf> {
        let number = fs::metadata(device).unwrap().rdev();
        let (major, minor) = (libc::major(number).to_string(), libc::minor(number).to_string());
        let node = self.at("node");
        run(&["mknod", text(&node), "b", &major, &minor])?;
        Ok(node)
    }

    /// Starts a process that prints a line once it uses the device.
    fn start(&mut self, command: &[&str]) -> StageResult<()> {
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let mut line = String::new();
        let _ = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        self.undo.push(UndoStep::End(child));
        if line.is_empty() { Err(format!("{command:?} ended")) } else { Ok(()) }
    }

    fn hold(&mut self, how: &str, path: &Path) -> StageResult<()> {
        self.start(&["python3", HOLDER, how, text(path)])
    }
}

fn make_ext4(path: &Path, bytes: usize) -> StageResult<()> {
    fs::write(path, vec![0; bytes]).unwrap();
    run(&["mkfs.ext4", "-q", "-F", "-O", "^has_journal", text(path)])?;
    // Without holes, which a swap file may not have.
    fs::write(path, fs::read(path).unwrap()).map_err(|error| error.to_string())
}

/// A use: its name, the stage for it, and what uses a device on that stage.
type HostUse =
    (&'static str, fn() -> StageResult<HostStage>, fn(&mut HostStage) -> StageResult<()>);

fn build((name, stage, use_device): HostUse) -> StageResult<HostStage> {
    let used = stage().and_then(|mut stage| use_device(&mut stage).map(|()| stage));
    used.map_err(|why| format!("{name}: not built: {why}"))
}

const USES: [HostUse; 33] = [
    ("mounted", HostStage::new, |stage| stage.mount(&stage.device.clone())),
    ("mounted in another namespace", HostStage::new, |stage| {
        let script = format!("mount -o ro -t ext4 {} /mnt", stage.device.display());
        let script = format!("{script} && echo mounted && exec sleep 900");
        stage.start(&["unshare", "--mount", "sh", "-c", &script])
    }),
    ("unmounted lazily", HostStage::new, |stage| {
        let (device, point) = (stage.device.clone(), stage.at("left"));
        fs::create_dir(&point).unwrap();
        run(&["mount", "-o", "ro", "-t", "ext4", text(&device), text(&point)])?;
        let script = "cd \"$1\" && echo there && exec sleep 900";
        let started = stage.start(&["sh", "-c", script, "sh", text(&point)]);
        run(&["umount", "--lazy", text(&point)])?;
        started
    }),
    ("swap", HostStage::new, |stage| stage.swap(&stage.device.clone(), 0)),
    ("external journal", HostStage::new, |stage| {
        let (journal, other) = (stage.device.clone(), stage.at("other"));
        run(&["mke2fs", "-q", "-F", "-b", "1024", "-O", "journal_dev", text(&journal)])?;
        fs::write(&other, vec![0; 4 * MIB]).unwrap();
        let over = stage.attach(&other, &[])?;
        let option = format!("device={}", journal.display());
        run(&["mkfs.ext4", "-q", "-F", "-b", "1024", "-J", &option, text(&over)])?;
        stage.mount(&over)
    }),
    ("open exclusively", HostStage::new, |stage| stage.hold("exclusive", &stage.device.clone())),
    ("open for writing", HostStage::new, |stage| stage.hold("write", &stage.device.clone())),
    ("open for writing by another node", HostStage::new, |stage| {
        let node = stage.second_node(&stage.device)?;
        stage.hold("write", &node)
    }),
    ("mapped, its descriptor closed", HostStage::new, |stage| {
        stage.hold("map", &stage.device.clone())
    }),
    ("mapped by another node", HostStage::new, |stage| {
        let node = stage.second_node(&stage.device)?;
        stage.hold("map", &node)
    }),
    ("locked (flock)", HostStage::new, |stage| stage.hold("flock", &stage.device.clone())),
    ("locked (POSIX)", HostStage::new, |stage| stage.hold("posix", &stage.device.clone())),
    ("locked (OFD)", HostStage::new, |stage| stage.hold("ofd", &stage.device.clone())),
    ("a loop device above is mounted", HostStage::new, |stage| {
        stage.mount_above(&stage.device.clone(), &[])
    }),
    ("a loop device above a second node is mounted", HostStage::new, |stage| {
        let node = stage.second_node(&stage.device)?;
        let above = stage.attach(&node, &[])?;
        stage.mount(&above)
    }),
    ("a loop device above is open for writing", HostStage::new, |stage| {
        let above = stage.attach(&stage.device.clone(), &[])?;
        stage.hold("write", &above)
    }),
    ("a loop device beside is mounted", HostStage::new, |stage| {
        stage.mount_above(&stage.image.clone(), &[])
    }),
    ("a loop device beside that only reads is mounted", HostStage::new, |stage| {
        stage.mount_above(&stage.image.clone(), &["--read-only"])
    }),
    ("a loop device beside is open for writing", HostStage::new, |stage| {
        let beside = stage.attach(&stage.image.clone(), &[])?;
        stage.hold("write", &beside)
    }),
    ("its file is locked (flock)", HostStage::new, |stage| {
        stage.hold("flock", &stage.image.clone())
    }),
    ("its file is locked (POSIX)", HostStage::new, |stage| {
        stage.hold("posix", &stage.image.clone())
    }),
    ("its file is locked (OFD)", HostStage::new, |stage| stage.hold("ofd", &stage.image.clone())),
    ("its file is a swap file", HostStage::new, |stage| stage.swap(&stage.image.clone(), 0)),
    ("a partition is mounted", HostStage::partitioned, |stage| stage.mount(&stage.part("1"))),
    ("a partition is swap", HostStage::partitioned, |stage| stage.swap(&stage.part("2"), 5 * MIB)),
    ("a partition is open for writing", HostStage::partitioned, |stage| {
        stage.hold("write", &stage.part("2"))
    }),
    ("a partition is locked", HostStage::partitioned, |stage| {
        stage.hold("flock", &stage.part("2"))
    }),
    ("a loop device above a partition is mounted", HostStage::partitioned, |stage| {
        stage.mount_above(&stage.part("1"), &[])
    }),
    ("open in a process whose first thread has ended", HostStage::new, |stage| {
        stage.hold("thread", &stage.device.clone())
    }),
    ("open in a thread with a table of open files of its own", HostStage::new, |stage| {
        stage.hold("table", &stage.device.clone())
    }),
    ("its file is mounted through an overlay", HostStage::in_overlay, |stage| {
        stage.mount_above(&stage.at("disk/merged/image"), &["--read-only"])
    }),
    ("its file is locked in an overlay", HostStage::in_overlay, |stage| {
        stage.hold("flock", &stage.at("disk/merged/image"))
    }),
    ("its file is open through FUSE", HostStage::behind_fuse, |stage| {
        stage.hold("write", &stage.at("fuse/image"))
    }),
];

/// A state that a host's kernel shows to that host alone and that this machine cannot have.
type HostFixture = (&'static str, fn(&HostStage) -> String);

/// Each with the script that lays it out in the mount namespace of the host. Partitions, which may
/// share sectors, are not named with `--hosts`.
const LAID_OUT: [HostFixture; 2] = [
    ("the disk of the root of process 1", |stage| {
        let number = fs::metadata(&stage.device).unwrap().rdev();
        let (major, minor) = (libc::major(number), libc::minor(number));
        let table = format!("1 1 {major}:{minor} / / rw - ext4 /dev/root rw\n");
        fs::write(stage.at("mountinfo"), table).unwrap();
        format!("mount --bind {} /proc/1/mountinfo", stage.at("mountinfo").display())
    }),
    ("a writer where /proc hides the processes of others", |_| {
        "mount -t proc -o hidepid=2 proc /proc".to_owned()
    }),
];

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Names of a device that nothing uses.
const FREE: [HostUse; 4] = [
    ("free", HostStage::new, |_| Ok(())),
    ("free, with partitions", HostStage::partitioned, |_| Ok(())),
    ("free, its file open for reading", HostStage::new, |stage| {
        stage.start(&["sh", "-c", "echo; exec sleep 900 <\"$1\"", "sh", text(&stage.image.clone())])
    }),
    ("free, a loop device above", HostStage::new, |stage| {
        stage.device = stage.attach(&stage.device.clone(), &[])?;
        Ok(())
    }),
];

/// What a command that writes to a device from a host did.
struct HostWrite {
    /// True if the device's file has other content.
    changed: bool,
    code: i32,
    text: String,
}

/// Writes to the device from a host, confirmed.
fn write_from(hosts: &NamespaceHosts, stage: &HostStage, target: &Path) -> HostWrite {
    let confirmed = if target.is_symlink() { &stage.device } else { target };
    let (options, consent) = (hosts.options(), hosts.consent(file_name(confirmed)));
    let target = text(target);
    let write = format!("measure 'RND 4K W' --ios 48 --target {target} {options} {consent}");
    // What is cached of the device is not in its file yet.
    let content = || {
        let _ = run(&["sync"]);
        let mut bytes = fs::read(&stage.image).unwrap();
        bytes.truncate(stage.kept);
        bytes
    };
    let before = content();
    let output = run_in(stage.directory.path(), &write);
    HostWrite { changed: content() != before, code: code(&output), text: stderr(&output) }
}

/// Calls a function with each state, from several threads; returns what failed.
fn each<T: Copy + Sync>(states: &[T], check: impl Fn(T) -> StageResult<()> + Sync) -> Vec<String> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(state) = states.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = check(*state) {
                        failed.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

#[test]
fn no_device_that_a_host_uses_is_overwritten() {
    let Some(hosts) = NamespaceHosts::new(1) else { return };
    if python(&["ctypes"], &["-c", "pass"], Path::new("/")).is_none() {
        return;
    }
    let failed = each(&USES, |host_use: HostUse| {
        let (name, stage) = (host_use.0, build(host_use)?);
        let HostWrite { changed, code, text } = write_from(&hosts, &stage, &stage.device);
        let refused = code == 1 && text.contains("host a") && !text.contains("not confirmed");
        if refused && !changed && !text.contains("panicked") {
            return Ok(());
        }
        Err(format!("{name}: changed: {changed}, code {code}: {text}"))
    });
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), USES.len(), failed.join("\n"));
    println!("{} states refused", USES.len());
}

/// Before a host shows the use, the same device is overwritten.
#[test]
fn what_only_the_host_sees_refuses() {
    let Some(hosts) = NamespaceHosts::new(1) else { return };
    if python(&["ctypes"], &["-c", "pass"], Path::new("/")).is_none() {
        return;
    }
    for (name, lay_out) in LAID_OUT {
        let mut stage = HostStage::new().unwrap();
        let named = stage.device.clone();
        let HostWrite { changed, code, text } = write_from(&hosts, &stage, &named);
        assert!(changed && code == 0, "{name}: {text}");
        let is_open = name.contains("writer");
        if is_open {
            stage.hold("write", &named).unwrap();
        }
        let process = hosts.process(0).to_string();
        let script = lay_out(&stage);
        run(&["nsenter", "--mount", "--target", &process, "sh", "-e", "-c", &script]).unwrap();
        let HostWrite { changed, code, text } = write_from(&hosts, &stage, &named);
        let point = script.rsplit(' ').next().unwrap();
        run(&["nsenter", "--mount", "--target", &process, "umount", point]).unwrap();
        assert!(!changed && code == 1, "{name}: changed {changed}, code {code}: {text}");
        let use_of_device =
            if is_open { "open for writing in" } else { "the root file system of the host" };
        assert!(text.contains("host a") && text.contains(use_of_device), "{name}: {text}");
    }
}

#[test]
fn a_device_that_no_host_uses_is_overwritten_by_every_name() {
    let Some(hosts) = NamespaceHosts::new(1) else { return };
    let failed = each(&FREE, |host_use: HostUse| {
        let (name, stage) = (host_use.0, build(host_use)?);
        let HostWrite { changed, code, text } = write_from(&hosts, &stage, &stage.device);
        if changed && code == 0 { Ok(()) } else { Err(format!("{name}: code {code}: {text}")) }
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let stage = HostStage::new().unwrap();
    let link = Path::new("/dev").join(format!("steadfast-test-{}", std::process::id()));
    symlink(&stage.device, &link).unwrap();
    let HostWrite { changed, code, text } = write_from(&hosts, &stage, &link);
    fs::remove_file(&link).unwrap();
    assert!(changed && code == 0, "{text}");
}
