//! Kernels of the guests: Debian's packages, downloaded and unpacked next to the build, never
//! installed.

use crate::process::output;
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIRROR: &str = "http://deb.debian.org/debian";

/// Keys with which Debian signs its suites.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// An unpacked kernel package.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Release, such as `6.1.0-56-cloud-amd64`.
    pub release: String,
    /// Directory into which the package was unpacked.
    root: PathBuf,
}

impl Kernel {
    /// Downloads the kernel of a package such as `linux-image-cloud-amd64`, or
    /// `linux-image-amd64/bullseye` of another suite of Debian, unless an earlier run has left it in
    /// `directory`.
    pub fn fetch(package: &str, directory: &Path) -> anyhow::Result<Kernel> {
        let (package, archive) = match package.split_once('/') {
            Some((package, suite)) => (package, Archive::fetch(suite, directory)?),
            None => (package, Archive(Vec::new())),
        };
        let package = archive.real_package(package)?;
        let release = package.trim_start_matches("linux-image-").to_owned();
        let root = directory.join(&package);
        let kernel = Kernel { release, root };
        if !kernel.image().is_file() || !kernel.modules().join("modules.dep").is_file() {
            kernel.unpack(&package, &archive, directory)?;
        }
        Ok(kernel)
    }

    pub fn image(&self) -> PathBuf {
        // Since Linux 7, the image is next to the modules.
        let in_modules = self.modules().join("vmlinuz");
        if in_modules.is_file() {
            in_modules
        } else {
            self.root.join(format!("boot/vmlinuz-{}", self.release))
        }
    }

    fn modules(&self) -> PathBuf {
        self.root.join("lib/modules").join(&self.release)
    }

    fn unpack(&self, package: &str, archive: &Archive, directory: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(directory)?;
        let _ = fs::remove_dir_all(&self.root);
        for package in archive.packages_of_kernel(package, &self.release)? {
            let mut download = archive.command("apt-get");
            output(download.args(["download", "-qq", &package]).current_dir(directory))
                .with_context(|| format!("cannot download {package}; try apt-get update"))?;
            let file = downloaded_file(&package, directory)?;
            output(Command::new("dpkg").arg("-x").args([&file, &self.root]))?;
            fs::remove_file(file)?;
        }
        // Since Linux 6.14, the package names the directory by its real path.
        if !self.root.join("lib").exists() {
            std::os::unix::fs::symlink("usr/lib", self.root.join("lib"))?;
        }
        let depmod = ["depmod", "-b"];
        output(Command::new("busybox").args(depmod).arg(&self.root).arg(&self.release))?;
        Ok(())
    }

    /// Returns the files of modules and of all modules they depend on, with their paths in a guest,
    /// and the lists that modprobe reads. Modules that are built in or that this kernel does not have
    /// are left out.
    pub fn module_files(&self, wanted: &[&str]) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
        let list = fs::read_to_string(self.modules().join("modules.dep"))?;
        let dependencies = parse_dependencies(&list);
        let mut files = BTreeSet::new();
        for file in dependencies.keys().filter(|file| wanted.contains(&module_name(file).as_str()))
        {
            add_with_dependencies(file, &dependencies, &mut files);
        }
        let in_guest = Path::new("/lib/modules").join(&self.release);
        Ok(files
            .into_iter()
            .chain(["modules.dep", "modules.alias", "modules.builtin", "modules.symbols"])
            .map(|file| (self.modules().join(file), in_guest.join(file)))
            .collect())
    }
}

/// Options of apt for an archive of packages; none for the one that this host is configured for.
struct Archive(Vec<String>);

