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

/// A caveat of a run that has not come to its end.
const UNFINISHED: &str = "unfinished";

/// Steady or not: the report's own verdict, or that of its parts together;
/// `None` where none of them has one, and where the run has not come to its end:
/// a run broken off after a steady preconditioning is no success.
pub(crate) fn steady(findings: &Findings) -> Option<bool> {
    if findings.caveats.iter().any(|caveat| caveat.id == UNFINISHED) {
        return None;
    }
    let own = findings.verdict.as_ref().map(|verdict| verdict.steady);
    own.or_else(|| findings.parts.iter().filter_map(steady).reduce(|a, b| a && b))
}

/// A disclosure as it prints.
pub(crate) struct Disclosure<'a> {
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
    let parts = parts(findings);
    let mut found: Vec<(&Caveat, Vec<&str>)> =
        findings.caveats.iter().map(|caveat| (caveat, Vec::new())).collect();
    for part in &parts {
        for caveat in &part.caveats {
            let same = |(other, _): &&mut (&Caveat, Vec<&str>)| {
                (other.kind, &other.text, &other.remedy)
                    == (caveat.kind, &caveat.text, &caveat.remedy)
            };
            match found.iter_mut().find(same) {
                // The report's own hold for every part already.
                Some((_, of)) if of.is_empty() => {}
                Some((_, of)) => of.push(&part.title),
                None => found.push((caveat, vec![&part.title])),
            }
        }
    }
    let print = |(kind, name): (CaveatKind, &'static str)| {
        let of_kind = found.iter().filter(move |(caveat, _)| caveat.kind == kind);
        of_kind.map(move |(caveat, of)| (kind, name, *caveat, of)).collect::<Vec<_>>()
    };
    let entitled = |caveat: &Caveat, of: &[&str]| match of.len() {
        0 => caveat.text.clone(),
        n if n == parts.len() => caveat.text.clone(),
        _ => format!("{}: {}", of.join(", "), caveat.text),
    };
    let all = KINDS.into_iter().flat_map(print);
    all.map(|(kind, name, caveat, of)| Disclosure {
        kind,
        name,
        text: entitled(caveat, of),
        remedy: &caveat.remedy,
    })
    .collect()
}
