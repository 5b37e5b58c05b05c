//! A host that loses its power together with its drives, twice, in the middle of `run power-cut`:
//! the run is resumed after each restart.

use super::power::{blocks_with_violations, checked_outcomes, ends_as, planted};
use crate::answers::GuestOutput;
use crate::guest::{Case, Guest, RECEIVED};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;
use std::collections::BTreeSet;
use steadfast_domain::power_cut::CutEvidence::HostRestarted;
use steadfast_domain::power_cut::PowerCutOutcome;
use steadfast_domain::power_cut::PowerLossBehavior::{Honest, IgnoresFlushes};
use steadfast_domain::power_cut::ViolationKind::LostFlushed;

/// The run directories are on a drive of their own.
pub fn guest() -> Guest {
    let drive =
        |serial, behavior| GuestDrive::nvme(serial, Medium::new(128).with_power_loss(behavior));
    Guest {
        drives: vec![
            GuestDrive::nvme("KEPT", Medium::new(64)),
            drive("HONEST", Honest),
            drive("IGNORES", IgnoresFlushes),
        ],
        cases: vec![
            Case::new("a host that restarts is a cut, and the honest drive has kept all", honest),
            Case::new("ignored flushes are found after a restart", ignored),
            Case::new("a serial port received the acknowledgments", received),
        ],
        power_losses: 2,
        ..Guest::new("outage", include_str!("outage.sh"), 1200)
    }
}

fn honest(answers: &GuestOutput) -> anyhow::Result<()> {
    ends_as(answers, "HONEST", "complete")?;
    let outcomes = checked_outcomes(answers, "HONEST", HostRestarted)?;
    ensure!(outcomes.iter().all(PowerCutOutcome::is_test), "{outcomes:?}");
    ensure!(outcomes.iter().all(|outcome| outcome.counts.is_empty()), "{outcomes:?}");
    Ok(())
}

/// The outage takes the last acknowledgments too, so that some damage is no violation.
fn ignored(answers: &GuestOutput) -> anyhow::Result<()> {
    ends_as(answers, "IGNORES", "failed")?;
    let outcomes = checked_outcomes(answers, "IGNORES", HostRestarted)?;
    let planted = planted(answers, "IGNORES")?;
    ensure!(planted.len() == outcomes.len(), "{} cuts, {outcomes:?}", planted.len());
    for (outcome, planted) in outcomes.iter().zip(planted) {
        let found = blocks_with_violations(outcome);
        let is_most = found.len() * 2 >= planted.len() && !found.is_empty();
        ensure!(is_most && found.is_subset(&planted), "damaged {planted:?}, found {found:?}");
        ensure!(outcome.counts.keys().eq([&LostFlushed]), "{outcome:?}");
    }
    Ok(())
}

fn received(answers: &GuestOutput) -> anyhow::Result<()> {
    let (kept, received) = (answers.text("run-HONEST/power-cut.log")?, answers.text(RECEIVED)?);
    let received: BTreeSet<&str> = received.lines().map(str::trim).collect();
    let kept: Vec<&str> = kept.lines().collect();
    // Twenty in each of two trials.
    ensure!(kept.len() >= 40, "{} acknowledgments", kept.len());
    let missing = kept.iter().filter(|line| !received.contains(**line)).count();
    // What was in the port's buffer at an outage is lost.
    ensure!(missing <= 6, "{missing} of {} lines did not reach the port", kept.len());
    Ok(())
}