impl Archive {
    /// Downloads the lists of packages of a suite of Debian, next to the kernels.
    fn fetch(suite: &str, directory: &Path) -> anyhow::Result<Archive> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        ensure!(
            !suite.is_empty() && suite.chars().all(is_name),
            "'{suite}' is no suite of Debian; give PACKAGE/SUITE, such as \
             linux-image-cloud-amd64/bullseye"
        );
        let suite_directory = std::path::absolute(directory)?.join("suites").join(suite);
        fs::create_dir_all(suite_directory.join("lists/partial"))?;
        fs::create_dir_all(suite_directory.join("cache/archives/partial"))?;
        let sources = suite_directory.join("sources.list");
        fs::write(&sources, format!("deb [signed-by={KEYS}] {MIRROR} {suite} main\n"))?;
        let options = [
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State::lists={}", suite_directory.join("lists").display()),
            format!("Dir::Cache={}", suite_directory.join("cache").display()),
        ];
        let archive = Archive(options.to_vec());
        output(archive.command("apt-get").args(["update", "-qq"]))
            .with_context(|| format!("cannot read suite {suite} of {MIRROR}"))?;
        Ok(archive)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.0.iter().flat_map(|option| ["-o", option]));
        command
    }

    /// Returns the package that a metapackage depends on, the newest kernel.
    fn real_package(&self, package: &str) -> anyhow::Result<String> {
        self.depends(package)?
            .into_iter()
            .find(|name| {
                name.strip_prefix("linux-image-")
                    .is_some_and(|release| release.starts_with(|c: char| c.is_ascii_digit()))
            })
            .with_context(|| format!("{package} names no kernel package; try apt-get update"))
    }

    /// Returns a kernel package and those it depends on that bear its release: since Linux 7, the
    /// image and the modules are in packages of their own, and the kernel package is empty.
    fn packages_of_kernel(&self, package: &str, release: &str) -> anyhow::Result<Vec<String>> {
        let suffix = format!("-{release}");
        let mut packages = vec![package.to_owned()];
        packages.extend(self.depends(package)?.into_iter().filter(|name| name.ends_with(&suffix)));
        Ok(packages)
    }

    /// Returns the packages that a package depends on.
    fn depends(&self, package: &str) -> anyhow::Result<Vec<String>> {
        Ok(parse_depends(&output(self.command("apt-cache").args(["depends", package]))?))
    }
}

/// Parses the output of `apt-cache depends`. Packages of which one suffices begin with `|`, and are
/// left out except for the last.
fn parse_depends(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .map(str::to_owned)
        .collect()
}

fn downloaded_file(package: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let prefix = format!("{package}_");
    fs::read_dir(directory)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".deb")
        })
        .with_context(|| format!("{package}: the fetched file is missing"))
}

/// Parses `modules.dep`: each file with its dependencies.
fn parse_dependencies(list: &str) -> BTreeMap<&str, Vec<&str>> {
    list.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (file, needs.split_whitespace().collect()))
        .collect()
}

fn module_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').next().unwrap_or(name).replace('-', "_")
}

fn add_with_dependencies<'a>(
    file: &'a str,
    dependencies: &BTreeMap<&'a str, Vec<&'a str>>,
    files: &mut BTreeSet<&'a str>,
) {
    if files.insert(file) {
        for needed in dependencies.get(file).into_iter().flatten() {
            add_with_dependencies(needed, dependencies, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_a_name_and_no_path() {
        let scratch = tempfile::tempdir().unwrap();
        for suite in ["", "/etc", "../sid", "sid main\ndeb http://other", "."] {
            let error = Archive::fetch(suite, scratch.path()).err().unwrap();
            assert!(error.to_string().contains("no suite of Debian"), "{suite}: {error}");
        }
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn packages_are_those_that_are_depended_on() {
        let text = "linux-image-7.3.4-cloud-amd64\n  PreDepends: linux-base\n |Depends: dracut\n  \
                    Depends: initramfs-tools\n  Depends: linux-binary-7.3.4-cloud-amd64\n  \
                    Recommends: apparmor\n";
        assert_eq!(parse_depends(text), ["initramfs-tools", "linux-binary-7.3.4-cloud-amd64"]);
    }

    #[test]
    fn a_module_brings_all_that_it_needs() {
        let list = "kernel/a.ko: kernel/b-c.ko\nkernel/b-c.ko: kernel/d.ko\nkernel/d.ko:\n\
                    kernel/e.ko:\n";
        let mut files = BTreeSet::new();
        add_with_dependencies("kernel/a.ko", &parse_dependencies(list), &mut files);
        assert_eq!(Vec::from_iter(files), ["kernel/a.ko", "kernel/b-c.ko", "kernel/d.ko"]);
        assert_eq!(module_name("kernel/drivers/b-c.ko.xz"), "b_c");
    }
}
