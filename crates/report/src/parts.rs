//! A report of several procedures: its parts in order, and every disclosure
//! once, with the parts that it holds for.

use steadfast_domain::{Caveat, CaveatKind, Findings};

/// Every kind of caveat and what stands before one.
pub(crate) const KINDS: [(CaveatKind, &str); 4] = [
    (CaveatKind::Invalidates, "ATTENTION"),
    (CaveatKind::Deviation, "Deviation"),
    (CaveatKind::Unverified, "Unverified rule"),
    (CaveatKind::Remark, "Remark"),
];

/// The parts of a report, and the parts of those, in print order.
pub(crate) fn parts(findings: &Findings) -> Vec<&Findings> {
    findings.parts.iter().flat_map(|part| std::iter::once(part).chain(parts(part))).collect()
}

/// Whether anything in the report comes from a simulated drive.
pub(crate) fn simulated(findings: &Findings) -> bool {
    findings.simulated || findings.parts.iter().any(simulated)
}

/// A name that somebody gave; blanks and dashes stand for a missing one.
pub(crate) fn name(given: &Option<String>) -> Option<&str> {
    let stands_for_none = |c: char| c.is_whitespace() || matches!(c, '-' | '–' | '—');
    given.as_deref().filter(|name| !name.chars().all(stands_for_none))
}

/// A disclosure as it prints.
pub(crate) struct Disclosure<'a> {
    /// What it is of, by which it is found; several may be of one thing.
    pub id: &'a str,
    /// Its name in links, where it is the first of its id.
    pub anchor: Option<String>,
    /// Its kind.
    pub kind: CaveatKind,
    /// Its kind in print.
    pub name: &'static str,
    /// What is so; in a report of several parts with the parts' titles before it.
    pub text: String,
    /// What to do.
    pub remedy: &'a str,
}

/// Every disclosure of the report and its parts, by kind, each once.
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
        }
    })
    .collect()
}

/// The name of a disclosure in links: ids have letters, digits and hyphens; any other is
/// somebody else's.
fn anchor_of(id: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!id.is_empty() && id.chars().all(plain)).then(|| format!("disclosure-{id}"))
}

/// A caveat's text with the titles of the parts that it holds for before it,
/// where it does not hold for all of the report.
fn entitled(findings: &Findings, caveat: &Caveat) -> String {
    if holds_for_all(findings, caveat) {
        return caveat.text.clone();
    }
    format!("{}: {}", titles(findings, caveat).join(", "), caveat.text)
}

/// The report's own hold for every part of it.
fn holds_for_all(findings: &Findings, caveat: &Caveat) -> bool {
    let parts = &findings.parts;
    findings.caveats.contains(caveat)
        || !parts.is_empty() && parts.iter().all(|part| holds_for_all(part, caveat))
}

/// The largest parts for all of which it holds.
fn titles<'a>(findings: &'a Findings, caveat: &Caveat) -> Vec<&'a str> {
    let of_part = |part: &'a Findings| match holds_for_all(part, caveat) {
        true => vec![part.title.as_str()],
        false => titles(part, caveat),
    };
    findings.parts.iter().flat_map(of_part).collect()
}
