"""The index of formulas of polite probing, and what they say of a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from analytic.index.formula import Formula, Origin, Statement, Values, premise
from analytic.probing.grid import best_schedule, grid_error
from analytic.probing.policies import (
    first_arrival_times,
    first_arrival_times_at,
    threshold_times,
    threshold_times_at,
    uniform_times,
    uniform_times_at,
)
from analytic.probing.profile import (
    LARGEST_PROFILE,
    Profile,
    cells_needed,
    expected_cost,
    expected_freshness,
    join,
    step_error,
)
from analytic.probing.programme import improved_by_moves, paper_schedule
from analytic.probing.refinement import refined
from analytic.probing.sources import monitor_of, profile_of_source, shares
from scenarios import Scenario, ScenarioError
from scenarios.model import Monitor, ProbedSource, present
from scenarios.sections import Apart, AtCost, AtProbability
from scenarios.text import counted


def profile_of(scenario: Scenario) -> Profile:
    """Update rate and importance of the scenario's one source, up to its horizon.

    Parameters
    ----------
    scenario : Scenario
    """
    return profile_of_source(monitor_of(scenario).sources[0])


def probe_times(scenario: Scenario) -> tuple[float, ...]:
    """Probe times of the policy for one source, as `times_of_each`.

    Parameters
    ----------
    scenario : Scenario
    """
    return times_of_each(scenario)[0]


def times_of_each(scenario: Scenario) -> tuple[tuple[float, ...], ...]:
    """Probe times of every source, by the policy of the file where they are not given.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        Naming the policy, if it is "optimal", if it has no such times, or if they lie closer
        together than the minimum spacing; of several also the source.
    """
    monitor = monitor_of(scenario)
    policy = monitor.asked.policy

    def refused(reason: str) -> ScenarioError:
        given = policy if isinstance(policy, str) else {policy.key: policy.root}
        return ScenarioError("probing.policy", given, reason, scenario.name)

    if not monitor.is_settled and (reason := known_times(scenario) or few_cells(scenario)):
        raise refused(reason)
    found = []
    for source, probes in zip(monitor.sources, shares(scenario), strict=True):
        try:
            found.append(source.times or _times(source, policy, probes))
        except ValueError as error:
            which = "" if source.number is None else f"source {source.number}: "
            raise refused(f"{which}{error}") from None
    return tuple(found)


def _times(source: ProbedSource, policy: Any, probes: int | None) -> tuple[float, ...]:
    """Of a policy that is not "optimal": by its parameter, or by the number of probes.

    Raises
    ------
    ValueError
        If it has no such times.
    """
    profile = profile_of_source(source)
    if isinstance(policy, Apart):
        times = uniform_times_at(source.horizon, policy.root)
    elif isinstance(policy, AtProbability):
        times = first_arrival_times_at(profile, policy.root)
    elif isinstance(policy, AtCost):
        times = threshold_times_at(profile, policy.root)
    elif policy == "uniform":
        times = uniform_times(source.horizon, present(probes))
    else:
        of_number = first_arrival_times if policy == "first-arrival" else threshold_times
        times = of_number(profile, present(probes))
    if probes is not None and len(times) > probes:
        allowed = f"probing.probes allows {probes} at most"
        raise ValueError(f"probes {counted(len(times), 'time')}; {allowed}")
    closest = float(np.diff([0.0, *times]).min())
    if closest <= 0:
        raise ValueError(f"has no room for {counted(len(times), 'probe')} at different times")
    if closest < source.spacing * (1 - 1e-9):
        spacing = f"minimum_spacing is {source.spacing!r}"
        raise ValueError(f"probes as little as {closest:.6g} apart; {spacing}")
    return times


def given_probes(monitor: Monitor, times: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Keys and values that put the probe times of every source into a scenario (`Scenario.with_`).

    Parameters
    ----------
    monitor : Monitor
        Of the scenario.
    times : sequence of sequences of float
        Probe times of each source, in the order of the file.
    """
    lists = [list(own) for own in times]
    changes: dict[str, Any] = {
        "probing.policy": {"times": lists if monitor.is_shared else lists[0]}
    }
    if monitor.asked.probes is not None:
        changes["probing.probes"] = sum(map(len, times))
    if "split" in monitor.asked.model_fields_set:
        changes["probing.split"] = None
    return changes


