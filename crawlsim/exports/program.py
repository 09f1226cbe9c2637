"""The program of another tool for a scenario, or the key that the tool cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from scipy import special

from analytic.machinery.arrival_process import delivery_modes, gap_map, gap_order, joint_order
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time
from crawlsim.exports import laws
from scenarios import Scenario, ScenarioError
from scenarios.activation import Static
from scenarios.base import one_of
from scenarios.errors import MISSING
from scenarios.laws import Distribution
from scenarios.model import Fleet, Gaps, ServiceOrder, present
from scenarios.processes import Map, Mmpp

_HELD = {
    "": "name title paper time_unit judged robots activation buffer costs check run",
    "robots.": "classes available access_time",
    "buffer.": "waiting_places servers service admission obsolescence discipline when_full "
    "sojourn_quantiles",
}
"""The keys that a program holds, or of which it prints nothing; all others are refused."""

_MOST_PHASES = 30
"""Of the deliveries of all robots together, in a program of LINE."""


@dataclass(frozen=True)
class Target:
    """What a tool can express.

    Parameters
    ----------
    tool : str
        Its name.
    laws : mapping
        How it writes them.
    times : str
        What it says of times that it has no name for.
    orders : mapping ServiceOrder -> str
        Its word for each order of service.
    patience : str
        Of which laws it has obsolescence.
    pushes_out, phases : bool
        Whether pages are pushed out, and accesses may have a phase.
    """

    tool: str
    laws: laws.Writers
    times: str
    orders: Mapping[ServiceOrder, str]
    patience: str
    pushes_out: bool
    phases: bool

    @property
    def holds(self) -> str:
        """What a program of it has."""
        orders = " or ".join(order.value for order in self.orders)
        more = [f"obsolescence by {self.patience}"] + ["push-out"] * self.pushes_out
        parts = ", ".join(["waiting places", "servers", orders, *more])
        return f"robots that are always active and a buffer with {parts}, and nothing else"


_ENVIRONMENT = Environment(
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
)

_BY_DRAWS = f"all laws that come with crawlsim, with at most {laws.MOST_NUMBERS} numbers"
_OLDEST, _NEWEST = ServiceOrder.OLDEST_FIRST, ServiceOrder.NEWEST_FIRST

TARGETS: Mapping[str, Target] = {
    "line": Target(
        tool="LINE",
        laws=laws.LINE,
        times="exponential, erlang, hyperexponential, phase-type, and with one server "
        "deterministic and gamma services",
        orders={_OLDEST: "FCFS", _NEWEST: "LCFS"},
        patience="an exponential law",
        pushes_out=False,
        phases=True,
    ),
    "ciw": Target(
        tool="Ciw",
        laws=laws.CIW,
        times=f"{_BY_DRAWS}, but pareto, map and mmpp",
        orders={_OLDEST: "FIFO", _NEWEST: "LIFO"},
        patience="a law",
        pushes_out=False,
        phases=False,
    ),
    "simpy": Target(
        tool="SimPy",
        laws=laws.SIMPY,
        times=_BY_DRAWS,
        orders={_OLDEST: "Resource", _NEWEST: "PriorityResource"},
        patience="a law",
        pushes_out=True,
        phases=True,
    ),
}
"""The tools, by the word of ``--to``."""


def program_text(scenario: Scenario, to: str) -> str:
    """The program.

    Parameters
    ----------
    scenario : Scenario
        With everything decided.
    to : {"line", "ciw", "simpy"}

    Raises
    ------
    ScenarioError
        Of the first key that the tool cannot express, with what it can.
    """
    if to not in TARGETS:
        raise ScenarioError("to", to, f"must be {one_of(to, TARGETS)}")
    target = TARGETS[to]
    for key, value in _beyond(scenario, target):
        allowed = f"{target.tool} cannot say it in such a program, which has {target.holds}"
        raise ScenarioError(key, value, allowed)
    fleet, queue = present(scenario.model.fleet), present(scenario.model.queue)
    rule = scenario.activation
    active = fleet.in_order[: rule.robots if isinstance(rule, Static) else None]
    if not active:
        raise ScenarioError("activation.static", 0, "without robots there is nothing to write")
    written = _of_line if to == "line" else _drawn
    runs = max(scenario.run.replications, 2)
    template = files("crawlsim.exports").joinpath(f"{to}.py.jinja").read_text(encoding="utf-8")
    return _ENVIRONMENT.from_string(template).render(
        name=scenario.name,
        version=version("crawlsim"),
        queue=queue,
        order=target.orders[queue.discipline.order],
        run=scenario.run,
        replications=runs,
        student=round(float(special.stdtrit(runs - 1, 0.975)), 4),
        **written(target, scenario, active),
    )


def _beyond(scenario: Scenario, target: Target) -> Iterator[tuple[str, Any]]:
    """The keys that a program does not hold, and their values where they are words."""
    for prefix, held in _HELD.items():
        section = getattr(scenario, prefix[:-1]) if prefix else scenario
        if section is None:
            yield prefix[:-1], MISSING
            return
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            if key not in held.split() and value not in (field.get_default(), None):
                yield prefix + key, value if isinstance(value, str | bool) else MISSING
    rule, queue = scenario.activation, present(scenario.model.queue)
    if rule is not None and not isinstance(rule, Static):
        yield f"activation.{rule.key}", MISSING
    if queue.discipline.order not in target.orders:
        yield "buffer.discipline", queue.discipline.order.value
    if queue.discipline.pushes_out_oldest and not target.pushes_out:
        yield "buffer.when_full", "push-out"


def _law(target: Target, gaps: Gaps, key: str, writers: laws.Writers | None = None) -> str:
    """A law in the words of the tool, or a process, in those of SimPy."""
    if isinstance(gaps, Mmpp | Map):
        known = target.phases and present(gap_order(gaps)) ** 2 <= laws.MOST_NUMBERS
        text = f"markovian({laws.gaps_text(*present(gap_map(gaps)))})" if known else None
    else:
        text = laws.written(gaps, writers or target.laws)
    if text is None:
        raise ScenarioError(key, MISSING, f"{gaps.key}: {target.tool} takes {target.times}")
    return text


def _drawn(target: Target, scenario: Scenario, active: Sequence[int]) -> dict[str, Any]:
    """The parts of a program that simulates."""
    fleet, queue = present(scenario.model.fleet), present(scenario.model.queue)
    service: Distribution = queue.service  # type: ignore[assignment]  # there is no [pages]
    return {
        "robots": [
            (_law(target, fleet.classes[number].gaps, _key(fleet, number)), active.count(number))
            for number in sorted(set(active))
        ],
        "service": _law(target, service, "buffer.service"),
        "patience": queue.timer and _law(target, queue.timer, "buffer.obsolescence"),
    }


def _of_line(target: Target, scenario: Scenario, active: Sequence[int]) -> dict[str, Any]:
    """The parts of a program that solves: the deliveries of all robots together, and the service.

    A service without phases goes to the function of LINE that has one server.
    """
    fleet, queue = present(scenario.model.fleet), present(scenario.model.queue)
    service: Distribution = queue.service  # type: ignore[assignment]  # there is no [pages]
    patience_rate = None if queue.timer is None else exponential_rate(queue.timer)
    if queue.timer is not None and patience_rate is None:
        allowed = f"{queue.timer.key}: LINE's CTMC is right for exponential times alone"
        raise ScenarioError("buffer.obsolescence", MISSING, allowed)
    named = laws.written(service, laws.LINE_WITHOUT_PHASES) is not None
    plain = named and queue.servers == 1 and queue.timer is None
    orders = {number: gap_order(fleet.classes[number].gaps) for number in set(active)}
    for number in (number for number, order in orders.items() if order is None):
        _law(target, fleet.classes[number].gaps, _key(fleet, number))  # refuses it
    try:
        few = joint_order(fleet, [len(active)]) <= _MOST_PHASES
    except NoAnswerError:
        few = False
    if not few:
        allowed = f"a program of LINE has at most {_MOST_PHASES} phases of all robots together"
        raise ScenarioError(_key(fleet, active[0]), MISSING, allowed)
    D0, D1 = delivery_modes(fleet, [len(active)])[-1]
    joint = laws.gaps_text(D0, D1)
    law = fleet.classes[active[0]].law
    arrivals = laws.written(law, laws.LINE) if law is not None and len(active) == 1 else None
    if len(D0) == 1:
        arrivals = f"Exp({float(D1[0, 0])!r})"
    writers = laws.LINE_WITHOUT_PHASES if plain else laws.LINE
    return {
        "plain": plain,
        "patience": patience_rate and f"Exp({patience_rate!r})",
        "patience_rate": patience_rate,
        "mean_service": mean_time(service),
        "service": _law(target, service, "buffer.service", writers),
        "arrivals": arrivals or f"MAP({joint})",
        "joint": joint,
    }


def _key(fleet: Fleet, number: int) -> str:
    """The key of the access times of a class of robots."""
    alike = len(fleet.classes) == 1
    return "robots.access_time" if alike else f"robots.classes.{number}.access_time"
