//! JSON Schemas: the committed ones are those of the types, and the documents that the program
//! writes and prints conform to them.

use super::fixtures::*;
use serde_json::map::Entry;
use serde_json::{Map, Value};
use std::path::Path;
use steadfast_runner::Ledger;

/// The names of all documents.
fn names(place: &Path) -> Vec<String> {
    let list = succeed(place, &["schema"]);
    list.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Returns all schemas as one: each document and each type that they share is a definition.
fn all_schemas(place: &Path) -> Value {
    let mut definitions = Map::new();
    let mut define = |name: String, schema: Value| match definitions.entry(name) {
        Entry::Occupied(known) => {
            assert_eq!(*known.get(), schema, "two types have the name {}", known.key());
        }
        Entry::Vacant(free) => drop(free.insert(schema)),
    };
    for name in names(place) {
        let text = succeed(place, &["schema", &name]);
        let mut schema: Map<String, Value> = serde_json::from_str(&text).unwrap();
        schema.remove("$schema");
        if let Some(Value::Object(shared)) = schema.remove("$defs") {
            shared.into_iter().for_each(|(name, schema)| define(name, schema));
        }
        define(name, schema.into());
    }
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "steadfast",
        "$defs": definitions,
    })
}

/// With `BLESS=1` they are written again.
#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let here = &TestDirectory::new();
    let text = serde_json::to_string_pretty(&all_schemas(here)).unwrap() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.json");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == text, "{}: run this test with BLESS=1, read the diff", file.display());
    refuse(here, "schema findigs", &["findings"]);
}

/// Every document as the program wrote it; that of `calibrate` if fio is installed.
fn documents(place: &Path) -> Vec<(&'static str, String)> {
    let run = |more: &str| {
        let run = format!("run iops --profile quick --target sim:small {more}");
        stdout(&run_ending(place, &run, &[0, 3]))
    };
    let found = run("-o run --json");
    run("-o other --seed 7");
    let several = run("--target sim:client -o both --json");
    let any = |command: &str| stdout(&run_in(place, command));
    let read = |path: &str| std::fs::read_to_string(place.join(path)).unwrap();
    let mut events = String::from("time,op,offset,bytes,latency\n");
    for n in 0..101 {
        events +=
            &format!("{}.{:03},{},{},4096,0.0005\n", n / 10, n % 10, ["R", "W"][n % 2], n * 8192);
    }
    std::fs::write(place.join("log.csv"), events).unwrap();
    let import = any("trace import log.csv -o t.parquet --json \
                      --csv time=1:s,op=2,offset=3:bytes,bytes=4,response=5:s,header=yes");
    let limits = "[[limit]]\ntitle = \"4K\"\ntable = \"iops\"\nrow = \"4\"\ncolumn = \"0/100\"\nmin = \"1\"\n";
    std::fs::write(place.join("limits.toml"), limits).unwrap();
    let measure = "measure 'RND 4K R' --time 1s --target sim:small";
    let mut all = vec![
        ("findings", found),
        ("findings", any("compare run other --json")),
        ("run-targets", several),
        ("settings", read("run/settings.json")),
        ("devices", any("devices --json")),
        ("doctor", any("doctor sim:small --json")),
        ("plan", any("plan iops --target sim:small --json")),
        ("plan-targets", any("plan iops --target sim:small --target sim:client --json")),
        ("measure", any("measure 'RND 4K RW65' --target sim:small --json")),
        ("measure-runs", any(&format!("{measure} --runs 2 --json"))),
        ("measure-targets", any(&format!("{measure} --target sim:client --json"))),
        ("restore", any("restore --json")),
        ("check-list", any("check run --list --json")),
        ("check", any("check run --limits limits.toml --no-report --json")),
        ("workload-list", any("workload list --json")),
        ("trace-import", import),
        ("identify", any("identify limits.toml t.parquet run --json")),
    ];
    for (name, command) in [
        ("trace-streams", "trace streams"),
        ("trace-processes", "trace processes"),
        ("trace-steps", "trace steps"),
        ("trace-map", "trace map"),
        ("trace-hits", "trace hits"),
        ("trace-hot", "trace hot"),
        ("trace-locality", "trace locality"),
        ("trace-shape", "trace shape"),
        ("trace-doctor", "trace doctor"),
        ("trace-drives", "trace drives"),
        ("trace-groups", "trace groups"),
        ("trace-hosts", "trace hosts"),
        ("trace-identify", "trace identify"),
        ("trace-compare", "trace compare"),
        ("workload-derive", "workload derive"),
    ] {
        all.push((name, any(&format!("{command} t.parquet --json"))));
    }
    std::fs::copy(place.join("t.parquet"), place.join("again.parquet")).unwrap();
    let deltas = any("trace compare t.parquet again.parquet --by stream --json");
    all.push(("trace-deltas", deltas));
    super::trace::write_part(&place.join("clock.parquet"), 1_763_697_600_000_000_000, 0, 101);
    all.push(("trace-profile", any("trace profile clock.parquet --json")));
    all.push(("trace-fold", any("trace fold clock.parquet -o day.fold --json")));
    let export = any("workload export t.parquet --output-format csv -o t.csv --json");
    all.push(("workload-export", export));
    let record = Ledger::read(&place.join("run")).unwrap().into_record();
    all.push(("record", serde_json::to_string(&record).unwrap()));
    if has_fio() {
        let calibrate = "calibrate --target f.bin --size 16MiB --time 1s \
                         --points 'RND 4K R T1Q1' --runs 2 --json";
        all.push(("calibrate", any(calibrate)));
    }
    let lines = read("run/journal.jsonl");
    all.extend(lines.lines().map(|line| ("journal", line.to_owned())));
    all
}

/// Python's jsonschema checks every document.
#[test]
fn the_documents_of_the_program_conform_to_its_schemas() {
    if !has_module("jsonschema") {
        return;
    }
    let place = &TestDirectory::new();
    let mut judged = std::collections::BTreeSet::new();
    let mut all: Vec<Value> = Vec::new();
    for (name, text) in documents(place) {
        let document: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        all.push(serde_json::json!([name, document]));
        judged.insert(name);
    }
    std::fs::write(place.join("all.json"), serde_json::to_string(&all).unwrap()).unwrap();
    std::fs::write(place.join("schemas.json"), all_schemas(place).to_string()).unwrap();
    let script = "import json, sys, jsonschema\n\
        checks = {}\n\
        schemas = json.load(open('schemas.json'))\n\
        jsonschema.Draft202012Validator.check_schema(schemas)\n\
        for name, document in json.load(open('all.json')):\n\
        \x20   if name not in checks:\n\
        \x20       schema = {**schemas, '$ref': f'#/$defs/{name}'}\n\
        \x20       checks[name] = jsonschema.Draft202012Validator(schema)\n\
        \x20   for error in checks[name].iter_errors(document):\n\
        \x20       sys.exit(f'{name}: {error.json_path}: {error.message[:500]}')\n\
        print(len(checks))\n";
    let output = python(&["jsonschema"], &["-c", script], place).unwrap();
    assert_eq!(stdout(&output).trim(), judged.len().to_string());
    let mut left = names(place);
    left.retain(|name| !judged.contains(name.as_str()));
    if !judged.contains("calibrate") {
        left.retain(|name| name != "calibrate");
    }
    assert!(left.is_empty(), "no document of {left:?} was judged");
}
