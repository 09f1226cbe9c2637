"""Memory and time of runs of very many pages: in one process, and on a Dask cluster of two workers.

Each figure comes from processes of its own; memory is the peak of the process, from the kernel.

    PYTHONPATH=. python benchmarks/bench_many_pages.py --pages 1e6 --pages 1e7 --replications 2,6
    PYTHONPATH=. python benchmarks/bench_many_pages.py --pages 1e8 --cluster --replications 2,6
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from racing import within, write

from scenarios import Scenario, scenario_from

LIMITS = {10_000_000: 3.0}
"""GB that the largest process may take, by the number of pages."""

ACCESSES = 3.0
"""Of each page in the whole run, a third of them in the warm-up."""


def many_pages(pages: int, replications: int) -> Scenario:
    """One robot that fetches the pages in turn, one round per unit of time."""
    return scenario_from(
        {
            "name": "many-pages",
            "pages": {
                "change_rates": {"zipf": {"pages": pages, "exponent": 0.7, "total": 0.1 * pages}}
            },
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0 / pages}},
                "accessing": {"policy": "round-robin"},
            },
            "run": {"horizon": ACCESSES, "warmup": 1.0, "replications": replications},
        }
    )


def peak() -> float:
    """Peak memory of this process, in GB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e9


def cpu() -> float:
    """CPU seconds of this process."""
    return sum(os.times()[:2])


def alone(pages: int, replications: int) -> dict[str, Any]:
    """All replications in this process."""
    import sim

    found = sim.run(many_pages(pages, replications))
    return {"GB": peak(), "CPU seconds": cpu(), "answer": _answer(found)}


def on_cluster(pages: int, replications: int) -> dict[str, Any]:
    """The replications on two processes of a Dask cluster, with a thread each."""
    from distributed import Client, LocalCluster

    import sim

    how: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(memory_limit=None, **how) as cluster, Client(cluster) as client:
        found = sim.run(many_pages(pages, replications), executor=client.get_executor(pure=False))
        return {
            "GB": peak(),
            "GB of each worker": list(client.run(peak).values()),
            "CPU seconds": cpu(),
            "CPU seconds of each worker": list(client.run(cpu).values()),
            "answer": _answer(found),
        }


def _answer(found: Any) -> list[str]:
    row = found.find("weighted_obsolescence")
    return [row.estimate.hex(), row.standard_error.hex()]


def main() -> None:
    """Print a line for each measurement, and write all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", action="append", default=[], help="how many; default 1e6")
    parser.add_argument("--replications", default="2", help="one number or several: 2,6")
    parser.add_argument("--cluster", action="store_true", help="on two workers of Dask")
    parser.add_argument("--out", type=Path, default=Path("out/bench_many_pages.json"))
    parser.add_argument("--here", action="store_true", help="measure in this very process")
    asked = parser.parse_args()
    counts = [int(each) for each in asked.replications.split(",")]
    sizes = [int(float(each)) for each in asked.pages or ["1e6"]]
    if asked.here:
        measure = on_cluster if asked.cluster else alone
        print(json.dumps(measure(sizes[0], counts[0])))
        return
    rows = []
    for pages in sizes:
        for count in counts:
            how = ["--here", "--pages", str(pages), "--replications", str(count)]
            how += ["--cluster"] * asked.cluster
            done = subprocess.run([sys.executable, __file__, *how], stdout=subprocess.PIPE)
            done.check_returncode()
            row = {"pages": pages, "replications": count} | json.loads(done.stdout)
            print(json.dumps(row), flush=True)
            rows.append(row)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    write(asked.out, {"rows": rows, "compared": _rows_of(rows)})


def _rows_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the table of all benchmarks."""
    return [
        within(
            f"{row['pages']:,} pages, {row['replications']} replications",
            max([row["GB"], *row.get("GB of each worker", [])]),
            LIMITS[row["pages"]],
            "GB",
        )
        for row in rows
        if row["pages"] in LIMITS
    ]


if __name__ == "__main__":
    main()
