"""Commits of the index: what was indexed can be searched from the next commit on.

What clients search at some time is the index as it was at the last commit, and that was an interval
c times a uniform part ago, which says nothing of the pages. The copy of a page was up to date then
as often as it is without commits, and still is unless the page has changed since, at rate mu:

    fresh share = fresh share without commits × F,    F = E e^{-mu U} = (1 - e^{-mu c}) / (mu c).

So a weighted obsolescence is that of the same system without commits, of pages with the weights
w F, and sum of w (1 - F) more: each formula, bound and optimum without commits gives one with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from analytic.index.formula import Prediction
from analytic.machinery.phase_type import exponential_rate
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.model import present
from scenarios.page_data import PageData
from scenarios.page_groups import groupings
from scenarios.processes import Map, Mmpp

_NOT_OVER_TIME = "beside commits of the index it is known in the long run only"
_IN_STEP = (
    "commits from a given index.phase on may keep step with what is delivered, unless access "
    "times are exponential and nothing waits; without index.phase that of the first one is drawn"
)
_SEVERAL_WAIT = "a newer copy may wait for a commit, too, so that changes are waited for together"


def unchanged_share(change_rates: ArrayLike, interval: float) -> Array:
    """Probability that a page has not changed since the last commit: ``(1 - e^{-mu c}) / (mu c)``.

    Own result: the docstring of the module proves it.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
    interval : float
        From one commit to the next.
    """
    changes = np.asarray(change_rates, dtype=float) * interval
    share: Array = np.ones(changes.shape)
    np.divide(-np.expm1(-changes), changes, out=share, where=changes > 0)
    return share


def searchable_at_once(scenario: Scenario) -> str | None:
    """What was indexed can be searched at once."""
    return None if scenario.model.commits is None else _NOT_OVER_TIME


def without_commits(scenario: Scenario) -> Scenario:
    """The system without commits whose weighted obsolescence is less by `staleness_of_commits`."""
    return _without(scenario, present(scenario.model.pages).weights * _unchanged(scenario))


def alike_when_unchanged(scenario: Scenario) -> Scenario:
    """The same where all pages have one weight: what groups weigh says how stale each is."""
    return _without(scenario, _unchanged(scenario))


def staleness_of_commits(scenario: Scenario) -> float:
    """Weight of the pages that have changed since the last commit, in the mean."""
    return float(present(scenario.model.pages).weights @ (1.0 - _unchanged(scenario)))


def reason_against_commits(measure: str, scenario: Scenario) -> str | None:
    """Why a measure is not known beside commits; None where it is.

    Parameters
    ----------
    measure : str
    scenario : Scenario
        With commits.
    """
    if measure not in _OF_WHAT_IS_SEARCHED and not _has_stale_cost(measure, scenario):
        return None
    if measure in _TIMES:
        return _SEVERAL_WAIT
    if scenario.interventions:
        return _NOT_OVER_TIME
    given = present(scenario.model.commits).phase is not None
    return _IN_STEP if given and not _forgets_at_once(scenario) else None


def _forgets_at_once(scenario: Scenario) -> bool:
    """Whether accesses do not repeat themselves, nearly or for long, and none waits for its time.

    Of other laws the long run is the same, as long as they have a density; it may be far away.
    """
    fleet = present(scenario.model.fleet)
    waits = scenario.model.frontier is not None or present(scenario.robots).host_spacing is not None
    memoryless = all(
        isinstance(each.gaps, Mmpp | Map) or exponential_rate(each.gaps) is not None
        for each in fleet.classes
    )
    return memoryless and not waits


_TIMES = ("time_to_refresh", "time_to_refresh_quantile")
_OF_WHAT_IS_SEARCHED = (
    *("weighted_obsolescence", "obsolescence_rate", "index_age", "stale_answer_probability"),
    *_TIMES,
)


def _has_stale_cost(measure: str, scenario: Scenario) -> bool:
    return measure == "control_cost" and scenario.prices.staleness > 0


def with_commits(
    predictions: Iterable[Prediction], alike: Iterable[Prediction], scenario: Scenario
) -> Iterator[Prediction]:
    """What predictions for systems without commits say of one with commits.

    What is not known of it is left out: `reason_against_commits` says why.

    Parameters
    ----------
    predictions : iterable of Prediction
        For `without_commits`.
    alike : iterable of Prediction
        For `alike_when_unchanged`; needed where only sums of pages are kept.
    scenario : Scenario
        With commits.
    """
    section = present(scenario.model.pages)
    unchanged = _unchanged(scenario)
    total = float(section.weights.sum())
    staler = {None: staleness_of_commits(scenario)} | _sums(
        section, section.weights * (1.0 - unchanged)
    )
    of_groups = _obsolescence_of_groups(alike, scenario)
    for each in predictions:
        value = each.value
        if reason_against_commits(each.measure, scenario) is not None:
            continue
        if each.measure == "weighted_obsolescence":
            value += staler[each.subject]
        elif each.measure == "stale_answer_probability":
            value = (value * (total - staler[None]) + staler[None]) / total
        elif each.measure == "control_cost":
            value += scenario.prices.staleness * staler[None]
        elif each.measure == "index_age":
            value += present(scenario.model.commits).interval / 2.0
        elif each.measure == "obsolescence_rate":
            if isinstance(each.subject, int):
                value = 1.0 - (1.0 - value) * float(unchanged[each.subject])
            else:
                value = of_groups[each.source, each.subject]
        yield replace(each, value=value)


def _without(scenario: Scenario, weights: Array) -> Scenario:
    return scenario.with_({"index": None, "pages.weights": weights.tolist()})


def _unchanged(scenario: Scenario) -> Array:
    """`unchanged_share` of each page."""
    interval = present(scenario.model.commits).interval
    return unchanged_share(present(scenario.model.pages).change_rates, interval)


def _sums(section: PageData, values: Array) -> dict[Subject, float]:
    """Sums over the pages of each group."""
    return {
        name: value
        for grouping in groupings(section)
        for name, value in zip(
            grouping.names, np.bincount(grouping.of_page, values).tolist(), strict=True
        )
    }


def _obsolescence_of_groups(
    alike: Iterable[Prediction], scenario: Scenario
) -> dict[tuple[str, Subject], float]:
    """The mean obsolescence of the pages of each group, by source and group.

    Parameters
    ----------
    alike : iterable of Prediction
        Of pages whose weight is the share of time that they are unchanged since a commit.
    scenario : Scenario
    """
    section = present(scenario.model.pages)
    staler = _sums(section, 1.0 - _unchanged(scenario))
    sizes = _sums(section, np.ones(section.count))
    return {
        (each.source, each.subject): (staler[each.subject] + each.value) / sizes[each.subject]
        for each in alike
        if each.measure == "weighted_obsolescence" and each.subject is not None
    }
