//! Identifies the tool that wrote a file, by its name and first bytes, and the command that takes it.
//!
//! Every command that reads another tool's file asks here before it parses, so that a file of
//! another kind is refused by its name. The formats of traces are recognized by the crate that
//! imports them.

pub use crate::file_kind::FileKind;
use crate::results::{fio_terse, vdbench};

/// First bytes that suffice to distinguish every kind. The column names of a vdbench flat file come
/// after a long comment, which alone is enough.
pub const BEGINNING: usize = 64 << 10;

/// Returns what a file is, from its name and its first [`BEGINNING`] bytes; `None` where nothing
/// is recognized.
pub fn identify(name: &str, beginning: &[u8]) -> Option<FileKind> {
    let beginning = &beginning[..beginning.len().min(BEGINNING)];
    if let Some(kind) = by_magic(beginning) {
        return Some(kind);
    }
    if name.to_ascii_lowercase().ends_with(".bmk") {
        return Some(FileKind::AttoBenchmark);
    }
    let text = crate::decode(beginning);
    let text = text.trim_start_matches('\u{feff}');
    // Binary formats without a signature of their own are no text.
    if text.contains('\0') {
        return None;
    }
    by_structure(text).or_else(|| by_lines(text))
}

fn by_magic(bytes: &[u8]) -> Option<FileKind> {
    const MAGIC: [(&[u8], FileKind); 9] = [
        (b"PAR1", FileKind::Parquet),
        (&[0x1f, 0x8b], FileKind::Gzip),
        (&[0x28, 0xb5, 0x2f, 0xfd], FileKind::Zstd),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], FileKind::Xz),
        (b"BZh", FileKind::Bzip2),
        (&[0x04, 0x22, 0x4d, 0x18], FileKind::Lz4),
        (b"%PDF-", FileKind::Pdf),
        (b"PK\x03\x04", FileKind::Zip),
        (b"7z\xbc\xaf\x27\x1c", FileKind::SevenZip),
    ];
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(FileKind::Tar);
    }
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

/// XML and JSON, by their elements and names.
fn by_structure(text: &str) -> Option<FileKind> {
    let text = text.trim_start();
    if text.starts_with('<') {
        return xml(text);
    }
    // fio prints warnings before its JSON.
    let object = text.find("{\n").or_else(|| text.find('{')).map(|at| &text[at..])?;
    let has = |name: &str| object.contains(&format!("\"{name}\""));
    if has("fio version") || has("jobname") && has("io_bytes") {
        return Some(FileKind::FioJson);
    }
    if !text.starts_with('{') {
        return None;
    }
    if has("def") && has("template") {
        Some(FileKind::FioSynthSuite)
    } else if has("form_pages") || has("headline") && has("digest") {
        Some(FileKind::Findings)
    } else if has("procedure") && has("profile") && has("seed") {
        Some(FileKind::RunSettings)
    } else {
        None
    }
}

fn xml(text: &str) -> Option<FileKind> {
    let has = |element: &str| {
        let begin = format!("<{element}");
        text.match_indices(&begin).any(|(at, found)| {
            text[at + found.len()..]
                .starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace())
        })
    };
    if has("Results") && (has("System") || has("TimeSpan")) {
        Some(FileKind::DiskspdXml)
    } else if has("Profile") && has("TimeSpans") {
        Some(FileKind::DiskspdProfile)
    } else if has("ioperfversion") || has("roundmat") || has("testdate") && has("devinfo") {
        Some(FileKind::TkperfXml)
    } else {
        // vdbench puts its flat file into an HTML page.
        lines(text).any(|line| vdbench::columns(line).is_some()).then_some(FileKind::VdbenchFlat)
    }
}

/// Lines that say something, each without blanks around it.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn by_lines(text: &str) -> Option<FileKind> {
    let first = lines(text).next()?;
    let word = first.trim_start_matches('\'').to_ascii_lowercase();
    if word.starts_with("test type,test description") {
        return Some(FileKind::IometerCsv);
    }
    let is_icf = |line: &str| {
        let heading = line.trim_start_matches('\'').to_ascii_lowercase();
        ["test setup =", "access specifications =", "manager list =", "results display ="]
            .iter()
            .any(|section| heading.starts_with(section))
    };
    if word.starts_with("version ") && (lines(text).any(is_icf) || lines(text).count() < 3) {
        return Some(FileKind::IometerConfig);
    }
    if first.starts_with("Jobname,") && first.contains("Read_IOPS") {
        return Some(FileKind::FioSynthCsv);
    }
    let has_line = |is_meant: &dyn Fn(&str) -> bool| lines(text).take(400).any(is_meant);
    if has_line(&|line| line.starts_with("KDiskMark (")) {
        Some(FileKind::KDiskMark)
    } else if has_line(&|line| line.starts_with("CrystalDiskMark")) {
        Some(FileKind::CrystalDiskMark)
    } else if has_line(&fio_terse::is_terse) {
        Some(FileKind::FioTerse)
    } else if has_line(&|line| vdbench::columns(line).is_some() || line.contains("'flatfile.html'"))
    {
        Some(FileKind::VdbenchFlat)
    } else if has_line(&|line| line.starts_with("Results for timespan"))
        || first.starts_with("Command Line:") && text.contains("Input parameters:")
    {
        Some(FileKind::DiskspdText)
    } else if has_line(&|line| line.contains(": (g=") && line.contains("): rw=")) {
        Some(FileKind::FioText)
    } else if has_line(&is_tkperf_command) {
        Some(FileKind::TkperfCommand)
    } else {
        by_settings(text)
    }
}

