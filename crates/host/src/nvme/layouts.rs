//! Layouts of the pages that this program reads.
//!
//! Offsets, units and clauses are those of the NVM Express Base Specification 2.1, the NVM Command
//! Set Specification 1.1 (Identify Namespace) and the OCP Datacenter NVMe SSD Specification 2.0 and
//! later (C0h, C3h, feature C5h). The fields that versions 4 to 6 of page C0h added are those that
//! nvme-cli 2.13 and later print for these versions.

use super::commands::IdentifyData;
use super::page_decoder::{FieldGroup, PageField, PageLayout, PageNumber, fields, group, page};

/// Identify Controller.
pub(crate) mod controller {
    use super::*;
    fields! {
        VID            0 + 2    Flags   ""            "vid"       "PCI vendor";
        SSVID          2 + 2    Flags   ""            "ssvid"     "PCI subsystem vendor";
        SN             4 + 20   Text    ""            "sn"        "serial number";
        MN            24 + 40   Text    ""            "mn"        "model number";
        FR            64 + 8    Text    ""            "fr"        "firmware revision";
        IEEE          73 + 3    Flags   ""            "ieee"      "IEEE OUI identifier";
        CMIC          76 + 1    Flags   ""            "cmic"      "multi-path I/O and namespace sharing";
        MDTS          77 + 1    NonZero "2^n pages"   "mdts"      "maximum data transfer size";
        CNTLID        78 + 2    Number  ""            "cntlid"    "controller identifier";
        VER           80 + 4    Flags   ""            "ver"       "version of the specification";
        RTD3R         84 + 4    NonZero "us"          "rtd3r"     "RTD3 resume latency";
        RTD3E         88 + 4    NonZero "us"          "rtd3e"     "RTD3 entry latency";
        OAES          92 + 4    Flags   ""            "oaes"      "optional asynchronous events";
        CTRATT        96 + 4    Flags   ""            "ctratt"    "controller attributes";
        CNTRLTYPE    111 + 1    NonZero ""            "cntrltype" "controller type";
        OACS         256 + 2    Flags   ""            "oacs"      "optional admin commands";
        FRMW         260 + 1    Flags   ""            "frmw"      "firmware updates";
        LPA          261 + 1    Flags   ""            "lpa"       "log page attributes";
        ELPE         262 + 1    Number  "less 1"      "elpe"      "error log page entries";
        NPSS         263 + 1    Number  "less 1"      "npss"      "power states";
        APSTA        265 + 1    Flags   ""            "apsta"     "autonomous power state transitions";
        WCTEMP       266 + 2    NonZero "K"           "wctemp"    "warning composite temperature";
        CCTEMP       268 + 2    NonZero "K"           "cctemp"    "critical composite temperature";
        HMPRE        272 + 4    NonZero "4 KiB"       "hmpre"     "host memory buffer preferred size";
        HMMIN        276 + 4    NonZero "4 KiB"       "hmmin"     "host memory buffer minimum size";
        TNVMCAP      280 + 16   NonZero "B"           "tnvmcap"   "total NVM capacity";
        UNVMCAP      296 + 16   Number  "B"           "unvmcap"   "unallocated NVM capacity";
        EDSTT        316 + 2    NonZero "min"         "edstt"     "extended self-test time";
        HCTMA        322 + 2    Flags   ""            "hctma"     "host controlled thermal management";
        MNTMT        324 + 2    NonZero "K"           "mntmt"     "minimum thermal management temperature";
        MXTMT        326 + 2    NonZero "K"           "mxtmt"     "maximum thermal management temperature";
        SANICAP      328 + 4    Flags   ""            "sanicap"   "sanitize capabilities";
        ENDGIDMAX    340 + 2    NonZero ""            "endgidmax" "maximum endurance group identifier";
        PELS         352 + 4    NonZero "64 KiB"      "pels"      "persistent event log size";
        NN           516 + 4    Number  ""            "nn"        "namespaces";
        ONCS         520 + 2    Flags   ""            "oncs"      "optional NVM commands";
        FNA          524 + 1    Flags   ""            "fna"       "Format NVM attributes";
        VWC          525 + 1    Flags   ""            "vwc"       "volatile write cache";
        AWUN         526 + 2    Number  "blocks, less 1" "awun"   "atomic write unit, normal";
        AWUPF        528 + 2    Number  "blocks, less 1" "awupf"  "atomic write unit, power fail";
        SUBNQN       768 + 256  Text    ""            "subnqn"    "subsystem NQN";
    }

    /// Power state descriptor.
    pub(crate) mod power_state {
        use super::super::*;
        fields! {
            MP     0 + 2  NonZero "10 mW, or 0.1 mW with MXPS" "mp"    "maximum power";
            FLAGS  3 + 1  Flags   ""                           "flags" "MXPS (bit 0), non-operational (bit 1)";
            ENLAT  4 + 4  NonZero "us"                         "enlat" "entry latency";
            EXLAT  8 + 4  NonZero "us"                         "exlat" "exit latency";
            RRT   12 + 1  Number  ""                           "rrt"   "relative read throughput";
            RRL   13 + 1  Number  ""                           "rrl"   "relative read latency";
            RWT   14 + 1  Number  ""                           "rwt"   "relative write throughput";
            RWL   15 + 1  Number  ""                           "rwl"   "relative write latency";
            IDLP  16 + 2  NonZero "by IPS"                     "idlp"  "idle power";
            IPS   18 + 1  Flags   ""                           "ips"   "idle power scale";
            ACTP  20 + 2  NonZero "by APS"                     "actp"  "active power";
            APWS  22 + 1  Flags   ""                           "apws"  "active power workload and scale";
        }
    }

