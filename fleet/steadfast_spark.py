"""Folds captures of many hosts on an Apache Spark cluster into one fold file.

    spark-submit fleet/steadfast_spark.py 's3a://captures/*/*.parquet' -o fleet.fold
    steadfast trace hosts fleet.fold --rank p99

Spark only schedules: every number is computed by the steadfast binary, which is shipped to
the workers. One task folds whole captures, with all files of a capture in order, because
sequentiality and queue depths need that. Folds merge exactly and in any order, and a capture
that is folded twice counts once, so retries and lost workers change nothing.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from xml.sax.saxutils import escape

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

# A part of a rotated capture: capture.parquet, capture.2.parquet, capture.3.parquet ...
PART = re.compile(r"^(?P<stem>.*?)(\.\d+)?\.parquet$")
# Exit code of the binary where everything was done but something is missing.
INCOMPLETE = 1
# Options of `trace fold` that leave something out.
LEAVING_OUT = ["--no-processes", "--no-threads", "--no-files"]


@dataclass(frozen=True)
class Capture:
    """The files of one capture, and their size."""

    files: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class Part:
    """A fold of some captures, and the files that had to be left out."""

    fold: bytes
    lost: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class How:
    """How captures are folded; sent to every task."""

    binary: str
    options: tuple[str, ...]
    hadoop: tuple[tuple[str, str], ...]
    fetch: bool

    def program(self) -> str:
        """The binary on this worker."""
        shipped = Path(SparkFiles.get(self.binary))
        if not os.access(shipped, os.X_OK):
            shipped.chmod(0o755)
        return str(shipped)

    def is_remote(self, file: str) -> bool:
        """Whether a file has to be copied before the binary can read it."""
        return self.fetch or urlparse(file).scheme not in ("", "file")


def local(file: str) -> str:
    """The path of a file that workers see."""
    return urlparse(file).path if urlparse(file).scheme == "file" else file


def run(how: How, words: Sequence[str]) -> dict[str, Any]:
    """Runs the binary and reads its JSON; raises where it did nothing."""
    done = subprocess.run([how.program(), *words, "--json"], capture_output=True, check=False)
    if done.returncode not in (0, INCOMPLETE) or not done.stdout:
        raise RuntimeError(f"steadfast {words[0]} {words[1]}: {done.stderr.decode().strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def hadoop(how: How, into: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs Hadoop's own client with the settings and the connectors of this application."""
    settings = "".join(
        f"<property><name>{escape(key)}</name><value>{escape(value)}</value></property>"
        for key, value in how.hadoop
    )
    conf = into / "hadoop"
    conf.mkdir(mode=0o700, exist_ok=True)
    (conf / "core-site.xml").write_text(f"<configuration>{settings}</configuration>")
    # What --packages and --jars named, Spark has put there for its own process only.
    jars = [os.environ.get("SPARK_DIST_CLASSPATH", ""), f"{SparkFiles.getRootDirectory()}/*"]
    env = {**os.environ, "HADOOP_CONF_DIR": str(conf),
           "SPARK_DIST_CLASSPATH": ":".join(filter(None, jars))}
    shell = str(Path(os.environ["SPARK_HOME"]) / "bin" / "spark-class")
    return subprocess.run([shell, "org.apache.hadoop.fs.FsShell", *words],
                          capture_output=True, check=False, env=env)


def fetched(how: How, files: Iterable[str], into: Path) -> list[tuple[str, str]]:
    """Each file with the path under which the binary can read it."""
    paths = []
    for number, file in enumerate(files):
        if not how.is_remote(file):
            paths.append((file, local(file)))
            continue
        name = Path(urlparse(file).path)
        place = into / str(number) / (name.parent.name or "files")
        place.mkdir(parents=True)
        done = hadoop(how, into, "-get", file, str(place / name.name))
        if done.returncode != 0:
            # The binary says that it is not there, and leaves it out.
            print(f"{file}: {done.stderr.decode().strip()}", file=sys.stderr)
        paths.append((file, str(place / name.name)))
    return paths


