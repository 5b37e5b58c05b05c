//! A host's view of a device, and the check that two hosts see the same device.

use serde::{Deserialize, Serialize};
use steadfast_domain::{Device, DeviceNumber};

/// View of a device from one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostView {
    /// Kernel release of the host.
    pub kernel: String,
    /// Boot ID of the kernel.
    pub boot: String,
    /// Output of the host's `fio --version`.
    pub fio: String,
    /// Device number.
    pub number: DeviceNumber,
    /// The device's facts, with its uses.
    pub device: Device,
    /// Text that confirms there that the device may be overwritten.
    pub confirmation: String,
    /// True for a partition.
    pub is_partition: bool,
    /// Number of the namespace, for NVMe.
    pub namespace: Option<u32>,
}

/// Answer of a host to the question whether the device may be overwritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum HostVerdict {
    /// The device is unused; overwriting would destroy this data.
    Free(Vec<String>),
    /// Reason why the device must not be overwritten.
    Refused(String),
}

impl HostView {
    /// Returns why nothing shows that this is the device that another host sees; `None` if it is
    /// the same.
    pub fn differs_from(&self, other: &HostView) -> Option<String> {
        let pair = |what: &str, a: &str, b: &str| Some(format!("{what} {a} there, {b} here"));
        let (own, others) = (&self.device, &other.device);
        if own.capacity != others.capacity {
            let (there, here) = (others.capacity.0.to_string(), own.capacity.0.to_string());
            return pair("bytes:", &there, &here);
        }
        if self.boot == other.boot {
            // On the same kernel, the device number identifies the device.
            if self.number == other.number {
                return None;
            }
            let (there, here) = (other.number.to_string(), self.number.to_string());
            return pair("on the same kernel, device", &there, &here);
        }
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        if own.wwid != others.wwid {
            return pair("world-wide identifier", &shown(&others.wwid), &shown(&own.wwid));
        }
        if own.serial != others.serial {
            return pair("serial number", &shown(&others.serial), &shown(&own.serial));
        }
        if self.namespace != other.namespace {
            let shown = |number: Option<u32>| number.map_or("none".to_owned(), |n| n.to_string());
            return pair("namespace", &shown(other.namespace), &shown(self.namespace));
        }
        if !own.has_identity() {
            let why = "it has neither a world-wide identifier nor a serial number, so that nothing \
                       shows that both hosts see the same device";
            return Some(why.to_owned());
        }
        None
    }

    /// Returns why the device can be neither read nor written; `None` if it is usable.
    pub fn unusable(&self) -> Option<&'static str> {
        if self.is_partition {
            return Some("it is a partition; name the whole device");
        }
        (self.device.capacity.0 == 0).then_some("it has no size")
    }

    /// Returns true if a device of this machine may be the one that the host sees. Without a
    /// difference in identifiers or size, devices of different kernels count as the same one.
    pub fn may_be(&self, here: &Device) -> bool {
        let there = &self.device;
        if here.capacity != there.capacity {
            return there.wwid.is_some() && here.wwid == there.wwid;
        }
        let is_same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        let differs = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        if is_same(&here.wwid, &there.wwid) || is_same(&here.serial, &there.serial) {
            return true;
        }
        let differ = differs(&here.wwid, &there.wwid) || differs(&here.serial, &there.serial);
        let belongs_to_one_kernel = |device: &Device| {
            use steadfast_domain::Transport::{Loop, Zram};
            matches!(device.transport, Loop | Zram)
        };
        !differ && !belongs_to_one_kernel(here) && !belongs_to_one_kernel(there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::{Bytes, Transport};

    fn view(boot: &str, wwid: Option<&str>, serial: Option<&str>) -> HostView {
        HostView {
            kernel: "6.1.0".to_owned(),
            boot: boot.to_owned(),
            fio: "fio-3.33".to_owned(),
            number: DeviceNumber::new(259, 0),
            device: Device {
                transport: Transport::Nvme,
                wwid: wwid.map(str::to_owned),
                serial: serial.map(str::to_owned),
                ..super::super::unseen("/dev/nvme0n1", Bytes(10007 * 512))
            },
            confirmation: "S1".to_owned(),
            is_partition: false,
            namespace: Some(1),
        }
    }

    #[test]
    fn another_device_is_known_by_identity_size_or_number_and_no_identity_proves_nothing() {
        let here = view("b-1", Some("eui.1"), Some("S1"));
        let there = view("b-2", Some("eui.1"), Some("S1"));
        assert_eq!(there.differs_from(&here), None);
        let renamed = HostView { number: DeviceNumber::new(259, 7), ..there.clone() };
        assert_eq!(renamed.differs_from(&here), None);
        let larger = Device { capacity: Bytes(10009 * 512), ..there.device.clone() };
        for (other, word) in [
            (view("b-2", Some("eui.2"), Some("S1")), "world-wide"),
            (view("b-2", None, Some("S1")), "world-wide identifier eui.1 there, none here"),
            (view("b-2", Some("eui.1"), Some("S2")), "serial number S1 there, S2 here"),
            (HostView { namespace: Some(2), ..there.clone() }, "namespace 1 there, 2 here"),
            (HostView { device: larger, ..there }, "bytes"),
            (HostView { number: DeviceNumber::new(259, 7), ..here.clone() }, "on the same kernel"),
        ] {
            let why = other.differs_from(&here).unwrap_or_default();
            assert!(why.contains(word), "{word}: {why}");
        }
        let bare = view("b-1", None, None);
        assert_eq!(bare.differs_from(&bare), None);
        let why = view("b-2", None, None).differs_from(&bare).unwrap();
        assert!(why.contains("nothing shows"), "{why}");
    }

    #[test]
    fn a_device_here_that_cannot_be_distinguished_counts_as_the_same() {
        let here = |wwid, serial| view("b-1", wwid, serial).device;
        let there = view("b-2", Some("eui.1"), Some("S1"));
        assert!(there.may_be(&here(Some("eui.1"), Some("S1"))));
        assert!(there.may_be(&here(Some("naa.5"), Some("S1"))));
        assert!(there.may_be(&here(None, None)));
        assert!(!there.may_be(&here(Some("eui.2"), Some("S2"))));
        assert!(!there.may_be(&here(None, Some("S2"))));
        let bare = view("b-2", None, None);
        assert!(bare.may_be(&here(None, None)) && bare.may_be(&here(Some("eui.1"), None)));
        let other = Device { capacity: Bytes(512), ..here(None, None) };
        assert!(!bare.may_be(&other) && !there.may_be(&other));
        let own = Device { transport: Transport::Loop, ..here(None, None) };
        assert!(!bare.may_be(&own));
    }
}
