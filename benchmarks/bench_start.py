"""What a command costs before it does anything: help, a warm run, the first run after installing.

CPU seconds of whole processes, beside that of a Python that imports numpy and scipy.special, the
two in turns. The first run finds nothing compiled; what is compiled in the background while it
answers is not counted, and is stopped.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import psutil
from racing import compared, options, provenance, write

PEER = "import numpy, scipy.special"
RUN = ["run", "one-robot"]
COMMANDS = {
    "crawlsim --help": (["--help"], "<= 0.6"),
    "crawlsim scenarios": (["scenarios"], ""),
    "crawlsim schema": (["schema"], ""),
    "crawlsim formulas": (["formulas"], ""),
    "crawlsim run one-robot": (RUN, "<= 2.5"),
}
FIRST = "the first crawlsim run one-robot"
FIRST_LIMIT = "<= 15"


def cpu_seconds(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """CPU seconds of a Python process."""
    child = subprocess.Popen(
        [sys.executable, *arguments],
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _, status, used = os.wait4(child.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(arguments)} ended with {code}")
    return used.ru_utime + used.ru_stime


@contextmanager
def nothing_compiled() -> Iterator[dict[str, str]]:
    """What to add to the environment for an empty place for compiled code.

    Afterwards it is gone, and with it what still compiles for it.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = {"NUMBA_CACHE_DIR": folder}
        yield place
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if place.items() <= process.environ().items():
                    process.kill()
                    process.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Time the start of commands."
    parsed = options(about, "out/bench_start.json", 1.0, arguments)
    # as after an installation, which compiles the sources to byte code
    warm = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    turns: dict[str, list[float]] = {name: [] for name in (PEER, *COMMANDS, FIRST)}
    for words, _ in COMMANDS.values():
        cpu_seconds(["-m", "crawlsim", *words], warm | {"CRAWLSIM_COMPILE": "wait"})
    for _ in range(parsed.rounds):
        turns[PEER].append(cpu_seconds(["-c", PEER], warm))
        for name, (words, _) in COMMANDS.items():
            turns[name].append(cpu_seconds(["-m", "crawlsim", *words], warm))
        with nothing_compiled() as fresh:
            turns[FIRST].append(cpu_seconds(["-m", "crawlsim", *RUN], warm | fresh))
    medians = {name: statistics.median(each) for name, each in turns.items()}
    limits = {name: limit for name, (_, limit) in COMMANDS.items()} | {FIRST: FIRST_LIMIT}
    rows = []
    for name, limit in limits.items():
        ratios = [ours / theirs for ours, theirs in zip(turns[name], turns[PEER], strict=True)]
        ratio = statistics.median(ratios)
        print(f"{name}: {ratio:.2f} times the imports ({min(ratios):.2f} to {max(ratios):.2f})")
        rows.append(compared(name, medians[name], PEER, medians[PEER], "CPU seconds", ratio, limit))
    write(parsed.out, provenance(parsed) | {"turns": turns, "compared": rows})


if __name__ == "__main__":
    main()
