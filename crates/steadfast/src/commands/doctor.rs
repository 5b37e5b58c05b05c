//! `steadfast doctor`: finds conditions of host and device that would spoil a measurement.

use crate::cli::DoctorArguments;
use crate::exit::ExitState;
use crate::target::{self, TargetRef};
use crate::terminal;
use console::{StyledObject, style};
use serde::Serialize;
use steadfast_domain::Device;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::record::{Check, CheckState};
use steadfast_domain::text::{printable, wrapped};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::SimulatedSsd;
use steadfast_host::{Examination, SystemRoots, WATCH};

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct DoctorOutput<'a> {
    device: &'a Device,
    /// The worst state of any check.
    state: CheckState,
    checks: &'a [Check],
    /// Reports of an NVMe drive about itself; absent for other devices.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pages: &'a [DrivePage],
}

/// Checks a device and its host. Read-only.
pub fn run(arguments: &DoctorArguments) -> anyhow::Result<ExitState> {
    let (device, found) = match target::existing(&arguments.device)? {
        TargetRef::Simulated(spec) => {
            let ssd = SimulatedSsd::new(spec, 1, StopSignal::default());
            let checks = vec![simulated_check()];
            (ssd.device().clone(), Examination { checks, ..Examination::default() })
        }
        TargetRef::Real(device) => {
            let found = steadfast_host::examine(&device, &SystemRoots::real(), WATCH);
            (*device, found)
        }
    };
    let Examination { checks, pages } = found;
    let state = checks.iter().map(|check| check.state).max().unwrap_or(CheckState::Good);
    if arguments.json {
        terminal::print_json(&DoctorOutput {
            device: &device,
            state,
            checks: &checks,
            pages: &pages,
        })?;
    } else {
        terminal::print_colored(&check_list(&device, &checks, terminal::width()))?;
    }
    Ok(if state >= CheckState::Attention { ExitState::Unfit } else { ExitState::Done })
}

/// Returns the only check of a simulated drive.
fn simulated_check() -> Check {
    Check {
        id: "device-kind".into(),
        subject: "Kind of device".into(),
        state: CheckState::Good,
        found: "simulated: it runs in virtual time, and nothing on the host can disturb it".into(),
        advice: String::new(),
    }
}

/// Returns the word for a state, colored; it is unambiguous without color.
fn mark(state: CheckState) -> StyledObject<String> {
    let word = match state {
        CheckState::Good => "good",
        CheckState::Unknown => "unknown",
        CheckState::Attention => "ATTENTION",
        CheckState::Bad => "BAD",
    };
    let padded = format!("{word:<STATE_WIDTH$}");
    match state {
        CheckState::Good => style(padded).green(),
        CheckState::Unknown => style(padded).dim(),
        CheckState::Attention => style(padded).yellow(),
        CheckState::Bad => style(padded).red().bold(),
    }
}

/// Width of the state column.
const STATE_WIDTH: usize = 9;

/// Formats the device, its checks with advice, and their number by state.
fn check_list(device: &Device, checks: &[Check], width: usize) -> String {
    let model = device.model.as_deref().unwrap_or("no model name");
    let serial = device.serial.as_deref().map(|s| format!(", serial {s}")).unwrap_or_default();
    let head = format!("{}: {model}{serial}, {}", device.path, device.capacity);
    let head = printable(&head).into_owned();
    let subjects = checks.iter().map(|check| check.subject.chars().count()).max().unwrap_or(0);
    let indent = STATE_WIDTH + 2 + subjects + 2;
    let room = width.saturating_sub(indent);
    let mut lines = vec![head, String::new()];
    for check in checks {
        let mark = mark(check.state);
        let mut rows = wrapped(&printable(&check.found), room, "").into_iter();
        let first = rows.next().unwrap_or_default();
        lines.push(format!("{mark}  {:subjects$}  {first}", check.subject).trim_end().to_owned());
        let advice = wrapped(&printable(&check.advice), room.saturating_sub(3), "");
        let advice = advice.into_iter().enumerate().map(|(row, text)| match row {
            0 => format!("-> {text}"),
            _ => format!("   {text}"),
        });
        lines.extend(rows.chain(advice).map(|row| format!("{:indent$}{row}", "")));
    }
    lines.push(String::new());
    lines.push(summary(checks));
    lines.join("\n")
}

fn summary(checks: &[Check]) -> String {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let counts = format!(
        "{} good, {} unknown, {} need attention, {} bad.",
        count(CheckState::Good),
        count(CheckState::Unknown),
        count(CheckState::Attention),
        count(CheckState::Bad)
    );
    match count(CheckState::Bad) {
        0 => counts,
        _ => format!("{counts} A measurement now would not show the device's own performance."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig_remarks::tests::check;

    #[test]
    fn the_summary_counts_every_state() {
        let checks = [check(CheckState::Good), check(CheckState::Bad), check(CheckState::Bad)];
        assert_eq!(
            summary(&checks),
            "1 good, 0 unknown, 0 need attention, 2 bad. A measurement now would not show the device's own performance."
        );
    }
}
