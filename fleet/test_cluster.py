"""Folds made-up captures on a real Spark cluster of processes, and compares every answer.

    make fleet

The cluster is one master and two workers on the loopback address, started and stopped here.
A fold is right if its bytes are those of one process, whatever the partitions; if a worker
that is killed in mid-job changes nothing; and if its totals are those that DuckDB counts.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import json
import pyspark

HERE = Path(__file__).resolve().parent
SPARK = Path(pyspark.__file__).resolve().parent
QUESTIONS = [
    ["streams"], ["steps", "--step", "10min"], ["map", "--step", "10min"], ["processes"],
    ["groups", "--by", "host,stream"], ["drives"], ["doctor"], ["hosts", "--rank", "p99"],
]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Cluster:
    """A master and workers, each a process group of its own."""

    def __init__(self, directory: Path, workers: int) -> None:
        self.port, self.directory = free_port(), directory
        self.master = f"spark://127.0.0.1:{self.port}"
        deploy = "org.apache.spark.deploy"
        self.processes = [self.start(
            f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(self.port),
            "--webui-port", "0")]
        wait(lambda: is_open(self.port), "the master")
        self.workers = [self.worker() for _ in range(workers)]
        wait(lambda: sum("Successfully registered" in self.said(n + 1)
                         for n in range(workers)) == workers, "the workers")

    def worker(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        started = self.start(
            "org.apache.spark.deploy.worker.Worker", self.master, "--host", "127.0.0.1",
            "-c", "1", "-m", "1g", "--webui-port", "0",
            "-d", str(self.directory / f"work{len(self.processes)}"))
        self.processes.append(started)
        return started

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A process of the cluster."""
        number = len(getattr(self, "processes", []))
        with open(self.directory / f"cluster{number}.log", "wb") as log:
            return subprocess.Popen(
                [SPARK / "bin" / "spark-class", *words], stdout=log, stderr=log,
                env=environment(), start_new_session=True)

    def said(self, number: int) -> str:
        """What a process of the cluster has logged."""
        return (self.directory / f"cluster{number}.log").read_text(errors="replace")

    def stop(self) -> None:
        """Ends every process that was started here."""
        for process in self.processes:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def environment() -> dict[str, str]:
    """What Spark needs to find itself and this Python."""
    return {
        **os.environ, "SPARK_HOME": str(SPARK), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1",
    }


