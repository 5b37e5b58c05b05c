//! Purge: the method requested, the method used, and the result of reading the device back.

use crate::serde_text::serde_text;
use crate::suggestion::UnknownName;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Purge that the user requests with `--purge`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum PurgeChoice {
    /// The best method that the device reports to support.
    #[default]
    Auto,
    /// Exactly this method. On a file, a discard recreates the file.
    Method(PurgeMethod),
}

impl PurgeChoice {
    /// Returns true if the method is chosen by what the device supports.
    pub const fn is_auto(&self) -> bool {
        matches!(self, PurgeChoice::Auto)
    }

    /// Returns true if the purge can be applied to a file.
    pub const fn suits_a_file(&self) -> bool {
        use PurgeMethod::{Discard, Nothing, RecreateFile};
        matches!(self, PurgeChoice::Auto | PurgeChoice::Method(Discard | Nothing | RecreateFile))
    }
}

/// Action after a failed purge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeFailure {
    /// The run halts.
    #[default]
    Halt,
    /// The run continues without a purge, and the report says so.
    #[serde(rename = "continue", alias = "go-on")]
    Continue,
}

impl PurgeFailure {
    /// Returns true if the run halts.
    pub const fn halts(&self) -> bool {
        matches!(self, PurgeFailure::Halt)
    }
}

/// Method that returned a device to a state as if it had never been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeMethod {
    /// NVMe Format, user data erase.
    NvmeFormat,
    /// NVMe Format, cryptographic erase.
    NvmeFormatCrypto,
    /// NVMe Sanitize, block erase.
    NvmeSanitizeBlock,
    /// NVMe Sanitize, cryptographic erase.
    NvmeSanitizeCrypto,
    /// NVMe Sanitize, overwrite.
    NvmeSanitizeOverwrite,
    /// ATA SECURITY ERASE UNIT.
    AtaSecurityErase,
    /// ATA SECURITY ERASE UNIT, enhanced.
    AtaSecurityEraseEnhanced,
    /// ATA BLOCK ERASE EXT.
    AtaSanitizeBlock,
    /// ATA CRYPTO SCRAMBLE EXT.
    AtaSanitizeCrypto,
    /// ATA OVERWRITE EXT.
    AtaSanitizeOverwrite,
    /// SCSI FORMAT UNIT.
    ScsiFormatUnit,
    /// SCSI SANITIZE, block erase.
    ScsiSanitizeBlock,
    /// SCSI SANITIZE, cryptographic erase.
    ScsiSanitizeCrypto,
    /// SCSI SANITIZE, overwrite.
    ScsiSanitizeOverwrite,
    /// A vendor's command that the user gave.
    VendorCommand,
    /// Discard of every block: weaker than the standard's purge.
    Discard,
    /// Recreation of the scratch file.
    RecreateFile,
    /// Purge of a simulated drive.
    Simulated,
    /// No purge: the device keeps its history.
    Nothing,
}

impl PurgeMethod {
    /// Returns true if the PTS lists the method (ATA security erase, SCSI format, NVMe format, or a
    /// vendor's command); a sanitize counts as one of them.
    pub const fn in_standard(self) -> bool {
        !matches!(self, PurgeMethod::Discard | PurgeMethod::RecreateFile | PurgeMethod::Nothing)
    }

