"""The best access frequencies of more pages than fit into memory, read and written in parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analytic.page_refresh.out_of_core import Multiplier, PageError, Part, best_multiplier, in_order
from crawlsim.own_files import claim
from crawlsim.page_files import ENDINGS, ClassPart, parts_of, written
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.base import listed
from scenarios.laws import Deterministic

LIMITS = (1e-50, 1e50)
"""Change rates, weights and accesses within these have quotients and sums that are numbers."""


@dataclass(frozen=True)
class PageFrequencies:
    """The best frequencies of many pages, and what they make of the index.

    Parameters
    ----------
    accesses : float
        Per unit of time, that of the change rates; of all pages together.
    pages, without_accesses, passes : int
        Pages; those that are best never accessed; how often they were read.
    weighted_obsolescence, share_out_of_date : float
        Sum of the weights times the share of time out of date; the same over the weights.
    largest_frequency, sum : float
        Shares of the accesses: of the page that has most, and of all, 1 but for rounding.
    classes : list of dict, optional
        Of pages that are alike: `class`, `accesses_per_page`, `stale`.
    found : Multiplier
    parts : sequence of Part
        What the shares follow from.
    """

    accesses: float
    pages: int
    without_accesses: int
    weighted_obsolescence: float
    share_out_of_date: float
    largest_frequency: float
    sum: float
    passes: int
    classes: list[dict[str, Any]] | None
    found: Multiplier = field(repr=False)
    parts: Sequence[Part] = field(repr=False)

    def shares(self, executor: Executor | None = None) -> Iterator[Array]:
        """The share of the accesses of each page, part by part in the order of the file."""
        return (each.shares for each in in_order(self.found.of, self.parts, executor))

    def record(self) -> dict[str, Any]:
        """What is known as plain values, as ``crawlsim frequencies --json`` has it."""
        known = {key: value for key, value in vars(self).items() if key not in ("found", "parts")}
        return known | {"stale": self.share_out_of_date}


def frequencies(
    pages: str | Path,
    accesses: float,
    *,
    rate: str = "change_rate",
    weight: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    executor: Executor | None = None,
) -> PageFrequencies:
    """The share of the accesses that each of very many pages should get.

    Parameters
    ----------
    pages : str or Path
        Parquet, or .npy of shape (pages,) or (pages, 2): change rates, and weights; or CSV with a
        row class,pages,rate (and weight) for pages that are alike. It is read in parts.
    accesses : float
        Per unit of time, that of the change rates; at constant intervals.
    rate, weight : str
        Columns of Parquet; without weight all weights are 1.
    out : str or Path, optional
        Where the shares are written, in the order of the pages: a .parquet or .npy file.
    force : bool
        Whether a file that crawlsim did not write is replaced.
    executor : concurrent.futures.Executor, optional
        Where parts are read; the result is the same anywhere, bit for bit.

    Raises
    ------
    ScenarioError
        If a number or file cannot be used; nothing is written then.

    Notes
    -----
    coffman1998 (7)-(9): no schedule with as many accesses has less weighted obsolescence.
    """
    least, most = LIMITS
    if not least <= accesses <= most:
        raise ScenarioError("accesses", accesses, f"must be a number from {least:g} to {most:g}")
    parts = parts_of(str(pages), rate, weight)
    target = None
    if out is not None:
        if Path(out).suffix not in ENDINGS:
            raise ScenarioError("--out", str(out), f"must end in {listed(ENDINGS)}")
        target = claim("--out", str(out), force=force)
    try:
        found = best_multiplier(parts, Deterministic(value=1.0 / accesses), executor, LIMITS)
    except PageError as error:
        allowed = f"page {error.page} (counted from 0): must be 0, or {least:g} to {most:g}"
        raise ScenarioError(error.name, error.value, allowed) from None
    writing = nullcontext(_nowhere) if target is None else written(target, found.pages, force=force)
    with writing as write:
        return _summed(found, parts, executor, write, accesses)


def _summed(
    found: Multiplier,
    parts: Sequence[Part],
    executor: Executor | None,
    write: Callable[[Array], None],
    accesses: float,
) -> PageFrequencies:
    """What is said of the frequencies, which are written as they are made."""
    costs, weights, sums, without, most = [], [], [], 0, 0.0
    classes = {}
    for part, each in zip(parts, in_order(found.of, parts, executor), strict=True):
        write(each.shares)
        if isinstance(part, ClassPart):
            classes[part.name, part.rate, part.weight] = {
                "class": part.name,
                "accesses_per_page": float(each.shares[0]) * accesses,
                "stale": each.cost / each.weight if each.weight else None,
            }
        costs.append(each.cost)
        weights.append(each.weight)
        sums.append(float(each.shares.sum()))
        without += each.without
        most = max(most, float(each.shares.max()))
    return PageFrequencies(
        accesses=accesses,
        pages=found.pages,
        without_accesses=without,
        weighted_obsolescence=math.fsum(costs),
        share_out_of_date=math.fsum(costs) / (math.fsum(weights) or 1.0),
        largest_frequency=most,
        sum=math.fsum(sums),
        passes=found.passes + 1,
        classes=list(classes.values()) or None,
        found=found,
        parts=parts,
    )


def _nowhere(shares: Array) -> None:
    """Frequencies that nobody asked to be written."""
