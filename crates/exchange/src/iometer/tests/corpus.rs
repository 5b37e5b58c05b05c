//! Configurations written for these tests.

use crate::iometer::config::*;
use crate::iometer::sequence::PlanOptions;
use crate::iometer::version::IometerVersion;

/// Options for a host and target of these tests.
pub const HERE: PlanOptions<'static> = PlanOptions {
    processors: 2,
    sector: 512,
    time: None,
    disk: None,
    prepare: false,
    own_pattern: false,
};

/// Everything that a file of 2006 can hold.
pub const OF_2006: &str = "Version 2006.07.27 
'TEST SETUP ====================================================================
'Test Description
\tFour corners
'Run Time
'\thours      minutes    seconds
\t0          1          37
'Ramp Up Time (s)
\t11
'Default Disk Workers to Spawn
\tNUMBER_OF_CPUS
'Default Network Workers to Spawn
\t0
'Record Results
\tALL
'Worker Cycling
'\tstart      step       step type
\t1          1          LINEAR
'Disk Cycling
'\tstart      step       step type
\t1          1          LINEAR
'Queue Depth Cycling
'\tstart      end        step       step type
\t1          32         2          EXPONENTIAL
'Test Type
\tNORMAL
'END test setup
'RESULTS DISPLAY ===============================================================
'Update Frequency,Update Type
\t7,WHOLE_TEST
'Bar chart 1 statistic
\tTotal I/Os per Second
'Bar chart 1 manager ID, manager name
\t1,OAK
'Bar chart 2 statistic
\tTotal MBs per Second
'END results display
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\tread big,ALL
'size,% of size,% reads,% random,delay,burst,align,reply
\t131072,100,100,0,0,1,4096,0
'Access specification name,default assignment
\tmixed sizes,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,60,67,100,0,1,0,0
\t65536,40,50,25,13,8,4096,0
'END access specifications
'MANAGER LIST ==================================================================
'Manager ID, manager name
\t1,OAK
'Manager network address
\t192.0.2.7
'Worker
\tWorker 1
'Worker type
\tDISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t16,DISABLED,1
'Disk maximum size,starting sector
\t2048,101
'End default target settings for worker
'Assigned access specs
\tread big
\tmixed sizes
'End assigned access specs
'Target assignments
'Target
\tE:Scratch
'Target type
\tDISK
'End target
'End target assignments
'End worker
'Worker
\tWorker 2
'Worker type
\tNETWORK,TCP
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t1,ENABLED,500
'Local network interface
\t192.0.2.7
'End default target settings for worker
'Assigned access specs
'End assigned access specs
'Target assignments
'Target
\t192.0.2.9
'Target type
\tNETWORK,TCP
'Target manager ID, manager name
\t1,ELM
'End target
'End target assignments
'End worker
'End manager
'END manager list
Version 2006.07.27 
";

/// Additions of 1.1.0.
pub const OF_1_1: &str = "Version 1.1.0 
'TEST SETUP ====================================================================
'Test Description
\t
'Run Time
'\thours      minutes    seconds
\t0          0          3
'Ramp Up Time (s)
\t0
'Test Type
\tCYCLE_OUTSTANDING_IOS
'Queue Depth Cycling
'\tstart      end        step       step type
\t1          16         4          EXPONENTIAL
'END test setup
'RESULTS DISPLAY ===============================================================
'Record Last Update Results,Update Frequency,Update Type
\tDISABLED,1,LAST_UPDATE
'END results display
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\t4 KiB random writes,DISK
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,100,0,100,0,1,4096,0
'END access specifications
'MANAGER LIST ==================================================================
'Manager ID, manager name
\t1,ASH
'Manager network address
\t
'Worker
\tWorker 1
'Worker type
\tDISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value
\t8,DISABLED,1,ENABLED,10007
'Disk maximum size,starting sector,Data pattern
\t0,0,2
'End default target settings for worker
'Assigned access specs
\t4 KiB random writes
'End assigned access specs
'Target assignments
'Target
\t1: \"SCRATCH DISK 7\"
'Target type
\tDISK
'End target
'End target assignments
'End worker
'End manager
'END manager list
Version 1.1.0 
";

/// Returns a configuration of managers with the given numbers of disk workers, each with the given
/// number of targets and one access specification.
pub fn cycling(test_type: TestType, managers: &[&[usize]]) -> IometerConfig {
    let doubling = Cycling { start: 1, step: 2, kind: GrowthKind::Exponential };
    let setup = TestSetup {
        worker_cycling: Some(Cycling { start: 1, step: 1, kind: GrowthKind::Linear }),
        disk_cycling: Some(doubling),
        depth_cycling: Some(DepthCycling { cycling: doubling, end: 5 }),
        test_type: Some(test_type),
        ..TestSetup::default()
    };
    let spec = AccessSpec {
        name: "4K".into(),
        assignment: Assignment::Nobody,
        lines: vec![AccessLine::plain(4096, 100, 100)],
        line: LineNumber(0),
    };
    let worker = |(number, targets): (usize, &usize)| IometerWorker {
        specs: Some(vec![AssignedSpec { name: "4K".into(), line: LineNumber(0) }]),
        targets: Some((0..*targets).map(disk).collect()),
        ..IometerWorker::disk(format!("Worker {}", number + 1), LineNumber(0))
    };
    let manager = |(id, workers): (usize, &&[usize])| IometerManager {
        id: id as u32,
        name: format!("M{id}"),
        address: None,
        workers: workers.iter().enumerate().map(worker).collect(),
        line: LineNumber(0),
    };
    IometerConfig {
        version: IometerVersion::of_2006(),
        setup: Some(setup),
        specs: Some(vec![spec]),
        managers: Some(managers.iter().enumerate().map(manager).collect()),
    }
}

fn disk(number: usize) -> IometerTarget {
    IometerTarget::disk(format!("disk {number}"))
}
