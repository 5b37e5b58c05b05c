//! Reads the pages that a drive reports, each as far as the drive announces it.

use super::admin::NvmeAdmin;
use super::commands::{IdentifyData, PageRequest};
use super::layouts::{
    controller, effects, endurance, errors, events, fdp_configurations, fdp_events, fdp_statistics,
    fdp_usage, latency_monitor, latency_setup, namespace, ocp_smart, power_management,
    power_measurement, power_state_changes, sanitize, self_test, smart, telemetry, write_cache,
};
use super::page_decoder::{PageField, PageLayout, PageNumber, ReadPage, refused_page};
use crate::error::HostError;
use steadfast_domain::drive_page::DrivePage;

// Log Page Attributes (LPA; NVMe Base 2.1, 5.1.13.2.1).
const LPA_EFFECTS: u128 = 1 << 1;
const LPA_TELEMETRY: u128 = 1 << 3;
const LPA_EVENTS: u128 = 1 << 4;
// Controller Attributes (CTRATT; same clause).
const CTRATT_ENDURANCE_GROUPS: u128 = 1 << 4;
const CTRATT_UUID_LIST: u128 = 1 << 9;
const CTRATT_FDP: u128 = 1 << 19;
// Optional Admin Command Support (OACS; same clause).
const OACS_SELF_TEST: u128 = 1 << 4;

/// Version of the specification from which on log page 00h lists the supported log pages.
const LISTS_LOGS: u128 = 0x0002_0000;

/// UUID of the OCP specification in a controller's UUID list (OCP Datacenter NVMe SSD 2.0, UUID-1).
const OCP_UUID: [u8; 16] = 0xc194_d55b_e094_4794_a21d_2999_8f56_be6f_u128.to_be_bytes();

/// Largest number of bytes read of one page.
const PAGE_LIMIT: usize = 4096;

/// Identifier and length of the list of supported log pages, which no layout describes.
const LOG_LIST: (u8, usize) = (0x00, 1024);

/// Reads SMART / Health Information.
pub(crate) fn smart_log(admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
    read(admin, &smart::PAGE)
}

pub(crate) fn identify_controller(admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
    let whole = PageRequest::of_controller(controller::PAGE.length);
    read_as(admin, &controller::PAGE, &PageRequest { nsid: 0, ..whole })
}

pub(crate) fn identify_namespace(admin: &dyn NvmeAdmin, nsid: u32) -> Result<ReadPage, HostError> {
    let whole = PageRequest::of_controller(namespace::PAGE.length);
    read_as(admin, &namespace::PAGE, &PageRequest { nsid, ..whole })
}

pub(crate) fn sanitize_status(admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
    read(admin, &sanitize::PAGE)
}

/// Reads a page of the controller as far as its layout describes it.
fn read(admin: &dyn NvmeAdmin, layout: &'static PageLayout) -> Result<ReadPage, HostError> {
    read_as(admin, layout, &PageRequest::of_controller(layout.length))
}

/// Reads a page by the number in its layout.
fn read_as(
    admin: &dyn NvmeAdmin,
    layout: &'static PageLayout,
    request: &PageRequest,
) -> Result<ReadPage, HostError> {
    let bytes = match layout.number {
        PageNumber::Identify(what) => admin.identify(what, request.nsid)?,
        PageNumber::Log(id) => admin.log_page(id, request)?,
        PageNumber::FeatureValue(id) => admin.feature(id)?.to_le_bytes().to_vec(),
        PageNumber::FeatureData(id) => {
            admin.feature_data(id, request.uuid_index, request.length)?
        }
    };
    Ok(ReadPage::new(layout, bytes))
}

/// A controller's OCP logs, requested by an index of its UUID list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OcpLogs {
    uuid_index: u8,
}

impl OcpLogs {
    /// Returns how the OCP logs are requested; `None` if the controller lists its log pages and the
    /// OCP logs are not among them. Without such a list, only a request shows whether they exist.
    pub fn find(admin: &dyn NvmeAdmin, identity: &ReadPage) -> Option<OcpLogs> {
        if log_list(admin, identity).is_some_and(|list| !is_listed(&list, &ocp_smart::PAGE)) {
            return None;
        }
        let has_uuids = has(identity, &controller::CTRATT, CTRATT_UUID_LIST);
        let uuids = if has_uuids { admin.identify(IdentifyData::UuidList, 0).ok() } else { None };
        let uuid_index = uuids.as_deref().and_then(ocp_index).unwrap_or(0);
        Some(OcpLogs { uuid_index })
    }

    /// Reads the OCP SMART log. A drive without it may have another vendor's page there, which has
    /// no numbers then.
    pub fn smart(self, admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
        self.read(admin, &ocp_smart::PAGE)
    }

    /// Reads the log of the latency monitor.
    pub fn latency(self, admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
        self.read(admin, &latency_monitor::PAGE)
    }

