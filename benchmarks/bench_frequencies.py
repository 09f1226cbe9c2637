"""What `crawlsim frequencies` takes, by size, and how far it is from the answer in memory.

The pages are those of `bench_pages.py`: almost all accessed, or most of them given up. Each command
runs in a process of its own, imports included; what is compiled is loaded. A hundred million pages
need 2.5 GB of disk.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow.parquet import ParquetWriter
from racing import within, write

from analytic.page_refresh import best_shares
from crawlsim.cli import main as crawlsim
from scenarios.laws import Deterministic

SIZES = (1_000_000, 10_000_000)
COMPARED = 10_000_000
"""Pages up to which they fit into memory, too."""
GROUP = 2**20
LIMITS = {100_000_000: (60.0, 2.0)}
"""CPU seconds and GB that so many pages may take."""
KINDS = ("most accessed", "most given up")


def blocks(kind: str, pages: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Change rates and weights of some pages at a time."""
    draw = np.random.default_rng(1)
    for first in range(0, pages, GROUP):
        count = min(GROUP, pages - first)
        if kind == "most accessed":
            yield draw.gamma(1.0, size=count) * 0.1 / pages, draw.random(count)
        else:
            yield draw.lognormal(0.0, 2.5, size=count) * 30.0 / pages, np.ones(count)


def make(path: Path, kind: str, pages: int) -> None:
    """Write the pages."""
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in ("change_rate", "weight")])
    with ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for columns in blocks(kind, pages):
            file.write_table(pyarrow.table(list(columns), schema=schema))


def command(path: Path, out: Path, used: Any) -> None:
    """Run the command, and put down what it used."""
    sys.stdout = sys.stderr = out.with_suffix(".txt").open("w")
    words = ["frequencies", str(path), "--accesses", "1", "--weight", "weight", "--out", str(out)]
    with suppress(SystemExit):
        crawlsim(words)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    used.put((spent.ru_utime + spent.ru_stime, peak()))


def peak() -> float:
    """The peak memory of this process in MB; `getrusage` would count that of its parent as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measured(kind: str, pages: int, folder: Path) -> dict[str, Any]:
    """What one command took, and how far its frequencies are from those in memory."""
    path, out = folder / "pages.parquet", folder / "best.npy"
    make(path, kind, pages)
    context = multiprocessing.get_context("spawn")
    used = context.Queue()
    process = context.Process(target=command, args=(path, out, used))
    process.start()
    seconds, megabytes = used.get()
    process.join()
    difference = None
    if pages <= COMPARED:
        rates, weights = map(np.concatenate, zip(*blocks(kind, pages), strict=True))
        expected = best_shares(rates, weights, Deterministic(value=1.0))
        difference = float(np.abs(np.load(out) - expected).sum())
    out.unlink()
    return {
        "kind": kind,
        "pages": pages,
        "seconds": seconds,
        "peak_mb": megabytes,
        "difference": difference,
    }


def limits(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What a command took beside what it might take, for the table of all benchmarks."""
    if row["pages"] not in LIMITS:
        return []
    seconds, gigabytes = LIMITS[row["pages"]]
    what = f"best frequencies, {row['pages']:,} pages of a file, {row['kind']}"
    return [
        within(what, row["seconds"], seconds, "CPU seconds"),
        within(f"{what}, memory", row["peak_mb"] / 1000.0, gigabytes, "GB"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the best frequencies of very many pages.")
    parser.add_argument("--pages", type=int, nargs="*", default=SIZES, help="sizes (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_frequencies.json"))
    parsed = parser.parse_args(arguments)
    rows = []
    print("| pages | kind | CPU seconds | MB | sum of differences |\n|--:|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        measured(KINDS[0], 10_000, Path(folder))  # what is compiled is kept
        for pages in parsed.pages:
            for kind in KINDS:
                row = measured(kind, pages, Path(folder))
                off = "" if row["difference"] is None else f"{row['difference']:.0e}"
                cells = f"{row['seconds']:.3g} | {row['peak_mb']:.0f} | {off}"
                print(f"| {pages:,} | {kind} | {cells} |")
                rows.append(row)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    found = [limited for row in rows for limited in limits(row)]
    write(parsed.out, {"rows": rows, "compared": found})


if __name__ == "__main__":
    main()
