//! A tags file: roles of hosts, one host per line: `HOST ROLE [ROLE ...]`.

use crate::exit::misuse;
use anyhow::{Context, bail};
use std::path::Path;
use steadfast_host::read_regular_text;

/// Maximum size of a tags file.
const BYTES_MAX: u64 = 16 << 20;

/// Returns the hosts that have one of the roles.
pub fn hosts_with_role(path: &Path, roles: &[String]) -> anyhow::Result<Vec<String>> {
    let shown = path.display();
    let text = read_regular_text(path, BYTES_MAX)
        .context("a tags file has one host a line: HOST ROLE ...")?;
    let (mut hosts, mut known) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let Some(host) = words.next() else { continue };
        let roles_of_host: Vec<&str> = words.map(str::trim).collect();
        if roles_of_host.is_empty() {
            bail!("{shown}, line {}: '{host}' has no role; write: HOST ROLE ...", number + 1);
        }
        if roles_of_host.iter().any(|role| roles.iter().any(|wanted| wanted == role)) {
            hosts.push(host.to_owned());
        }
        known.extend(roles_of_host.into_iter().map(str::to_owned));
    }
    if hosts.is_empty() {
        known.sort();
        known.dedup();
        return Err(misuse(format!(
            "{shown} has no host with role {}; its roles: {}",
            roles.join(" or "),
            known.join(", ")
        )));
    }
    Ok(hosts)
}
