//! Reports of several procedures: the parts in order, and every disclosure once, with the parts it
//! applies to.

use steadfast_domain::{Caveat, CaveatKind, Findings};

/// Kinds of caveats with their labels, in print order.
pub(crate) const KINDS: [(CaveatKind, &str); 4] = [
    (CaveatKind::Invalidates, "ATTENTION"),
    (CaveatKind::Deviation, "Deviation"),
    (CaveatKind::Unverified, "Unverified rule"),
    (CaveatKind::Remark, "Remark"),
];

/// Returns the parts of a report, and the parts of those, in print order.
pub(crate) fn parts(findings: &Findings) -> Vec<&Findings> {
    findings.parts.iter().flat_map(|part| std::iter::once(part).chain(parts(part))).collect()
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
    /// Kind of the disclosure.
    pub kind: CaveatKind,
    /// Label of the kind.
    pub name: &'static str,
    /// Text; in a report of several parts preceded by the titles of the parts it applies to.
    pub text: String,
    /// Recommended action.
    pub remedy: &'a str,
    /// True if it applies to the whole report, not to single parts of it.
    pub is_of_all: bool,
}

/// Returns every disclosure of the report and its parts, by kind, each once.
pub(crate) fn disclosures(findings: &Findings) -> Vec<Disclosure<'_>> {
    let mut found: Vec<&Caveat> = Vec::new();
    for one in std::iter::once(findings).chain(parts(findings)) {
        for caveat in &one.caveats {
            if !found.contains(&caveat) {
                found.push(caveat);
            }
        }
    }
    let print = |(kind, name): (CaveatKind, &'static str)| {
        let of_kind = found.iter().copied().filter(move |caveat| caveat.kind == kind);
        of_kind.map(move |caveat| (kind, name, caveat)).collect::<Vec<_>>()
    };
    let all = KINDS.into_iter().flat_map(print);
    let mut ids: Vec<&str> = Vec::new();
    all.map(|(kind, name, caveat)| {
        let is_first = !ids.contains(&caveat.id.as_str());
        ids.push(&caveat.id);
        Disclosure {
            id: &caveat.id,
            anchor: is_first.then(|| anchor_of(&caveat.id)).flatten(),
            kind,
            name,
            text: entitled(findings, caveat),
            remedy: &caveat.remedy,
            is_of_all: holds_for_all(findings, caveat),
        }
    })
    .collect()
}

/// Returns the anchor for an id, or `None` if the id has characters other than letters, digits and
/// hyphens, and so is not one of ours.
fn anchor_of(id: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!id.is_empty() && id.chars().all(plain)).then(|| format!("disclosure-{id}"))
}

/// Returns the text of a caveat, preceded by the titles of the parts it applies to unless it
/// applies to the whole report.
fn entitled(findings: &Findings, caveat: &Caveat) -> String {
    if holds_for_all(findings, caveat) {
        return caveat.text.clone();
    }
    format!("{}: {}", titles(findings, caveat).join(", "), caveat.text)
}

/// Returns true if a caveat applies to every part; caveats of the report itself do.
fn holds_for_all(findings: &Findings, caveat: &Caveat) -> bool {
    let parts = &findings.parts;
    findings.caveats.contains(caveat)
        || !parts.is_empty() && parts.iter().all(|part| holds_for_all(part, caveat))
}

/// Returns the titles of the largest parts that the caveat applies to as a whole.
fn titles<'a>(findings: &'a Findings, caveat: &Caveat) -> Vec<&'a str> {
    let of_part = |part: &'a Findings| {
        if holds_for_all(part, caveat) { vec![part.title.as_str()] } else { titles(part, caveat) }
    };
    findings.parts.iter().flat_map(of_part).collect()
}