fn is_tkperf_command(line: &str) -> bool {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| *word == "sudo" || !word.ends_with("tkperf") && word.contains('='));
    let tool = words.next().is_some_and(|word| word.rsplit('/').next() == Some("tkperf"));
    tool && words.next().is_some_and(|mode| ["ssd", "hdd", "raid"].contains(&mode))
}

/// Files of lines with names and values: fio's jobs, vdbench's parameters, our own TOML.
fn by_settings(text: &str) -> Option<FileKind> {
    let statements = || lines(text).filter(|line| !line.starts_with(['#', ';', '*']));
    let first = statements().next()?;
    // TOML has strings in quotes, and tables in double brackets.
    if statements().any(|line| line == "[[limit]]") {
        return Some(FileKind::Limits);
    }
    if statements().any(|line| line.starts_with("[[stream]]") || line.starts_with("[[step]]")) {
        return Some(FileKind::Workload);
    }
    let definitions = |name: &str| {
        statements().any(|line| {
            let line = line.to_ascii_lowercase();
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with('=') && rest.contains(','))
        })
    };
    if definitions("sd") && definitions("rd") || definitions("wd") && definitions("rd") {
        return Some(FileKind::VdbenchParameters);
    }
    const KEYS: [&str; 16] = [
        "rw", "readwrite", "bs", "blocksize", "bssplit", "ioengine", "iodepth", "filename",
        "direct", "size", "runtime", "numjobs", "stonewall", "time_based", "directory", "include",
    ];
    let is_option = |line: &str| {
        let name = line.split(['=', ' ']).next().unwrap_or_default();
        KEYS.contains(&name)
    };
    let is_section = first.starts_with('[') && !first.starts_with("[[") && first.ends_with(']');
    (is_section && statements().any(is_option)).then_some(FileKind::FioJob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_by_its_beginning() {
        let of = |text: &str| identify("x", text.as_bytes());
        let known = [
            ("# load\n\n[global]\nioengine=libaio\n[a]\nrw=randread\n", FileKind::FioJob),
            ("[a]\nstonewall\n", FileKind::FioJob),
            ("fio: note\n{\n  \"fio version\" : \"fio-3.33\",", FileKind::FioJson),
            ("3;fio-3.33;mix;0;0;66820;", FileKind::FioTerse),
            ("a: (g=0): rw=read, bs=(R) 4096B-4096B", FileKind::FioText),
            ("{\n \"pre\":[ { \"template\":\"a.fio\" } ], \"def\": []", FileKind::FioSynthSuite),
            ("Jobname,Read_IOPS,Read_BW\n", FileKind::FioSynthCsv),
            ("Version 1.1.0 \n'TEST SETUP ====\n", FileKind::IometerConfig),
            ("'Test Type,Test Description\n0,x\n", FileKind::IometerCsv),
            ("-----\nCrystalDiskMark 8.0.4 x64\n", FileKind::CrystalDiskMark),
            ("   KDiskMark (3.1.4): https://x\n", FileKind::KDiskMark),
            ("<?xml version='1.0'?>\n<intel><testdate>x</testdate><devinfo>", FileKind::TkperfXml),
            ("sudo tkperf ssd intel320 /dev/sdb -nj 2\n", FileKind::TkperfCommand),
            ("<Results>\n<System>", FileKind::DiskspdXml),
            ("<Profile>\n<TimeSpans>", FileKind::DiskspdProfile),
            ("\nCommand Line: x\n\nInput parameters:\n", FileKind::DiskspdText),
            ("*\n tod timestamp Run Interval\n", FileKind::VdbenchFlat),
            ("sd=sd1,lun=/dev/x\nwd=wd1,sd=sd1\nrd=r,wd=wd1\n", FileKind::VdbenchParameters),
            ("version = 1\n\n[[stream]] # 50 %\nios = 1\n", FileKind::Workload),
            ("[[limit]]\ntitle = \"x\"\n", FileKind::Limits),
            (
                "{\"version\":3,\"id\":\"iops\",\"headline\":\"x\",\"digest\":\"\"}",
                FileKind::Findings,
            ),
        ];
        for (text, kind) in known {
            assert_eq!(of(text), Some(kind), "{text}");
            let wide = text.encode_utf16().flat_map(u16::to_le_bytes);
            let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide).collect();
            assert_eq!(identify("x", &wide), Some(kind), "UTF-16: {text}");
        }
        for text in ["", "hello", "a,b\n1,2\n", "{}", "<html></html>", "[section]\nx=1\n", "{{{"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(identify("disk.BMK", b"anything"), Some(FileKind::AttoBenchmark));
        assert_eq!(identify("x", b"PAR1\x15"), Some(FileKind::Parquet));
        assert_eq!(identify("x", &[0xfd, b'7', b'z', b'X', b'Z', 0]), Some(FileKind::Xz));
    }
}
