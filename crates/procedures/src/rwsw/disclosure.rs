//! Disclosures of every report of a captured workload: its source, the streams that are applied,
//! and the rules that are our choice.

use super::composite::CapturedComposite;
use super::method::{ARRIVALS, ZONES, has_zones};
use super::preconditioning::PreconditioningPlan;
use super::segments::streams_table;
use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::common::choices::RunChoices;
use crate::exhibits::disclosure::{self, ReportForm, SettingRows, profile_row};
use crate::exhibits::pages::page;
use crate::report_notation::{count_word, joined, limits_text, number};
use steadfast_domain::findings::{Cell, Exhibit, Facts, Origin, Page, Row, Setting, Table};
use steadfast_domain::load_words::{hottest_share, pace_text};
use steadfast_domain::stimulus::{Pace, Zone};
use steadfast_domain::{Caveat, IoStream, Record, Settings, caveats as ids};

pub fn workload_rows(composite: &CapturedComposite, settings: &Settings) -> SettingRows {
    let workload = &composite.workload;
    let origin = |word: &str| {
        let found = workload.origin.iter().find(|(label, _)| label.to_lowercase().contains(word));
        found.map(|(_, value)| value.clone())
    };
    let mut rows = vec![
        Setting::new("rwsw", "RWSW", &workload.name, Origin::Chosen),
        Setting::new(
            "applied-streams",
            "Applied I/O streams",
            streams_text(composite),
            Origin::Chosen,
        ),
        Setting::new("capture-tool", "Capture tool", origin("tool"), Origin::Found),
        Setting::new("capture-layer", "Capture layer", origin("layer"), Origin::Found),
    ];
    rows.extend(detail_rows(composite, settings));
    rows
}

/// Returns the rows on the zones and arrivals of a workload that has them.
fn detail_rows(composite: &CapturedComposite, settings: &Settings) -> SettingRows {
    let captured = settings.workload.as_deref();
    let mut rows = Vec::new();
    if captured.is_some_and(has_zones) {
        let zoned = composite.workload.streams.iter().filter(|s| !s.zones.is_empty()).count();
        let text = match zoned {
            0 => "left out: the whole active range".to_owned(),
            zoned => format!("{zoned} streams, as captured"),
        };
        rows.push(ZONES.row(settings, "Address zones", text));
    }
    if let Some(arrivals) = captured.and_then(|workload| workload.arrivals.as_ref()) {
        let text = match composite.pace() {
            Pace::Closed => {
                let captured = pace_text(arrivals).unwrap_or_default();
                format!("closed loop; captured and not applied: {captured}")
            }
            pace => {
                let text = pace_text(&pace).unwrap_or_default();
                let unknown = match pace {
                    Pace::ByStream(_) => composite.captured_arrivals().filter(|is| !is).count(),
                    _ => 0,
                };
                match unknown {
                    0 => format!("as captured: {text}"),
                    _ => format!(
                        "as captured, at random for {unknown} streams whose arrivals are unknown: {text}"
                    ),
                }
            }
        };
        rows.push(ARRIVALS.row(settings, "Arrivals", text));
    }
    rows
}

/// Returns the table of the zones of the applied streams; `None` if no stream has zones.
fn zones_table(composite: &CapturedComposite) -> Option<Table> {
    let streams = composite.streams();
    let zoned = streams.iter().filter(|stream| !stream.zones.is_empty());
    let row = |stream: &IoStream| {
        let width = |zone: &Zone| f64::from(zone.to_ppm.saturating_sub(zone.from_ppm)) / 1e4;
        let touched: f64 = stream.zones.iter().map(width).sum();
        let figures = [
            (stream.zones.len() as f64, 0),
            (touched.min(100.0), 4),
            (hottest_share(&stream.zones, 1.0), 2),
            (hottest_share(&stream.zones, 10.0), 2),
        ];
        Row::new(stream.to_string(), figures.map(|(value, n)| Cell::number(Some(value), n)))
    };
    let rows: Vec<Row> = zoned.map(row).collect();
    let columns = [
        "Zones", "% of the range touched", "% of the I/Os in the hottest 1 %",
        "% of the I/Os in the hottest 10 %",
    ];
    let title = "Address zones of the applied streams, in parts of the active range";
    (!rows.is_empty())
        .then(|| Table::new("applied-zones", title, "I/O stream").columns(columns).rows(rows))
}

/// Returns the table of the arrivals of the applied streams; `None` if they have none of their own.
fn arrivals_table(composite: &CapturedComposite) -> Option<Table> {
    let Pace::ByStream(paces) = composite.pace() else { return None };
    let streams = composite.streams();
    let mut rows = Vec::new();
    for ((stream, pace), is_captured) in
        streams.iter().zip(&paces).zip(composite.captured_arrivals())
    {
        let cells = [
            Cell::number(pace.offered_iops(), 3),
            Cell::text(if is_captured { "yes" } else { "no" }),
            Cell::text(pace_text(pace).unwrap_or_default()),
        ];
        rows.push(Row::new(stream.to_string(), cells));
    }
    let title = "Arrivals of the applied streams, independent of one another";
    let table = Table::new("applied-arrivals", title, "I/O stream");
    Some(table.columns(["IOPS", "Captured", "Arrivals"]).rows(rows))
}