@premise
def has_source(scenario: Scenario) -> str | None:
    """A source is probed, or several."""
    return None if scenario.model.monitor else "there is no [source], and there are no sources"


def known_times(scenario: Scenario) -> str | None:
    """The probe times are given, or follow from the policy ("optimal" is decided before)."""
    monitor = monitor_of(scenario)
    if monitor.asked.policy == "optimal":
        return "the probe times are still to be optimised"
    if monitor.is_settled or not monitor.is_shared or monitor.asked.split != "optimal":
        return None
    return "the split of the probes is still to be optimised"


def few_cells(scenario: Scenario) -> str | None:
    """Both rates of a source together have at most a million pieces up to the horizon."""
    cells = max(
        cells_needed((each.updates, each.importance), each.horizon)
        for each in monitor_of(scenario).sources
    )
    few = cells <= LARGEST_PROFILE
    return None if few else f"the rates have more than {LARGEST_PROFILE} pieces up to the horizon"


def _of_each(
    scenario: Scenario, value: Callable[[Profile, Sequence[float]], float]
) -> dict[int | None, float]:
    """A number of every source, from its rates and its probe times."""
    each = zip(monitor_of(scenario).sources, times_of_each(scenario), strict=True)
    return {source.number: value(profile_of_source(source), times) for source, times in each}


def _cost(scenario: Scenario) -> Values:
    costs = _of_each(scenario, expected_cost)
    yield "obsolescence_cost", None, math.fsum(costs.values())
    yield from (("obsolescence_cost", *each) for each in costs.items() if each[0] is not None)


def _freshness(scenario: Scenario) -> Values:
    for number, share in _of_each(scenario, expected_freshness).items():
        yield "source_freshness", number, share


def smooth_rates(scenario: Scenario) -> str | None:
    """A rate changes along lines or a sine, and is taken in steps."""
    sources = monitor_of(scenario).sources
    rates = [rate for each in sources for rate in (each.updates, each.importance)]
    return (
        None
        if any(rate.most_off > 0 for rate in rates)
        else "the rates are steps, taken as they are"
    )


def _beside_the_steps(scenario: Scenario, side: int) -> Values:
    """What the same probe times cost with the rates of the file: at least (-1), at most (+1)."""
    cost = 0.0
    for source, times in zip(monitor_of(scenario).sources, times_of_each(scenario), strict=True):
        profile = profile_of_source(source)
        of_cost, of_freshness = step_error(source, profile)
        cost += max(expected_cost(profile, times) + side * of_cost, 0.0)
        fresh = expected_freshness(profile, times) + side * of_freshness
        yield "source_freshness", source.number, min(max(fresh, 0.0), 1.0)
    yield "obsolescence_cost", None, cost


_SIDES: tuple[tuple[Literal["lower bound", "upper bound"], int], ...] = (
    ("lower bound", -1),
    ("upper bound", 1),
)

_OF_STEPS = (
    r"\left|C-\tilde C\right|\le2\,e_\lambda\,\tilde A(0,T)"
    r"+2\,e_a\bigl(\tilde\Lambda(0,T)+e_\lambda\bigr),\qquad "
    r"e_\lambda=\frac{h^2}{8}\max_t\left|\lambda'(t)\right|,\qquad "
    r"e_a=\frac{h^2}{8}\max_t\left|a'(t)\right|"
)

