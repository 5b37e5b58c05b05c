//! Purge: what the user asks for, how it was done, and what was read back.

use crate::nearest::UnknownName;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a user asks for: `--purge`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub enum PurgeChoice {
    /// The best that the device says it can do.
    #[default]
    Auto,
    /// This method and no other. On a file a discard is other blocks.
    Method(PurgeMethod),
}

impl PurgeChoice {
    /// Whether the method is left to the device's abilities.
    pub const fn is_auto(&self) -> bool {
        matches!(self, PurgeChoice::Auto)
    }

    /// Whether it can be done to a file.
    pub const fn suits_a_file(&self) -> bool {
        use PurgeMethod::{Discard, Nothing, RecreateFile};
        matches!(self, PurgeChoice::Auto | PurgeChoice::Method(Discard | Nothing | RecreateFile))
    }
}

/// What becomes of a run whose purge failed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeFailure {
    /// It halts.
    #[default]
    Halt,
    /// The run continues without a purge, and the report says so.
    #[serde(rename = "continue", alias = "go-on")]
    Continue,
}

impl PurgeFailure {
    /// Whether the run halts.
    pub const fn halts(&self) -> bool {
        matches!(self, PurgeFailure::Halt)
    }
}

/// How a device was brought to the state of never having been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// NVMe, ATA or SCSI Sanitize, as records before version 0.2 name it.
    Sanitize,
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
    /// Every block discarded: a lesser purge than the standard's.
    Discard,
    /// The scratch file was recreated.
    RecreateFile,
    /// The simulated drive's own.
    Simulated,
    /// None: the device keeps its history.
    Nothing,
}

impl PurgeMethod {
    /// Whether the PTS lists it (ATA security erase, SCSI format, NVMe format,
    /// or a vendor's command); a sanitize counts as one of them.
    pub const fn in_standard(self) -> bool {
        !matches!(self, PurgeMethod::Discard | PurgeMethod::RecreateFile | PurgeMethod::Nothing)
    }

    /// Whether it only has to make the old content unreadable: with another
    /// key the medium may read as noise.
    pub const fn is_cryptographic(self) -> bool {
        matches!(
            self,
            PurgeMethod::NvmeFormatCrypto
                | PurgeMethod::NvmeSanitizeCrypto
                | PurgeMethod::AtaSanitizeCrypto
                | PurgeMethod::ScsiSanitizeCrypto
        )
    }

    /// How it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            PurgeMethod::NvmeFormat => "nvme-format",
            PurgeMethod::NvmeFormatCrypto => "nvme-format-crypto",
            PurgeMethod::NvmeSanitizeBlock => "nvme-sanitize-block",
            PurgeMethod::NvmeSanitizeCrypto => "nvme-sanitize-crypto",
            PurgeMethod::NvmeSanitizeOverwrite => "nvme-sanitize-overwrite",
            PurgeMethod::Sanitize => "sanitize",
            PurgeMethod::AtaSecurityErase => "ata-security-erase",
            PurgeMethod::AtaSecurityEraseEnhanced => "ata-security-erase-enhanced",
            PurgeMethod::AtaSanitizeBlock => "ata-sanitize-block",
            PurgeMethod::AtaSanitizeCrypto => "ata-sanitize-crypto",
            PurgeMethod::AtaSanitizeOverwrite => "ata-sanitize-overwrite",
            PurgeMethod::ScsiFormatUnit => "scsi-format",
            PurgeMethod::ScsiSanitizeBlock => "scsi-sanitize-block",
            PurgeMethod::ScsiSanitizeCrypto => "scsi-sanitize-crypto",
            PurgeMethod::ScsiSanitizeOverwrite => "scsi-sanitize-overwrite",
            PurgeMethod::Discard => "discard",
            PurgeMethod::RecreateFile => "recreate-file",
            PurgeMethod::Simulated => "simulated",
            PurgeMethod::Nothing => "none",
        }
    }
}

