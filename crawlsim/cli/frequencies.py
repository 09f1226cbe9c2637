"""The command `frequencies`: the best access frequencies of more pages than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crawlsim.cli.options import FORCE, JSON, WHERE, NumberRange, RunOptions, command, option, takes
from crawlsim.cli.tables import print_json
from crawlsim.cli.workers import workers
from crawlsim.own_files import claim
from scenarios import ScenarioError
from scenarios.base import listed
from scenarios.text import number, things, visible

if TYPE_CHECKING:
    from analytic.page_refresh.out_of_core import Frequencies, Multiplier, Part
    from scenarios.arrays import Array

LIMITS = (1e-50, 1e50)
"""Change rates, weights and accesses within these have quotients and sums that are numbers."""


@command(
    example="crawlsim frequencies pages.parquet --accesses 1e6 --out frequencies.parquet",
    then="crawlsim optimize crawl.toml --target frequencies, for pages in a scenario",
)
@takes(
    click.argument("pages", metavar="PAGES"),
    option(
        "--accesses N",
        "Accesses per unit of time, that of the change rates.",
        type=NumberRange(*LIMITS),
        required=True,
    ),
    option("--rate COLUMN", "Parquet: the change rates.", default="change_rate"),
    option("--weight COLUMN", "Parquet: the weights; by default all are 1."),
    option("--out FILE", "Write them, in the order of the pages: a .parquet or .npy file."),
    FORCE,
    *WHERE[1:],
    JSON,
)
def frequencies(
    pages: str,
    accesses: float,
    rate: str,
    weight: str | None,
    out: str | None,
    force: bool,
    jobs: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Find the share of the accesses that each of very many pages should get.

    PAGES is Parquet, or .npy of shape (pages,) or (pages, 2): change rates, and weights; or CSV
    with a row class,pages,rate (and weight) for pages that are alike. It is read in parts and never
    held in memory; the workers of a cluster need it at the same place. Accesses lie at constant
    intervals, and without hosts, failures or a buffer.
    """
    from analytic.page_refresh.out_of_core import PageError, best_multiplier, in_order
    from crawlsim.page_files import ENDINGS, parts_of, written
    from scenarios.laws import Deterministic

    parts = parts_of(pages, rate, weight)
    target = None
    if out is not None:
        if Path(out).suffix not in ENDINGS:
            raise ScenarioError("--out", out, f"must end in {listed(ENDINGS)}")
        target = claim("--out", out, force=force)
    with workers(RunOptions(jobs=jobs, cluster=cluster), ()) as executor:
        try:
            found = best_multiplier(parts, Deterministic(value=1.0 / accesses), executor, LIMITS)
        except PageError as error:
            least, most = LIMITS
            allowed = f"page {error.page} (counted from 0): must be 0, or {least:g} to {most:g}"
            raise ScenarioError(error.name, error.value, allowed) from None
        nowhere = nullcontext(_nowhere)
        with nowhere if target is None else written(target, found.pages, force=force) as write:
            record = _record(found, parts, in_order(found.of, parts, executor), write, accesses)
    if as_json:
        print_json(record | {"accesses": accesses})
        return
    for line in _lines(record, accesses):
        click.echo(line)
    if target is not None:
        click.echo(f"written: {target}", err=True)


def _record(
    found: Multiplier,
    parts: Iterable[Part],
    of_parts: Iterable[Frequencies],
    write: Callable[[Array], None],
    accesses: float,
) -> dict[str, Any]:
    """What is said of the frequencies, which are written as they are made."""
    import math

    from crawlsim.page_files import ClassPart

    costs, weights, sums, without, most = [], [], [], 0, 0.0
    classes = {}
    for part, each in zip(parts, of_parts, strict=True):
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
    return {
        "pages": found.pages,
        "without_accesses": without,
        "weighted_obsolescence": math.fsum(costs),
        "share_out_of_date": math.fsum(costs) / (math.fsum(weights) or 1.0),
        "stale": math.fsum(costs) / (math.fsum(weights) or 1.0),
        "classes": list(classes.values()) or None,
        "largest_frequency": most,
        "sum": math.fsum(sums),
        "passes": found.passes + 1,
    }


def _nowhere(shares: Array) -> None:
    """Frequencies that nobody asked for."""


def _lines(record: dict[str, Any], accesses: float) -> list[str]:
    pages, without = record["pages"], record["without_accesses"]
    share = without / pages
    budget = f"{number(accesses)} {things(accesses, 'access')}"
    of_classes = [
        f"{visible(each['class'])}: {number(each['accesses_per_page'])} accesses of a page per "
        f"unit of time, out of date for {_percent(each['stale'])}"
        for each in record["classes"] or ()
    ]
    return [
        f"{pages:,} {things(pages, 'page')}, {budget} per unit of time",
        f"out of date at these frequencies: {100 * record['share_out_of_date']:.3g} % of the time, "
        f"by weight; weighted obsolescence: {number(record['weighted_obsolescence'])}",
        f"no schedule has less (Coffman 1998, eq. 7); the file was read {record['passes']} times",
        f"never accessed: {without:,} {things(without, 'page')}, {100 * share:.3g} %",
        f"the page accessed most: {100 * record['largest_frequency']:.3g} % of the accesses",
        *of_classes,
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.3g} %"
