//! The options of a load from several hosts.

use super::heading;
use crate::exit::misuse;
use clap::Args;
use std::path::PathBuf;
use steadfast_domain::settings::HostList;

/// Hosts that load the target together.
#[derive(Debug, Clone, Default, Args)]
pub struct HostsArguments {
    /// Load the target from these hosts together, with their own fio, over ssh
    /// (docs/hosts.md); as ssh destinations
    #[arg(help_heading = heading::TARGET, long, value_delimiter = ',', value_name = "LIST")]
    pub hosts: Vec<String>,
    /// Connect to fio servers already running on the hosts (HOST or HOST:PORT), without ssh.
    /// Only for reads: the hosts cannot be checked
    #[arg(help_heading = heading::TARGET, long, requires = "hosts")]
    pub hosts_plain: bool,
    /// The configuration file that ssh is to use
    #[arg(help_heading = heading::TARGET, long, value_name = "FILE", requires = "hosts", conflicts_with = "hosts_plain")]
    pub ssh_config: Option<PathBuf>,
}

/// Arguments of the process that attends a device on such a host.
#[derive(Debug, Args)]
pub struct AttendHostArguments {
    /// The device, by its path on this host
    #[arg(long)]
    pub device: PathBuf,
    /// Seconds without a request after which everything is ended
    #[arg(long)]
    pub silence: u64,
}

impl HostsArguments {
    /// The hosts; `None` where this one loads the target itself.
    pub fn list(&self) -> anyhow::Result<Option<HostList>> {
        let names: Vec<String> = self.hosts.iter().map(|name| name.trim().to_owned()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        for (at, name) in names.iter().enumerate() {
            let strange = |c: char| !c.is_ascii_alphanumeric() && !".-_@:/[]%".contains(c);
            if name.is_empty() || name.starts_with('-') || name.contains(strange) {
                return Err(misuse(format!("--hosts: '{name}' is not the name of a host")));
            }
            if self.hosts_plain && name.contains(['/', '@']) {
                return Err(misuse(format!("--hosts-plain: '{name}' is not HOST or HOST:PORT")));
            }
            if names[..at].contains(name) {
                return Err(misuse(format!("--hosts names {name} twice")));
            }
        }
        let config = self.ssh_config.as_ref().map(|path| {
            let path = path
                .canonicalize()
                .map_err(|error| misuse(format!("--ssh-config {}: {error}", path.display())))?;
            Ok::<_, anyhow::Error>(path.display().to_string())
        });
        let ssh_config = config.transpose()?;
        Ok(Some(HostList { names, plain: self.hosts_plain, ssh_config }))
    }
}
