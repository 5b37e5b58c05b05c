//! A tags file: which roles hosts have, one host a line, `HOST ROLE [ROLE ...]`.

use crate::exit::misuse;
use crate::regular;
use anyhow::{Context, bail};
use std::path::Path;

/// The longest tags file.
const BYTES_MAX: u64 = 16 << 20;

/// The hosts that have one of the roles.
pub fn hosts_of(path: &Path, roles: &[String]) -> anyhow::Result<Vec<String>> {
    let shown = path.display();
    let bytes = regular::read(path, BYTES_MAX)?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("{shown} is larger than 16 MiB; a tags file has one host a line: HOST ROLE ...");
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{shown} is not UTF-8 text"))?;
    let (mut hosts, mut known) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let Some(host) = words.next() else { continue };
        let of_host: Vec<&str> = words.map(str::trim).collect();
        if of_host.is_empty() {
            bail!("{shown}, line {}: '{host}' has no role; write: HOST ROLE ...", number + 1);
        }
        if of_host.iter().any(|role| roles.iter().any(|wanted| wanted == role)) {
            hosts.push(host.to_owned());
        }
        known.extend(of_host.into_iter().map(str::to_owned));
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