def identified(how: How, files: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Each file with the key of its capture and its size, from its footer."""
    with tempfile.TemporaryDirectory() as directory:
        paths = fetched(how, files, Path(directory))
        if not paths:
            return
        found = run(how, ["trace", "identify", *(path for _, path in paths)])["files"]
        for (file, _), told in zip(paths, found, strict=True):
            key = told["capture"] and f"{told['host']} {told['capture']}"
            yield file, key or file, told["bytes"] or 0


def folded(how: How, captures: Iterable[Capture]) -> Iterator[Part]:
    """One fold of all captures of a partition."""
    parts = []
    for capture in captures:
        with tempfile.TemporaryDirectory() as directory:
            paths = fetched(how, capture.files, Path(directory))
            fold = Path(directory) / "part.fold"
            names = [path for _, path in paths]
            words = ["trace", "fold", "--skip-unreadable", *how.options, "-o", str(fold), *names]
            told = run(how, words)
            parts.append(Part(fold.read_bytes(), losses(told, paths)))
    if parts:
        yield merged(how, parts)


def losses(told: Mapping[str, Any], paths: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Files that were left out, and captures that are damaged, each with the reason."""
    def whole(name: str) -> str:
        of = [file for file, path in paths if path == name or path.endswith("/" + name)]
        return of[0] if len(of) == 1 else name

    left_out = {(whole(file["name"]), file["reason"]) for file in told["left_out"]}
    return frozenset(left_out | {("", text) for text in told["missing"]})


def merged(how: How, parts: Sequence[Part]) -> Part:
    """The fold of all parts."""
    if len(parts) == 1:
        return parts[0]
    with tempfile.TemporaryDirectory() as directory:
        names = []
        for number, part in enumerate(parts):
            names.append(str(Path(directory) / f"{number}.fold"))
            Path(names[-1]).write_bytes(part.fold)
        fold = Path(directory) / "all.fold"
        run(how, ["trace", "merge", *names, "-o", str(fold)])
        lost = frozenset().union(*(part.lost for part in parts))
        return Part(fold.read_bytes(), lost)


def listed(context: SparkContext, patterns: Sequence[str]) -> list[str]:
    """The files that patterns name, on this machine or in any file system of Hadoop."""
    files: set[str] = set()
    for pattern in patterns:
        if urlparse(pattern).scheme in ("", "file"):
            here = glob.glob(local(pattern), recursive=True)
            files.update(os.path.abspath(path) for path in here)
            continue
        jvm = context._jvm  # the only way to Hadoop's file systems from Python
        path = jvm.org.apache.hadoop.fs.Path(pattern)
        there = path.getFileSystem(context._jsc.hadoopConfiguration()).globStatus(path)
        files.update(status.getPath().toString() for status in there or [])
    return sorted(files)


def balanced(captures: Sequence[Capture], count: int) -> list[list[Capture]]:
    """Captures in so many partitions of about the same size."""
    shares: list[list[Capture]] = [[] for _ in range(max(1, min(count, len(captures))))]
    sizes = [0] * len(shares)
    for capture in sorted(captures, key=lambda one: (-one.bytes, one.files)):
        least = sizes.index(min(sizes))
        shares[least].append(capture)
        sizes[least] += capture.bytes + 1
    return shares


def grouped(
    context: SparkContext, how: How, files: Sequence[str], by_name: bool, partitions: int
) -> list[Capture]:
    """The captures that files are of: by their footers, or by their names."""
    if by_name:
        found = [(file, PART.sub(r"\g<stem>", file), 0) for file in files]
    else:
        spread = context.parallelize(files, max(1, min(partitions, len(files))))
        found = spread.mapPartitions(lambda some: identified(how, some)).collect()
    captures: dict[str, list[tuple[str, int]]] = {}
    for file, key, size in found:
        captures.setdefault(key, []).append((file, size))
    return [
        Capture(tuple(sorted(file for file, _ in some)), sum(size for _, size in some))
        for some in captures.values()
    ]


def spread_out(context: SparkContext, how: How, shares: list[list[Capture]]) -> Part:
    """The fold of all captures, made by the workers."""
    spread = context.parallelize(shares, len(shares))
    parts = spread.flatMap(lambda share: folded(how, share))
    return parts.treeReduce(lambda one, other: merged(how, [one, other]))


def hold(fold: bytes, path: Path, force: bool) -> None:
    """Writes a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(fold)
            os.fsync(file.fileno())
        if force:
            os.replace(name, path)
        else:
            os.link(name, path)  # refuses what is there already
            os.unlink(name)
    except OSError:
        os.unlink(name)
        raise


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+", help="files or patterns: a path, s3a://, hdfs:// ...")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the fold file to write")
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")
    parser.add_argument("--steadfast", default="steadfast", help="the binary that is shipped")
    parser.add_argument("--partitions", type=int, default=0, help="tasks; default: 4 per core")
    parser.add_argument("--group", choices=["footer", "name"], default=None,
                        help="how files of one capture are found; default: by footer where "
                        "workers see the files, otherwise by name")
    parser.add_argument("--fetch", action="store_true",
                        help="copy files to the workers even if these see them")
    parser.add_argument("--step", default=None, help="width of a step, as of trace fold")
    for option in LEAVING_OUT:
        parser.add_argument(option, action="store_true", help="as of trace fold")
    return parser.parse_args()


def prepared(context: SparkContext, asked: argparse.Namespace) -> How:
    """Ships the binary, and says how captures are folded."""
    binary = shutil.which(asked.steadfast)
    if binary is None:
        raise SystemExit(f"{asked.steadfast} is not a program; name it with --steadfast")
    context.addFile(os.path.realpath(binary))
    chosen = [option for option in LEAVING_OUT if vars(asked)[option[2:].replace("-", "_")]]
    options = (["--step", asked.step] if asked.step else []) + chosen
    hadoop = []
    for key, value in context.getConf().getAll():
        if key.startswith("spark.hadoop."):
            hadoop.append((key.removeprefix("spark.hadoop."), value))
    name = os.path.basename(os.path.realpath(binary))
    return How(name, tuple(options), tuple(hadoop), asked.fetch)


def main() -> int:
    """Folds, says what was left out, and ends as the binary would."""
    asked = arguments()
    if asked.output.exists() and not asked.force:
        raise SystemExit(f"{asked.output} exists; name another file, or give --force")
    context = SparkSession.builder.appName("steadfast fold").getOrCreate().sparkContext
    how = prepared(context, asked)
    files = listed(context, asked.files)
    if not files:
        raise SystemExit(f"no file matches {' '.join(asked.files)}")
    count = asked.partitions or 4 * context.defaultParallelism
    are_remote = any(how.is_remote(file) for file in files)
    by_name = asked.group == "name" or (asked.group is None and are_remote)
    captures = grouped(context, how, files, by_name, count)
    part = spread_out(context, how, balanced(captures, count))
    hold(part.fold, asked.output, asked.force)
    for file, reason in sorted(part.lost):
        print(f"omitted: {file}: {reason}" if file else reason, file=sys.stderr)
    print(f"{asked.output}: {len(files)} files in {len(captures)} groups; {len(part.lost)} losses")
    return INCOMPLETE if part.lost else 0


if __name__ == "__main__":
    sys.exit(main())