    pub(crate) const POWER_STATES: FieldGroup =
        group!("psd", "power state", 2048 + 32 * 32, power_state::FIELDS);

    page!(PAGE = Identify(IdentifyData::Controller), "Identify Controller", "NVMe Base 2.1, 5.1.13.2.1", 4096;
        fields: FIELDS, groups: &[POWER_STATES]);
}

/// Identify Namespace.
pub(crate) mod namespace {
    use super::*;
    fields! {
        NSZE       0 + 8   Number  "blocks"         "nsze"     "size";
        NCAP       8 + 8   Number  "blocks"         "ncap"     "capacity";
        NUSE      16 + 8   Number  "blocks"         "nuse"     "utilization";
        NSFEAT    24 + 1   Flags   ""               "nsfeat"   "features";
        NLBAF     25 + 1   Number  "less 1"         "nlbaf"    "LBA formats";
        FLBAS     26 + 1   Flags   ""               "flbas"    "formatted LBA size";
        MC        27 + 1   Flags   ""               "mc"       "metadata capabilities";
        DPC       28 + 1   Flags   ""               "dpc"      "data protection capabilities";
        DPS       29 + 1   Flags   ""               "dps"      "data protection type settings";
        NMIC      30 + 1   Flags   ""               "nmic"     "multi-path I/O and sharing";
        RESCAP    31 + 1   Flags   ""               "rescap"   "reservation capabilities";
        FPI       32 + 1   Flags   ""               "fpi"      "format progress indicator";
        DLFEAT    33 + 1   Flags   ""               "dlfeat"   "deallocate features";
        NAWUN     34 + 2   Number  "blocks, less 1" "nawun"    "atomic write unit, normal";
        NAWUPF    36 + 2   Number  "blocks, less 1" "nawupf"   "atomic write unit, power fail";
        NOIOB     46 + 2   NonZero "blocks"         "noiob"    "optimal I/O boundary";
        NVMCAP    48 + 16  NonZero "B"              "nvmcap"   "NVM capacity";
        NPWG      64 + 2   Number  "blocks, less 1" "npwg"     "preferred write granularity";
        NPWA      66 + 2   Number  "blocks, less 1" "npwa"     "preferred write alignment";
        NPDG      68 + 2   Number  "blocks, less 1" "npdg"     "preferred deallocate granularity";
        NPDA      70 + 2   Number  "blocks, less 1" "npda"     "preferred deallocate alignment";
        NOWS      72 + 2   Number  "blocks, less 1" "nows"     "optimal write size";
        NSATTR    99 + 1   Flags   ""               "nsattr"   "attributes (bit 0: write protected)";
        NVMSETID 100 + 2   NonZero ""               "nvmsetid" "NVM set";
        ENDGID   102 + 2   NonZero ""               "endgid"   "endurance group";
        NGUID    104 + 16  Hex     ""               "nguid"    "globally unique identifier";
        EUI64    120 + 8   Hex     ""               "eui64"    "IEEE extended unique identifier";
    }

    /// LBA format.
    pub(crate) mod lba_format {
        use super::super::*;
        fields! {
            MS     0 + 2  Number "B"       "ms"     "metadata size";
            LBADS  2 + 1  Number "2^n B"   "lbads"  "LBA data size";
            RP     3 + 1  Number ""        "rp"     "relative performance";
        }
    }

    pub(crate) const LBA_FORMATS: FieldGroup =
        group!("lbaf", "LBA format", 128 + 4 * 64, lba_format::FIELDS);

    page!(PAGE = Identify(IdentifyData::Namespace), "Identify Namespace", "NVM Command Set 1.1, 4.1.5.1", 4096;
        fields: FIELDS, groups: &[LBA_FORMATS]);
}

/// Error Information (01h).
pub(crate) mod errors {
    use super::*;
    fields! {
        ERROR_COUNT  0 + 8  NonZero ""  "ec"    "error count";
        SQID         8 + 2  Number  ""  "sqid"  "submission queue";
        CID         10 + 2  Number  ""  "cid"   "command";
        STATUS      12 + 2  Flags   ""  "sts"   "status field";
        LOCATION    14 + 2  Flags   ""  "pel"   "parameter error location";
        LBA         16 + 8  Number  ""  "lba"   "LBA";
        NSID        24 + 4  Number  ""  "nsid"  "namespace";
        VENDOR      28 + 1  Flags   ""  "vsia"  "vendor specific information";
        TRTYPE      29 + 1  Number  ""  "trtype" "transport type";
        SPECIFIC    32 + 8  Flags   ""  "csi"   "command specific information";
        TTSI        40 + 2  Flags   ""  "ttsi"  "transport specific information";
    }

    page!(PAGE = Log(0x01), "Error Information", "NVMe Base 2.1, 5.1.12.1.2", 64;
        may_be_zero: true, groups: &[group!("entry", "entry", 0 + 64 * 64, FIELDS)]);
}

