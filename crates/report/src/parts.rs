//! Reports of several procedures: the parts in order, and every disclosure once, with the parts it
//! applies to.

use crate::grouping::unique_by;
use steadfast_domain::{Caveat, CaveatKind, Findings};

/// Kinds of caveats with their labels, in print order.
pub(crate) const KINDS: [(CaveatKind, &str); 4] = [
    (CaveatKind::Invalidates, "ATTENTION"),
    (CaveatKind::Deviation, "Deviation"),
    (CaveatKind::Unverified, "Unverified rule"),
    (CaveatKind::Remark, "Remark"),
];

/// Returns the findings and all of their parts with their numbers in a report. The findings of a
/// report of several parts have number 0.
pub(crate) fn numbered_parts(findings: &Findings) -> impl Iterator<Item = (usize, &Findings)> {
    let first = usize::from(findings.parts.is_empty());
    findings.self_and_parts().into_iter().enumerate().map(move |(at, one)| (first + at, one))
}

/// Returns true if anything in the report comes from a simulated drive.
pub(crate) fn simulated(findings: &Findings) -> bool {
    findings.simulated || findings.parts.iter().any(simulated)
}

/// Returns a name, or `None` if it is missing or consists of blanks and dashes only.
pub(crate) fn name(given: &Option<String>) -> Option<&str> {
    let stands_for_none = |c: char| c.is_whitespace() || matches!(c, '-' | '–' | '—');
    given.as_deref().filter(|name| !name.chars().all(stands_for_none))
}

/// A disclosure in print.
pub(crate) struct Disclosure<'a> {
    /// Id of the disclosure; several may have the same.
    pub id: &'a str,
    /// Anchor for links; `None` unless it is the first disclosure of its id.
    pub anchor: Option<String>,
    pub kind: CaveatKind,
    /// Label of the kind.
    pub name: &'static str,
    /// Text; in a report of several parts preceded by the titles of the parts it applies to.
    pub text: String,
    pub remedy: &'a str,
    /// True if it applies to the whole report, not to single parts of it.
    pub is_of_all: bool,
}

/// Returns every disclosure of the report and its parts, by kind, each once.
pub(crate) fn disclosures(findings: &Findings) -> Vec<Disclosure<'_>> {
    let caveats = unique_by(
        findings.self_and_parts().into_iter().flat_map(|one| &one.caveats),
        |one: &&Caveat, other: &&Caveat| one == other,
    );
    let mut disclosures: Vec<Disclosure<'_>> = Vec::new();
    for (kind, name) in KINDS {
        for caveat in caveats.iter().filter(|caveat| caveat.kind == kind) {
            let is_first = disclosures.iter().all(|other| other.id != caveat.id);
            disclosures.push(Disclosure {
                id: &caveat.id,
                anchor: is_first.then(|| anchor_of(&caveat.id)).flatten(),
                kind,
                name,
                text: text_with_parts(findings, caveat),
                remedy: &caveat.remedy,
                is_of_all: applies_to_all(findings, caveat),
            });
        }
    }
    disclosures
}

/// Returns the anchor for an id, or `None` if the id has characters other than letters, digits and
/// hyphens, and so is not one of ours.
fn anchor_of(id: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!id.is_empty() && id.chars().all(plain)).then(|| format!("disclosure-{id}"))
}

/// Returns the text of a caveat, preceded by the titles of the parts it applies to unless it
/// applies to the whole report.
fn text_with_parts(findings: &Findings, caveat: &Caveat) -> String {
    if applies_to_all(findings, caveat) {
        return caveat.text.clone();
    }
    format!("{}: {}", titles(findings, caveat).join(", "), caveat.text)
}

/// Returns true if a caveat applies to every part; caveats of the report itself do.
fn applies_to_all(findings: &Findings, caveat: &Caveat) -> bool {
    let parts = &findings.parts;
    findings.caveats.contains(caveat)
        || !parts.is_empty() && parts.iter().all(|part| applies_to_all(part, caveat))
}

/// Returns the titles of the largest parts that the caveat applies to as a whole.
fn titles<'a>(findings: &'a Findings, caveat: &Caveat) -> Vec<&'a str> {
    let of_part = |part: &'a Findings| {
        if applies_to_all(part, caveat) { vec![part.title.as_str()] } else { titles(part, caveat) }
    };
    findings.parts.iter().flat_map(of_part).collect()
}