_row = partial(Formula, paper="eckstein2005")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="(5)",
        quantity="expected cost of the updates, which wait for the next probe",
        latex=r"C=\sum_{i=1}^nC(p_{i-1},p_i),\qquad C(s,f)=\int_s^f\lambda(t)\,A(t,f)\,dt,\qquad "
        r"A(t,f)=\int_t^fa(u)\,du",
        function=expected_cost,
        kind="exact",
        origin="printed",
        conditions=(has_source, known_times, few_cells),
        evaluate=_cost,
    ),
    _row(
        number="section 2.1",
        quantity="freshness: no Poisson update since the last probe, averaged over time",
        latex=r"\frac{1}{T}\sum_{i=1}^n\int_{p_{i-1}}^{p_i}e^{-\Lambda(p_{i-1},t)}\,dt,\qquad "
        r"\Lambda(s,t)=\int_s^t\lambda(u)\,du",
        function=expected_freshness,
        kind="exact",
        origin="own",
        conditions=(has_source, known_times, few_cells),
        evaluate=_freshness,
    ),
    *(
        _row(
            number="section 2.1, smooth rates",
            quantity=f"{side} of the cost with the smooth rates of the file, which are taken in "
            "steps",
            latex=_OF_STEPS,
            function=step_error,
            kind=side,
            origin="own",
            conditions=(has_source, smooth_rates, known_times, few_cells),
            evaluate=partial(_beside_the_steps, side=sign),
        )
        for side, sign in _SIDES
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""

_OF_THE_PROGRAMME: tuple[tuple[int, str, str, Origin], ...] = (
    (
        1,
        "least expected cost of n probes on a grid",
        r"D_m(i)=\min\limits_{j\ge i+k}\{C(t_i,t_j)+D_{m-1}(j)\},\qquad D_1(i)=C(t_i,T),\qquad "
        r"C_{\mathrm{grid}}=D_n(0)",
        "corrected",
    ),
    (
        2,
        "probe times that attain it",
        r"p_l=t_{i_l},\qquad i_0=0,\qquad i_l=\operatorname*{argmin}_j\{C(t_{i_{l-1}},t_j)"
        r"+D_{n-l}(j)\}",
        "printed",
    ),
    (
        4,
        "expected costs between all times of the grid, for it",
        r"C(t_i,t_{j+1})=C(t_i,t_j)+\Lambda(t_i,t_j)\,A(t_j,t_{j+1})+C(t_j,t_{j+1})",
        "corrected",
    ),
)

_statement = partial(Statement, paper="eckstein2005", kind="algorithm")

STATEMENTS: tuple[Statement, ...] = (
    _statement(
        number="Lemma 3",
        quantity="expected cost of two adjacent intervals together",
        latex=r"C(s,f)=C(s,v)+\Lambda(s,v)\,A(v,f)+C(v,f)",
        function=join,
        kind="exact",
        origin="printed",
    ),
    _statement(
        number="Proposition 8",
        quantity="most that the best schedule on a grid costs above the best one; sharper where "
        "all breakpoints are on the grid",
        latex=r"C_{\mathrm{grid}}-C^*\le\begin{cases}"
        r"\dfrac{n-1}{4}\,w^2\max\limits_t\lambda(t)\,a(t)&\text{breakpoints on the grid}\\"
        r"\left(\dfrac{n}{2}\,w^2+Tw\right)\max\limits_t\lambda(t)\,\max\limits_ta(t)&"
        r"\text{otherwise}"
        r"\end{cases}\qquad w=\frac{T}{N}",
        function=grid_error,
        kind="upper bound",
        origin="printed",
    ),
    *(
        _statement(
            number=f"Algorithm {number}",
            quantity=quantity,
            latex=latex,
            function=paper_schedule,
            origin=origin,
        )
        for number, quantity, latex, origin in _OF_THE_PROGRAMME
    ),
    _statement(
        number="(9)",
        quantity="the same times, with a price for each probe in place of a number of them",
        latex=r"C_{\mathrm{grid}}=\max\limits_\nu\{D_\nu(0)-n\nu\},\qquad "
        r"D_\nu(i)=\min\limits_{j\ge i+k}\{C(t_i,t_j)+\nu+D_\nu(j)\},\qquad D_\nu(N)=0",
        function=best_schedule,
        origin="own",
    ),
    _statement(
        number="Algorithm 10",
        quantity="probe times improved by moves of one probe at a time",
        latex=r"\begin{split}"
        r"\Delta_i&=C(p_{i-1},p_i)+C(p_i,p_{i+1})-C(p_{i-1},\tilde p_i)-C(\tilde p_i,p_{i+1})\\"
        r"\tilde p_i&=(1-\mu)\,p_i+\mu\,(p_{i\pm1}\mp\delta),\qquad"
        r"\text{the largest }\Delta_i\ge\iota\text{ first; then }\rho\mu"
        r"\end{split}",
        function=improved_by_moves,
        origin="corrected",
    ),
    _statement(
        number="(8)",
        quantity="probe times improved to a local optimum in continuous time",
        latex=r"\min\limits_p\ \sum_{i=1}^nC(p_{i-1},p_i),\quad p_i-p_{i-1}\ge\delta;\qquad "
        r"\lambda(p_i)\,A(p_i,p_{i+1})=a(p_i)\,\Lambda(p_{i-1},p_i)\quad\text{at a free probe}",
        function=refined,
        origin="own",
    ),
)
"""What else the paper says."""
