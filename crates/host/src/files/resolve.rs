//! Resolves the path of a directory once, component by component, and checks who could redirect
//! it.
//!
//! For root, a symbolic link is followed only if no other user could have created it, and `..` is
//! refused in a directory that another user can move. For other users the kernel resolves the
//! path: they cannot write where they have no permission.

use super::calls;
use crate::device_number::decode_dev;
use crate::handles::open_path;
use crate::mounts::mounts;
use crate::system_roots::SystemRoots;
use crate::user::{effective_uid, is_root};
use rustix::fs::OFlags;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// Maximum number of links in a path, as in the kernel.
const LINKS_MAX: u32 = 40;

/// Another user's control over a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignControl {
    /// Directory or link that gives the control.
    pub place: PathBuf,
    /// Reason, as the end of a sentence that begins with the place: `belongs to user 1000`.
    pub why: String,
}

pub(super) struct ResolvedDirectory {
    pub file: File,
    /// Another user who can replace the directory; `None` if nobody can.
    pub replaceable_by: Option<ForeignControl>,
}

/// Reason why a path cannot be resolved.
pub(super) enum ResolveError {
    /// A system call failed.
    Io(io::Error),
    /// Another user controls where the path leads.
    Foreign(ForeignControl),
}

impl From<io::Error> for ResolveError {
    fn from(error: io::Error) -> Self {
        ResolveError::Io(error)
    }
}

/// Opens the directory at a path.
pub(super) fn resolve(path: &Path) -> Result<ResolvedDirectory, ResolveError> {
    if !is_root() {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)?;
        return Ok(ResolvedDirectory { file, replaceable_by: None });
    }
    let mut reached = if path.is_absolute() {
        ReachedDirectory::from_root()?
    } else {
        ReachedDirectory::from_here()?
    };
    let mut remaining = parts(path);
    let mut links = 0;
    while let Some(part) = remaining.pop_front() {
        let Some(link) = reached.step(&part)? else { continue };
        links += 1;
        if links > LINKS_MAX {
            return Err(io::Error::from_raw_os_error(libc::ELOOP).into());
        }
        if link.is_absolute() {
            reached = ReachedDirectory::from_root()?;
        }
        for part in parts(&link).into_iter().rev() {
            remaining.push_front(part);
        }
    }
    Ok(ResolvedDirectory {
        file: calls::reopen_directory(&reached.at)?,
        replaceable_by: reached.replaceable_by,
    })
}

/// Returns the components of a path, including `..`.
fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    named.collect()
}

struct ReachedDirectory {
    at: File,
    path: PathBuf,
    replaceable_by: Option<ForeignControl>,
}

impl ReachedDirectory {
    fn from_root() -> io::Result<ReachedDirectory> {
        Ok(ReachedDirectory {
            at: open_path(Path::new("/"), libc::O_DIRECTORY)?,
            path: PathBuf::from("/"),
            replaceable_by: None,
        })
    }

    /// Starts at the current directory, after checking all its parents.
    fn from_here() -> io::Result<ReachedDirectory> {
        let at = open_path(Path::new("."), libc::O_DIRECTORY)?;
        let mut path = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let current = path.clone();
        let mut below = at.metadata()?;
        let mut replaceable_by = mounter_control(&current, &below)?;
        let mut directory = at.try_clone()?;
        loop {
            directory = calls::open_above(&directory)?;
            let metadata = directory.metadata()?;
            if (metadata.dev(), metadata.ino()) == (below.dev(), below.ino()) {
                return Ok(ReachedDirectory { at, path: current, replaceable_by });
            }
            path.pop();
            // Report the topmost directory: its owner also controls everything below.
            replaceable_by = control_in(&path, &metadata, below.uid()).or(replaceable_by);
            if metadata.dev() != below.dev() {
                replaceable_by = mounter_control(&path, &metadata)?.or(replaceable_by);
            }
            below = metadata;
        }
    }

    /// Descends one component. Returns the target if it is a symbolic link.
    fn step(&mut self, name: &OsStr) -> Result<Option<PathBuf>, ResolveError> {
        let path = self.path.join(name);
        if name == ".." {
            if let Some(control) = self.replaceable_by.take() {
                return Err(ResolveError::Foreign(control));
            }
            self.at = calls::open_above(&self.at)?;
            self.path.pop();
            return Ok(None);
        }
        let next = calls::open(&self.at, name, OFlags::PATH | OFlags::NOFOLLOW, 0)?;
        let metadata = next.metadata()?;
        let directory = self.at.metadata()?;
        let mut control = control_in(&self.path, &directory, metadata.uid());
        if metadata.dev() != directory.dev() {
            control = control.or(mounter_control(&path, &metadata)?);
        }
        if metadata.is_symlink() {
            let by_owner = (!is_trusted(metadata.uid()))
                .then(|| ForeignControl { place: path, why: belongs(metadata.uid()) });
            // Even root's link in a sticky directory may have been moved there by another user.
            let by_place = is_writable_by_others(&directory).then(|| ForeignControl {
                place: self.path.clone(),
                why: "is writable by users other than root".to_owned(),
            });
            match self.replaceable_by.take().or(control).or(by_owner).or(by_place) {
                Some(control) => return Err(ResolveError::Foreign(control)),
                None => return Ok(Some(PathBuf::from(calls::read_link(&next)?))),
            }
        }
        if !metadata.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::ENOTDIR).into());
        }
        self.replaceable_by = self.replaceable_by.take().or(control);
        (self.at, self.path) = (next, path);
        Ok(None)
    }
}