/// SMART / Health Information (02h).
pub(crate) mod smart {
    use super::*;
    fields! {
        CW       0 + 1   Flags   ""           "cw"     "critical warning";
        CTEMP    1 + 2   NonZero "K"          "ctemp"  "composite temperature";
        AVSP     3 + 1   Number  "%"          "avsp"   "available spare";
        AVSPT    4 + 1   Number  "%"          "avspt"  "available spare threshold";
        PUSED    5 + 1   Number  "%"          "pused"  "percentage used";
        EGCWS    6 + 1   Flags   ""           "egcws"  "endurance group critical warning summary";
        DUR     32 + 16  Number  "512000 B"   "dur"    "data units read";
        DUW     48 + 16  Number  "512000 B"   "duw"    "data units written";
        HRC     64 + 16  Number  ""           "hrc"    "host read commands";
        HWC     80 + 16  Number  ""           "hwc"    "host write commands";
        CBT     96 + 16  Number  "min"        "cbt"    "controller busy time";
        PWRC   112 + 16  Number  ""           "pwrc"   "power cycles";
        POH    128 + 16  Number  "h"          "poh"    "power on hours";
        UPL    144 + 16  Number  ""           "upl"    "unexpected power losses";
        MDIE   160 + 16  Number  ""           "mdie"   "media and data integrity errors";
        NEILE  176 + 16  Number  ""           "neile"  "error information log entries";
        WCTT   192 + 4   Number  "min"        "wctt"   "time above the warning temperature";
        CCTT   196 + 4   Number  "min"        "cctt"   "time above the critical temperature";
        TSEN1  200 + 2   NonZero "K"          "tsen1"  "temperature sensor 1";
        TSEN2  202 + 2   NonZero "K"          "tsen2"  "temperature sensor 2";
        TSEN3  204 + 2   NonZero "K"          "tsen3"  "temperature sensor 3";
        TSEN4  206 + 2   NonZero "K"          "tsen4"  "temperature sensor 4";
        TSEN5  208 + 2   NonZero "K"          "tsen5"  "temperature sensor 5";
        TSEN6  210 + 2   NonZero "K"          "tsen6"  "temperature sensor 6";
        TSEN7  212 + 2   NonZero "K"          "tsen7"  "temperature sensor 7";
        TSEN8  214 + 2   NonZero "K"          "tsen8"  "temperature sensor 8";
        TMT1TC 216 + 4   Number  ""           "tmt1tc" "thermal management temperature 1 transitions";
        TMT2TC 220 + 4   Number  ""           "tmt2tc" "thermal management temperature 2 transitions";
        TTTMT1 224 + 4   Number  "s"          "tttmt1" "time in thermal management temperature 1";
        TTTMT2 228 + 4   Number  "s"          "tttmt2" "time in thermal management temperature 2";
    }

    page!(PAGE = Log(0x02), "SMART / Health Information", "NVMe Base 2.1, 5.1.12.1.3", 512;
        fields: FIELDS);
}

/// Commands Supported and Effects (05h).
pub(crate) mod effects {
    use super::*;
    fields! {
        CSE 0 + 4 Flags "" "cse" "supported (bit 0) and effects";
    }

    const fn commands(id: &'static str, name: &'static str, offset: usize) -> FieldGroup {
        FieldGroup { id, name, offset, stride: 4, count: 256, descending: false, fields: FIELDS }
    }

    page!(PAGE = Log(0x05), "Commands Supported and Effects", "NVMe Base 2.1, 5.1.12.1.6", 2048;
        groups: &[commands("acs", "admin command", 0), commands("iocs", "I/O command", 1024)]);
}

/// Device Self-test (06h).
pub(crate) mod self_test {
    use super::*;
    fields! {
        CDSTO 0 + 1 Flags  ""  "cdsto" "current operation";
        CDSTC 1 + 1 Number "%" "cdstc" "current completion";
    }

    /// Result of a self-test.
    pub(crate) mod result {
        use super::super::*;
        fields! {
            DSTS   0 + 1  Flags  ""  "dsts"  "test (bits 7:4) and result (bits 3:0)";
            SEGN   1 + 1  Number ""  "segn"  "segment that failed";
            VDI    2 + 1  Flags  ""  "vdi"   "valid diagnostic information";
            POH    4 + 8  Number "h" "poh"   "power on hours";
            NSID  12 + 4  Number ""  "nsid"  "namespace";
            FLBA  16 + 8  Number ""  "flba"  "failing LBA";
            SCT   24 + 1  Flags  ""  "sct"   "status code type";
            SC    25 + 1  Flags  ""  "sc"    "status code";
            VS    26 + 2  Flags  ""  "vs"    "vendor specific";
        }
    }

    /// The newest result has number 0.
    pub(crate) const RESULTS: FieldGroup = group!("result", "result", 4 + 28 * 20, result::FIELDS);

    page!(PAGE = Log(0x06), "Device Self-test", "NVMe Base 2.1, 5.1.12.1.7", 564;
        may_be_zero: true, fields: FIELDS, groups: &[RESULTS]);
}

