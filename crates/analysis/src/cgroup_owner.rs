//! Names of containers, pods, virtual machines and services, read from the paths of their cgroups.
//!
//! Container runtimes, the kubelet and systemd have fixed forms for these paths: `docker-ID.scope`,
//! `cri-containerd-ID.scope`, `kubepods-burstable-podUID.slice`, `machine-qemu\x2d3\x2dNAME.scope`.

/// Digits of a container's ID that are shown, as `docker ps` shows them.
const ID_SHOWN: usize = 12;

/// Prefix of LXC's cgroups, which have the names of their containers.
const LXC: &str = "lxc.payload.";

/// Prefixes of the scopes of container runtimes, and the names of the runtimes.
const RUNTIMES: [(&str, &str); 5] = [
    ("docker-", "docker"),
    ("cri-containerd-", "containerd"),
    ("containerd-", "containerd"),
    ("crio-", "CRI-O"),
    ("libpod-", "podman"),
];

/// Returns the name of the container, pod, virtual machine or service that a cgroup belongs to:
/// `pod 5f0c..., containerd 0123456789ab`, `VM web1`, `service nginx`. `None` if the path has none
/// of the known forms.
pub fn owner_of_cgroup(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let pod = parts.iter().find_map(|part| pod(part));
    let container = parts.iter().rev().find_map(|part| container(part));
    let container = container.or_else(|| unnamed_container(&parts, pod.is_some()));
    let machine = parts.iter().find_map(|part| machine(part));
    let names: Vec<String> = pod.into_iter().chain(container).chain(machine).collect();
    if names.is_empty() {
        let service = parts.iter().rev().find_map(|part| part.strip_suffix(".service"));
        return service.map(|name| format!("service {}", unescape(name)));
    }
    Some(names.join(", "))
}

/// Returns the first digits of a container's ID; `None` if the text is no ID.
fn short_id(text: &str) -> Option<&str> {
    let is_id = text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| &text[..ID_SHOWN])
}

fn container(part: &str) -> Option<String> {
    if let Some(name) = part.strip_prefix(LXC) {
        return Some(format!("LXC {name}"));
    }
    let name = part.strip_suffix(".scope").unwrap_or(part);
    RUNTIMES.iter().find_map(|(prefix, runtime)| {
        let id = short_id(name.strip_prefix(prefix)?)?;
        Some(format!("{runtime} {id}"))
    })
}

/// Returns a container whose directory has the ID alone for its name: docker and the kubelet
/// without systemd.
fn unnamed_container(parts: &[&str], is_in_pod: bool) -> Option<String> {
    if let Some(at) = parts.iter().position(|part| *part == "docker") {
        return parts.get(at + 1).and_then(|id| short_id(id)).map(|id| format!("docker {id}"));
    }
    let last = parts.last().filter(|_| is_in_pod)?;
    short_id(last).map(|id| format!("container {id}"))
}

/// Returns the pod of `kubepods-burstable-podUID.slice` or, without systemd, of `podUID`.
fn pod(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.strip_prefix("kubepods") {
        Some(rest) => rest.rsplit_once("-pod")?.1,
        None => part.strip_prefix("pod").filter(|uid| uid.len() >= 32)?,
    };
    // A "-" separates levels of slices, so the kubelet writes "_".
    Some(format!("pod {}", uid.replace('_', "-")))
}

/// Returns the virtual machine or container of `machine-qemu\x2d3\x2dNAME.scope`
/// (systemd-machined, libvirt).
fn machine(part: &str) -> Option<String> {
    let name = unescape(part.strip_suffix(".scope")?.strip_prefix("machine-")?);
    let (kind, rest) = name.split_once('-').unwrap_or(("", &name));
    // libvirt puts the number of the machine before its name.
    let own = rest.split_once('-').filter(|(number, _)| number.parse::<u32>().is_ok());
    match (kind, own) {
        ("qemu", Some((_, own))) => Some(format!("VM {own}")),
        ("lxc", Some((_, own))) => Some(format!("LXC {own}")),
        _ => Some(format!("machine {name}")),
    }
}

/// Replaces systemd's escapes (`\x2d`) by their characters.
fn unescape(name: &str) -> String {
    let mut parts = name.split("\\x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[2..]);
            }
            None => {
                text.push_str("\\x");
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_named_by_their_cgroups() {
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let uid = "5f0c9d2e-1b7a-4c3d-9e8f-0a1b2c3d4e5f";
        let slice = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
            uid.replace('-', "_")
        );
        let in_pod = |container: &str| format!("pod {uid}, {container}");
        for (path, expected) in [
            (format!("/system.slice/docker-{id}.scope"), "docker 0123456789ab".to_owned()),
            (format!("/docker/{id}"), "docker 0123456789ab".to_owned()),
            (format!("{slice}/cri-containerd-{id}.scope"), in_pod("containerd 0123456789ab")),
            (format!("{slice}/crio-{id}.scope"), in_pod("CRI-O 0123456789ab")),
            (format!("/kubepods/besteffort/pod{uid}/{id}"), in_pod("container 0123456789ab")),
            (
                format!("/machine.slice/libpod-{id}.scope/container"),
                "podman 0123456789ab".to_owned(),
            ),
            ("/lxc.payload.web/system.slice".to_owned(), "LXC web".to_owned()),
            (
                r"/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/libvirt".to_owned(),
                "VM web-1".to_owned(),
            ),
            ("/system.slice/pg@15-main.service".to_owned(), "service pg@15-main".to_owned()),
            (r"/system.slice/a\x2db.service/sub".to_owned(), "service a-b".to_owned()),
        ] {
            assert_eq!(owner_of_cgroup(&path), Some(expected), "{path}");
        }
        for path in ["/", "/user.slice", "/docker/web", "/system.slice/docker-abc.scope", r"/a\xzz"]
        {
            assert_eq!(owner_of_cgroup(path), None, "{path}");
        }
    }
}
