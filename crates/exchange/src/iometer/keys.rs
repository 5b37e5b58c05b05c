//! Keys of a configuration in normalized form: without the apostrophe and blanks after commas, in
//! lower case.

/// Key of version lines, which open and close a file.
pub(super) const VERSION: &str = "version";

/// Keys with a value on the next line.
pub(super) const VALUED: [&str; 27] = [
    TEST_DESCRIPTION,
    RUN_TIME,
    RAMP_UP,
    WORKERS_OLD,
    DISK_WORKERS,
    NETWORK_WORKERS,
    RECORD,
    WORKER_CYCLING,
    DISK_CYCLING,
    DEPTH_CYCLING,
    TEST_TYPE,
    UPDATE,
    UPDATE_1_1,
    SPEC_NAME,
    MANAGER,
    ADDRESS,
    WORKER,
    WORKER_TYPE,
    OUTSTANDING,
    OUTSTANDING_SEED,
    DISK_AREA,
    DISK_AREA_PATTERN,
    LOCAL_INTERFACE,
    VI_OUTSTANDING,
    TARGET,
    TARGET_TYPE,
    TARGET_MANAGER,
];

pub(super) const TEST_DESCRIPTION: &str = "test description";
pub(super) const RUN_TIME: &str = "run time";
/// Prefix: builds differ in the rest of the key.
pub(super) const RAMP_UP: &str = "ramp up time";
pub(super) const WORKERS_OLD: &str = "default workers to spawn";
pub(super) const DISK_WORKERS: &str = "default disk workers to spawn";
pub(super) const NETWORK_WORKERS: &str = "default network workers to spawn";
pub(super) const RECORD: &str = "record results";
pub(super) const WORKER_CYCLING: &str = "worker cycling";
pub(super) const DISK_CYCLING: &str = "disk cycling";
pub(super) const DEPTH_CYCLING: &str = "queue depth cycling";
pub(super) const TEST_TYPE: &str = "test type";
pub(super) const UPDATE: &str = "update frequency,update type";
pub(super) const UPDATE_1_1: &str = "record last update results,update frequency,update type";
/// Prefix: the number of the chart follows.
pub(super) const BAR_CHART: &str = "bar chart ";
pub(super) const SPEC_NAME: &str = "access specification name,default assignment";
pub(super) const MANAGER: &str = "manager id,manager name";
pub(super) const ADDRESS: &str = "manager network address";
pub(super) const WORKER: &str = "worker";
pub(super) const WORKER_TYPE: &str = "worker type";
pub(super) const DEFAULTS: &str = "default target settings for worker";
pub(super) const OUTSTANDING: &str =
    "number of outstanding ios,test connection rate,transactions per connection";
pub(super) const OUTSTANDING_SEED: &str = "number of outstanding ios,test connection rate,\
    transactions per connection,use fixed seed,fixed seed value";
pub(super) const DISK_AREA: &str = "disk maximum size,starting sector";
pub(super) const DISK_AREA_PATTERN: &str = "disk maximum size,starting sector,data pattern";
pub(super) const LOCAL_INTERFACE: &str = "local network interface";
pub(super) const VI_OUTSTANDING: &str = "vi outstanding ios";
pub(super) const ASSIGNED: &str = "assigned access specs";
pub(super) const TARGETS: &str = "target assignments";
pub(super) const TARGET: &str = "target";
pub(super) const TARGET_TYPE: &str = "target type";
pub(super) const TARGET_MANAGER: &str = "target manager id,manager name";

/// Prefix of keys that close a section or a part of one.
pub(super) const END: &str = "end ";