/// Headers of Telemetry Host-Initiated (07h) and Controller-Initiated (08h).
pub(crate) mod telemetry {
    use super::*;
    fields! {
        LPI      0 + 1    Flags   ""       "lpi"    "log page identifier";
        IEEE     5 + 3    Flags   ""       "ieee"   "IEEE OUI identifier";
        DA1LB    8 + 2    Number  "512 B"  "da1lb"  "data area 1 last block";
        DA2LB   10 + 2    Number  "512 B"  "da2lb"  "data area 2 last block";
        DA3LB   12 + 2    Number  "512 B"  "da3lb"  "data area 3 last block";
        DA4LB   16 + 4    Number  "512 B"  "da4lb"  "data area 4 last block";
        TCDA   382 + 1    Number  ""       "tcda"   "controller-initiated data available";
        TCDGN  383 + 1    Number  ""       "tcdgn"  "controller-initiated data generation";
        RIDENT 384 + 128  Hex     ""       "rident" "reason identifier";
    }

    page!(HOST = Log(0x07), "Telemetry Host-Initiated (header)", "NVMe Base 2.1, 5.1.12.1.8", 512;
        fields: FIELDS);
    page!(CONTROLLER = Log(0x08), "Telemetry Controller-Initiated (header)", "NVMe Base 2.1, 5.1.12.1.9", 512;
        fields: FIELDS);
}

/// Endurance Group Information (09h).
pub(crate) mod endurance {
    use super::*;
    fields! {
        EGCW     0 + 1   Flags   ""      "egcw"   "critical warning";
        EGFEAT   1 + 1   Flags   ""      "egfeat" "features";
        AVSP     3 + 1   Number  "%"     "avsp"   "available spare";
        AVSPT    4 + 1   Number  "%"     "avspt"  "available spare threshold";
        PUSED    5 + 1   Number  "%"     "pused"  "percentage used";
        DID      6 + 2   NonZero ""      "did"    "domain";
        EE      32 + 16  NonZero "1e9 B" "ee"     "endurance estimate";
        DUR     48 + 16  NonZero "1e9 B" "dur"    "data units read";
        DUW     64 + 16  NonZero "1e9 B" "duw"    "data units written";
        MUW     80 + 16  NonZero "1e9 B" "muw"    "media units written";
        HRC     96 + 16  Number  ""      "hrc"    "host read commands";
        HWC    112 + 16  Number  ""      "hwc"    "host write commands";
        MDIE   128 + 16  Number  ""      "mdie"   "media and data integrity errors";
        NEILE  144 + 16  Number  ""      "neile"  "error information log entries";
        TEGCAP 160 + 16  NonZero "B"     "tegcap" "total capacity";
        UEGCAP 176 + 16  Number  "B"     "uegcap" "unallocated capacity";
    }

    page!(PAGE = Log(0x09), "Endurance Group Information", "NVMe Base 2.1, 5.1.12.1.10", 512;
        fields: FIELDS);
}

/// Header of Persistent Event (0Dh).
pub(crate) mod events {
    use super::*;
    fields! {
        LPI      0 + 1    Flags  ""    "lpi"    "log page identifier";
        TNEV     4 + 4    Number ""    "tnev"   "events";
        TLL      8 + 8    Number "B"   "tll"    "log length";
        LREV    16 + 1    Number ""    "lrev"   "log revision";
        LHL     18 + 2    Number "B"   "lhl"    "header length after byte 19";
        TSTMP   20 + 8    Number ""    "tstmp"  "timestamp";
        POH     28 + 16   Number "h"   "poh"    "power on hours";
        PCC     44 + 8    Number ""    "pcc"    "power cycles";
        VID     52 + 2    Flags  ""    "vid"    "PCI vendor";
        SSVID   54 + 2    Flags  ""    "ssvid"  "PCI subsystem vendor";
        SN      56 + 20   Text   ""    "sn"     "serial number";
        MN      76 + 40   Text   ""    "mn"     "model number";
        SUBNQN 116 + 256  Text   ""    "subnqn" "subsystem NQN";
        GNUM   372 + 2    Number ""    "gnum"   "generation";
        SEB    480 + 32   Hex    ""    "seb"    "supported events";
    }

    page!(PAGE = Log(0x0d), "Persistent Event (header)", "NVMe Base 2.1, 5.1.12.1.14", 512;
        fields: FIELDS);
}

/// FDP Configurations (20h): the header and the first configuration.
pub(crate) mod fdp_configurations {
    use super::*;
    fields! {
        NUMFDPC  0 + 2  Number  "less 1" "numfdpc" "configurations";
        FDPVER   2 + 1  Number  ""       "ver"     "version";
        SZE      4 + 4  Number  "B"      "sze"     "size";
        DSZE    16 + 2  Number  "B"      "dsze"    "configuration 0: size of the descriptor";
        FDPA    18 + 1  Flags   ""       "fdpa"    "configuration 0: attributes";
        VSS     19 + 1  Number  "B"      "vss"     "configuration 0: vendor specific size";
        NRG     20 + 4  Number  ""       "nrg"     "configuration 0: reclaim groups";
        NRUH    24 + 2  Number  ""       "nruh"    "configuration 0: reclaim unit handles";
        MAXPIDS 26 + 2  Number  "less 1" "maxpids" "configuration 0: placement identifiers";
        NNS     28 + 4  Number  ""       "nns"     "configuration 0: namespaces";
        RUNS    32 + 8  Number  "B"      "runs"    "configuration 0: reclaim unit nominal size";
        ERUTL   40 + 4  NonZero "s"      "erutl"   "configuration 0: estimated reclaim unit time limit";
    }

