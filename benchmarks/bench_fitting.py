"""How long `crawlsim fit` takes, and how much memory: ten million rows, and a trace of one's own.

Each fit runs in a process of its own, by the command line, report included; the traces are made
before. Dates are ISO 8601 to the second, page names are those of a hundred thousand addresses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from racing import within, write

PAGES = 100_000
CHUNK = 500_000
LIMITS = {"seconds": 60.0, "peak_mb": 2000.0}


def chunks(kind: str, rows: int) -> Iterator[dict[str, Any]]:
    """Columns of a trace of one kind, some rows at a time, in the order of time."""
    rng = np.random.default_rng(1)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        seconds = np.sort(rng.integers(start * 20, (start + count) * 20, count))
        dates = np.datetime64("2020-01-01") + seconds.astype("timedelta64[s]")
        times = np.char.add(np.datetime_as_string(dates), "Z")
        names = np.char.add("site.example/page-", rng.integers(0, PAGES, count).astype(str))
        yield {
            "changes": {"page": names, "time": times},
            "crawls": {"page": names, "time": times, "changed": rng.integers(0, 2, count)},
            "deliveries": {"time": times},
            "sizes": {"size": rng.lognormal(9.0, 1.2, count).round(1)},
        }[kind]


def make(stream: TextIO, kind: str, rows: int) -> None:
    """Write a trace."""
    for number, columns in enumerate(chunks(kind, rows)):
        pd.DataFrame(columns).to_csv(stream, index=False, header=number == 0)


def fitted(trace: Path, folder: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """Seconds and peak megabytes of one fit, in a process of its own."""
    out = ["--out", str(folder / "made.toml"), "--report", str(folder / "made.html")]
    command = [sys.executable, "-m", "crawlsim", "fit", str(trace), *options, *out]
    start = time.perf_counter()
    with (folder / "shown.txt").open("w") as shown:
        child = subprocess.Popen(command, stdout=shown, stderr=shown)
        _, status, used = os.wait4(child.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit((folder / "shown.txt").read_text() + f"the fit ended with {code}")
    seconds = time.perf_counter() - start
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak_mb": used.ru_maxrss / 1024}


def measured(rows: int, traces: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every kind at the given number of rows, then the traces of one's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("changes", "crawls", "deliveries", "sizes"):
            trace = folder / f"{kind}.csv"
            with trace.open("w") as stream:
                make(stream, kind, rows)
            found = fitted(trace, folder, ["--kind", kind])
            yield {"trace": kind, "rows": rows, "mb": trace.stat().st_size / 1e6, **found}
            trace.unlink()
        for path in traces:
            yield {"trace": Path(path).name, **fitted(Path(path), folder)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table of Markdown."""
    parser = argparse.ArgumentParser(description="Speed and memory of fitting.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--trace", action="append", default=[], help="one of your own; repeatable")
    parser.add_argument("--out", type=Path, default=Path("out/bench_fitting.json"))
    given = parser.parse_args(arguments)
    rows = []
    print(
        "| trace | rows | MB of CSV | seconds | of them CPU | peak MB |\n|---|--:|--:|--:|--:|--:|"
    )
    for row in measured(given.rows, given.trace):
        rows.append(row)
        size = f"{row['rows']:,} | {row['mb']:.0f}" if "rows" in row else " | "
        times = f"{row['seconds']:.1f} | {row['cpu']:.1f}"
        print(f"| {row['trace']} | {size} | {times} | {row['peak_mb']:.0f} |", flush=True)
    found = [
        within(
            f"fit {row['rows']:,} rows, {row['trace']}",
            row["cpu"],
            LIMITS["seconds"],
            "CPU seconds",
        )
        for row in rows
        if "rows" in row
    ]
    write(given.out, {"limits": LIMITS, "fits": rows, "compared": found})
    print(json.dumps(LIMITS))


if __name__ == "__main__":
    main()
