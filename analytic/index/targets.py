"""What can be optimised, one function for each kind of decision; and scenarios with it decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from analytic.frontier import optimal_intervals, with_caught_up
from analytic.index.commits import (
    reason_against_commits,
    staleness_of_commits,
    without_commits,
)
from analytic.index.formula import AS_LONG, is_shortened
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.refusal import NoAnswerError
from analytic.page_refresh import index_numbers
from analytic.pipeline.best_frequencies import approximate_frequencies, end_to_end_frequencies
from analytic.pipeline.best_robots import end_to_end_robots, end_to_end_switching
from analytic.pipeline.best_thresholds import end_to_end_thresholds
from analytic.pipeline.costs import approximate_cost_of, prices_pages
from analytic.probing import (
    best_budget,
    best_probes,
    best_times,
    best_times_of_split,
    given_probes,
    times_of_each,
)
from analytic.routing import optimal_routing, optimal_template
from analytic.rules.free import optimal_free
from analytic.rules.hysteresis import counts_switches
from analytic.rules.levels import optimal_levels
from analytic.signals import optimal_signal_levels
from scenarios import Scenario, ScenarioError
from scenarios.accessing.index import IndexPolicy
from scenarios.activation import Optimal
from scenarios.base import one_of
from scenarios.errors import MISSING
from scenarios.model import present
from scenarios.scenario import require_scenario

T = TypeVar("T")
Solver = Callable[[Scenario], Optimum]


def _best_accesses(scenario: Scenario) -> Optimum:
    """How often each page is best accessed: levels where robots hear, intervals, or frequencies."""
    if scenario.model.hearing is not None:
        return optimal_signal_levels(scenario)
    find = end_to_end_frequencies if scenario.model.frontier is None else optimal_intervals
    return find(scenario)


def beside_commits(solver: Solver) -> Solver:
    """The same where the index commits: the decision for the system without commits is its own.

    All costs and bounds are without what is stale whatever is decided; a note says how much it is.
    """

    def solve(scenario: Scenario) -> Optimum:
        if is_shortened(scenario):
            raise NoOptimumError(AS_LONG)
        if scenario.model.commits is None:
            return solver(scenario)
        optimum = solver(without_commits(scenario))
        reason = reason_against_commits(optimum.measure, scenario)
        if reason is not None:
            raise NoOptimumError(reason)
        return _with_cost_of_commits(optimum, scenario)

    return solve


def _with_cost_of_commits(optimum: Optimum, scenario: Scenario) -> Optimum:
    """The same, which says what commits add to each cost, where staleness is part of it."""
    priced = {"weighted_obsolescence": 1.0, "control_cost": scenario.prices.staleness}
    more = priced.get(optimum.measure, 0.0) * staleness_of_commits(scenario)
    if not more:
        return optimum
    said = (
        f"the index commits: whatever is decided, {more:.4g} comes on top of each cost and bound; "
        "a page counts by what a commit leaves of its freshness, the less the faster it changes"
    )
    return replace(optimum, notes=(said, *optimum.notes))


_SOLVERS: dict[str, Solver] = {
    "static": end_to_end_robots,
    "threshold": end_to_end_thresholds,
    "levels": optimal_levels,
    "free": optimal_free,
    "switching": end_to_end_switching,
    "frequencies": _best_accesses,
    "template": optimal_template,
    "routing": optimal_routing,
    "probes": best_times,
}
"""Every target by its name; a new one is one function and one line here."""


def _switches_left_out(solver: Solver, name: str) -> Solver:
    """The same where the file has a price, or a time, of switches: they are of thresholds alone."""

    def solve(scenario: Scenario) -> Optimum:
        if name in ("levels", "free", "switching") and counts_switches(scenario):
            raise NoOptimumError(
                "switches that have a price or take a time are of thresholds alone"
            )
        if name == "static" and scenario.prices.switch:  # nobody is switched
            return solver(scenario.with_("costs.switch", None))
        return solver(scenario)

    return solve


TARGETS = {
    name: _switches_left_out(beside_commits(solver), name) for name, solver in _SOLVERS.items()
}
"""The same where the index commits, and where switches are counted."""

APPROXIMATE_TARGETS: dict[str, Solver] = {
    "static": partial(end_to_end_robots, cost=approximate_cost_of),
    "threshold": partial(end_to_end_thresholds, cost=approximate_cost_of),
    "frequencies": approximate_frequencies,
}
"""The same searches by approximate costs, for what has no exact answer. Targets of switched robots
are left out: a moment match has so many states that the search takes an hour."""


_PLANNED_WITHOUT = "for the file without its interventions: whoever plans does not know of them"


def without_interventions(scenario: Scenario) -> Scenario:
    """The scenario that decisions are made for."""
    return scenario.with_("interventions", None) if scenario.interventions else scenario


def planned(optimum: Optimum, scenario: Scenario) -> Optimum:
    """The optimum, which says where interventions were left out."""
    if not scenario.interventions:
        return optimum
    return replace(optimum, notes=(*optimum.notes, _PLANNED_WITHOUT))


def optimize(
    scenario: Scenario, target: str, key: str = "target", given: str | None = None
) -> Optimum:
    """The best decision of one kind.

    Parameters
    ----------
    scenario : Scenario
    target : str
        A key of `TARGETS`.
    key : str
        What a refusal names: the entry or option that asked for it.
    given : str, optional
        What a refusal quotes as the value of that entry; the target otherwise.

    Raises
    ------
    ScenarioError
        If there is no such target, or no optimum of this kind for the scenario.
    """
    require_scenario(scenario)
    require_target(target, key)
    whole = without_interventions(scenario)
    return planned(answered(TARGETS[target], whole, given or target, key), scenario)


def require_target(target: str, key: str, beside: tuple[str, ...] = ()) -> None:
    """Refuse what is not a target, naming the key that asked for it, and what answers instead.

    Targets that need more than a scenario are known to the caller alone: `beside`.

    Raises
    ------
    ScenarioError
    """
    known = (*TARGETS, *beside)
    if target not in known:
        instead = (
            "any other entry is compared by crawlsim sweep FILE --vary KEY=V1,V2,… "
            "with --minimise MEASURE or --first 'MEASURE<BOUND'"
        )
        raise ScenarioError(key, target, f"must be {one_of(target, known)}; {instead}")


def approximate_optimum(scenario: Scenario, target: str) -> Optimum:
    """The best decision by the approximation that `solve` shows of its cost.

    Raises
    ------
    NoAnswerError
        If there is none, or the search would take too long.
    """
    priced = target == "frequencies" or prices_pages(scenario)
    if target not in APPROXIMATE_TARGETS or not priced:
        raise NoOptimumError("its cost has no approximation")
    optimum = beside_commits(APPROXIMATE_TARGETS[target])(scenario)
    return replace(optimum, kind="approximation", proved=False, gap=None)


def answered(solver: Callable[[Scenario], T], scenario: Scenario, given: str, key: str) -> T:
    """The answer of a solver; where there is none, the error has the key and value given."""
    try:
        return solver(scenario)
    except NoAnswerError as reason:
        raise ScenarioError(key, given, f"has no exact answer: {reason}", scenario.name) from None


def resolve(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" replaced by the solution, and probe times computed.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        Naming an "optimal" for which there is no solver or no exact answer, or a probing policy
        without such times.
    """
    require_scenario(scenario)
    policy = scenario.model.accessing
    key = scenario.model.unresolved
    if policy is not None and key is not None:
        if isinstance(policy, IndexPolicy):
            scenario = _with_index(scenario, policy)
        else:
            best = optimize(scenario, "frequencies", f"robots.accessing.{key}", "optimal")
            scenario = scenario.with_(best.changes)
    scenario = with_caught_up(scenario)
    if isinstance(scenario.activation, Optimal):
        try:
            best = optimize(scenario, scenario.activation.family, "activation.optimal")
        except ScenarioError as refusal:
            command = f"crawlsim optimize FILE --target {scenario.activation.family} --out BEST"
            refusal.allowed += f"; {command} writes the file with the next best answer"
            raise
        scenario = scenario.with_(best.changes)
    if scenario.servers is not None and scenario.servers.routing == "optimal":
        best = optimize(scenario, "routing", "servers.routing", "optimal")
        scenario = scenario.with_(best.changes)
    monitor = scenario.model.monitor
    if monitor is None or monitor.is_settled:
        return scenario
    return _with_probe_times(scenario, monitor.asked.policy == "optimal")


