//! Kernels of the guests: Debian's packages, downloaded and unpacked next to the build, never
//! installed.

use crate::process::output;
use anyhow::{Context, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An unpacked kernel package.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Release, such as `6.1.0-56-cloud-amd64`.
    pub release: String,
    /// Directory into which the package was unpacked.
    root: PathBuf,
}

impl Kernel {
    /// Downloads the kernel of a package such as `linux-image-cloud-amd64`, unless an earlier run
    /// has left it in `directory`.
    ///
    /// # Errors
    /// No package archive is configured or reachable.
    pub fn fetch(package: &str, directory: &Path) -> anyhow::Result<Kernel> {
        let package = real_package(package)?;
        let release = package.trim_start_matches("linux-image-").to_owned();
        let root = directory.join(&package);
        let kernel = Kernel { release, root };
        if !kernel.image().is_file() || !kernel.modules().join("modules.dep").is_file() {
            kernel.unpack(&package, directory)?;
        }
        Ok(kernel)
    }

    /// Returns the path of the bootable image.
    pub fn image(&self) -> PathBuf {
        self.root.join(format!("boot/vmlinuz-{}", self.release))
    }

    /// Returns the directory of modules.
    fn modules(&self) -> PathBuf {
        self.root.join("lib/modules").join(&self.release)
    }

    fn unpack(&self, package: &str, directory: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(directory)?;
        let _ = fs::remove_dir_all(&self.root);
        output(Command::new("apt-get").args(["download", "-qq", package]).current_dir(directory))
            .with_context(|| format!("cannot download {package}; try apt-get update"))?;
        let archive = downloaded(package, directory)?;
        output(Command::new("dpkg").arg("-x").args([&archive, &self.root]))?;
        let depmod = ["depmod", "-b"];
        output(Command::new("busybox").args(depmod).arg(&self.root).arg(&self.release))?;
        Ok(fs::remove_file(archive)?)
    }

    /// Returns the files of modules and of all modules they depend on, with their paths in a guest,
    /// and the lists that modprobe reads. Modules built into the kernel need no file.
    ///
    /// # Errors
    /// The package does not have a module, neither as a file nor built in.
    pub fn module_files(&self, wanted: &[&str]) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
        let read = |list: &str| fs::read_to_string(self.modules().join(list));
        let (list, built_in) = (read("modules.dep")?, read("modules.builtin")?);
        let needs = dependencies(&list);
        let mut files = BTreeSet::new();
        for module in wanted {
            match needs.keys().find(|file| module_name(file) == *module) {
                Some(file) => close_over(file, &needs, &mut files),
                None if built_in.lines().any(|file| module_name(file) == *module) => {}
                None => bail!("kernel {} has no module {module}", self.release),
            }
        }
        let inside = Path::new("/lib/modules").join(&self.release);
        Ok(files
            .into_iter()
            .chain(["modules.dep", "modules.alias", "modules.builtin", "modules.symbols"])
            .map(|file| (self.modules().join(file), inside.join(file)))
            .collect())
    }
}

/// Returns the package that a metapackage depends on, the newest kernel.
fn real_package(package: &str) -> anyhow::Result<String> {
    let said = output(Command::new("apt-cache").args(["depends", package]))?;
    let newest =
        said.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| {
            name.strip_prefix("linux-image-")
                .is_some_and(|release| release.starts_with(|c: char| c.is_ascii_digit()))
        });
    newest
        .map(str::to_owned)
        .with_context(|| format!("{package} names no kernel package; try apt-get update"))
}

fn downloaded(package: &str, directory: &Path) -> anyhow::Result<PathBuf> {
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
fn dependencies(list: &str) -> BTreeMap<&str, Vec<&str>> {
    list.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (file, needs.split_whitespace().collect()))
        .collect()
}

fn module_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').next().unwrap_or(name).replace('-', "_")
}

fn close_over<'a>(
    file: &'a str,
    needs: &BTreeMap<&'a str, Vec<&'a str>>,
    files: &mut BTreeSet<&'a str>,
) {
    if files.insert(file) {
        needs.get(file).into_iter().flatten().for_each(|need| close_over(need, needs, files));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_brings_all_that_it_needs() {
        let list = "kernel/a.ko: kernel/b-c.ko\nkernel/b-c.ko: kernel/d.ko\nkernel/d.ko:\n\
                    kernel/e.ko:\n";
        let needs = dependencies(list);
        let mut files = BTreeSet::new();
        close_over("kernel/a.ko", &needs, &mut files);
        assert_eq!(Vec::from_iter(files), ["kernel/a.ko", "kernel/b-c.ko", "kernel/d.ko"]);
        assert_eq!(module_name("kernel/drivers/b-c.ko.xz"), "b_c");
    }
}
