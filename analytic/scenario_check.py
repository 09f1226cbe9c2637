"""The comparison of a simulation with the predictions of its scenario, as the file asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from analytic.careful_errors import prices_of
from analytic.crosscheck import Comparison, compare
from analytic.formula import Prediction
from analytic.indexing_queue import ExactLaw, NoLaw
from analytic.law_check import LawComparison, compare_laws
from analytic.start_shift import StartShifts
from scenarios import Results, Scenario
from scenarios.page_data import page_weights


def check_scenario(
    scenario: Scenario, predictions: Iterable[Prediction], results: Results
) -> list[Comparison]:
    """Verdicts on the predictions of a scenario, with all that its file says about them.

    What must be settled (`judged`), the weights of its pages, its prices, what it calls negligible
    (`[check]`), and a warm-up too short for the system to forget its start.

    Parameters
    ----------
    scenario : Scenario
    predictions : iterable of Prediction
        Those of `analytic.predict`, or one's own.
    results : Results
        Of a simulation of the scenario.

    Returns
    -------
    list of Comparison
        As those of `analytic.compare`.
    """
    rows = list(predictions)
    weights = None if scenario.pages is None else page_weights(scenario.pages).tolist()
    return compare(
        rows,
        results,
        scenario.judged,
        weights,
        prices=prices_of(scenario, rows),
        negligible=scenario.check.negligible,
        start_shift=StartShifts(scenario).of,
    )


def check_laws(
    scenario: Scenario, laws: Iterable[ExactLaw | NoLaw], results: Results
) -> list[LawComparison]:
    """Verdicts on the distributions of a scenario, with what its file says about them.

    What it calls negligible (`[check]`), and a warm-up too short for the system to forget its
    start.

    Parameters
    ----------
    scenario : Scenario
    laws : iterable of ExactLaw or NoLaw
        Those of `analytic.exact_laws`.
    results : Results
        Of a simulation of the scenario that counted at their points (`points_of`).

    Returns
    -------
    list of LawComparison
        As those of `analytic.compare_laws`.
    """
    shifts = StartShifts(scenario)
    return compare_laws(
        laws,
        results,
        negligible=scenario.check.negligible,
        start_share=lambda law: shifts.share_of(law.measure),
    )