/// Returns the control that another user has over an entry with this owner; `None` if there is
/// none.
pub(super) fn control_in(path: &Path, directory: &Metadata, owner: u32) -> Option<ForeignControl> {
    let control = |why: String| Some(ForeignControl { place: path.to_owned(), why });
    if !is_trusted(directory.uid()) {
        return control(belongs(directory.uid()));
    }
    if !is_writable_by_others(directory) {
        return None;
    }
    if directory.mode() & 0o1000 == 0 {
        return control("is writable by users other than root".to_owned());
    }
    // In a sticky directory, users can rename and remove only their own entries.
    if is_trusted(owner) { None } else { control(format!("has an entry that {}", belongs(owner))) }
}

/// Returns the control of the user who mounted a FUSE file system. Its server may report root as
/// the owner of any file, so owners prove nothing there.
fn mounter_control(path: &Path, metadata: &Metadata) -> io::Result<Option<ForeignControl>> {
    let number = decode_dev(metadata.dev());
    let all_mounts = mounts(&SystemRoots::real()).map_err(io::Error::other)?;
    let served =
        all_mounts.iter().filter(|mount| mount.number == number && mount.kind.starts_with("fuse"));
    let users = served.map(|mount| mounted_by(&mount.options));
    let foreign = users.into_iter().find(|user| user.is_none_or(|user| !is_trusted(user)));
    Ok(foreign.map(|user| ForeignControl {
        place: path.to_owned(),
        why: match user {
            Some(user) => format!("is a FUSE file system that user {user} mounted"),
            None => "is a FUSE file system of an unknown user".to_owned(),
        },
    }))
}

/// Returns the user ID in a FUSE file system's mount options.
fn mounted_by(options: &str) -> Option<u32> {
    options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
}

/// Returns true if users other than the owner, root and the caller of sudo may write to a
/// directory.
fn is_writable_by_others(directory: &Metadata) -> bool {
    let mode = directory.mode();
    mode & 0o002 != 0 || mode & 0o020 != 0 && !is_callers_group(directory.gid())
}

/// Returns true for the private group of the user who called sudo: with the umask 002, all of that
/// user's directories are writable by it.
fn is_callers_group(group: u32) -> bool {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    caller().is_some_and(|user| {
        is_private_group(user, group, &text("/etc/passwd"), &text("/etc/group"))
    })
}

/// Returns true if the group has the user's name and no other member. `users` and `groups` are the
/// texts of passwd(5) (name:password:uid:gid) and group(5) (name:password:gid:members).
fn is_private_group(user: u32, group: u32, users: &str, groups: &str) -> bool {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<String>>();
    let is_number = |field: Option<&String>, number: u32| {
        field.is_some_and(|field| field.parse() == Ok(number))
    };
    let named: Vec<_> = groups.lines().map(fields).filter(|g| is_number(g.get(2), group)).collect();
    let members: Vec<_> =
        users.lines().map(fields).filter(|u| is_number(u.get(3), group)).collect();
    let ([named], [member]) = (&named[..], &members[..]) else { return false };
    let others = named.get(3).is_none_or(|others| !others.is_empty() && *others != member[0]);
    is_number(member.get(2), user) && named[0] == member[0] && !others
}

fn belongs(owner: u32) -> String {
    format!("belongs to user {owner}")
}

/// Returns true for users that may decide where root's files are stored: root, and the caller of
/// sudo, who could have named another path.
fn is_trusted(user: u32) -> bool {
    user == 0 || user == effective_uid() || Some(user) == caller()
}

fn caller() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_group_has_one_member_and_the_name_of_that_user() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n\
                     bob:x:1001:1001::/:/bin/sh\neve:x:1002:1001::/:/bin/sh\n";
        let is_private = |user, group, groups| is_private_group(user, group, users, groups);
        for groups in ["ann:x:1000:\n", "root:x:0:\nann:x:1000:ann\n"] {
            assert!(is_private(1000, 1000, groups), "{groups}");
        }
        for groups in
            ["ann:x:1000:bob\n", "ann:x:1000:ann,bob\n", "staff:x:1000:\n", "ann:x:1000", "", "::"]
        {
            assert!(!is_private(1000, 1000, groups), "{groups}");
        }
        // Named twice, another's, and one that is somebody else's first group, too.
        assert!(!is_private(1000, 1000, "ann:x:1000:\nall:x:1000:eve\n"));
        assert!(!is_private(1001, 1000, "ann:x:1000:\n"));
        assert!(!is_private(1001, 1001, "bob:x:1001:\n"));
    }

    #[test]
    fn who_mounted_a_fuse_file_system_is_read_from_its_options() {
        assert_eq!(mounted_by("rw,user_id=1000,group_id=1000,allow_other"), Some(1000));
        assert_eq!(mounted_by("rw,default_permissions"), None);
    }
}
