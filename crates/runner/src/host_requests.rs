//! [`HostRequests`]: what the user requests of the host during a run.

use steadfast_domain::Settings;
use steadfast_domain::settings::StartBelow;
use steadfast_host::{PurgeCommandLine, PurgeOptions};

/// The user's requests for the host during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostRequests {
    /// True if the processors are kept out of slow idle states.
    pub hold_idle_states: bool,
    /// Command that prints the device's power.
    pub power_command: Option<String>,
    /// Sensor of the ambient temperature, as the user named it.
    pub ambient_sensor: Option<String>,
    /// Temperature that the device must be below before a test's first load.
    pub start_below: Option<StartBelow>,
    /// Purge method and its options.
    pub purge: PurgeOptions,
    /// Command that cuts the power.
    pub cut_command: Option<String>,
    /// Second log of acknowledged writes, as the user named it.
    pub log_to: Option<String>,
}

impl HostRequests {
    /// Returns the requests in a run's settings.
    pub fn from_settings(settings: &Settings) -> Self {
        HostRequests {
            hold_idle_states: settings.hold_c_states,
            power_command: settings.power_command.clone(),
            ambient_sensor: settings.ambient_sensor.clone(),
            start_below: settings.start_below,
            cut_command: settings.cut_command.clone(),
            log_to: settings.log_to.clone(),
            purge: PurgeOptions {
                choice: settings.purge,
                command: settings
                    .purge_command
                    .as_deref()
                    .and_then(|command| PurgeCommandLine::parse(command).ok()),
                failed: settings.purge_failed,
                seed: settings.seed,
                also_destroyed: settings.also_destroyed.clone(),
                protected_paths: Vec::new(),
            },
        }
    }
}
