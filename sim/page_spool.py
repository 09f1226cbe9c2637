"""Rows of all pages, however many: what each replication has of each is kept on disk.

The rows are made some pages at a time, by the expressions that make those of few pages: they have
the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.infinite import infinite_quantities, without_variance
from scenarios.measures import MEASURES
from scenarios.page_data import PageData, access_shares
from sim.estimates.intervals import are_drawn, interval, is_regular, samples_of_pages
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.estimates.measures import single_pages
from sim.estimates.totals import Totals
from sim.tally import Tally

_AT_ONCE = 2**22
"""Numbers of a field, pages times replications, that are read together."""

ENDINGS = ("", "_standard_error", "_low", "_high")
"""Of the columns of a measure: the estimate, its standard error, and the ends of its interval."""


class PageSpool:
    """What the replications have of each page, in files.

    Parameters
    ----------
    folder : Path
        Of its own, where they may lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fields: dict[str, list[str]] = {"pages": [], "ages": []}
        self._windows: list[float] = []
        self._accesses: list[int] = []

    def add(self, tally: Tally) -> None:
        """One more replication, whose pages are summed up but still there."""
        assert tally.page_sums is not None
        replication = len(self._windows)
        for part in ("pages", "ages"):
            counted = getattr(tally, part)
            if counted is not None:
                self._fields[part] = list(counted.__slots__)
                for field in self._fields[part]:
                    np.save(self._file(field, replication), getattr(counted, field))
        self._windows.append(tally.window)
        self._accesses.append(tally.page_sums.accesses)

    def _file(self, field: str, replication: int) -> Path:
        return self._folder / f"{field}-{replication}.npy"

    def blocks(self, pages: int) -> Iterator[tuple[slice, Totals]]:
        """Some pages at a time, each time all replications; never a single page of several."""
        replications = range(len(self._windows))
        size = max(2, _AT_ONCE // max(1, len(replications)))
        starts = [start for start in range(0, pages, size) if start == 0 or pages - start > 1]
        own = {"window": np.array(self._windows)}
        sums = {"accesses": np.array(self._accesses, dtype=float)}
        for start, end in zip(starts, [*starts[1:], pages], strict=True):
            parts = {
                part: {
                    field: np.array(
                        [
                            np.load(self._file(field, each), mmap_mode="r")[start:end]
                            for each in replications
                        ],
                        dtype=float,
                    )
                    for field in fields
                }
                for part, fields in self._fields.items()
                if fields
            }
            yield slice(start, end), Totals(own, {**parts, "page_sums": sums})


def page_table(spool: PageSpool, scenario: Scenario) -> Iterator[dict[str, Array]]:
    """Columns of some pages at a time, in their order.

    Their number, change rate and weight; of each measure that there is of single pages the columns
    of `ENDINGS`, nan where undefined.

    Parameters
    ----------
    spool : PageSpool
        With all replications of the scenario.
    scenario : Scenario
    """
    section = scenario.model.pages
    assert section is not None
    for some, totals in spool.blocks(section.count):
        columns = {
            "page": np.arange(some.start, some.stop),
            "change_rate": section.change_rates[some],
            "weight": section.weights[some],
        }
        yield columns | _estimates(totals, scenario, section, some)


def _estimates(
    totals: Totals, scenario: Scenario, section: PageData, some: slice
) -> dict[str, Array]:
    together, left_out = totals.together(), totals.leave_one_out()
    policy = scenario.model.accessing
    samples = samples_of_pages(
        totals.parts["pages"]["deliveries"].sum(axis=0),
        totals.parts["page_sums"]["accesses"].sum(),
        section.change_rates[some],
        None if policy is None else access_shares(policy, section)[some],
        are_drawn(scenario),
    )
    samples = {name: np.maximum(sample, totals.count) for name, sample in samples.items()}
    samples["unchanged_share"] = samples["obsolescence_rate"]
    if not is_regular(scenario):
        samples["crawl_rate"] = totals.own["window"].sum()
    columns: dict[str, Array] = {}
    quantile = t_quantile(totals.count - 1)
    for measure in MEASURES.values():
        for part in measure.values.keys() & totals.parts.keys() & {"pages", "ages"}:
            if measure.name in infinite_quantities(scenario):
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                values = measure.values[part]
                found = values(single_pages(together, part))
                if found is None:  # nobody asks for it
                    continue
                (estimate,) = found
                error = jackknife_error(values(single_pages(left_out, part)))
            if measure.name in without_variance(scenario):
                error = np.full_like(error, np.nan)
            ends = interval(measure.name, estimate, error, samples.get(measure.name, 0.0), quantile)
            numbers = (estimate, error, *ends)
            columns |= {
                f"{measure.name}{ending}": column
                for ending, column in zip(ENDINGS, numbers, strict=True)
            }
    return columns
