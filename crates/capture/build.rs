//! Compiles the BPF programs with clang if the feature `ebpf` is enabled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    if std::env::var_os("CARGO_FEATURE_EBPF").is_some() {
        compile("block");
        compile("calls");
        compile("entries");
    }
}

/// Compiles `bpf/NAME.bpf.c` to `OUT_DIR/NAME.bpf.o`. libbpf's headers come with the crate that
/// builds libbpf.
fn compile(name: &str) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let headers = std::env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys exports it");
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        _ => "-D__TARGET_ARCH_x86",
    };
    // The debug information in the program names source files; their prefixes are replaced so that
    // the same sources give the same bytes wherever they are built.
    let place = |path: &Path, name: &str| {
        let mut option = OsString::from("-ffile-prefix-map=");
        option.push(path);
        option.push("=");
        option.push(name);
        option
    };
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let status = Command::new(std::env::var_os("CLANG").unwrap_or_else(|| "clang".into()))
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", architecture])
        .arg("-fdebug-compilation-dir=/steadfast")
        .args([place(Path::new(&headers), "/libbpf"), place(Path::new(&here), "/steadfast")])
        .arg("-I")
        .arg(&headers)
        .arg("-c")
        .arg(Path::new("bpf").join(format!("{name}.bpf.c")))
        .arg("-o")
        .arg(out.join(format!("{name}.bpf.o")))
        .status()
        .unwrap_or_else(|error| {
            panic!("cannot run clang ({error}); install it (Debian: apt install clang)")
        });
    assert!(status.success(), "clang could not compile bpf/{name}.bpf.c");
}