    page!(PAGE = Log(0x20), "FDP Configurations", "NVMe Base 2.1, 5.1.12.1.28", 80;
        version: Some((&FDPVER, 0)), fields: FIELDS);
}

/// Reclaim Unit Handle Usage (21h).
pub(crate) mod fdp_usage {
    use super::*;
    fields! {
        NRUH 0 + 2 Number "" "nruh" "reclaim unit handles";
    }

    /// Use of a reclaim unit handle.
    pub(crate) mod handle {
        use super::super::*;
        fields! {
            RUHA 0 + 1 Number "" "ruha" "0 unused, 1 by the host, 2 by the controller";
        }
    }

    page!(PAGE = Log(0x21), "Reclaim Unit Handle Usage", "NVMe Base 2.1, 5.1.12.1.29", 16;
        fields: FIELDS,
        groups: &[group!("ruh", "reclaim unit handle", 8 + 8 * 511, handle::FIELDS)]);
}

/// FDP Statistics (22h).
pub(crate) mod fdp_statistics {
    use super::*;
    fields! {
        HBMW  0 + 16  Number "B" "hbmw" "host bytes with metadata written";
        MBMW 16 + 16  Number "B" "mbmw" "media bytes with metadata written";
        MBE  32 + 16  Number "B" "mbe"  "media bytes erased";
    }

    page!(PAGE = Log(0x22), "FDP Statistics", "NVMe Base 2.1, 5.1.12.1.30", 64;
        may_be_zero: true, fields: FIELDS);
}

/// FDP Events (23h).
pub(crate) mod fdp_events {
    use super::*;
    fields! {
        NUMFDPE 0 + 4 Number "" "numfdpe" "events";
    }

    /// An event.
    pub(crate) mod event {
        use super::super::*;
        fields! {
            ET      0 + 1   Flags  ""  "et"    "type";
            FDPEF   1 + 1   Flags  ""  "fdpef" "flags";
            PID     2 + 2   Number ""  "pid"   "placement identifier";
            ETS     4 + 8   Number ""  "ets"   "timestamp";
            NSID   12 + 4   Number ""  "nsid"  "namespace";
            ETSP   16 + 16  Hex    ""  "etsp"  "type specific";
            RGID   32 + 2   Number ""  "rgid"  "reclaim group";
            RUHID  34 + 1   Number ""  "ruhid" "reclaim unit handle";
        }
    }

    page!(PAGE = Log(0x23), "FDP Events (of the controller)", "NVMe Base 2.1, 5.1.12.1.31", 64;
        may_be_zero: true, fields: FIELDS,
        groups: &[group!("event", "event", 64 + 64 * 63, event::FIELDS)]);
}

/// Sanitize Status (81h).
pub(crate) mod sanitize {
    use super::*;
    fields! {
        SPROG   0 + 2  Number  "1/65536" "sprog"  "progress";
        SSTAT   2 + 2  Flags   ""        "sstat"  "status (bits 2:0)";
        SCDW10  4 + 4  Flags   ""        "scdw10" "dword 10 of the command";
        ETO     8 + 4  NotOnes "s"       "eto"    "estimated time for overwrite";
        ETBE   12 + 4  NotOnes "s"       "etbe"   "estimated time for block erase";
        ETCE   16 + 4  NotOnes "s"       "etce"   "estimated time for crypto erase";
        ETOND  20 + 4  NotOnes "s"       "etond"  "estimated time for overwrite, no deallocate";
        ETBEND 24 + 4  NotOnes "s"       "etbend" "estimated time for block erase, no deallocate";
        ETCEND 28 + 4  NotOnes "s"       "etcend" "estimated time for crypto erase, no deallocate";
    }

    page!(PAGE = Log(0x81), "Sanitize Status", "NVMe Base 2.1, 5.1.12.1.33", 512;
        may_be_zero: true, fields: FIELDS);
}

/// Power Measurement (25h): the powers of intervals since measurements were started. A power is a
/// value and its scale.
pub(crate) mod power_measurement {
    use super::*;
    fields! {
        VER      0 + 1  Number  ""    "ver"    "log page version";
        PMGN     1 + 1  Number  ""    "pmgn"   "power measurement generation number";
        PMA      2 + 2  Flags   ""    "pma"    "attributes (bit 0: measuring, bit 2: estimated)";
        SZE      4 + 4  Number  "B"   "sze"    "size of the log page";
        PMC      8 + 4  Number  ""    "pmc"    "interval powers measured";
        NPHD    12 + 2  Number  ""    "nphd"   "power histogram descriptors";
        SMTR    14 + 2  NonZero "min" "smtr"   "time until measuring stops";
        SMTS    16 + 6  NonZero "ms"  "smts"   "time at which measuring stopped";
        PHDS    24 + 2  Number  "B"   "phds"   "size of a power histogram descriptor";
        PHBS    26 + 2  Number  "mW"  "phbs"   "width of a power histogram bin";
        NPHDS   28 + 2  Number  ""    "nphds"  "power histogram descriptors supported";
        VSS     30 + 2  Number  "B"   "vss"    "size of the vendor specific part";
        PHDOC   32 + 4  Number  ""    "phdoc"  "powers beyond the last bin";
        AIPWR   40 + 2  NonZero ""    "aipwr"  "average interval power, value";
        AIPWRS  42 + 1  Flags   ""    "aipwrs" "average interval power, scale (1: 0.1 mW, 2: 10 mW)";
        MIPWR   44 + 2  NonZero ""    "mipwr"  "maximum interval power, value";
        MIPWRS  46 + 1  Flags   ""    "mipwrs" "maximum interval power, scale";
        MIPWRT  48 + 6  NonZero "ms"  "mipwrt" "time of the maximum interval power";
        IPWRPE  56 + 1  NotOnes "%"   "ipwrpe" "maximum error of an interval power";
    }

