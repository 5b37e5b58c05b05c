// What the tests look at: captures with a known answer, runs, and the program that shows them.
import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A name that would be a script, if it ever became markup. */
export const HOSTILE = "<script>x=1</sc";

/** I/Os of each process; together a prime. */
export const COUNTS = { postgres: 8009, backup: 1499, [HOSTILE]: 499 };
export const TOTAL = 10_007;
/** When the backup writes, in seconds, and where, in bytes. */
export const BACKUP = { from: 121, to: 151, low: 2 ** 31 };
const SECONDS = 200;

function random(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

function ios(seed) {
  const next = random(seed);
  const rows = [];
  for (let n = 0; n < COUNTS.postgres; n += 1) {
    rows.push([
      Math.floor((n / COUNTS.postgres) * SECONDS * 1e6),
      n % 3 === 0 ? "w" : "r",
      Math.floor(next() * 2 ** 17) * 8192,
      8192,
      200 + Math.floor(next() * 200),
      11,
      "postgres",
    ]);
  }
  for (let n = 0; n < COUNTS.backup; n += 1) {
    rows.push([
      Math.floor((BACKUP.from + (n / COUNTS.backup) * (BACKUP.to - BACKUP.from)) * 1e6),
      "w",
      BACKUP.low + n * 131072,
      131072,
      40_000 + Math.floor(next() * 20_000),
      13,
      "backup",
    ]);
  }
  for (let n = 0; n < COUNTS[HOSTILE]; n += 1) {
    rows.push([Math.floor((n / COUNTS[HOSTILE]) * SECONDS * 1e6) + 7, "r", n * 4096, 4096, 150, 7, HOSTILE]);
  }
  return rows.sort((a, b) => a[0] - b[0]);
}

const COLUMNS = "time=1:us,op=2:r=read;w=write,offset=3:bytes,bytes=4,response=5:us,pid=6,command=7";

/** A capture of 10,007 I/Os. */
export function capture(program, directory, name, seed) {
  const [csv, file] = [join(directory, `${name}.csv`), join(directory, `${name}.parquet`)];
  writeFileSync(
    csv,
    ios(seed)
      .map((row) => row.join(","))
      .join("\n") + "\n",
  );
  execFileSync(program, ["trace", "import", csv, "--csv", COLUMNS, "-o", file], { stdio: "pipe" });
  return file;
}

/** The sums of a capture, in steps of a minute. */
export function folded(program, directory, file) {
  const fold = join(directory, "sums.fold");
  execFileSync(program, ["trace", "fold", file, "-o", fold, "--force"], { stdio: "pipe" });
  return fold;
}

/** I/Os of each device of the second kind of capture: of every four, one writes. */
export const DEVICES = { first: 412, second: 825 };

/** A capture of two devices, with threads. */
export function devices(program, directory, name) {
  const [csv, file] = [join(directory, `${name}.csv`), join(directory, `${name}.parquet`)];
  const rows = [];
  for (const [device, count] of Object.entries(DEVICES)) {
    for (let n = 0; n < count; n += 1)
      rows.push([n * 10_000, n % 4 === 0 ? "w" : "r", n * 4096, 4096, 150, 21, "server", device]);
  }
  writeFileSync(
    csv,
    rows
      .sort((a, b) => a[0] - b[0])
      .map((row) => row.join(","))
      .join("\n") + "\n",
  );
  execFileSync(program, ["trace", "import", csv, "--csv", `${COLUMNS},device=8`, "-o", file], { stdio: "pipe" });
  return file;
}

/** A finished run on a simulated drive. */
export function simulated(program, directory, name) {
  const run = join(directory, name);
  execFileSync(program, ["run", "iops", "--target", "sim:small", "--profile", "quick", "-o", run], { stdio: "pipe" });
  return run;
}

/** A run that goes on, on a file of its own. */
export function going(program, directory) {
  const run = join(directory, "going");
  const target = join(directory, "scratch.bin");
  const child = spawn(
    program,
    ["run", "iops", "--target", target, "--size", "67108864", "--profile", "quick", "--step-time", "1s", "-o", run],
    { stdio: "ignore" },
  );
  return { run, child };
}

/** The same run once more, where it is over. */
export function resumed(program, { run, child }) {
  return { run, child: child.exitCode === null ? child : spawn(program, ["resume", run], { stdio: "ignore" }) };
}

/** The program, and the address that it prints. */
export async function explore(program, files) {
  const child = spawn(program, ["explore", ...files, "--no-browser"], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  const address = await new Promise((done, failed) => {
    const read = (part) => {
      text += part;
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S+/.exec(text);
      if (found) done(found[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => failed(new Error(`steadfast explore ended with ${code}: ${text}`)));
    setTimeout(() => failed(new Error(`steadfast explore printed no address: ${text}`)), 120_000).unref();
  });
  return { child, address };
}