    fn read(
        self,
        admin: &dyn NvmeAdmin,
        layout: &'static PageLayout,
    ) -> Result<ReadPage, HostError> {
        let whole = PageRequest::of_controller(layout.length);
        read_as(admin, layout, &PageRequest { uuid_index: self.uuid_index, ..whole })
    }
}

/// Returns the list of supported log pages (00h); `None` for a controller without one.
fn log_list(admin: &dyn NvmeAdmin, identity: &ReadPage) -> Option<Vec<u8>> {
    let lists = identity.number(&controller::VER).is_some_and(|version| version >= LISTS_LOGS);
    let (id, length) = LOG_LIST;
    let read = || admin.log_page(id, &PageRequest::of_controller(length)).ok();
    lists.then(read).flatten()
}

/// Returns true if the list of supported log pages (00h) has a page: bit 0 of its 4 bytes.
fn is_listed(list: &[u8], layout: &PageLayout) -> bool {
    let PageNumber::Log(id) = layout.number else { return false };
    list.get(usize::from(id) * 4).is_some_and(|bits| bits & 1 == 1)
}

/// Returns the index of the OCP UUID in a UUID list: 32 bytes per entry, the UUID in the second
/// half; entry 0 is not used.
fn ocp_index(list: &[u8]) -> Option<u8> {
    let mut entries = list.chunks_exact(32).skip(1);
    let index = entries.position(|entry| entry[16..] == OCP_UUID)?;
    u8::try_from(index + 1).ok().filter(|index| *index < 128)
}

/// Returns true if a field of a page has one of these bits.
fn has(page: &ReadPage, field: &PageField, bits: u128) -> bool {
    page.number(field).is_some_and(|value| value & bits != 0)
}

/// A page, and its endurance group if it has one.
#[derive(Debug)]
struct GroupPage {
    group: Option<u16>,
    page: ReadPage,
}

#[derive(Debug, Default)]
pub(crate) struct DrivePages {
    /// Pages that were read.
    pages: Vec<GroupPage>,
    refused: Vec<DrivePage>,
}

impl DrivePages {
    /// Reads all pages of a controller, and those of one of its namespaces if it is known.
    ///
    /// # Errors
    /// Returns [`HostError`] if Identify Controller or the SMART log cannot be read.
    pub fn read(admin: &dyn NvmeAdmin, nsid: Option<u32>) -> Result<DrivePages, HostError> {
        let mut pages = DrivePages::default();
        let identity = identify_controller(admin)?;
        let smart = smart_log(admin)?;
        let of_drive = |page| GroupPage { group: None, page };
        pages.pages.extend([identity.clone(), smart].map(of_drive));
        if let Some(nsid) = nsid {
            pages.keep(&namespace::PAGE, None, identify_namespace(admin, nsid));
        }
        pages.standard_logs(admin, &identity);
        let group = pages.get(&namespace::PAGE).and_then(|page| page.number(&namespace::ENDGID));
        if let Some(group) = group.and_then(|group| u16::try_from(group).ok()) {
            pages.group_logs(admin, &identity, group);
        }
        pages.ocp_logs(admin, &identity);
        pages.features(admin, &identity);
        Ok(pages)
    }

    fn standard_logs(&mut self, admin: &dyn NvmeAdmin, identity: &ReadPage) {
        let entries = identity.count(&controller::ELPE).unwrap_or(0).min(63) as usize + 1;
        let request = PageRequest::of_controller(entries * 64);
        self.keep(&errors::PAGE, None, read_as(admin, &errors::PAGE, &request));
        if has(identity, &controller::LPA, LPA_EFFECTS) {
            // The whole page is read; its second half is reserved.
            let request = PageRequest::of_controller(PAGE_LIMIT);
            self.keep(&effects::PAGE, None, read_as(admin, &effects::PAGE, &request));
        }
        if has(identity, &controller::OACS, OACS_SELF_TEST) {
            self.read_page(admin, &self_test::PAGE);
        }
        if has(identity, &controller::LPA, LPA_TELEMETRY) {
            // The request does not create a new telemetry capture: it reads the last one's header.
            self.read_page(admin, &telemetry::HOST);
            let layout = &telemetry::CONTROLLER;
            let whole = PageRequest::of_controller(layout.length);
            let request = PageRequest { keeps_event: true, ..whole };
            self.keep(layout, None, read_as(admin, layout, &request));
        }
        if has(identity, &controller::LPA, LPA_EVENTS) {
            self.keep(&events::PAGE, None, persistent_events(admin));
        }
        let layout = &power_measurement::PAGE;
        if log_list(admin, identity).is_some_and(|list| is_listed(&list, layout)) {
            self.keep(layout, None, power_measurements(admin));
        }
        if identity.number(&controller::SANICAP).is_some_and(|ways| ways & 0b111 != 0) {
            self.read_page(admin, &sanitize::PAGE);
        }
    }