    /// A bin of the histogram of powers.
    pub(crate) mod bin {
        use super::super::*;
        fields! {
            PHBC  0 + 4 NonZero "" "phbc" "count";
            PHBLT 4 + 2 NonZero "" "phblt" "lower threshold, value";
            SCALE 6 + 1 Flags   "" "phblts" "lower threshold, scale";
        }
    }

    /// Length without the histogram.
    pub(crate) const HEAD: usize = 64;

    page!(PAGE = Log(0x25), "Power Measurement", "NVMe TP4199", HEAD;
        version: Some((&VER, 0)), fields: FIELDS,
        groups: &[group!("bin", "bin", HEAD + 8 * 504, bin::FIELDS)]);
}

/// OCP SMART / Health Information Extended (C0h).
pub(crate) mod ocp_smart {
    use super::*;
    fields! {
        MEDIA_WRITTEN    0 + 16  Number  "B"       "SMART-1"   "physical media units written";
        MEDIA_READ      16 + 16  Number  "B"       "SMART-2"   "physical media units read";
        USER_BAD        32 + 6   Number  ""        "SMART-3"   "bad user NAND blocks";
        USER_BAD_NORM   38 + 2   Number  "%"       "SMART-3n"  "bad user NAND blocks, normalized";
        SYSTEM_BAD      40 + 6   Number  ""        "SMART-4"   "bad system NAND blocks";
        SYSTEM_BAD_NORM 46 + 2   Number  "%"       "SMART-4n"  "bad system NAND blocks, normalized";
        XOR             48 + 8   Number  ""        "SMART-5"   "XOR recoveries";
        UNCORRECTABLE   56 + 8   Number  ""        "SMART-6"   "uncorrectable read errors";
        SOFT_ECC        64 + 8   Number  ""        "SMART-7"   "soft ECC errors";
        E2E_DETECTED    72 + 4   Number  ""        "SMART-8d"  "end-to-end errors detected";
        E2E_CORRECTED   76 + 4   Number  ""        "SMART-8c"  "end-to-end errors corrected";
        SYSTEM_USED     80 + 1   Number  "%"       "SMART-9"   "system data endurance used";
        REFRESHES       81 + 7   Number  ""        "SMART-10"  "refreshes";
        ERASES_MAX      88 + 4   Number  ""        "SMART-11x" "maximum user data erase count";
        ERASES_MIN      92 + 4   Number  ""        "SMART-11n" "minimum user data erase count";
        THROTTLES       96 + 1   Number  ""        "SMART-12c" "thermal throttling events";
        THROTTLING      97 + 1   Number  ""        "SMART-12s" "thermal throttling level now";
        DSSD_ERRATA     98 + 1   Number  ""        "SMART-13e" "DSSD specification, errata" since 3;
        DSSD_POINT      99 + 2   Number  ""        "SMART-13p" "DSSD specification, point version" since 3;
        DSSD_MINOR     101 + 2   Number  ""        "SMART-13m" "DSSD specification, minor version" since 3;
        DSSD_MAJOR     103 + 1   Number  ""        "SMART-13"  "DSSD specification, major version" since 3;
        PCIE_ERRORS    104 + 8   Number  ""        "SMART-14"  "PCIe correctable errors";
        SHUTDOWNS      112 + 4   Number  ""        "SMART-15"  "incomplete shutdowns";
        FREE_BLOCKS    120 + 1   Number  "%"       "SMART-17"  "free blocks";
        CAPACITOR      128 + 2   NotOnes "%"       "SMART-19"  "capacitor health";
        NVME_ERRATA    130 + 1   Text    ""        "SMART-20"  "NVMe errata revision" since 3;
        SET_ERRATA     131 + 1   Text    ""        "errata-131" "NVMe command set errata revision" since 4;
        PCIE_ERRATA    132 + 1   Text    ""        "errata-132" "NVMe over PCIe errata revision" since 5;
        MI_ERRATA      133 + 1   Text    ""        "errata-133" "NVMe-MI errata revision" since 5;
        UNALIGNED      136 + 8   Number  ""        "SMART-22"  "unaligned writes";
        SECURITY       144 + 8   Number  ""        "SMART-23"  "security version";
        NUSE           152 + 8   Number  "blocks"  "SMART-24"  "namespace utilization";
        PLP_STARTS     160 + 16  Number  ""        "SMART-25"  "power loss protection starts";
        ENDURANCE      176 + 16  Number  "B"       "SMART-26"  "endurance estimate";
        RETRAININGS    192 + 8   Number  ""        "SMART-27"  "PCIe link retrainings" since 3;
        POWER_CHANGES  200 + 8   Number  ""        "SMART-28"  "power state changes" since 3;
        LOWEST_FW      208 + 8   Hex     ""        "byte-208"  "lowest permitted firmware revision" since 4;
        DIES           216 + 2   Number  ""        "byte-216"  "media dies" since 5;
        DIES_TOLERATED 218 + 2   Number  ""        "byte-218"  "die failures tolerated" since 5;
        DIES_OFFLINE   220 + 2   Number  ""        "byte-220"  "media dies offline" since 5;
        HOTTEST        222 + 1   Number  "C"       "byte-222"  "maximum temperature recorded" since 5;
        FORM_FACTOR    223 + 1   Number  ""        "byte-223"  "form factor" since 6;
        ERASES_MEAN    224 + 8   Number  ""        "byte-224"  "mean NAND erase count" since 5;
        TIMEOUTS       232 + 4   Number  ""        "byte-232"  "command timeouts" since 5;
        PROGRAM_FAILS  236 + 4   Number  ""        "byte-236"  "system area program failures" since 5;
        PROGRAM_NORM   240 + 1   Number  "%"       "byte-240"  "system area program failures, normalized" since 5;
        READ_FAILS     244 + 4   Number  ""        "byte-244"  "system area uncorrectable reads" since 5;
        READ_NORM      248 + 1   Number  "%"       "byte-248"  "system area uncorrectable reads, normalized" since 5;
        ERASE_FAILS    252 + 4   Number  ""        "byte-252"  "system area erase failures" since 5;
        ERASE_NORM     256 + 1   Number  "%"       "byte-256"  "system area erase failures, normalized" since 5;
        PEAK_POWER     260 + 2   Number  ""        "byte-260"  "maximum peak power capability" since 5;
        AVERAGE_POWER  262 + 2   Number  ""        "byte-262"  "current maximum average power" since 5;
        LIFETIME_POWER 264 + 6   Number  ""        "byte-264"  "lifetime power consumed" since 5;
        DSSD_FW        270 + 8   Text    ""        "byte-270"  "DSSD firmware revision" since 5;
        DSSD_FW_UUID   278 + 16  Hex     ""        "byte-278"  "DSSD firmware build UUID" since 5;
        DSSD_FW_LABEL  294 + 64  Text    ""        "byte-294"  "DSSD firmware build label" since 5;
        DIE_BAD        358 + 6   Number  ""        "byte-358"  "bad NAND blocks of a die in use" since 6;
        DIE_BAD_NORM   364 + 2   Number  "%"       "byte-364"  "bad NAND blocks of a die in use, normalized" since 6;
        VERSION        494 + 2   Number  ""        "SMART-30"  "log page version";
        GUID           496 + 16  Hex     ""        "SMART-31"  "log page GUID";
    }