def is_open(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(happened: Any, what: str) -> None:
    """Waits for something, not for ever."""
    deadline = time.monotonic() + 60
    while not happened():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not start within 60 s")
        time.sleep(0.2)


class Try:
    """The program, the captures and the cluster, and what is asked of them."""

    def __init__(self, program: str, files: list[str], cluster: Cluster, directory: Path) -> None:
        self.program, self.files, self.cluster = program, files, cluster
        self.directory = directory

    def submit(self, name: str, *more: str, files: list[str] | None = None) -> list[str]:
        """The command line of a fold on the cluster."""
        return [
            str(SPARK / "bin" / "spark-submit"), "--master", self.cluster.master,
            "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1",
            "--conf", "spark.driver.bindAddress=127.0.0.1", "--executor-memory", "512m",
            str(HERE / "steadfast_spark.py"), *(files or self.files),
            "-o", str(self.directory / name), "--steadfast", self.program, *more]

    def spark(self, name: str, *more: str, files: list[str] | None = None,
              code: int = 0) -> tuple[bytes, str]:
        """A fold made by the cluster, and what was said."""
        done = subprocess.run(
            self.submit(name, *more, files=files), capture_output=True, env=environment(),
            check=False)
        said = done.stderr.decode() + done.stdout.decode()
        assert done.returncode == code, f"exit {done.returncode}: {said[-4000:]}"
        return (self.directory / name).read_bytes(), said

    def alone(self, *words: str) -> bytes:
        """What the program prints."""
        done = subprocess.run(
            [self.program, *words], capture_output=True, check=False, cwd=self.directory)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout


def partitions(of: Try, whole: bytes) -> None:
    """Any number of partitions, files in any order: the same bytes and the same answers."""
    for count in ["1", "2", "7"]:
        shuffled = random.Random(count).sample(of.files, len(of.files))
        fold, _ = of.spark(f"{count}.fold", "--partitions", count, files=shuffled)
        assert fold == whole, f"{count} partitions"
        print(f"ok: {count} partitions, shuffled: {len(fold)} bytes, those of one process")
    for question in QUESTIONS:
        words = ["trace", *question, "--json"]
        os.replace(of.directory / "7.fold", of.directory / "asked.fold")
        spark = of.alone(*words[:2], "asked.fold", *words[2:])
        os.replace(of.directory / "asked.fold", of.directory / "7.fold")
        os.replace(of.directory / "one.fold", of.directory / "asked.fold")
        one = of.alone(*words[:2], "asked.fold", *words[2:])
        os.replace(of.directory / "asked.fold", of.directory / "one.fold")
        assert spark == one, question
    print(f"ok: {len(QUESTIONS)} commands print the same JSON")


def kill_a_worker(of: Try, whole: bytes) -> None:
    """A worker that is killed in mid-job changes nothing."""
    log = of.directory / "killed.log"
    with open(log, "wb") as said:
        job = subprocess.Popen(
            of.submit("killed.fold", "--partitions", "40"), stdout=said, stderr=said,
            env=environment())
        wait(lambda: log.read_text(errors="replace").count("Finished task") > 45
             or job.poll() is not None, "the job")
        was_running = job.poll() is None
        kill(of.cluster.workers[0])
        # The worker's executors are process groups of their own and end with it.
        assert job.wait(timeout=240) == 0, log.read_text(errors="replace")[-4000:]
    assert was_running, "the job was over before the worker was killed"
    assert (of.directory / "killed.fold").read_bytes() == whole
    print("ok: a worker killed in mid-job changes nothing")
    of.cluster.workers[0] = of.cluster.worker()


def corrupt_files(of: Try) -> None:
    """Files that cannot be read are named and left out; copies count once."""
    bad = of.directory / "host000"
    bad.mkdir()
    (bad / "bad.parquet").write_bytes(b"nothing of the kind")
    files = [*of.files[:7], str(bad / "bad.parquet")]
    _, said = of.spark("bad.fold", files=files, code=1)
    assert "omitted: " + str(bad / "bad.parquet") in said, said[-2000:]
    told = json.loads(of.alone("trace", "streams", "bad.fold", "--json", "--accept-damage"))
    assert [one["name"] for one in told["integrity"]["left_out"]] == ["host000/bad.parquet"]
    print("ok: a file that cannot be read is named and left out")
    fetched, _ = of.spark("fetched.fold", "--fetch", files=of.files[:7])
    here = of.directory / "here.fold"
    of.alone("trace", "fold", *of.files[:7], "-o", str(here))
    assert fetched == here.read_bytes()
    print("ok: files that workers do not see are copied to them")


def totals(of: Try) -> None:
    """DuckDB counts the same I/Os and bytes in the same files."""
    count, amount, response = duckdb.sql(
        "select count(*), sum(bytes), sum(response_ns) from read_parquet("
        f"{of.files!r})").fetchall()[0]
    total = json.loads(of.alone("trace", "streams", "one.fold", "--json"))["total"]
    assert (count, amount) == (total["count"], total["amount"]), (count, amount, total)
    assert int(response) // count == total["response"]["mean_ns"], (response, total)
    print(f"ok: DuckDB counts {count} I/Os and {amount} bytes too")


def speed(of: Try, amount: int, alone: float) -> None:
    """How long one process, one worker and two workers take for the same files."""
    print(f"one process: {alone:.1f} s, {amount / alone / 1e6:.1f} MB/s of trace files")
    for cores in ["1", "2"]:
        name = f"cores{cores}.fold"
        words = of.submit(name)
        words[1:1] = ["--conf", f"spark.cores.max={cores}"]
        began = time.monotonic()
        done = subprocess.run(words, capture_output=True, env=environment(), check=False)
        assert done.returncode == 0, done.stderr.decode()[-4000:]
        took = time.monotonic() - began
        print(f"{cores} workers: {took:.1f} s, {took / alone:.2f} times one process")


def main() -> None:
    """Makes captures, starts a cluster, and tries all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("program", help="the steadfast binary")
    parser.add_argument("maker", help="the binary of the example 'fleet' of steadfast-analysis")
    parser.add_argument("--hosts", default="10")
    parser.add_argument("--captures", default="20", help="of each host")
    parser.add_argument("--ios", default="2003", help="of each capture")
    parser.add_argument("--speed", action="store_true", help="only measure how long it takes")
    asked = parser.parse_args()
    # Whoever ends this ends the cluster too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="steadfast-fleet-") as name:
        directory = Path(name)
        made = directory / "captures"
        subprocess.run([asked.maker, made, asked.hosts, asked.captures, asked.ios], check=True)
        files = sorted(str(path) for path in made.glob("*/*.parquet"))
        cluster = Cluster(directory, workers=2)
        try:
            of = Try(os.path.abspath(asked.program), files, cluster, directory)
            began = time.monotonic()
            of.alone("trace", "fold", *files, "-o", "one.fold")
            alone = time.monotonic() - began
            whole = (directory / "one.fold").read_bytes()
            print(f"{len(files)} files of {asked.hosts} hosts: one process folds them in "
                  f"{alone:.1f} s, {len(whole)} bytes")
            if asked.speed:
                speed(of, sum(os.path.getsize(file) for file in files), alone)
                return
            partitions(of, whole)
            kill_a_worker(of, whole)
            corrupt_files(of)
            totals(of)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
