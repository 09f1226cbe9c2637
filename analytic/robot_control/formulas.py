"""The index of formulas of talim2001, and what they say of a scenario."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from analytic.index import conditions
from analytic.index.formula import Formula, Values, dependent
from analytic.robot_control import scenario_queue
from analytic.robot_control.scenario_queue import measures_in
from analytic.robot_control.static import static_cost, static_loss_rate, static_starvation
from analytic.robot_control.switched_queue import Measures, best_policy, measures_of_policy
from analytic.robot_control.switching import MOST_LEVELS, best_switching, queue_of
from analytic.robot_control.target_rules import (
    is_covered,
    measures_of_targets,
)
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.choices import tells_classes_apart
from scenarios.sections import Costs

LARGEST = 10**9
"""Robots × levels² up to which the measures of a rule are computed."""

LARGEST_BOUND = 20_000
LARGEST_GENERAL = 2_000
"""States up to which the optimum is, with exponential service and without obsolescence, or else."""

_SOME_PRICE = Costs(loss=1.0)
"""The measures of a rule do not depend on the prices."""


def _parameters(scenario: Scenario) -> tuple[float, int, float]:
    """Load, K and service rate."""
    deliveries, service = conditions.poisson_parameters(scenario)
    return float(deliveries[0]) / service, len(deliveries) - 1, service


def _static(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    yield "starvation_probability", None, float(static_starvation(load, capacity))
    yield "loss_rate", None, float(static_loss_rate(load, capacity, service))


def _cost(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    price = scenario.prices.loss
    costs = scenario.prices
    if price > 0:
        cost = price * static_cost(load, capacity, service, costs.starvation / price)
    else:
        cost = costs.starvation * static_starvation(load, capacity)
    yield "control_cost", None, float(cost)


@lru_cache(maxsize=8)
def _measures(scenario: Scenario) -> Measures:
    """Measures of the rule of a scenario that meets `_SWITCHING`."""
    assert isinstance(scenario.activation, Switching)
    queue = queue_of(scenario.model_copy(update={"costs": _SOME_PRICE}))
    return measures_of_targets(queue, np.array(scenario.activation.targets[0]))


def _switching(scenario: Scenario) -> Values:
    return _of_rule(_measures(scenario), scenario)


def _of_rule(rule: Measures, scenario: Scenario) -> Values:
    yield "starvation_probability", None, rule.starvation
    yield "loss_rate", None, rule.loss_rate
    yield "mean_active_robots", None, rule.mean_active
    if tells_classes_apart(scenario.robots, scenario.activation):
        for index, mean in enumerate(rule.active.tolist()):
            yield "mean_active_robots", index, mean
    yield "throughput", None, rule.throughput
    for level, probability in enumerate(rule.levels.tolist()):
        yield "level_probability", level, probability


def _switching_cost(scenario: Scenario) -> Values:
    yield "control_cost", None, _measures(scenario).cost(scenario.prices)


def _least_cost(scenario: Scenario) -> Values:
    yield "control_cost", None, best_switching(scenario).lower_bound


def switching(scenario: Scenario) -> str | None:
    """Robots are switched on one at a time."""
    if isinstance(scenario.activation, Switching):
        return None
    return "the formula is for robots that are switched on one at a time (activation.switching)"


def falling_targets(scenario: Scenario) -> str | None:
    """One list of targets, not increasing with the level; at most 5000 levels."""
    rule = scenario.activation
    if not isinstance(rule, Switching):
        return None
    if rule.choices is not None:
        return "the rule has a class for each state, and no targets"
    if len(rule.targets) > 1:
        return "there are several lists of targets"
    if any(after > before for before, after in pairwise(rule.targets[0])):
        return "the targets increase with the level"
    levels = len(rule.targets[0])
    if levels > MOST_LEVELS:
        return f"the queue has {levels} levels, limit {MOST_LEVELS}"
    work = max(rule.targets[0]) * levels**2
    return None if work <= LARGEST else f"robots × levels² is {work:.2g}, limit {LARGEST:.0g}"


def _switching_by_mode(scenario: Scenario) -> Values:
    return _of_rule(measures_in(scenario), scenario)


def _least_cost_by_mode(scenario: Scenario) -> Values:
    queue = scenario_queue.queue_of(scenario)
    best = best_policy(queue, queue.costs(scenario_queue.prices_in(scenario)))
    yield "control_cost", None, max(best.lower, 0.0)


@dependent
def few_states(scenario: Scenario) -> str | None:
    """The chain of levels, active robots and environment has at most 2000 states."""
    states = scenario_queue.queue_of(scenario).states
    return None if states <= LARGEST_GENERAL else f"its chain has {states} states"


@dependent
def optimum_known(scenario: Scenario) -> str | None:
    """The optimal rule is known; its chain has at most 20000 states, 2000 if not exponential."""
    queue = queue_of(scenario)
    if scenario.prices.response and not is_covered(queue):
        return "[costs] prices the response; the search for the bound is left to `optimize`"
    states = queue.states
    most = LARGEST_BOUND if is_covered(queue) else LARGEST_GENERAL
    return None if states <= most else f"its chain has {states} states"


def priced_by_loss_and_starvation(scenario: Scenario) -> str | None:
    """[costs] prices loss and starvation only."""
    costs = scenario.costs
    if any(price for name, price in costs if name not in ("loss", "starvation")):
        return "[costs] prices more than loss and starvation"
    return None if costs.model_fields_set else "there are no [costs]"


_QUEUE = (
    conditions.has_buffer,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
)
_EXPONENTIAL = (
    conditions.poisson_accesses,
    conditions.exponential_service,
    conditions.no_obsolescence,
)
_STATIC = (*_QUEUE, conditions.static_robots, *_EXPONENTIAL)

_SWITCHING = (*_QUEUE, switching, conditions.robots_alike, *_EXPONENTIAL, falling_targets)

_IN_ENVIRONMENT = (
    *scenario_queue.IN_ENVIRONMENT,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    switching,
    few_states,
)

_OF_CLASSES = (
    *scenario_queue.OF_CLASSES,
    conditions.resolved_activation,
    switching,
    few_states,
)

_row = partial(Formula, paper="talim2001", kind="exact")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="section 4",
        quantity="starvation probability and loss rate of a fixed number of robots",
        latex=r"S=\frac{1}{\sum_{n=0}^K\rho^n},\qquad L=\frac{\mu\rho^{K+1}}{\sum_{n=0}^K\rho^n},"
        r"\qquad \rho=\frac{N\lambda}{\mu}",
        function=static_starvation,
        origin="printed",
        conditions=_STATIC,
        evaluate=_static,
    ),
    _row(
        number="(9)",
        quantity="cost of a fixed number of robots",
        latex=r"C=\gamma S+L=\begin{cases}"
        r"\dfrac{(1-\rho)\left(\gamma+\mu\rho^{K+1}\right)}{1-\rho^{K+1}}&\rho\ne1\\"
        r"\dfrac{\gamma+\mu}{K+1}&\rho=1"
        r"\end{cases}\qquad\rho=\frac{N\lambda}{\mu}",
        function=static_cost,
        origin="printed",
        conditions=(*_STATIC, priced_by_loss_and_starvation),
        evaluate=_cost,
    ),
    _row(
        number="(8)",
        quantity="starvation, loss rate, active robots and levels of a target rule",
        latex=r"\begin{split}"
        r"\pi Q&=0,\qquad\sum_{q,r}\pi_{q,r}=1,\qquad S=\sum_r\pi_{0,r},\qquad "
        r"L=\lambda\sum_rr\,\pi_{K,r}\\"
        r"\bar r&=\sum_{q,r}r\,\pi_{q,r},\qquad p_q=\sum_r\pi_{q,r},\qquad "
        r"\text{switched on after an event iff }r<n_q"
        r"\end{split}",
        function=measures_of_targets,
        origin="corrected",
        conditions=_SWITCHING,
        evaluate=_switching,
    ),
    _row(
        number="(5)",
        quantity="cost of a target rule",
        latex=r"C=c_{\mathrm{starv}}S+c_{\mathrm{loss}}L+c_{\mathrm{rob}}\,\bar r"
        r"+c_{\mathrm{resp}}\,\mathbb{E}T",
        function=measures_of_targets,
        origin="corrected",
        conditions=(*_SWITCHING, conditions.priced, conditions.response_known),
        evaluate=_switching_cost,
    ),
    _row(
        number="(6)",
        quantity="least cost of any rule that switches robots on one at a time",
        latex=r"\begin{split}"
        r"\theta=c_{q,r}&+\mu\,1_{q>0}\left[\min\limits_aV(q-1,r+a)-V(q,r)\right]\\"
        r"&+\lambda r\left[\min\limits_aV(\min(q+1,K),r-1+a)-V(q,r)\right]\\"
        r"c_{q,r}&=c_{\mathrm{starv}}1_{q=0}+c_{\mathrm{loss}}\,\lambda r\,1_{q=K}"
        r"+c_{\mathrm{rob}}\,r,\qquad a\in\{0,1\}"
        r"\end{split}",
        function=best_switching,
        kind="lower bound",
        origin="corrected",
        conditions=(
            conditions.has_buffer,
            conditions.one_server,
            conditions.no_host_spacing,
            conditions.resolved_activation,
            switching,
            conditions.priced,
            optimum_known,
        ),
        evaluate=_least_cost,
    ),
    _row(
        number="(8), environment",
        quantity="starvation, loss rate, active robots and levels of targets in an environment",
        latex=r"\begin{split}"
        r"\pi Q&=0,\qquad\sum_{q,e,\mathbf{r}}\pi_{q,e,\mathbf{r}}=1,\qquad "
        r"S=\sum_{e,\mathbf{r}}\pi_{0,e,\mathbf{r}},\qquad "
        r"L=\sum_{e,\mathbf{r}}\pi_{K,e,\mathbf{r}}\sum_ks_e\lambda_kr_k\\"
        r"\bar r_k&=\sum_{q,e,\mathbf{r}}r_k\,\pi_{q,e,\mathbf{r}},\qquad "
        r"p_q=\sum_{e,\mathbf{r}}\pi_{q,e,\mathbf{r}},\qquad "
        r"\text{after an event one of class }a_{q,e,\mathbf{r}}\text{ is switched on}"
        r"\end{split}",
        function=measures_of_policy,
        origin="own",
        conditions=(*_IN_ENVIRONMENT, scenario_queue.settles),
        evaluate=_switching_by_mode,
    ),
    _row(
        number="(6), environment",
        quantity="least cost of any rule that switches robots on one at a time and sees their "
        "environment",
        latex=r"\begin{split}"
        r"\theta=c_{q,e,\mathbf{r}}&+\mu\,1_{q>0}\left[\min\limits_aV(q-1,e,\mathbf{r}+\mathbf{e}_a)"
        r"-V(q,e,\mathbf{r})\right]\\"
        r"&+\sum_ks_e\lambda_kr_k\left[\min\limits_aV(\min(q+1,K),e,\mathbf{r}-\mathbf{e}_k"
        r"+\mathbf{e}_a)-V(q,e,\mathbf{r})\right]+\sum_fQ_{e,f}V(q,f,\mathbf{r})\\"
        r"c_{q,e,\mathbf{r}}&=c_{\mathrm{starv}}1_{q=0}"
        r"+\sum_kr_k\left(c_{\mathrm{loss}}\,s_e\lambda_k1_{q=K}+c_k\right)"
        r"\end{split}",
        function=best_policy,
        kind="lower bound",
        origin="own",
        conditions=(
            *_IN_ENVIRONMENT,
            conditions.priced,
            scenario_queue.response_unpriced,
        ),
        evaluate=_least_cost_by_mode,
    ),
    _row(
        number="(8), classes",
        quantity="starvation, loss rate, levels and active robots of each class, of a rule that "
        "switches on robots of several classes",
        latex=r"\begin{split}"
        r"\pi Q&=0,\qquad\sum_{q,\mathbf{r}}\pi_{q,\mathbf{r}}=1,\qquad "
        r"S=\sum_{\mathbf{r}}\pi_{0,\mathbf{r}},\qquad "
        r"L=\sum_{\mathbf{r}}\pi_{K,\mathbf{r}}\sum_k\lambda_kr_k\\"
        r"\bar r_k&=\sum_{q,\mathbf{r}}r_k\,\pi_{q,\mathbf{r}},\qquad "
        r"p_q=\sum_{\mathbf{r}}\pi_{q,\mathbf{r}},\qquad "
        r"\text{after an event one of class }a_{q,\mathbf{r}}\text{ is switched on}"
        r"\end{split}",
        function=measures_of_policy,
        origin="own",
        conditions=(*_OF_CLASSES, scenario_queue.settles),
        evaluate=_switching_by_mode,
    ),
    _row(
        number="(6), classes",
        quantity="least cost of any rule that switches robots of several classes on one at a time",
        latex=r"\begin{split}"
        r"\theta=c_{q,\mathbf{r}}&+\mu\,1_{q>0}\left[\min\limits_aV(q-1,\mathbf{r}+\mathbf{e}_a)"
        r"-V(q,\mathbf{r})\right]\\"
        r"&+\sum_k\lambda_kr_k\left[\min\limits_aV(\min(q+1,K),\mathbf{r}-\mathbf{e}_k+\mathbf{e}_a)"
        r"-V(q,\mathbf{r})\right]\\"
        r"c_{q,\mathbf{r}}&=c_{\mathrm{starv}}1_{q=0}"
        r"+\sum_kr_k\left(c_{\mathrm{loss}}\,\lambda_k1_{q=K}+c_k\right)"
        r"\end{split}",
        function=best_policy,
        kind="lower bound",
        origin="own",
        conditions=(
            *_OF_CLASSES,
            conditions.priced,
            scenario_queue.response_unpriced,
        ),
        evaluate=_least_cost_by_mode,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