    page!(PAGE = Log(0xc0), "OCP SMART / Health Information Extended", "OCP Datacenter NVMe SSD 2.0, 4.8.5", 512;
        version: Some((&VERSION, 6)),
        guid: Some((&GUID, 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5_u128.to_le_bytes())),
        fields: FIELDS);
}

/// OCP Latency Monitor (C3h).
pub(crate) mod latency_monitor {
    use super::*;
    fields! {
        STATUS       0 + 1    Flags  ""        "LMDATA-1"  "feature status (bit 0: enabled)";
        TIMER        2 + 2    Number "5 min"   "LMDATA-3"  "active bucket timer";
        TIMER_LIMIT  4 + 2    Number "5 min"   "LMDATA-5"  "active bucket timer threshold";
        THRESHOLD_A  6 + 1    Number "5 ms, less 1" "LMDATA-6" "active threshold A";
        THRESHOLD_B  7 + 1    Number "5 ms, less 1" "LMDATA-7" "active threshold B";
        THRESHOLD_C  8 + 1    Number "5 ms, less 1" "LMDATA-8" "active threshold C";
        THRESHOLD_D  9 + 1    Number "5 ms, less 1" "LMDATA-9" "active threshold D";
        CONFIG      10 + 2    Flags  ""        "LMDATA-10" "active latency configuration";
        WINDOW      12 + 1    Number "100 ms"  "LMDATA-11" "active latency minimum window";
        UNITS      216 + 2    Flags  ""        "LMDATA-18" "active latency stamp units";
        STATIC_UNITS 424 + 2  Flags  ""        "LMDATA-26" "static latency stamp units";
        TRIGGER    448 + 2    Flags  ""        "byte-448"  "debug log trigger enable";
        TRIGGERED  450 + 2    NonZero "ms"     "byte-450"  "debug log measured latency";
        STAMP      452 + 8    NotOnes ""       "byte-452"  "debug log latency stamp";
        POINTER    460 + 2    Number ""        "byte-460"  "debug log pointer";
        SOURCE     462 + 2    Flags  ""        "byte-462"  "debug counter trigger source";
        STAMP_UNITS 464 + 1   Flags  ""        "byte-464"  "debug log stamp units";
        VERSION    494 + 2    Number ""        "byte-494"  "log page version";
        GUID       496 + 16   Hex    ""        "byte-496"  "log page GUID";
    }

