//! Findings of a saved result: the same tables as a run of the tests with Steadfast, so that old
//! and new numbers can be compared.

use super::saved::{DiskMarkDirection, DiskMarkTest, SavedResult};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Cell, Exhibit, Facts, FormBlock, FormHeader, FormSubject, Origin, Page, Row, Setting, Table,
};
use steadfast_domain::sequence::SequenceSource;
use steadfast_domain::{Caveat, Findings};

/// Returns the findings of a saved result.
pub fn findings(saved: &SavedResult, source: &SequenceSource, software: &str) -> Findings {
    let tables = tables(saved);
    let name = name(saved);
    let page = Page::new("CrystalDiskMark", tables.clone());
    let chapter = Page::new("Saved Result", vec![Exhibit::Facts(facts(saved, source))]);
    Findings {
        id: "crystaldiskmark".into(),
        method: format!("Read from a result that {name} saved; Steadfast measured nothing"),
        headline: saved.heading.clone(),
        digest: source.sha256.clone(),
        software: software.to_owned(),
        ending: format!("Read from {}: {} tests.", source.name, saved.tests.len()),
        caveats: caveats(saved),
        summary: tables.into_iter().take(1).collect(),
        form_pages: vec![page],
        chapters: vec![chapter],
        ..Findings::new("CrystalDiskMark", header(saved, source))
    }
}

fn name(saved: &SavedResult) -> &'static str {
    if saved.is_kdiskmark { "KDiskMark" } else { "CrystalDiskMark" }
}

fn caveats(saved: &SavedResult) -> Vec<Caveat> {
    // KDiskMark's default profile shows the mean of the attempts, its peak profile the best one.
    let attempts = if saved.is_kdiskmark { "The mean or the best" } else { "The best" };
    let mut caveats = vec![Caveat::deviation(
        ids::SEQUENCE_NOT_STEADY,
        format!(
            "{attempts} of several attempts of some seconds each, on a part of a file system, \
             without purge and steady state: these numbers are what the drive does at best, not \
             what it sustains."
        ),
        "Compare them only with other results of CrystalDiskMark's tests.",
    )];
    let remark = |id, text: &str| Caveat::remark(id, text, "");
    if saved.corrected {
        caveats.push(remark(
            ids::FOREIGN_UNITS,
            "What KDiskMark prints as MB/s are 1,024,000 bytes/s, as the IOPS of the same lines \
             show. Here MB/s are 10^6 bytes, so the numbers are 2.4 % larger than in its window.",
        ));
    }
    if saved.is_kdiskmark && saved.mix.is_some() {
        caveats.push(remark(
            ids::FOREIGN_MIX,
            "KDiskMark's tests of a mix are means of its reads and writes weighted by the mix, \
             not their sum; they are left out.",
        ));
    }
    caveats
}

fn header(saved: &SavedResult, source: &SequenceSource) -> FormHeader {
    let fact = |name: &str| {
        let found = saved.facts.iter().find(|(label, _)| label.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    FormHeader {
        issuer: name(saved).into(),
        specification: format!("A saved result of {}", name(saved)),
        disclaimer: Some(format!(
            "NOT MEASURED BY STEADFAST: read from a result of {}",
            name(saved)
        )),
        test: "CrystalDiskMark".into(),
        subtitle: fact("Profile").map_or(String::new(), |profile| format!("Profile {profile}")),
        revision: saved.version.clone().unwrap_or_else(|| "CrystalDiskMark".into()),
        vendor: None,
        model: fact("Target").as_deref().and_then(bracketed),
        sponsor: None,
        blocks: vec![
            FormBlock::new("Test Platform", [Setting::identity("Operating System", fact("OS"))])
                .with_subject(FormSubject::Platform),
            FormBlock::new(
                "Test Parameters",
                [
                    Setting::new("sequence-file", "File", &source.name, Origin::Chosen),
                    Setting::new("sequence-range", "Test", fact("Test"), Origin::Found),
                ],
            ),
        ],
    }
}

/// Returns the drive of `/home/x [Samsung SSD 980 PRO 1TB]`, as KDiskMark names its directory.
fn bracketed(target: &str) -> Option<String> {
    let (_, rest) = target.split_once('[')?;
    Some(rest.trim_end_matches(']').trim().to_owned()).filter(|model| !model.is_empty())
}

fn facts(saved: &SavedResult, source: &SequenceSource) -> Facts {
    let fact = |(label, value): &(String, String)| Setting::identity(label, value.as_str());
    Facts::new("Saved result")
        .rows([
            Setting::identity("File", source.name.as_str()),
            Setting::identity("SHA-256 of the file", source.sha256.as_str()),
            Setting::identity("Program", saved.heading.as_str()),
        ])
        .rows(saved.facts.iter().map(fact))
}

fn tables(saved: &SavedResult) -> Vec<Exhibit> {
    let titles = if saved.is_kdiskmark {
        ["MB/s (10^6 bytes)", "IOPS", "Mean response time in µs"]
    } else {
        [
            "MB/s (10^6 bytes), best attempt",
            "IOPS of the best attempt",
            "Mean response time in us of the best attempt",
        ]
    };
    [
        table(saved, "crystaldiskmark", titles[0], |test| Cell::number(Some(test.mb), 3)),
        table(saved, "crystaldiskmark-iops", titles[1], |test| Cell::number(test.iops, 1)),
        table(saved, "crystaldiskmark-latency", titles[2], |test| Cell::number(test.micros, 2)),
    ]
    .map(Exhibit::Table)
    .into()
}

fn table(
    saved: &SavedResult,
    id: &str,
    title: &str,
    value: impl Fn(&DiskMarkTest) -> Cell,
) -> Table {
    let mut directions = DiskMarkDirection::ALL.to_vec();
    directions.retain(|direction| saved.tests.iter().any(|test| test.direction == *direction));
    let mut names: Vec<String> = Vec::new();
    for test in &saved.tests {
        let name = test.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows = names.into_iter().map(|name| {
        let cell = |direction: &DiskMarkDirection| {
            let found = saved.tests.iter().find(|t| t.direction == *direction && t.name() == name);
            found.map_or(Cell::Missing, &value)
        };
        let cells: Vec<Cell> = directions.iter().map(cell).collect();
        Row::new(name, cells)
    });
    Table::new(id, title, "Test")
        .rows(rows.collect::<Vec<_>>())
        .columns(directions.iter().map(|direction| direction.name()))
}
