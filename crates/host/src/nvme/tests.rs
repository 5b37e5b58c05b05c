use super::layouts::*;
use super::page_decoder::{PageLayout, ReadPage};
use super::{DrivePages, NvmeNode};
use crate::testing::machine::MachineFixture;
use crate::testing::transcript::Transcript;
use crate::tool::{InstalledTools, Tools};
use std::collections::BTreeMap;
use steadfast_domain::drive_page::{DrivePage, PageState};
use steadfast_domain::random_bits::mix64;

static LAYOUTS: [&PageLayout; 22] = [
    &controller::PAGE,
    &namespace::PAGE,
    &errors::PAGE,
    &smart::PAGE,
    &effects::PAGE,
    &self_test::PAGE,
    &telemetry::HOST,
    &telemetry::CONTROLLER,
    &endurance::PAGE,
    &events::PAGE,
    &fdp_configurations::PAGE,
    &fdp_usage::PAGE,
    &fdp_statistics::PAGE,
    &fdp_events::PAGE,
    &power_measurement::PAGE,
    &sanitize::PAGE,
    &ocp_smart::PAGE,
    &latency_monitor::PAGE,
    &power_management::PAGE,
    &write_cache::PAGE,
    &power_state_changes::PAGE,
    &latency_setup::PAGE,
];

/// A page made from the specification's tables by `testing/nvme_pages.py`.
#[derive(serde::Deserialize)]
struct FixturePage {
    id: String,
    bytes: String,
    fields: BTreeMap<String, String>,
}

impl FixturePage {
    fn read(&self) -> ReadPage {
        let digit = |at: usize| u8::from_str_radix(&self.bytes[at..at + 2], 16).unwrap();
        let bytes = (0..self.bytes.len()).step_by(2).map(digit).collect();
        let layout = LAYOUTS.iter().find(|layout| layout.number.to_string() == self.id);
        ReadPage::new(layout.unwrap(), bytes)
    }
}

fn fixtures() -> Vec<FixturePage> {
    serde_json::from_str(include_str!("../../testing/nvme_pages.json")).unwrap()
}

fn fields(page: &DrivePage) -> BTreeMap<String, String> {
    page.fields.iter().map(|field| (field.id.clone(), field.value.clone())).collect()
}

#[test]
fn every_field_is_where_the_specification_has_it() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        let record = fixture.read().record(None);
        assert_eq!(fields(&record), fixture.fields, "{}", fixture.id);
        assert_eq!(record.fields.len(), fixture.fields.len(), "{}: duplicate", fixture.id);
        assert_eq!((record.state, record.remark.as_str()), (PageState::Complete, ""));
        assert_eq!(record.raw, fixture.bytes.trim_end_matches("00"), "{}", fixture.id);
    }
    for layout in LAYOUTS {
        let id = layout.number.to_string();
        assert!(fixtures.iter().any(|fixture| fixture.id == id), "{id}");
        assert!(!layout.source.is_empty() && !layout.name.is_empty());
    }
}

#[test]
fn a_truncated_page_has_the_fields_that_it_holds() {
    for fixture in fixtures() {
        let whole = fixture.read();
        for length in 0..whole.bytes.len() {
            // All lengths up to the last field; beyond it, nothing changes.
            if length > 600 && !length.is_multiple_of(509) {
                continue;
            }
            let part = ReadPage::new(whole.layout, whole.bytes[..length].to_vec());
            let record = part.record(None);
            let is_zero = whole.bytes[..length].iter().all(|byte| *byte == 0);
            let wanted = if is_zero && !whole.layout.may_be_zero {
                PageState::Zero
            } else if length < whole.layout.length {
                PageState::Short
            } else {
                PageState::Complete
            };
            assert_eq!(record.state, wanted, "{} {length}", fixture.id);
            let all = fields(&record);
            // Fields of later versions need the version, which is at the end.
            assert!(
                all.iter().all(|(id, value)| fixture.fields.get(id) == Some(value)),
                "{} {length}",
                fixture.id
            );
        }
    }
}

#[test]
fn random_bytes_of_any_length_are_decoded_without_a_panic() {
    for (number, layout) in (1u64..).zip(LAYOUTS) {
        let mut bytes: Vec<u8> = (0..4096).map(|at| mix64(number << 32 | at) as u8).collect();
        for length in 0..=bytes.len() {
            // With its identifier, a page is decoded as what it claims to be.
            if let Some((field, guid)) = layout.guid
                && length % 2 == 1
            {
                bytes[field.offset..][..16].copy_from_slice(&guid);
            } else {
                let word = mix64(length as u64).to_le_bytes();
                bytes[length.saturating_sub(word.len())..length]
                    .copy_from_slice(&word[..length.min(word.len())]);
            }
            let page = ReadPage::new(layout, bytes[..length].to_vec());
            for field in layout.fields {
                let number = page.number(field);
                assert!(field.offset + field.length <= length || number.is_none());
                let _ = (page.count(field), page.text(field));
            }
            // Decoding the large pages at every length takes minutes.
            if length < 700 || length % 61 == 0 || length > 4090 {
                let record = page.record(Some(number as u16));
                assert_eq!(record.length as usize, length);
                assert!(record.raw.len() <= 2 * length);
            }
        }
    }
}

