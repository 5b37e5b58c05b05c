//! One confirmation is for one target, and what a user may not see is not free.

use super::scratch::{TestDirectory, code, is_root, run_ending, run_in, skip, stderr, steadfast};
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: usize = 4 << 20;
const LOAD: [&str; 4] = ["measure", "RND 4K W", "--ios", "16"];

/// Somebody's files of one name in two directories.
fn namesakes(directory: &Path) -> [PathBuf; 2] {
    ["a", "b"].map(|name| {
        fs::create_dir(directory.join(name)).unwrap();
        let file = directory.join(name).join("s.bin");
        fs::write(&file, vec![name.as_bytes()[0]; SIZE]).unwrap();
        file
    })
}

/// Whether each holds only what it was made of.
fn are_untouched(files: &[PathBuf; 2]) -> [bool; 2] {
    [0, 1].map(|at| fs::read(&files[at]).unwrap().iter().all(|byte| *byte == b"ab"[at]))
}

#[test]
fn a_name_confirms_one_target() {
    let here = &TestDirectory::new();
    let files = namesakes(here);
    let [one, two] = [0, 1].map(|at| files[at].to_str().unwrap());
    let targets = ["--target", "a/s.bin", "--target", "b/s.bin"];
    let measure = |names: &[&str]| {
        let names = names.iter().flat_map(|name| ["--yes-destroy", name]);
        let words: Vec<&str> = LOAD.into_iter().chain(targets).chain(names).collect();
        let output = run_in(here, &words);
        (code(&output), stderr(&output))
    };
    let (ended, said) = measure(&["s.bin"]);
    assert_eq!(ended, 2, "{said}");
    assert!([one, two].iter().all(|path| said.contains(path)), "{said}");
    for names in [&[] as &[&str], &[one], &["a/s.bin"], &[two], &[one, one], &["other"]] {
        let (ended, said) = measure(names);
        assert_eq!(ended, 1, "{names:?}: {said}");
        assert!(said.contains("not confirmed"), "{names:?}: {said}");
    }
    let run = ["run", "iops", "--profile", "quick", "-o", "out", "--yes-destroy", "s.bin"];
    run_ending(here, &[&run[..], &targets].concat(), &[2]);
    assert!(!here.join("out").exists());
    assert_eq!(are_untouched(&files), [true, true]);
    for names in [["s.bin", "s.bin"], ["s.bin", two], [one, two], ["a/s.bin", "b/s.bin"]] {
        let (ended, said) = measure(&names);
        assert_eq!(ended, 0, "{names:?}: {said}");
        assert_eq!(are_untouched(&files), [false, false]);
    }
}

/// A user to whom /proc shows no process of others overwrites no file that others may have open.
#[test]
fn an_ordinary_user_with_hidden_processes_overwrites_nothing_of_others() {
    if !is_root() {
        return skip("needs root to mount /proc and to become another user");
    }
    let here = &TestDirectory::new();
    fs::set_permissions(here, Permissions::from_mode(0o755)).unwrap();
    let file = here.join("s.bin");
    fs::write(&file, vec![b'x'; SIZE]).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    let own = here.join("own.bin");
    fs::write(&own, vec![b'x'; SIZE]).unwrap();
    std::os::unix::fs::chown(&own, Some(12_345), Some(12_345)).unwrap();
    let _held = OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let program = steadfast().get_program().to_owned();
    let measure = |hidden: &str, name: &str| {
        let script = format!(
            "mount -t proc -o hidepid={hidden} proc /proc || exit 99\n\
             exec setpriv --reuid=12345 --regid=12345 --clear-groups \"$0\" \"$@\""
        );
        let target = ["--target", name, "--yes-destroy", name];
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .arg(&program)
            .args(LOAD)
            .args(target)
            .current_dir(here)
            .output()
            .unwrap();
        (code(&output), stderr(&output))
    };
    for hidden in ["2", "4"] {
        let (ended, said) = measure(hidden, "own.bin");
        if matches!(ended, 99 | 126 | 127) {
            return skip(&said);
        }
        // The kernel's own count says to its owner that nobody else writes to it.
        assert_eq!(ended, 0, "hidepid={hidden}: {said}");
        let (ended, said) = measure(hidden, "s.bin");
        assert_eq!(ended, 1, "hidepid={hidden}: {said}");
        assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == b'x'));
    }
}