impl fmt::Display for PurgeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PurgeMethod::NvmeFormat => "NVMe Format (user data erase)",
            PurgeMethod::NvmeFormatCrypto => "NVMe Format (cryptographic erase)",
            PurgeMethod::NvmeSanitizeBlock => "NVMe Sanitize (block erase)",
            PurgeMethod::NvmeSanitizeCrypto => "NVMe Sanitize (cryptographic erase)",
            PurgeMethod::NvmeSanitizeOverwrite => "NVMe Sanitize (overwrite)",
            PurgeMethod::Sanitize => "Sanitize",
            PurgeMethod::AtaSecurityErase => "ATA SECURITY ERASE UNIT",
            PurgeMethod::AtaSecurityEraseEnhanced => "ATA SECURITY ERASE UNIT (enhanced)",
            PurgeMethod::AtaSanitizeBlock => "ATA SANITIZE (BLOCK ERASE EXT)",
            PurgeMethod::AtaSanitizeCrypto => "ATA SANITIZE (CRYPTO SCRAMBLE EXT)",
            PurgeMethod::AtaSanitizeOverwrite => "ATA SANITIZE (OVERWRITE EXT)",
            PurgeMethod::ScsiFormatUnit => "SCSI FORMAT UNIT",
            PurgeMethod::ScsiSanitizeBlock => "SCSI SANITIZE (block erase)",
            PurgeMethod::ScsiSanitizeCrypto => "SCSI SANITIZE (cryptographic erase)",
            PurgeMethod::ScsiSanitizeOverwrite => "SCSI SANITIZE (overwrite)",
            PurgeMethod::Discard => "discard of every block (blkdiscard)",
            PurgeMethod::RecreateFile => "file recreated",
            PurgeMethod::Simulated => "simulated purge",
            PurgeMethod::Nothing => "none",
        })
    }
}

/// What can be asked for besides `auto`.
const CHOICES: [PurgeMethod; 16] = [
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
                      scsi-sanitize-crypto, scsi-sanitize-overwrite, discard, none",
        })
    }
}

impl TryFrom<String> for PurgeChoice {
    type Error = UnknownName;
    fn try_from(text: String) -> Result<Self, UnknownName> {
        text.parse()
    }
}

impl From<PurgeChoice> for String {
    fn from(choice: PurgeChoice) -> String {
        choice.to_string()
    }
}

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
            // Its name in versions before; scripts still use it.
            "continue" | "go-on" => Ok(PurgeFailure::Continue),
            _ => Err(UnknownName {
                kind: "answer to a failed purge",
                given: text.to_owned(),
                choices: "halt, continue",
            }),
        }
    }
}

/// What stood at places all over the device after a purge, and before.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct ReadBack {
    /// Places that were looked at.
    pub places: u32,
    /// Bytes read at each.
    pub unit: Bytes,
    /// Places that read as zeros.
    pub zero: u32,
    /// Places that read as another byte, repeated.
    pub constant: u32,
    /// Places that read as before the purge, and were not blank then.
    pub unchanged: u32,
    /// Places that held something just before the purge: only those prove it.
    pub written_before: u32,
    /// Of these, places that this program wrote so that they held something.
    pub marked: u32,
}

impl ReadBack {
    /// Whether every place is blank.
    pub const fn is_blank(&self) -> bool {
        self.zero + self.constant == self.places
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
        // A mark is this program's own and says nothing of what the device held.
        let own = written_before.saturating_sub(*marked);
        write!(f, "; {own} of them held data before")?;
        if *marked > 0 {
            write!(f, ", {marked} were marked for this check")?;
        }
        Ok(())
    }
}

/// A purge as it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Purge {
    /// How.
    pub method: PurgeMethod,
    /// How long it took.
    pub took: Nanos,
    /// Whether blocks read back afterwards were blank; `None` where not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<bool>,
    /// What was read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
    /// Why it failed, where the run went on all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What else is to be known: why no better method, what the tool said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

impl Purge {
    /// A purge with no other details.
    pub const fn new(method: PurgeMethod, took: Nanos) -> Self {
        Purge { method, took, blank: None, read_back: None, failed: None, remark: String::new() }
    }

    /// That none was done, and why.
    pub fn none(remark: &str) -> Self {
        Purge { remark: remark.to_owned(), ..Purge::new(PurgeMethod::Nothing, Nanos::ZERO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_reads_back_as_it_was_written_and_stands_in_the_message() {
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
    fn the_old_name_of_continue_is_read_and_the_new_one_written() {
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
    fn what_was_read_back_is_said() {
        let mut read = ReadBack { places: 64, zero: 64, ..ReadBack::default() };
        (read.unit, read.written_before) = (Bytes(4096), 60);
        assert!(read.is_blank());
        let said = "64 of 64 places of 4096 B read zero; 60 of them held data before";
        assert_eq!(read.to_string(), said);
        read.marked = 50;
        let marked = "; 10 of them held data before, 50 were marked for this check";
        assert!(read.to_string().ends_with(marked), "{read}");
        (read.zero, read.constant, read.unchanged) = (40, 20, 4);
        assert!(!read.is_blank());
        assert!(read.to_string().contains("20 one repeated byte, 4 unchanged"), "{read}");
    }
}
