"""The command `frequencies`: the best access frequencies of more pages than fit into memory."""

from __future__ import annotations

from typing import Any

import click

from crawlsim.best_frequencies import LIMITS
from crawlsim.best_frequencies import frequencies as best_frequencies
from crawlsim.cli.options import FORCE, JSON, WHERE, NumberRange, RunOptions, command, option, takes
from crawlsim.cli.tables import print_json
from crawlsim.cli.workers import workers
from scenarios.text import number, things, visible


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
    with workers(RunOptions(jobs=jobs, cluster=cluster), ()) as executor:
        found = best_frequencies(
            pages, accesses, rate=rate, weight=weight, out=out, force=force, executor=executor
        )
    record = found.record()
    if as_json:
        print_json(record)
        return
    for line in _lines(record, accesses):
        click.echo(line)
    if out is not None:
        click.echo(f"written: {out}", err=True)


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
