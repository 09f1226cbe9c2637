"""The results of a run, put together from the tallies of its replications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scenarios import Results, Scenario
from scenarios.course import NO_COURSE
from scenarios.page_groups import only_sums
from scenarios.results import Columns, Replications, Rows
from sim.estimates.controls import controls_of
from sim.estimates.course import course_estimates
from sim.estimates.jackknife import estimates_of
from sim.estimates.measures import left_out_of, measures_of, packets_ended, pages_ended
from sim.estimates.page_pool import PagePool
from sim.estimates.quantiles import quantile_columns, served_quantiles
from sim.estimates.totals import Totals
from sim.page_sums import with_page_sums, without_pages
from sim.tally import Tally

_FEW_SUBJECTS = 64
"""Leave-one-out values of single pages or levels are kept where a measure has at most so many."""

_SUMMARY = (0.5, 0.95)
"""Shares of the quantiles of the time to index that the summary of a run shows."""


def results_from(
    tallies: Sequence[Tally],
    scenario: Scenario,
    engine: str,
    seed: int,
    pool: PagePool | None = None,
) -> Results:
    """The results of a run: estimates, and the value of each replication.

    Parameters
    ----------
    tallies : sequence of Tally
        One per replication, in their order.
    scenario : Scenario
    engine : str
    seed : int
    pool : PagePool, optional
        Of many pages what all replications have of each.
    """
    tallies = [with_page_sums(tally, scenario) for tally in tallies]
    if only_sums(scenario):
        tallies = [without_pages(tally) for tally in tallies]
    totals = Totals.of(tallies)
    left_out = left_out_of(totals, scenario)
    estimates = list(estimates_of(totals, scenario, left_out).blocks)
    if pool is not None:
        estimates = _with_worst(estimates, pool, tallies[0].window)
    without = [_few(Columns(name, *values)) for name, values in left_out.items()]
    each = [Columns(name, *values) for name, values in measures_of(totals, scenario).items()]
    for quantiles in quantile_columns(tallies, scenario):
        for blocks, own in zip((estimates, each, without), quantiles, strict=True):
            blocks.append(own)
    courses = [tally.course for tally in tallies if tally.course is not None]
    return Results(
        scenario=scenario.name,
        engine=engine,
        seed=seed,
        count=len(tallies),
        estimates=Rows(estimates),
        replications=Replications(each),
        controls=controls_of(totals, scenario),
        leave_one_out=Replications(without),
        events=events_of(totals),
        time_to_index=served_quantiles(tallies, _SUMMARY) if scenario.buffer else {},
        course=course_estimates(courses, scenario) if courses else NO_COURSE,
    )


def _few(block: Columns) -> Columns:
    """Values without those of single pages, where they are many: a million have no room."""
    if len(block.subjects) <= _FEW_SUBJECTS:
        return block
    places = [n for n, each in enumerate(block.subjects) if not isinstance(each, int)]
    return Columns(block.measure, [block.subjects[n] for n in places], block.values[:, places])


def _with_worst(blocks: Sequence[Columns], pool: PagePool, window: float) -> list[Columns]:
    """The estimates, those of the worst pages among them."""
    made = []
    for block in blocks:
        if block.measure == "obsolescence_rate":
            worst = pool.worst(window, block.subjects)
            values = np.concatenate([block.values, worst.values], axis=1)
            made.append(Columns(block.measure, (*block.subjects, *worst.subjects), values))
        else:
            made.append(block)
    return made


def events_of(totals: Totals) -> int:
    """Pages that ended; packets at the server that had fewest, of those that had any."""
    if "servers" in totals.parts:
        packets = packets_ended(totals.parts["servers"]).sum(axis=0)
        return int(packets[packets > 0].min(initial=packets.sum()))
    return int(pages_ended(totals.parts["buffer"]).sum()) if "buffer" in totals.parts else 0