    fn group_logs(&mut self, admin: &dyn NvmeAdmin, identity: &ReadPage, group: u16) {
        let of_group = |layout: &'static PageLayout, length| {
            let whole = PageRequest::of_controller(length);
            read_as(admin, layout, &PageRequest { nsid: 0, specific: group, ..whole })
        };
        if has(identity, &controller::CTRATT, CTRATT_ENDURANCE_GROUPS) {
            let read = of_group(&endurance::PAGE, endurance::PAGE.length);
            self.keep(&endurance::PAGE, Some(group), read);
        }
        if !has(identity, &controller::CTRATT, CTRATT_FDP) {
            return;
        }
        // The lengths of these pages are in their first bytes.
        let layout = &fdp_configurations::PAGE;
        let read = of_group(layout, 16).and_then(|head| {
            let length = head.count(&fdp_configurations::SZE).unwrap_or(0);
            of_group(layout, page_length(length))
        });
        self.keep(layout, Some(group), read);
        let layout = &fdp_usage::PAGE;
        let read = of_group(layout, 8).and_then(|head| {
            let handles = head.count(&fdp_usage::NRUH).unwrap_or(0);
            of_group(layout, page_length(8 + 8 * handles))
        });
        self.keep(layout, Some(group), read);
        let layout = &fdp_statistics::PAGE;
        self.keep(layout, Some(group), of_group(layout, layout.length));
        let layout = &fdp_events::PAGE;
        self.keep(layout, Some(group), of_group(layout, PAGE_LIMIT));
    }

    /// Reads the OCP logs. A drive that does not list its logs and refuses them does not have them.
    fn ocp_logs(&mut self, admin: &dyn NvmeAdmin, identity: &ReadPage) {
        let Some(ocp) = OcpLogs::find(admin, identity) else { return };
        let Ok(smart) = ocp.smart(admin) else { return };
        let is_ocp = smart.number(&ocp_smart::MEDIA_WRITTEN).is_some();
        self.pages.push(GroupPage { group: None, page: smart });
        if !is_ocp {
            return;
        }
        if let Ok(latency) = ocp.latency(admin) {
            self.pages.push(GroupPage { group: None, page: latency });
            self.keep(&latency_setup::PAGE, None, ocp.read(admin, &latency_setup::PAGE));
        }
    }

    fn features(&mut self, admin: &dyn NvmeAdmin, identity: &ReadPage) {
        self.read_page(admin, &power_management::PAGE);
        if has(identity, &controller::VWC, 1) {
            self.read_page(admin, &write_cache::PAGE);
        }
        if has(identity, &controller::APSTA, 1) {
            self.read_page(admin, &power_state_changes::PAGE);
        }
    }

    /// Reads a page of the controller and keeps it.
    fn read_page(&mut self, admin: &dyn NvmeAdmin, layout: &'static PageLayout) {
        self.keep(layout, None, read(admin, layout));
    }

    /// Keeps a page that was read, or the reason why it was refused.
    fn keep(
        &mut self,
        layout: &'static PageLayout,
        group: Option<u16>,
        read: Result<ReadPage, HostError>,
    ) {
        match read {
            Ok(page) => self.pages.push(GroupPage { group, page }),
            Err(error) => self.refused.push(refused_page(layout, group, error.to_string())),
        }
    }

    /// Returns a page by its layout; `None` if it was not read.
    pub fn get(&self, layout: &PageLayout) -> Option<&ReadPage> {
        self.pages.iter().map(|kept| &kept.page).find(|page| page.layout.number == layout.number)
    }

    /// Returns all pages, the refused ones last.
    pub fn records(&self) -> Vec<DrivePage> {
        let read = self.pages.iter().map(|kept| kept.page.record(kept.group));
        read.chain(self.refused.iter().cloned()).collect()
    }
}

/// Returns the bytes to read of a page of `length` bytes: whole dwords, at most [`PAGE_LIMIT`].
fn page_length(length: u64) -> usize {
    (length.clamp(4, PAGE_LIMIT as u64) as usize).next_multiple_of(4)
}

/// Reads the power measurements with their histogram, whose length is in the first bytes.
fn power_measurements(admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
    let layout = &power_measurement::PAGE;
    let read = |length| read_as(admin, layout, &PageRequest::of_controller(length));
    let head = read(layout.length)?;
    match head.count(&power_measurement::NPHD) {
        Some(bins) if head.count(&power_measurement::PHDS) == Some(8) && bins > 0 => {
            read(page_length(power_measurement::HEAD as u64 + 8 * bins))
        }
        _ => Ok(head),
    }
}

/// Reads the header of the persistent event log: establishes a context, which the controller
/// needs to report the log, and releases it.
fn persistent_events(admin: &dyn NvmeAdmin) -> Result<ReadPage, HostError> {
    let layout = &events::PAGE;
    let action = |parameter| PageRequest { parameter, ..PageRequest::of_controller(layout.length) };
    let page = read_as(admin, layout, &action(1))?;
    // A context that cannot be released is released by the next reset.
    let _ = read_as(admin, layout, &action(2));
    Ok(page)
}