    /// Counters of a bucket.
    pub(crate) mod counters {
        use super::super::*;
        fields! {
            TRIM   4 + 4  Number "" "trim"  "deallocates above the threshold";
            WRITE  8 + 4  Number "" "write" "writes above the threshold";
            READ  12 + 4  Number "" "read"  "reads above the threshold";
        }
    }

    /// Times of the last events of a bucket.
    pub(crate) mod stamps {
        use super::super::*;
        fields! {
            TRIM   0 + 8  NotOnes "" "trim"  "latency stamp of a deallocate";
            WRITE  8 + 8  NotOnes "" "write" "latency stamp of a write";
            READ  16 + 8  NotOnes "" "read"  "latency stamp of a read";
        }
    }

    /// Measured latencies of a bucket.
    pub(crate) mod latencies {
        use super::super::*;
        fields! {
            TRIM  0 + 2  NonZero "ms" "trim"  "measured latency of a deallocate";
            WRITE 2 + 2  NonZero "ms" "write" "measured latency of a write";
            READ  4 + 2  NonZero "ms" "read"  "measured latency of a read";
        }
    }

    const fn buckets(
        id: &'static str,
        name: &'static str,
        offset: usize,
        stride: usize,
        descending: bool,
        fields: &'static [PageField],
    ) -> FieldGroup {
        FieldGroup { id, name, offset, stride, count: 4, descending, fields }
    }

    pub(crate) const ACTIVE: FieldGroup =
        buckets("active", "active bucket", 32, 16, false, counters::FIELDS);

    page!(PAGE = Log(0xc3), "OCP Latency Monitor", "OCP Datacenter NVMe SSD 2.0, 4.8.9", 512;
    version: Some((&VERSION, 4)),
    guid: Some((&GUID, 0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92_u128.to_le_bytes())),
    fields: FIELDS,
    groups: &[
        ACTIVE,
        buckets("active-stamp", "active bucket", 96, 24, true, stamps::FIELDS),
        buckets("active-latency", "active bucket", 192, 6, true, latencies::FIELDS),
        buckets("static", "static bucket", 240, 16, false, counters::FIELDS),
        buckets("static-stamp", "static bucket", 304, 24, true, stamps::FIELDS),
        buckets("static-latency", "static bucket", 400, 6, true, latencies::FIELDS),
    ]);
}

/// Power Management (feature 02h).
pub(crate) mod power_management {
    use super::*;
    fields! {
        VALUE 0 + 4 Flags "" "value" "power state (bits 4:0), workload hint (bits 7:5)";
    }

    page!(PAGE = FeatureValue(0x02), "Power Management", "NVMe Base 2.1, 5.1.25.1", 4;
        may_be_zero: true, fields: FIELDS);
}

/// Volatile Write Cache (feature 06h).
pub(crate) mod write_cache {
    use super::*;
    fields! {
        VALUE 0 + 4 Flags "" "value" "enabled (bit 0)";
    }

    page!(PAGE = FeatureValue(0x06), "Volatile Write Cache", "NVMe Base 2.1, 5.1.25.1", 4;
        may_be_zero: true, fields: FIELDS);
}

/// Autonomous Power State Transition (feature 0Ch): for each power state the one that the controller
/// enters by itself, and after which idle time.
pub(crate) mod power_state_changes {
    use super::*;

    pub(crate) mod change {
        use super::super::*;
        fields! {
            ITPS 0 + 1 Flags   ""   "itps" "idle transition power state (bits 7:3)";
            ITPT 1 + 3 NonZero "ms" "itpt" "idle time prior to transition";
        }
    }

    page!(PAGE = FeatureData(0x0c), "Autonomous Power State Transition", "NVMe Base 2.1, 5.1.25.1", 256;
        may_be_zero: true,
        groups: &[group!("apst", "from power state", 0 + 8 * 32, change::FIELDS)]);
}

/// OCP Latency Monitor (feature C5h): how log page C3h is set up.
pub(crate) mod latency_setup {
    use super::*;
    fields! {
        TIMER_LIMIT  0 + 2  Number "5 min"        "LMD5-1"  "active bucket timer threshold";
        THRESHOLD_A  2 + 1  Number "5 ms, less 1" "LMD5-2"  "active threshold A";
        THRESHOLD_B  3 + 1  Number "5 ms, less 1" "LMD5-3"  "active threshold B";
        THRESHOLD_C  4 + 1  Number "5 ms, less 1" "LMD5-4"  "active threshold C";
        THRESHOLD_D  5 + 1  Number "5 ms, less 1" "LMD5-5"  "active threshold D";
        CONFIG       6 + 2  Flags  ""             "LMD5-6"  "active latency configuration";
        WINDOW       8 + 1  Number "100 ms"       "LMD5-7"  "active latency minimum window";
        TRIGGER      9 + 2  Flags  ""             "LMD5-8"  "debug log trigger enable";
        DISCARD     11 + 1  Number ""             "LMD5-9"  "discard debug log";
        ENABLE      12 + 1  Number ""             "LMD5-10" "latency monitor enabled";
    }

    page!(PAGE = FeatureData(0xc5), "OCP Latency Monitor setup", "OCP Datacenter NVMe SSD 2.0, 4.12.10.1", 4096;
        may_be_zero: true, fields: FIELDS);
}
