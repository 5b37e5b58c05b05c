use super::*;
use crate::user::is_root;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn begin(path: &Path, existing: OverwritePolicy) -> Result<NewFile, FileError> {
    NewFile::create(path, existing, ReadAccess::Usual)
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("out");
    let new = begin(&path, OverwritePolicy::Keep).unwrap();
    new.handle().unwrap().write_all(b"all").unwrap();
    assert!(!path.exists());
    new.persist().unwrap().write_all(b" of it").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"all of it");
    assert_eq!(names(here.path()), ["out"]);
    drop(begin(&here.path().join("other"), OverwritePolicy::Keep).unwrap());
    assert_eq!(names(here.path()), ["out"], "a dropped file is removed");
}

#[test]
fn the_second_of_two_writers_is_refused() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("out");
    let (one, other) = (begin(&path, OverwritePolicy::Keep), begin(&path, OverwritePolicy::Keep));
    other.unwrap().write_and_persist(b"the other's").unwrap();
    let error = one.unwrap().write_and_persist(b"mine").unwrap_err();
    assert!(matches!(error, FileError::Exists(_)), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"the other's");
    assert_eq!(names(here.path()), ["out"]);
    let error = begin(&path, OverwritePolicy::Keep).unwrap_err().to_string();
    assert!(error.contains("exists; --force"), "{error}");
    begin(&path, OverwritePolicy::Overwrite).unwrap().write_and_persist(b"forced").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"forced");
}

#[test]
fn only_a_regular_file_is_overwritten() {
    let here = tempfile::tempdir().unwrap();
    let at = |name: &str| here.path().join(name);
    fs::write(at("precious"), "precious").unwrap();
    symlink(at("precious"), at("link")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, kind) in
        [("link", "link"), ("dangling", "link"), ("directory", "directory"), ("socket", "socket")]
    {
        for existing in [OverwritePolicy::Keep, OverwritePolicy::Overwrite] {
            let error = begin(&at(name), existing).unwrap_err().to_string();
            assert!(error.contains(kind), "{error}");
        }
    }
    let error = begin(Path::new("/dev/null"), OverwritePolicy::Overwrite).unwrap_err().to_string();
    assert!(error.contains("a device"), "{error}");
    // A name that is taken after `create` is refused, too.
    for existing in [OverwritePolicy::Keep, OverwritePolicy::Overwrite] {
        let new = begin(&at("late"), existing).unwrap();
        symlink(at("precious"), at("late")).unwrap();
        assert!(matches!(new.write_and_persist(b"x"), Err(FileError::NotRegular { .. })));
        fs::remove_file(at("late")).unwrap();
    }
    assert_eq!(fs::read(at("precious")).unwrap(), b"precious");
    assert!(fs::symlink_metadata(at("dangling")).unwrap().is_symlink() && !at("nowhere").exists());
    assert_eq!(names(here.path()), ["dangling", "directory", "link", "precious", "socket"]);
}

#[test]
fn a_foreign_file_under_the_temporary_name_is_kept() {
    let here = tempfile::tempdir().unwrap();
    let new = begin(&here.path().join("out"), OverwritePolicy::Keep).unwrap();
    let unfinished = here.path().join(names(here.path()).pop().unwrap());
    fs::remove_file(&unfinished).unwrap();
    fs::write(&unfinished, "his").unwrap();
    assert!(matches!(new.write_and_persist(b"mine"), Err(FileError::Interfered(_))));
    assert_eq!(fs::read(&unfinished).unwrap(), b"his");
    assert!(!here.path().join("out").exists());
}

#[test]
fn a_path_without_a_file_name_is_refused() {
    let here = tempfile::tempdir().unwrap();
    for path in ["x/", "..", "/", "missing/x"] {
        let error = begin(&here.path().join(path), OverwritePolicy::Keep).unwrap_err();
        assert!(matches!(error, FileError::Io { .. }), "{path}: {error}");
    }
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn a_group_may_read_and_nobody_else() {
    let here = tempfile::tempdir().unwrap();
    let own = fs::metadata(here.path()).unwrap().gid();
    let made = Directory::make(&here.path().join("a/b"), ReadAccess::Group(own)).unwrap();
    NewFile::create_in(&made, OsStr::new("x"), OverwritePolicy::Keep, ReadAccess::Group(own))
        .unwrap()
        .write_and_persist(b"")
        .unwrap();
    let mode = |name: &str| fs::metadata(here.path().join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("a"), mode("a/b"), mode("a/b/x")), (0o750, 0o750, 0o640));
    let like = ReadAccess::like(&fs::metadata(here.path().join("a/b/x")).unwrap());
    let new = NewFile::create(&here.path().join("y"), OverwritePolicy::Keep, like).unwrap();
    new.write_and_persist(b"").unwrap();
    assert_eq!(mode("y"), 0o640);
    assert_eq!(ReadAccess::of_group("root").unwrap(), ReadAccess::Group(0));
    assert_eq!(ReadAccess::of_group("77").unwrap(), ReadAccess::Group(77));
    let unknown = ReadAccess::of_group("no-such-group").unwrap_err().to_string();
    assert!(unknown.contains("no-such-group"), "{unknown}");
}

#[test]
fn a_private_directory_is_ours_alone_or_refused() {
    let here = tempfile::tempdir().unwrap();
    let at = |name: &str| here.path().join(name);
    let private = |name: &str| Directory::private(here.path(), &[name, "inner"]);
    assert!(Directory::private_if_there(here.path(), &["ours", "inner"]).unwrap().is_none());
    private("ours").unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("ours"), mode("ours/inner")), (0o700, 0o700));
    // As an earlier version created it, under the usual umask.
    fs::set_permissions(at("ours"), Permissions::from_mode(0o755)).unwrap();
    assert!(Directory::private_if_there(here.path(), &["ours", "inner"]).unwrap().is_some());
    assert_eq!(mode("ours"), 0o700);
    fs::set_permissions(at("ours/inner"), Permissions::from_mode(0o777)).unwrap();
    assert!(private("ours").unwrap_err().to_string().contains("written to by others"));
    fs::create_dir(at("his")).unwrap();
    symlink(at("his"), at("link")).unwrap();
    assert!(private("link").unwrap_err().to_string().contains("is not a directory"));
    assert_eq!(names(&at("his")), [""; 0]);
    if is_root() {
        std::os::unix::fs::chown(at("his"), Some(65_534), None).unwrap();
        assert!(private("his").unwrap_err().to_string().contains("another user"));
    }
}

#[test]
fn only_regular_files_are_opened_to_append() {
    let here = tempfile::tempdir().unwrap();
    let directory = Directory::open(here.path()).unwrap();
    let file = directory.create(OsStr::new("x"), ReadAccess::Usual).unwrap();
    directory.open_to_append(OsStr::new("x")).unwrap().write_all(b"1").unwrap();
    assert!(directory.create(OsStr::new("x"), ReadAccess::Usual).is_err());
    symlink("x", here.path().join("link")).unwrap();
    assert!(directory.open_to_append(OsStr::new("link")).is_err());
    let moved = here.path().join("moved");
    fs::rename(here.path().join("x"), &moved).unwrap();
    fs::write(here.path().join("x"), "another's").unwrap();
    directory.remove_own(OsStr::new("x"), &file);
    assert_eq!(names(here.path()), ["link", "moved", "x"], "that one is not ours");
    directory.remove_own(OsStr::new("moved"), &file);
    assert_eq!(names(here.path()), ["link", "x"]);
}