def _with_probe_times(scenario: Scenario, best: bool) -> Scenario:
    """The scenario with the probe times of every source, by its split and its policy."""
    monitor = present(scenario.model.monitor)
    if not monitor.is_shared:
        if best:
            return answered(best_probes, scenario, "optimal", "probing.policy").scenario
    elif monitor.asked.split == "optimal":
        key = "probing.policy" if best else "probing.split"
        budget = answered(best_budget, scenario, "optimal", key)
        if best:
            return budget.scenario
        scenario = scenario.with_("probing.split", budget.split)
    elif best:
        times = answered(best_times_of_split, scenario, "optimal", "probing.policy")
        return scenario.with_(given_probes(monitor, times))
    return scenario.with_(given_probes(present(scenario.model.monitor), times_of_each(scenario)))


def _with_index(scenario: Scenario, policy: IndexPolicy) -> Scenario:
    """The scenario with the two numbers per page that the policy makes its index from."""
    alike = scenario if scenario.model.commits is None else without_commits(scenario)
    numbers = index_numbers(alike, policy)
    if numbers is None:
        allowed = "is missing, and the mean time between accesses is not known"
        raise ScenarioError(f"robots.accessing.{policy.unresolved}", MISSING, allowed)
    missing = {key: each for key, each in numbers.items() if getattr(policy, key) is None}
    return scenario.with_({f"robots.accessing.{key}": each for key, each in missing.items()})