#[test]
fn a_page_of_zeros_has_no_fields_where_zeros_are_no_values() {
    for layout in LAYOUTS {
        let record = ReadPage::new(layout, vec![0; layout.length]).record(None);
        let wanted = if layout.may_be_zero { PageState::Complete } else { PageState::Zero };
        assert_eq!((record.state, record.raw.as_str()), (wanted, ""), "{}", layout.number);
        assert_eq!(record.fields.is_empty(), !layout.may_be_zero || layout.fields.is_empty());
    }
}

#[test]
fn a_later_version_and_another_vendor_s_page_are_recognized() {
    let fixtures = fixtures();
    let page = |id: &str| fixtures.iter().rfind(|fixture| fixture.id == id).unwrap().read();
    let mut ocp = page("log-c0");
    ocp.bytes[494] = 9;
    let record = ocp.record(None);
    assert_eq!(record.state, PageState::Newer);
    assert_eq!(record.remark, "version 9, decoded as version 6");
    assert!(record.fields.iter().any(|field| field.id == "byte-364"));

    ocp.bytes[500] ^= 1;
    let record = ocp.record(None);
    assert_eq!((record.state, record.fields.len()), (PageState::Foreign, 0));
    assert_eq!(ocp.number(&ocp_smart::MEDIA_WRITTEN), None);
    assert_eq!(record.raw.len(), 1024);
}

#[test]
fn counters_have_128_bits() {
    let mut bytes = vec![0; 512];
    bytes[48..64].fill(0xff);
    let page = ReadPage::new(&smart::PAGE, bytes);
    assert_eq!((page.number(&smart::DUW), page.count(&smart::DUW)), (Some(u128::MAX), None));
    let duw = fields(&page.record(None))["duw"].clone();
    assert_eq!(duw, "340282366920938463463374607431768211455");
}

/// A drive with everything: what is announced is read, and a refusal ends nothing.
#[test]
fn every_announced_page_is_read_and_a_refused_one_is_recorded() {
    let fixtures = fixtures();
    let bytes = |id: &str| fixtures.iter().rfind(|f| f.id == id).unwrap().read().bytes;
    let mut identity = bytes("identify-controller");
    identity[80..84].copy_from_slice(&0x2_0100u32.to_le_bytes());
    // Endurance groups, UUID list, FDP.
    identity[96..100].copy_from_slice(&(1u32 << 4 | 1 << 9 | 1 << 19).to_le_bytes());
    identity[256] = 1 << 4;
    identity[261] = 1 << 1 | 1 << 3 | 1 << 4;
    identity[262] = 3;
    identity[328] = 2;
    identity[525] = 1;
    let mut namespace = bytes("identify-namespace");
    namespace[102..104].copy_from_slice(&[5, 0]);
    let mut listed = vec![0; 1024];
    listed[0xc0 * 4] = 1;
    let tools = Transcript::default()
        .nvme_returns("Identify (CNS 01h)", identity)
        .nvme_returns("Get Log Page 02h", bytes("log-02"))
        .nvme_returns("Identify (CNS 00h)", namespace)
        .nvme_returns("Get Log Page 01h", bytes("log-01"))
        .nvme_returns("Get Log Page 05h", bytes("log-05"))
        .nvme_returns("Get Log Page 06h", bytes("log-06"))
        .nvme_returns("Get Log Page 07h", bytes("log-07"))
        .nvme_returns("Get Log Page 08h", bytes("log-08"))
        .nvme_returns("Get Log Page 0Dh", bytes("log-0d"))
        .nvme_returns("Get Log Page 0Dh", Vec::new())
        .nvme_returns("Get Log Page 00h", listed.clone())
        .nvme_returns("Get Log Page 81h", bytes("log-81"))
        .nvme_fails("Get Log Page 09h", 0x4002)
        // The size of the configurations, then all of them.
        .nvme_returns("Get Log Page 20h", vec![0, 0, 0, 0, 80, 0, 0, 0])
        .nvme_returns("Get Log Page 20h", bytes("log-20"))
        .nvme_returns("Get Log Page 21h", vec![4, 0, 0, 0])
        .nvme_returns("Get Log Page 21h", bytes("log-21"))
        .nvme_returns("Get Log Page 22h", bytes("log-22"))
        .nvme_returns("Get Log Page 23h", bytes("log-23"))
        .nvme_returns("Get Log Page 00h", listed)
        .nvme_returns("Identify (CNS 17h)", vec![0; 4096])
        .nvme_returns("Get Log Page C0h", bytes("log-c0"))
        .nvme_returns("Get Log Page C3h", bytes("log-c3"))
        .nvme_returns("Get Features C5h", bytes("feature-c5"))
        .nvme_completes_then("Get Features 02h", || ())
        .nvme_completes_then("Get Features 06h", || ())
        .nvme_returns("Get Features 0Ch", bytes("feature-0c"));
    let machine = MachineFixture::new();
    let node = NvmeNode::of_namespace(&machine.nvme(0, 1, 1000), &machine.roots);
    let pages = DrivePages::read(&*tools.open_nvme(&node).unwrap(), Some(1)).unwrap();
    assert!(tools.is_over());
    let records = pages.records();
    assert_eq!(records.len(), 21);
    let of_group: Vec<&str> =
        records.iter().map(|page| page.id.as_str()).filter(|id| id.ends_with("-5")).collect();
    assert_eq!(of_group, ["log-20-5", "log-21-5", "log-22-5", "log-23-5", "log-09-5"]);
    let refused: Vec<&DrivePage> =
        records.iter().filter(|page| page.state == PageState::Refused).collect();
    assert_eq!(refused.len(), 1);
    let why = "/dev/nvme0: Get Log Page 09h failed: Invalid Field in Command (002h)";
    assert_eq!((refused[0].id.as_str(), refused[0].remark.as_str()), ("log-09-5", why));
    for page in records.iter().filter(|page| page.state == PageState::Complete) {
        assert!(!page.fields.is_empty(), "{}", page.id);
    }
}