    /// Returns true if the method only has to make the old data unreadable: with a new key, the
    /// medium may read as noise.
    pub const fn is_cryptographic(self) -> bool {
        matches!(
            self,
            PurgeMethod::NvmeFormatCrypto
                | PurgeMethod::NvmeSanitizeCrypto
                | PurgeMethod::AtaSanitizeCrypto
                | PurgeMethod::ScsiSanitizeCrypto
        )
    }

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// Returns the names on the command line and in reports.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::NvmeFormat => ("nvme-format", "NVMe Format (user data erase)"),
            Self::NvmeFormatCrypto => ("nvme-format-crypto", "NVMe Format (cryptographic erase)"),
            Self::NvmeSanitizeBlock => ("nvme-sanitize-block", "NVMe Sanitize (block erase)"),
            Self::NvmeSanitizeCrypto => {
                ("nvme-sanitize-crypto", "NVMe Sanitize (cryptographic erase)")
            }
            Self::NvmeSanitizeOverwrite => ("nvme-sanitize-overwrite", "NVMe Sanitize (overwrite)"),
            Self::AtaSecurityErase => ("ata-security-erase", "ATA SECURITY ERASE UNIT"),
            Self::AtaSecurityEraseEnhanced => {
                ("ata-security-erase-enhanced", "ATA SECURITY ERASE UNIT (enhanced)")
            }
            Self::AtaSanitizeBlock => ("ata-sanitize-block", "ATA SANITIZE (BLOCK ERASE EXT)"),
            Self::AtaSanitizeCrypto => {
                ("ata-sanitize-crypto", "ATA SANITIZE (CRYPTO SCRAMBLE EXT)")
            }
            Self::AtaSanitizeOverwrite => {
                ("ata-sanitize-overwrite", "ATA SANITIZE (OVERWRITE EXT)")
            }
            Self::ScsiFormatUnit => ("scsi-format", "SCSI FORMAT UNIT"),
            Self::ScsiSanitizeBlock => ("scsi-sanitize-block", "SCSI SANITIZE (block erase)"),
            Self::ScsiSanitizeCrypto => {
                ("scsi-sanitize-crypto", "SCSI SANITIZE (cryptographic erase)")
            }
            Self::ScsiSanitizeOverwrite => ("scsi-sanitize-overwrite", "SCSI SANITIZE (overwrite)"),
            Self::VendorCommand => ("vendor-command", "vendor's command"),
            Self::Discard => ("discard", "discard of every block (blkdiscard)"),
            Self::RecreateFile => ("recreate-file", "file recreated"),
            Self::Simulated => ("simulated", "simulated purge"),
            Self::Nothing => ("none", "none"),
        }
    }
}

impl fmt::Display for PurgeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}

/// Methods that can be requested explicitly.
const CHOICES: [PurgeMethod; 17] = [
    PurgeMethod::NvmeFormat,
    PurgeMethod::NvmeFormatCrypto,
    PurgeMethod::NvmeSanitizeBlock,
    PurgeMethod::NvmeSanitizeCrypto,
    PurgeMethod::NvmeSanitizeOverwrite,
    PurgeMethod::AtaSecurityErase,
    PurgeMethod::AtaSecurityEraseEnhanced,
    PurgeMethod::AtaSanitizeBlock,
    PurgeMethod::AtaSanitizeCrypto,
    PurgeMethod::AtaSanitizeOverwrite,
    PurgeMethod::ScsiFormatUnit,
    PurgeMethod::ScsiSanitizeBlock,
    PurgeMethod::ScsiSanitizeCrypto,
    PurgeMethod::ScsiSanitizeOverwrite,
    PurgeMethod::VendorCommand,
    PurgeMethod::Discard,
    PurgeMethod::Nothing,
];

impl fmt::Display for PurgeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PurgeChoice::Auto => "auto",
            PurgeChoice::Method(method) => method.name(),
        })
    }
}

impl FromStr for PurgeChoice {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text == "auto" {
            return Ok(PurgeChoice::Auto);
        }
        let method = CHOICES.into_iter().find(|method| method.name() == text);
        method.map(PurgeChoice::Method).ok_or_else(|| UnknownName {
            kind: "purge",
            given: text.to_owned(),
            choices: "auto, nvme-format, nvme-format-crypto, nvme-sanitize-block, \
                      nvme-sanitize-crypto, nvme-sanitize-overwrite, ata-security-erase, \
                      ata-security-erase-enhanced, ata-sanitize-block, ata-sanitize-crypto, \
                      ata-sanitize-overwrite, scsi-format, scsi-sanitize-block, \
                      scsi-sanitize-crypto, scsi-sanitize-overwrite, vendor-command, discard, none",
        })
    }
}

serde_text!(PurgeChoice);

impl fmt::Display for PurgeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.halts() { "halt" } else { "continue" })
    }
}

impl FromStr for PurgeFailure {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "halt" => Ok(PurgeFailure::Halt),
            // Earlier versions used this name; scripts still do.
            "continue" | "go-on" => Ok(PurgeFailure::Continue),
            _ => Err(UnknownName {
                kind: "action after a failed purge",
                given: text.to_owned(),
                choices: "halt, continue",
            }),
        }
    }
}

/// Comparison of sampled places all over the device before and after a purge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBack {
    /// Number of places read.
    pub places: u32,
    /// Bytes read at each place.
    pub unit: Bytes,
    /// Places that read as zeros.
    pub zero: u32,
    /// Places that read as one other byte, repeated.
    pub constant: u32,
    /// Places that read as they did before the purge and were not blank then.
    pub unchanged: u32,
    /// Places that held data just before the purge: only these prove that it worked.
    pub written_before: u32,
    /// Places among `written_before` that this program wrote for this check.
    pub marked: u32,
}

