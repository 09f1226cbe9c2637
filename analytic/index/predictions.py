"""Everything that the formulas say of a scenario, and why the others do not apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from analytic import (
    frontier,
    indexing_queue,
    page_refresh,
    page_set,
    pipeline,
    probing,
    robot_control,
    routing,
    signals,
    transient,
)
from analytic.index.added_formulas import added_formulas
from analytic.index.commits import (
    alike_when_unchanged,
    reason_against_commits,
    with_commits,
    without_commits,
)
from analytic.index.formula import (
    AS_LONG,
    SHARE_OF_TIME,
    Formula,
    Prediction,
    Reasons,
    Statement,
    fails_a_premise,
    obstacles,
)
from analytic.index.keys import keys_to_change
from analytic.index.names import place_of, shown
from analytic.machinery.active_robots import require_decided
from analytic.machinery.refusal import NoAnswerError
from analytic.rules import statements as rules
from scenarios import Scenario
from scenarios.measures import Subject
from scenarios.page_groups import only_sums
from scenarios.scenario import require_scenario

FORMULAS: tuple[Formula, ...] = (
    *page_refresh.FORMULAS,
    *robot_control.FORMULAS,
    *indexing_queue.FORMULAS,
    *routing.FORMULAS,
    *pipeline.FORMULAS,
    *probing.FORMULAS,
    *page_set.FORMULAS,
    *frontier.FORMULAS,
    *signals.FORMULAS,
    *transient.FORMULAS,
)
"""The whole index, subject by subject."""

STATEMENTS: tuple[Statement, ...] = (
    *rules.STATEMENTS,
    *routing.STATEMENTS,
    *probing.STATEMENTS,
)
"""Its rows that predict no measure: identities, bounds, algorithms."""


def all_formulas() -> tuple[Formula, ...]:
    """The whole index, with the formulas of plugins.

    Raises
    ------
    ScenarioError
        If a plugin wants a paper and number that is taken.
    """
    return FORMULAS + added_formulas(FORMULAS, (row.source for row in STATEMENTS))


_UNCHANGED_ONLY = "it holds in the long run of a system that interventions do not change"


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A formula that does not cover the scenario, and all that stands against it.

    Parameters
    ----------
    source : str
        Paper and number.
    reasons : tuple of str
    other_subject : bool
        Whether it is about systems of another kind.
    quantity : str
        What the formula gives, in words.
    is_of_several : bool
        Whether the same paper and number says something else of another quantity.
    keys : tuple of str
        The keys of the scenario file that would have to change.
    """

    source: str
    reasons: tuple[str, ...]
    other_subject: bool = False
    quantity: str = ""
    is_of_several: bool = False
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The source, with the quantity that is meant where that is not clear."""
        return f"{self.source} ({self.quantity})" if self.is_of_several else self.source

    @property
    def shown(self) -> str:
        """The same for people: what the formula is called, and the citation second."""
        return shown(self.source, self.quantity if self.is_of_several else "")

    @property
    def reason(self) -> str:
        """All reasons as one text."""
        return "; ".join(self.reasons)


def predict(scenario: Scenario) -> tuple[list[Prediction], list[NotApplicable]]:
    """The predictions of all formulas that cover the scenario, and the reasons of the others.

    The others come in the order of what they lack: the fewest obstacles first, of these the exact
    ones, of these the most general; and last those that are about systems of another kind.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it), or a policy's
        probes lie closer together than the scenario allows.
    """
    require_scenario(scenario)
    require_decided(scenario)
    if scenario.model.commits is None:
        return _predict(scenario)
    of_the_rest, others = _predict(without_commits(scenario))
    groups = _predict(alike_when_unchanged(scenario))[0] if only_sums(scenario) else ()
    predictions = [*with_commits(of_the_rest, groups, scenario)]
    kept = {each.source for each in predictions}
    lost: dict[str, NotApplicable] = {}
    for each in of_the_rest:
        reason = reason_against_commits(each.measure, scenario)
        if reason and (each.measure != "time_to_refresh" or each.source not in kept):
            lost.setdefault(each.source, _beside_commits(each.source, reason))
    return predictions, [*lost.values(), *others]


def _beside_commits(source: str, reason: str) -> NotApplicable:
    """A formula that would apply if the index did not commit."""
    quantity = next(each.quantity for each in all_formulas() if each.source == source)
    return NotApplicable(source, (reason,), quantity=quantity)


def _predict(scenario: Scenario) -> tuple[list[Prediction], list[NotApplicable]]:
    """The same for what was indexed and can be searched at once."""
    predictions: list[Prediction] = []
    others: dict[Formula, NotApplicable] = {}
    reasons_of = Reasons(scenario)
    for formula in all_formulas():
        keys: list[str] = []
        if scenario.interventions and not formula.over_time:
            reasons: tuple[str, ...] = (_UNCHANGED_ONLY,)
            keys = ["interventions"]
        else:
            reasons = tuple(obstacles(formula.conditions, reasons_of))
            for condition in reasons_of.behind(formula.conditions, reasons):
                keys += keys_to_change(condition, scenario)
            keys += [SHARE_OF_TIME] * (AS_LONG in reasons)
        if not reasons:
            try:
                predictions += formula.predict(scenario)
            except NoAnswerError as refusal:
                reasons = (str(refusal),)
        if reasons:
            foreign = fails_a_premise(formula.conditions, reasons_of)
            others[formula] = NotApplicable(
                formula.source, reasons, foreign, formula.quantity, keys=tuple(dict.fromkeys(keys))
            )
    nearest = sorted(others, key=lambda each: _distance(each, others[each]))
    mixed = _of_several_minds(predictions, others.values())
    return predictions, [
        replace(others[each], is_of_several=each.source in mixed) for each in nearest
    ]


def _distance(formula: Formula, why_not: NotApplicable) -> tuple[bool, int, bool, int]:
    """How far a formula is from covering a scenario."""
    lacking = len(why_not.reasons)
    return why_not.other_subject, lacking, formula.kind != "exact", -place_of(formula.source)


def _of_several_minds(
    predictions: Iterable[Prediction], others: Iterable[NotApplicable]
) -> set[str]:
    """Sources that do not say the same of all quantities: one applies, or for other reasons."""
    said: dict[str, set[str]] = {}
    for other in others:
        said.setdefault(other.source, set()).add(other.reason)
    used = {each.source for each in predictions}
    return {source for source, reasons in said.items() if source in used or len(reasons) > 1}


def exact_values(scenario: Scenario) -> dict[tuple[str, Subject], tuple[float, str]]:
    """The exact value of each measure and subject, with the source of the formula that gives it.

    Where several formulas do, it is that of the first.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        As `predict`.
    """
    exact: dict[tuple[str, Subject], tuple[float, str]] = {}
    for row in predict(scenario)[0]:
        if row.kind == "exact":
            exact.setdefault((row.measure, row.subject), (row.value, row.source))
    return exact