/// Returns the number of applied streams, such as `9 of 1,033 (78.43 % of the I/Os)`.
fn streams_text(composite: &CapturedComposite) -> String {
    let workload = &composite.workload;
    let streams = composite.streams();
    let weight = |streams: &[IoStream]| streams.iter().map(|s| f64::from(s.weight)).sum::<f64>();
    let share = (workload.captured_ios > 0).then(|| {
        let of_applied = weight(&streams) / weight(&workload.streams);
        let applied = workload.applied_ios() as f64 / workload.captured_ios as f64;
        format!(" ({:.2} % of the I/Os)", of_applied * applied * 100.0)
    });
    format!(
        "{} of {}{}",
        streams.len(),
        number(workload.captured_streams as f64, 0),
        share.unwrap_or_default()
    )
}

/// Returns the form of a test of a captured workload, with the rows that all such tests have.
pub fn report_form(
    test: &str,
    subtitle: &str,
    choices: &RunChoices<'_>,
    composite: &CapturedComposite,
    preconditioning: &PreconditioningPlan,
) -> ReportForm {
    ReportForm::new(test, subtitle, choices)
        .set_up([profile_row("regime", "Purge & Pre Condition", preconditioning.text(choices))])
        .set_up(disclosure::preconditioning_rows(choices))
        .set_up([disclosure::note_row(choices)])
        .test_parameters(workload_rows(composite, choices.settings))
}

pub fn workload_chapter(composite: &CapturedComposite) -> Page {
    let workload = &composite.workload;
    let found =
        |(label, value): &(String, String)| Setting::new(label, label, value, Origin::Found);
    let facts = Facts::new("Captured workload")
        .with(Setting::new("rwsw", "RWSW", &workload.name, Origin::Chosen))
        .with(Setting::new("workload-source", "Read from", &workload.source, Origin::Chosen))
        .rows(workload.origin.iter().map(found))
        .with(Setting::outcome("Captured I/Os", workload.captured_ios.to_string()))
        .with(Setting::outcome(
            "Captured bytes",
            workload.captured_bytes.map(|bytes| bytes.0.to_string()),
        ))
        .with(Setting::outcome("Captured I/O streams", workload.captured_streams.to_string()))
        .with(Setting::outcome("Capture steps", workload.steps.len().to_string()));
    let mut exhibits = vec![Exhibit::Facts(facts), Exhibit::Table(streams_table(composite))];
    exhibits.extend(zones_table(composite).map(Exhibit::Table));
    exhibits.extend(arrivals_table(composite).map(Exhibit::Table));
    page("Applied Test Workload", exhibits)
}

/// Returns the caveats of all tests of captured workloads, in addition to those of any report.
pub fn caveats(
    composite: &CapturedComposite,
    setup: &ProcedureSetup,
    preconditioning: &PreconditioningPlan,
) -> Vec<Caveat> {
    let mut caveats = vec![rules()];
    let remarks = composite.workload.remarks.iter();
    caveats.extend(remarks.map(|text| Caveat::remark(ids::WORKLOAD_REMARK, text.clone(), "")));
    caveats.extend(streams_left_out(composite, setup));
    if preconditioning.reads_unwritten(&setup.settings, composite) {
        caveats.push(Caveat::deviation(
            ids::READS_UNWRITTEN,
            "Reads also find blocks that nothing was written to since the purge; a drive answers \
             these without its flash.",
            "Choose --set preconditioning=wipc, or --purge none.",
        ));
    }
    caveats
}

/// Returns a caveat on the measured steps that did not keep up with the captured arrivals; `None` if
/// there are none or the load is a closed loop.
pub fn arrivals_missed(
    composite: &CapturedComposite,
    choices: &RunChoices<'_>,
    record: &Record,
) -> Option<Caveat> {
    let offered = composite.pace().offered_iops()?;
    let offered = format!("the captured arrivals of {} IOPS", number(offered, 0));
    disclosure::rate_missed(choices, record, &offered, "Omit --set arrivals to saturate the drive.")
}

fn rules() -> Caveat {
    Caveat::unverified(
        ids::RWSW_RULES,
        "Of RWSW PTS 1.0.7 only public summaries could be read. What a segment is, how long steps \
         take, when steady state is judged, how captured queue depths become outstanding I/Os and \
         what is sequential are our readings (docs/methods.md).",
        "",
    )
}

fn streams_left_out(composite: &CapturedComposite, setup: &ProcedureSetup) -> Option<Caveat> {
    let streams = composite.left_out();
    let ios: u64 = streams.iter().map(|stream| u64::from(stream.weight)).sum();
    (!streams.is_empty()).then(|| {
        Caveat::deviation(
            ids::STREAMS_LEFT_OUT,
            format!(
                "{} of the workload's streams ({ios} I/Os) are not applied, because their transfers \
                 are no whole sectors of {} bytes: {}.",
                streams.len(),
                setup.geometry.logical_sector,
                joined(&streams)
            ),
            "",
        )
    })
}

/// Returns the caveat that the cadence of the steady-state check is our choice.
pub fn cadence(setup: &ProcedureSetup, cycle: &str) -> Caveat {
    let criteria = &setup.method.criteria;
    Caveat::unverified(
        ids::RWSW_CADENCE,
        format!(
            "Steady state of {} is judged by the rule and the cadence of the PTS's WSAT: {} \
             measured steps meet {}, one in each cycle of {cycle}. The cadence of RWSW PTS could \
             not be read.",
            setup.settings.procedure,
            count_word(criteria.window),
            limits_text(criteria)
        ),
        "",
    )
}
