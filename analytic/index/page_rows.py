"""What a formula says of each page: a row for each, or of many pages what a simulation keeps.

The sums are made here anew, from the groups that the scenario names: the simulation makes its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.page_data import page_weights
from scenarios.page_groups import followed_pages, groupings, only_sums

_SUMMED = ("crawl_rate", "crawl_frequency", "weighted_obsolescence")
"""Measures of a group that are those of its pages together; others are means."""


def page_rows(
    scenario: Scenario, measure: str, values: Array
) -> Iterator[tuple[str, Subject, float]]:
    """Rows of one measure from its values for all pages; undefined ones are left out.

    Parameters
    ----------
    scenario : Scenario
    measure : str
    values : ndarray, shape (pages,)
        nan where it is undefined.
    """
    if not only_sums(scenario):
        for page, value in enumerate(values.tolist()):
            if math.isfinite(value):
                yield measure, page, value
        return
    yield from _of_groups(scenario, measure, values)
    if measure == "obsolescence_rate":
        assert scenario.pages is not None
        weighted = page_weights(scenario.pages) * values
        yield from _of_groups(scenario, "weighted_obsolescence", weighted)
    assert scenario.pages is not None
    for page in followed_pages(scenario.pages):
        if math.isfinite(values[page]):
            yield measure, page, float(values[page])


def _of_groups(
    scenario: Scenario, measure: str, values: Array
) -> Iterator[tuple[str, Subject, float]]:
    assert scenario.pages is not None
    for grouping in groupings(scenario.pages):
        sums: Array = np.bincount(grouping.of_page, values, len(grouping.names)).astype(float)
        if measure not in _SUMMED:
            sums = sums / np.bincount(grouping.of_page, minlength=len(grouping.names))
        for name, value in zip(grouping.names, sums.tolist(), strict=True):
            if math.isfinite(value):
                yield measure, name, value
