use steadfast_domain::*; use steadfast_domain::stimulus::*; use steadfast_domain::step::*;
use steadfast_engine::*; use steadfast_engine::uring::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = std::path::Path::new(&a[1]);
    let pat: notation::AccessPattern = a[2].parse().unwrap();
    let demand: Demand = a[3].parse().unwrap();
    let secs: u64 = a[4].parse().unwrap();
    let backend = match a.get(5).map(String::as_str) { Some("aio") => Some(Backend::Aio), Some("threads") => Some(Backend::Threads), Some("uring") => Some(Backend::Uring), _ => None };
    let t = { use steadfast_host::*; let r = Roots::real(); let d = inspect(path, &r).unwrap(); let c = if d.transport == Transport::File { path.file_name().unwrap().to_str().unwrap().to_owned() } else { d.confirmation().to_owned() }; arm(&d, &Consent::Destroy { confirmation: Some(c) }, &[], &r).unwrap() };
    let len = t.length();
    let mut e = Uring::new(t, Stop::default(), UringOptions { backend, ..Default::default() }).unwrap();
    let st = Stimulus { streams: pat.streams(), zones: vec![], demand, active_range: ActiveRange { start: Bytes(0), length: len }, data_pattern: DataPattern::RandomUnique, pace: Pace::Closed, ramp: Nanos::ZERO, until: Until::time(Nanos::from_secs(secs)), seed: 1, verify: false };
    let m = e.apply(&Step::alone(Place::new("x",0,1,"x"), st), &Start::default(), &mut |i| eprintln!("{:?} {:?}", i.iops(), i.end)).unwrap();
    let t = m.total();
    let cpu = m.cpu.unwrap();
    println!("{}", e.describe());
    println!("iops {:.0} ios {} mean {:?} p99 {:?} max {:?} user/io {:.1} ns sys/io {:.1} ns elapsed {:?} unmeasured {:?}", m.iops().unwrap(), t.ios, t.response_mean(), t.percentile(0.99), t.response_max, cpu.user.0 as f64/t.ios as f64, cpu.system.0 as f64/t.ios as f64, m.elapsed, m.unmeasured);
}
