"""What all benchmarks share: turns, medians, ratios, tables and files."""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

__all__ = [
    "Contestant",
    "about",
    "compared",
    "horizon_for",
    "options",
    "provenance",
    "race",
    "speeds",
    "three_digits",
    "within",
    "write",
]

PACKAGES = ("ciw", "crawlsim", "numba", "numpy", "simpy")


class Turn(Protocol):
    """What one turn of a contestant gave: pages simulated, and the CPU seconds it took."""

    pages: int
    seconds: float


Contestant = Callable[[float, int], Any]
"""Simulates the time from 0 to a horizon with a seed; gives a `Turn`."""


def horizon_for(run: Contestant, seconds: float, first: float = 500.0) -> float:
    """Horizon that takes about so many CPU seconds; the first run may compile and says nothing."""
    horizon = first
    run(horizon, 0)
    while (took := run(horizon, 0).seconds) < seconds / 10:
        horizon *= 4
    return horizon * seconds / took


def race(
    entrants: dict[str, Contestant],
    rounds: int,
    seconds: float,
    seed: int,
    first: float = 500.0,
    horizon: float | None = None,
) -> dict[str, list[Any]]:
    """The turns of every contestant, one per round; they take turns (A B C A B C …).

    A turn takes so many seconds, or goes to a horizon that is the same for all.
    """
    horizons = {
        name: horizon_for(run, seconds, first) if horizon is None else horizon
        for name, run in entrants.items()
    }
    turns: dict[str, list[Any]] = {name: [] for name in entrants}
    if horizon is not None:
        for run in entrants.values():
            run(horizon / 100, seed)  # compiles
    for number in range(rounds):
        for name, run in entrants.items():
            gc.collect()
            turns[name].append(run(horizons[name], seed + number))
    return turns


def speeds(turns: Sequence[Turn]) -> dict[str, Any]:
    """Pages per CPU second of one contestant: every turn, median, least and most."""
    each = [turn.pages / turn.seconds for turn in turns]
    return {
        "pages_per_second": each,
        "median": statistics.median(each),
        "min": min(each),
        "max": max(each),
        "pages": sum(turn.pages for turn in turns),
    }


def three_digits(value: float) -> str:
    """A speed such as 64,400: more digits than three would be noise."""
    return f"{float(f'{value:.3g}'):,.0f}"


def compared(
    what: str, ours: float, peer: str, theirs: float, unit: str, ratio: float, limit: str
) -> dict[str, Any]:
    """A row of the table of all benchmarks, `overview.py`.

    Parameters
    ----------
    what : str
    ours, theirs : float
        In the same unit.
    peer : str
        With whom or what it is compared.
    unit : str
    ratio : float
        How many times better we are, or of what is to be small, how many times as much.
    limit : str
        What the ratio is to be, such as ">= 60"; "" where nothing was asked.
    """
    row = {"what": what, "ours": ours, "peer": peer, "theirs": theirs}
    return row | {"unit": unit, "ratio": ratio, "limit": limit}


def within(what: str, ours: float, limit: float, unit: str) -> dict[str, Any]:
    """A row of that table for what was to stay below a limit.

    Parameters
    ----------
    what : str
    ours, limit : float
        In the same unit.
    unit : str
    """
    return compared(what, ours, "limit", limit, unit, ours / limit, "<= 1")


def provenance(arguments: argparse.Namespace) -> dict[str, Any]:
    """What one needs to know to run this again."""
    return {
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "seed": arguments.seed,
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def about(rounds: int, *packages: str) -> dict[str, Any]:
    """What a benchmark without contestants ran on."""
    versions = {name: importlib.metadata.version(name) for name in ("crawlsim", *packages)}
    return {"python": platform.python_version(), "packages": versions, "rounds": rounds}


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON; the file appears complete or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _at_least_one(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be >= 1, not {value}")
    return value


def _long_enough(text: str) -> float:
    if not 0.01 <= (value := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"must be >= 0.01 and finite, not {value}")
    return value


def _natural(text: str) -> int:
    if (value := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"must be >= 0, not {value}")
    return value


def options(
    description: str, out: str, seconds: float, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """The options of a benchmark."""
    parser = argparse.ArgumentParser(description=description)
    shown = "%(default)s"
    parser.add_argument("--rounds", type=_at_least_one, default=5, help=f"turns of each ({shown})")
    parser.add_argument(
        "--seconds", type=_long_enough, default=seconds, help=f"CPU seconds of a turn ({shown})"
    )
    parser.add_argument("--seed", type=_natural, default=1, help=f"of round 1 ({shown})")
    parser.add_argument("--out", type=Path, default=Path(out), help=f"JSON file ({shown})")
    parsed = parser.parse_args(arguments)
    try:
        parsed.out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {parsed.out}: {error.strerror}")
    if parsed.out.is_dir():
        parser.error(f"--out {parsed.out}: is a folder")
    return parsed
