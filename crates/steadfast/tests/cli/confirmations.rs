//! One confirmation is for one target, and a target whose use is hidden from a user is not free.

use super::fixtures::{TestDirectory, code, is_root, run_ending, run_in, skip, stderr, steadfast};
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: usize = 4 << 20;
const LOAD: [&str; 4] = ["measure", "RND 4K W", "--ios", "16"];

/// Makes files of one name in two directories.
fn namesakes(directory: &Path) -> [PathBuf; 2] {
    ["a", "b"].map(|name| {
        fs::create_dir(directory.join(name)).unwrap();
        let file = directory.join(name).join("s.bin");
        fs::write(&file, vec![name.as_bytes()[0]; SIZE]).unwrap();
        file
    })
}

/// Returns true for each file that has its first content.
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
    let (ended, text) = measure(&["s.bin"]);
    assert_eq!(ended, 2, "{text}");
    assert!([one, two].iter().all(|path| text.contains(path)), "{text}");
    for names in [&[] as &[&str], &[one], &["a/s.bin"], &[two], &[one, one], &["other"]] {
        let (ended, text) = measure(names);
        assert_eq!(ended, 1, "{names:?}: {text}");
        assert!(text.contains("not confirmed"), "{names:?}: {text}");
    }
    let run =
        "run iops --profile quick -o out --yes-destroy s.bin --target a/s.bin --target b/s.bin";
    run_ending(here, run, &[2]);
    assert!(!here.join("out").exists());
    assert_eq!(are_untouched(&files), [true, true]);
    for names in [["s.bin", "s.bin"], ["s.bin", two], [one, two], ["a/s.bin", "b/s.bin"]] {
        let (ended, text) = measure(&names);
        assert_eq!(ended, 0, "{names:?}: {text}");
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
        let (ended, text) = measure(hidden, "own.bin");
        if matches!(ended, 99 | 126 | 127) {
            return skip(&text);
        }
        // The kernel's own count shows its owner that nobody else writes to it.
        assert_eq!(ended, 0, "hidepid={hidden}: {text}");
        let (ended, text) = measure(hidden, "s.bin");
        assert_eq!(ended, 1, "hidepid={hidden}: {text}");
        assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == b'x'));
    }
}