impl ReadBack {
    /// Returns true if places were read and every one is blank.
    pub const fn is_blank(&self) -> bool {
        self.places > 0 && self.zero + self.constant == self.places
    }
}

impl fmt::Display for ReadBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadBack { places, zero, constant, written_before, marked, .. } = self;
        write!(f, "{zero} of {places} places of {} B read zero", self.unit.0)?;
        if *constant > 0 {
            write!(f, ", {constant} one repeated byte")?;
        }
        if self.unchanged > 0 {
            write!(f, ", {} unchanged", self.unchanged)?;
        }
        // A mark was written by this program and does not show what the device held.
        let own = written_before.saturating_sub(*marked);
        write!(f, "; {own} places held data before")?;
        if *marked > 0 {
            write!(f, ", {marked} were marked for this check")?;
        }
        Ok(())
    }
}

/// A vendor's purge command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PurgeCommandRecord {
    /// Command as it was run, with the path of the device.
    pub command: String,
    /// First line that the program printed for `--version`; `None` if it printed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// End of the command's output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Reason why the command did not succeed, such as its exit status; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Time until the processes had ended that the command left running when it exited; zero if it
    /// left none.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub awaited: Nanos,
}

/// A purge that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Purge {
    /// Method used.
    pub method: PurgeMethod,
    /// Duration of the purge.
    pub took: Nanos,
    /// True if blocks read back afterwards were blank; `None` if none were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<bool>,
    /// Result of reading the device back; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
    /// Error message, if the purge failed and the run continued; `None` if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Command that the user gave; `None` for other methods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<PurgeCommandRecord>,
    /// Further remarks: why no better method was used, and what the tool reported.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

impl Purge {
    /// Creates a purge without further details.
    pub const fn new(method: PurgeMethod, took: Nanos) -> Self {
        Purge {
            method,
            took,
            blank: None,
            read_back: None,
            failed: None,
            command: None,
            remark: String::new(),
        }
    }

    /// Creates a record that no purge was done, for the reason in `remark`.
    pub fn none(remark: &str) -> Self {
        Purge { remark: remark.to_owned(), ..Purge::new(PurgeMethod::Nothing, Nanos::ZERO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purge_choice_parses_and_is_listed_in_the_error() {
        let unknown = "format".parse::<PurgeChoice>().unwrap_err();
        for method in CHOICES {
            let choice = PurgeChoice::Method(method);
            assert_eq!(choice.to_string().parse(), Ok(choice));
            assert!(unknown.choices.split(", ").any(|name| name == method.name()), "{method}");
        }
        assert_eq!("auto".parse(), Ok(PurgeChoice::Auto));
        assert_eq!(unknown.choices.split(", ").count(), CHOICES.len() + 1);
        for other in ["recreate-file", "simulated", "", "Auto"] {
            assert!(other.parse::<PurgeChoice>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_record_of_an_earlier_version_is_read() {
        let old = r#"{"method":"scsi-format-unit","took":5,"blank":true}"#;
        let purge: Purge = serde_json::from_str(old).unwrap();
        assert_eq!((purge.method, purge.blank), (PurgeMethod::ScsiFormatUnit, Some(true)));
        assert_eq!((purge.read_back, purge.failed), (None, None));
    }

    #[test]
    fn the_old_name_of_continue_still_parses() {
        for text in ["continue", "go-on"] {
            assert_eq!(text.parse(), Ok(PurgeFailure::Continue));
            let read: PurgeFailure = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            assert_eq!(read, PurgeFailure::Continue);
        }
        assert_eq!(PurgeFailure::Continue.to_string(), "continue");
        assert_eq!(serde_json::to_string(&PurgeFailure::Continue).unwrap(), "\"continue\"");
        assert!(!"go on".parse::<PurgeFailure>().unwrap_err().to_string().contains("go-on"));
    }

    #[test]
    fn a_read_back_is_described() {
        let mut read = ReadBack { places: 64, zero: 64, ..ReadBack::default() };
        (read.unit, read.written_before) = (Bytes(4096), 60);
        assert!(read.is_blank());
        let text = "64 of 64 places of 4096 B read zero; 60 places held data before";
        assert_eq!(read.to_string(), text);
        read.marked = 50;
        let marked = "; 10 places held data before, 50 were marked for this check";
        assert!(read.to_string().ends_with(marked), "{read}");
        (read.zero, read.constant, read.unchanged) = (40, 20, 4);
        assert!(!read.is_blank());
        assert!(read.to_string().contains("20 one repeated byte, 4 unchanged"), "{read}");
    }
}
