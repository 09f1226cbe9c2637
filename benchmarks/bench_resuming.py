"""Kills a sweep with SIGKILL at random moments until it is done; its tables must not differ.

Run as ``python benchmarks/bench_resuming.py [--kills 20] [--seed 1]``: prints each kill, and exits
with 1 where the tables of the sweep that was killed differ from those of one that was not, or a
finished cell was computed again.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TABLES = ("sweep.csv", "differences.csv", "sweep.svg", "report.html")
SWEEP = [
    *(sys.executable, "-m", "crawlsim", "sweep", "four-robots-one-threshold"),
    *("--vary", "buffer.waiting_places=2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21"),
    *("--vary", "activation.static=1,2,3,4"),
    *("--replications", "10", "--minimise", "control_cost", "--out"),
]
LONGEST = 1.6
"""Seconds after the first new cell within which a process is killed."""


def cells(folder: Path) -> dict[str, int]:
    """The finished cells, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("cells/0*.json")}


def killed_once(folder: Path, wait: float) -> bool:
    """Start the sweep and kill it some time after it has begun to work; False once it ended."""
    before = len(cells(folder))
    process = subprocess.Popen(
        [*SWEEP, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and len(cells(folder)) == before:
        time.sleep(0.002)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def main() -> int:
    """The kills, and whether the end is the same."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    again = 0
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        killed = Path(place, "killed")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*SWEEP, str(whole)], check=True, **quiet)
        done: dict[str, int] = {}
        for number in range(1, options.kills + 1):
            was_killed = killed_once(killed, draw.uniform(0, LONGEST))
            now = cells(killed)
            again += sum(now[name] != when for name, when in done.items())
            done = now
            how = "killed" if was_killed else "ended by itself; a third of its cells removed"
            print(f"{number}: {len(now)} cells, {how}", flush=True)
            if not was_killed:
                for path in list(killed.glob("cells/0*.json"))[::3]:
                    path.unlink()
                    done.pop(path.name)
        subprocess.run([*SWEEP, str(killed)], check=True, **quiet)
        again += sum(cells(killed)[name] != when for name, when in done.items())
        same = all((whole / name).read_bytes() == (killed / name).read_bytes() for name in TABLES)
    print(f"tables {'identical' if same else 'DIFFERENT'}; cells computed again: {again}")
    return int(not same or again > 0)


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    sys.exit(main())