/// An old drive announces nothing, and is asked for nothing else.
#[test]
fn what_is_not_announced_is_not_requested() {
    let identity = |version: u32| {
        let mut bytes = vec![0; 4096];
        bytes[80..84].copy_from_slice(&version.to_le_bytes());
        bytes
    };
    let begin = |version| {
        let mut smart = vec![0; 512];
        smart[3] = 100;
        Transcript::default()
            .nvme_returns("Identify (CNS 01h)", identity(version))
            .nvme_returns("Get Log Page 02h", smart)
            .nvme_fails("Identify (CNS 00h)", 0x400b)
            .nvme_returns("Get Log Page 01h", vec![0; 64])
    };
    let machine = MachineFixture::new();
    let node = NvmeNode::of_namespace(&machine.nvme(0, 1, 1000), &machine.roots);
    for tools in [
        // Only a request shows whether a drive without a list has the OCP logs.
        begin(0x1_0300)
            .nvme_fails("Get Log Page C0h", 0x4109)
            .nvme_completes_then("Get Features 02h", || ()),
        // One request for the power measurements, one for the OCP logs.
        begin(0x2_0000)
            .nvme_returns("Get Log Page 00h", vec![0; 1024])
            .nvme_returns("Get Log Page 00h", vec![0; 1024])
            .nvme_completes_then("Get Features 02h", || ()),
    ] {
        let pages = DrivePages::read(&*tools.open_nvme(&node).unwrap(), Some(1)).unwrap();
        assert!(tools.is_over());
        let states: Vec<_> = pages.records().iter().map(|page| page.state).collect();
        let complete = PageState::Complete;
        assert_eq!(states, [complete, complete, complete, complete, PageState::Refused]);
    }
}

/// The node must be the character device with the number that sysfs has.
#[test]
fn another_device_in_the_place_of_the_node_is_refused() {
    let (machine, disk) = MachineFixture::with_nvme(1000);
    let refused = |why: &str| {
        let error = NvmeNode::of_namespace(&disk, &machine.roots).open().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    // A file in the place of the namespace, then of the controller.
    refused("dev/nvme0n1 is not the NVMe device of its name: the kernel's device is 259:1;");
    machine.write("dev/nvme0", "");
    refused("dev/nvme0 is not the NVMe device of its name: the kernel lists no device number");
    machine.set(&disk, "device/dev", "245:0\n");
    refused("the kernel's device is 245:0");
    // The null device is a character device of another number.
    machine.relink("dev/nvme0", "/dev/null");
    refused("the kernel's device is 245:0");
    // The right number, and no NVMe device behind it.
    machine.set(&disk, "device/dev", "1:3\n");
    let node = NvmeNode::of_namespace(&disk, &machine.roots);
    let admin = InstalledTools.open_nvme(&node).unwrap();
    let error = DrivePages::read(&*admin, Some(1)).unwrap_err().to_string();
    assert!(error.contains("cannot send Identify (CNS 01h): Inappropriate ioctl"), "{error}");
}
