"""Open-loop routing to servers without buffers: formulas, engine, and the one against the other.

The exact tests need no sampling. The statistical ones have a false-alarm probability of 1e-3 per
family (Holm) and fixed seeds; each says, by its verdict, that an error of 2 % in any judged number
would have been seen with probability 0.95.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import dblquad
from scipy.linalg import expm
from scipy.stats import gamma

import sim
from analytic import compare, overall, predict
from analytic.machinery.arrival_process import embedded_period, gap_map, interval_phases
from analytic.machinery.phase_type import PhaseLaw, as_phase_type
from analytic.machinery.transforms import transform
from analytic.routing import (
    average_loss,
    cyclic_distances,
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    primitive_length,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
    server_losses,
)
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
    Uniform,
)
from scenarios.model import gaps_of
from scenarios.processes import Map, Mmpp, Poisson, Renewal
from sim.servers import ParallelServers
from sim.tally import ConservationError, ServersTally

MAP2 = Map(D0=((-3.0, 0.5), (0.2, -1.0)), D1=((0.5, 2.0), (0.6, 0.2)))
MMPP2 = Mmpp(Q=((-0.2, 0.2), (0.3, -0.3)), rates=(0.5, 3.0))
MAP3 = Map(
    D0=((-4.0, 1.0, 0.0), (0.0, -2.0, 0.5), (0.1, 0.0, -0.6)),
    D1=((2.0, 0.5, 0.5), (1.0, 0.5, 0.0), (0.0, 0.3, 0.2)),
)
IN_TURN = Map(  # three phases in a circle, an arrival at each step
    D0=((-1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.0, 0.0, -4.0)),
    D1=((0.0, 1.0, 0.0), (0.0, 0.0, 2.0), (4.0, 0.0, 0.0)),
)
ERLANG = Erlang(shape=2, mean=1.0)
H2 = Hyperexponential(probabilities=(0.9, 0.1), rates=(2.0, 0.2))


def phases(law: Distribution) -> PhaseLaw:
    found = as_phase_type(law)
    assert found is not None
    return found


def matrices(arrivals: Any) -> tuple[np.ndarray, np.ndarray]:
    found = gap_map(gaps_of(arrivals))
    assert found is not None
    return found


# --- words ------------------------------------------------------------------------------------

WORDS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@given(WORDS)
def test_distances_by_looking_ahead(word: list[int]) -> None:
    for place, server in enumerate(word):
        ahead = next(n for n in itertools.count(1) if word[(place + n) % len(word)] == server)
        own = [index for index, other in enumerate(word) if other == server]
        assert cyclic_distances(word)[server][own.index(place)] == ahead
    assert all(sum(own) == len(word) for own in cyclic_distances(word).values())


@given(WORDS)
def test_equation_6_is_the_mean_over_packets(word: list[int]) -> None:
    """Packet by packet over the period, f_m(n) = (m + 2)^-n."""
    each = []
    for place, server in enumerate(word):
        ahead = next(n for n in itertools.count(1) if word[(place + n) % len(word)] == server)
        each.append((server + 2.0) ** -ahead)
    loss = lambda server, n: (server + 2.0) ** -n  # noqa: E731  # f_m(n), as in the paper
    assert average_loss(word, loss) == pytest.approx(sum(each) / len(word), rel=1e-12)
    for server, mean in server_losses(word, loss).items():
        own = [value for value, other in zip(each, word, strict=True) if other == server]
        assert mean == pytest.approx(sum(own) / len(own), rel=1e-12)


def test_primitive_length() -> None:
    assert [primitive_length(w) for w in ([0], [1, 1], [0, 1, 0, 1], [0, 1, 1], [0, 0, 1, 0])] == [
        1, 1, 2, 3, 4,
    ]  # fmt: skip


# --- numbers of another program (docs/derivations.md, at the end) -------------------------------

_P = (1 + math.sqrt(3 / 5)) / 2
GAPS: dict[str, Distribution] = {
    "exp": Exponential(mean=1.0),
    "det": Deterministic(value=1.0),
    "H2": Hyperexponential(probabilities=(_P, 1 - _P), rates=(2 * _P, 2 * (1 - _P))),
}


@pytest.mark.parametrize(
    ("gaps", "rates", "word", "expected"),
    [
        ("exp", (1, 2), "12", 0.18055556),
        ("exp", (1, 4), "122", 0.12166667),
        ("exp", (0.2, 1), "12222", 0.43037551),
        ("exp", (1, 1, 2), "1323", 0.08680556),
        ("exp", (1, 2, 3), "1323", 0.04996142),
        ("exp", (0.1, 0.3, 1), "132333233323", 0.36408452),
        ("exp", (1, 2, 3, 4), "134234", 0.01070779),
        ("exp", (0.1, 0.2, 0.4, 0.8), "143424342434", 0.30551903),
        ("det", (1, 1, 2), "1323", 0.01831564),
        ("det", (1, 2, 3), "132323", 0.00476102),
        ("H2", (1, 2, 3), "1323", 0.09537450),
    ],
)
def test_published_words(gaps: str, rates: tuple[float, ...], word: str, expected: float) -> None:
    """The optimum's loss at the optimum's word."""
    missed = [float(transform(GAPS[gaps], rate)) for rate in rates]
    found = average_loss([int(c) - 1 for c in word], lambda m, n: missed[m] ** n)
    assert found == pytest.approx(expected, abs=6e-9)


@pytest.mark.parametrize(
    ("n", "breakpoint_"), [(2, 1 + math.sqrt(2)), (3, 4.8532998323), (4, 9.1407350340)]
)
def test_breakpoints_of_figure_1(n: int, breakpoint_: float) -> None:
    """At mu_2(n) the words (1, 2^(n-1)) and (1, 2^n) lose the same, and nowhere near it."""

    def difference(rate: float) -> float:
        missed = [0.5, 1 / (1 + rate)]
        shorter, longer = ([0] + [1] * (size - 1) for size in (n, n + 1))
        loss = lambda m, k: missed[m] ** k  # noqa: E731  # f_m(n), as in the paper
        return average_loss(shorter, loss) - average_loss(longer, loss)

    assert difference(breakpoint_) == pytest.approx(0.0, abs=1e-11)
    assert difference(breakpoint_ - 0.01) < 0 < difference(breakpoint_ + 0.01)


def test_the_best_random_routing_of_two_servers_loses_a_quarter() -> None:
    """Exponential gaps, rates 1, 2, p ~ 1/h - 1: coffman1998 (11) is 2.25, a loss of 0.25."""
    arrivals = Poisson(rate=1.0)
    shares = (1 / 3, 2 / 3)
    laws = [phases(Exponential(rate=rate)) for rate in (1.0, 2.0)]
    losses = [p * random_loss(arrivals, law, p) for p, law in zip(shares, laws, strict=True)]
    assert sum(losses) == pytest.approx(0.25, rel=1e-12)


# --- f_m(n) against oracles ---------------------------------------------------------------------


def loss_by_counting(arrivals: Any, law: Distribution, n: int) -> float:
    """P(S > X_n): arrivals counted up to n in the states of one absorbing chain."""
    hidden, marked = matrices(arrivals)
    service = phases(law)
    order = len(hidden)
    size = len(service.start)
    block = np.kron(hidden, np.eye(size)) + np.kron(np.eye(order), service.generator)
    count = np.kron(marked, np.eye(size))
    width = order * size
    chain = np.zeros((n * width, n * width))
    reach = np.zeros(n * width)
    for k in range(n):
        here = slice(k * width, (k + 1) * width)
        chain[here, here] = block
        if k + 1 < n:
            chain[here, (k + 1) * width : (k + 2) * width] = count
        else:
            reach[here] = count.sum(axis=1)
    start = np.zeros(n * width)
    start[:width] = np.kron(after_an_arrival(hidden, marked), service.start)
    return float(start @ np.linalg.solve(-chain, reach))


def after_an_arrival(hidden: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """Fixed point of the embedded chain ``(-C)^-1 D``, by least squares."""
    step = np.linalg.solve(-hidden, marked)
    system = np.vstack([step.T - np.eye(len(step)), np.ones(len(step))])
    return np.linalg.lstsq(system, np.eye(len(step) + 1)[-1], rcond=None)[0]


@pytest.mark.parametrize("arrivals", [Poisson(rate=1.5), MMPP2, MAP2, MAP3, IN_TURN], ids=str)
def test_losses_of_markovian_arrivals(arrivals: Any) -> None:
    hidden, marked = matrices(arrivals)
    assert interval_phases(hidden, marked) == pytest.approx(after_an_arrival(hidden, marked))
    for n in (1, 2, 5):
        expected = loss_by_counting(arrivals, Exponential(rate=0.8), n)
        assert map_loss(hidden, marked, 0.8, n) == pytest.approx(expected, rel=1e-12)
        for law in (ERLANG, H2, PhaseType(alpha=(0.5, 0.5), T=((-2.0, 1.0), (0.5, -1.5)))):
            expected = loss_by_counting(arrivals, law, n)
            assert phase_type_loss(arrivals, phases(law), n) == pytest.approx(expected, rel=1e-12)


def test_losses_of_uniform_gaps_by_integration() -> None:
    """E e^(-mu (tau_1 + tau_2)) and P(Erlang > tau_1 + tau_2) over the square of two gaps."""
    low = 0.3
    high = 1.4
    arrivals = Renewal(Uniform(low=low, high=high))

    def over_the_square(survival: Any) -> float:
        value, _ = dblquad(lambda x, y: float(survival(x + y)), low, high, low, high)
        return float(value / (high - low) ** 2)

    h = transform(arrivals.gap, 0.8)
    assert renewal_loss(h, 2) == pytest.approx(over_the_square(lambda t: math.exp(-0.8 * t)))
    expected = over_the_square(lambda t: gamma.sf(t, 2, scale=0.5))
    assert phase_type_loss(arrivals, phases(ERLANG), 2) == pytest.approx(expected, rel=1e-9)


def test_losses_of_constant_gaps() -> None:
    for n in (1, 3):
        law = phases(PhaseType(alpha=(0.5, 0.5), T=((-2.0, 1.0), (0.5, -1.5))))
        direct = law.start @ expm(law.generator * 0.4 * n) @ np.ones(2)
        found = phase_type_loss(Renewal(Deterministic(value=0.4)), law, n)
        assert found == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(
    "arrivals",
    [Poisson(rate=1.5), Renewal(Gamma(shape=0.5, mean=1.0)), Renewal(H2), MMPP2, MAP3],
    ids=str,
)
def test_an_exponential_service_is_a_phase_type_service(arrivals: Any) -> None:
    one = phases(Exponential(rate=0.7))
    if isinstance(arrivals, Mmpp | Map):
        known = map_loss(*matrices(arrivals), 0.7, [1, 4])
    else:
        law = Exponential(rate=1.5) if isinstance(arrivals, Poisson) else arrivals.gap
        known = renewal_loss(transform(law, 0.7), [1, 4])
    assert phase_type_loss(arrivals, one, [1, 4]) == pytest.approx(known, rel=1e-11)


def test_matrices_may_be_lists() -> None:
    hidden, marked = matrices(MAP3)
    expected = map_loss(hidden, marked, 0.7, [1, 4]).tolist()
    assert map_loss(hidden.tolist(), marked.tolist(), 0.7, [1, 4]).tolist() == expected
    law = phases(Erlang(shape=2, mean=1.0))
    listed = PhaseLaw(law.start.tolist(), law.generator.tolist())
    assert phase_type_loss(MAP3, listed, [2]).tolist() == phase_type_loss(MAP3, law, [2]).tolist()
    assert random_loss(MAP3, listed, 0.4) == random_loss(MAP3, law, 0.4)
    busy = non_preemptive_loss(MAP3, law, [1, 2])
    assert non_preemptive_loss(MAP3, listed, [1, 2]) == busy
    random = random_non_preemptive_loss(MAP3, law, 0.4)
    assert random_non_preemptive_loss(MAP3, listed, 0.4) == random


@pytest.mark.parametrize("arrivals", [Poisson(rate=1.5), MMPP2, MAP2, MAP3], ids=str)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_second_difference(arrivals: Any, n: int) -> None:
    """f(n-1) - 2f(n) + f(n+1) is a mean of products of non-negative numbers.

    ``E[e^(-mu (tau_2 + … + tau_n)) (1 - e^(-mu tau_1)) (1 - e^(-mu tau_(n+1)))]``.
    """
    hidden, marked = matrices(arrivals)
    rate = 0.8
    size = len(hidden)
    whole = np.linalg.solve(-hidden, marked)
    kept = np.linalg.solve(rate * np.eye(size) - hidden, marked)
    middle = np.linalg.matrix_power(kept, n - 1)
    start = after_an_arrival(hidden, marked)
    identity = float(start @ (whole - kept) @ middle @ (whole - kept) @ np.ones(size))
    before = 1.0 if n == 1 else float(map_loss(hidden, marked, rate, n - 1))
    now, after = map_loss(hidden, marked, rate, [n, n + 1])
    assert identity > 0
    assert before - 2 * now + after == pytest.approx(identity, rel=1e-9)


def test_erlang_losses_are_not_convex() -> None:
    """With Erlang-2 services f(1) - 2 f(2) + f(3) < 0 is possible (docs/derivations.md)."""
    f = phase_type_loss(Renewal(Deterministic(value=0.1)), phases(ERLANG), [1, 2, 3])
    assert f[0] - 2 * f[1] + f[2] < 0


@pytest.mark.parametrize("law", [Exponential(rate=0.7), ERLANG, H2], ids=str)
@pytest.mark.parametrize(
    "arrivals", [Poisson(rate=1.5), Renewal(Uniform(low=0.2, high=1.0)), MMPP2, MAP3], ids=str
)
def test_random_routing_is_a_mixture(arrivals: Any, law: Distribution) -> None:
    """sum p (1 - p)^(n - 1) f(n), cut where (1 - p)^n < 1e-13."""
    p = 0.3
    n = np.arange(1, 85)
    mixed = p * (1 - p) ** (n - 1) @ phase_type_loss(arrivals, phases(law), n)
    assert random_loss(arrivals, phases(law), p) == pytest.approx(mixed, rel=1e-11)


# --- the whole system as one chain ---------------------------------------------------------------

State = tuple[int, int, tuple[int, ...]]
FREE = -1


class WholeSystem:
    """Phases of the arrivals, place in the period and every server's phase: one dense chain.

    `routes[k]` holds the probabilities of the servers of the packet at place k.
    """

    def __init__(
        self, arrivals: Any, laws: Sequence[Distribution], routes: Any, preemptive: bool
    ) -> None:
        self.hidden, self.marked = matrices(arrivals)
        self.services = [phases(law) for law in laws]
        self.routes = routes
        self.preemptive = preemptive
        inner = [range(-1, len(law.start)) for law in self.services]
        self.states: list[State] = [
            (phase, place, servers)
            for phase in range(len(self.hidden))
            for place in range(len(routes))
            for servers in itertools.product(*inner)
        ]

    def losses(self) -> tuple[list[float], float]:
        """Fraction lost of each server's and of all packets."""
        index = {state: number for number, state in enumerate(self.states)}
        size = len(self.states)
        servers = len(self.services)
        rates = np.zeros((size, size))
        sent = np.zeros(servers)
        lost = np.zeros(servers)
        flows = []
        for state in self.states:
            for after, rate, server, is_lost in self.moves(state):
                rates[index[state], index[after]] += rate
                if server is not None:
                    flows.append((index[state], rate, server, is_lost))
        generator = rates - np.diag(rates.sum(axis=1))
        system = np.vstack([generator.T, np.ones(size)])
        law = np.linalg.lstsq(system, np.eye(size + 1)[-1], rcond=None)[0]
        for number, rate, server, is_lost in flows:
            sent[server] += law[number] * rate
            lost[server] += law[number] * rate * is_lost
        return list(lost / sent), float(lost.sum() / sent.sum())

    def moves(self, state: State) -> Any:
        phase, place, busy = state
        for other in range(len(self.hidden)):
            if other != phase:
                yield (other, place, busy), self.hidden[phase, other], None, False
            for server, p in enumerate(self.routes[place]):
                rate = p * self.marked[phase, other]
                if rate:
                    yield from self.arrival((other, place, busy), rate, server)
        for server, now in enumerate(busy):
            if now != FREE:
                law = self.services[server]
                for other, rate in enumerate(law.generator[now]):
                    if other != now:
                        yield (phase, place, changed(busy, server, other)), rate, None, False
                end = (phase, place, changed(busy, server, FREE))
                yield end, law.exit_rates[now], None, False

    def arrival(self, state: State, rate: float, server: int) -> Any:
        phase, place, busy = state
        following = (place + 1) % len(self.routes)
        was_busy = busy[server] != FREE
        if was_busy and not self.preemptive:
            yield (phase, following, busy), rate, server, True
            return
        for first, p in enumerate(self.services[server].start):
            yield (phase, following, changed(busy, server, first)), rate * p, server, was_busy


def changed(busy: tuple[int, ...], server: int, phase: int) -> tuple[int, ...]:
    return (*busy[:server], phase, *busy[server + 1 :])


SYSTEMS: dict[str, dict[str, Any]] = {
    "in-turn": {"arrivals": MAP2, "word": [0, 1, 1], "laws": [ERLANG, H2]},
    "uneven": {"arrivals": MMPP2, "word": [0, 1, 0, 0, 1], "laws": [H2, ERLANG]},
    "mixed": {"arrivals": MAP3, "word": [0, 1], "laws": [Exponential(rate=0.5), ERLANG]},
    "erlang-gaps": {"arrivals": Renewal(ERLANG), "word": [1, 0, 1], "laws": [ERLANG, H2]},
    "drawn": {"arrivals": MAP2, "random": [0.3, 0.7], "laws": [ERLANG, H2]},
    "drawn-renewal": {"arrivals": Renewal(H2), "random": [0.6, 0.4], "laws": [ERLANG, ERLANG]},
    "exponential": {
        "arrivals": MAP3,
        "word": [0, 1, 1, 0, 1],
        "laws": [Exponential(rate=0.5), Exponential(rate=2.0)],
    },
}


def as_entry(part: Any) -> dict[str, Any]:
    inner = part.model_dump(mode="json", exclude_none=True)
    return {part.key: inner}


def scenario_of(system: dict[str, Any], discipline: str, **run: Any) -> Scenario:
    word = "word" in system
    routing = {"period": system["word"]} if word else {"random": system["random"]}
    return scenario_from(
        {
            "name": "servers",
            "servers": {
                "service": [as_entry(law) for law in system["laws"]],
                "arrivals": as_entry(system["arrivals"]),
                "routing": routing,
                "discipline": discipline,
            },
            "run": {"horizon": 100.0, "warmup": 0.0, "replications": 2} | run,
        }
    )


def predicted(scenario: Scenario) -> dict[Any, float]:
    each = [p for p in predict(scenario)[0] if p.kind == "exact"]
    found = [p for p in each if p.measure == "preemption_probability"]
    values = {p.subject: p.value for p in found}
    assert len(values) == len(found), "two formulas give the same number"
    return values


@pytest.mark.parametrize("discipline", ["preemptive", "non-preemptive"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_formulas_solve_the_whole_system(name: str, discipline: str) -> None:
    system = SYSTEMS[name]
    drawn = [system["random"]] if "random" in system else np.eye(2)[system["word"]]
    whole = WholeSystem(system["arrivals"], system["laws"], drawn, discipline == "preemptive")
    each, total = whole.losses()
    found = predicted(scenario_of(system, discipline))
    assert found == pytest.approx({0: each[0], 1: each[1], "all": total}, rel=1e-9)


@settings(max_examples=examples(25))
@given(
    arrivals=st.sampled_from([Poisson(rate=1.5), Renewal(Deterministic(value=0.6)), MMPP2, MAP3]),
    rate=st.floats(0.05, 20.0),
    distances=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_disciplines_are_alike_for_exponential_services(
    arrivals: Any, rate: float, distances: list[int]
) -> None:
    law = phases(Exponential(rate=rate))
    preemptive = phase_type_loss(arrivals, law, distances).mean()
    found = non_preemptive_loss(arrivals, law, distances)
    assert found == pytest.approx(preemptive, rel=1e-9)
    drawn = random_non_preemptive_loss(arrivals, law, 0.4)
    assert drawn == pytest.approx(random_loss(arrivals, law, 0.4), rel=1e-9)


@pytest.mark.parametrize("law", [ERLANG, H2], ids=str)
@pytest.mark.parametrize(
    "gap", [Deterministic(value=0.6), Uniform(low=0.2, high=1.0), Gamma(shape=0.5, mean=0.7)]
)
def test_turning_away_by_renewal(gap: Distribution, law: Distribution) -> None:
    """With equal distances and independent gaps an accepted packet begins anew.

    It costs ``L = sum_j P(S > X_(j delta))`` packets on average, so L / (1 + L) are lost.
    """
    arrivals = Renewal(gap)
    service = phases(law)
    lost = phase_type_loss(arrivals, service, 2 * np.arange(1, 400)).sum()
    found = non_preemptive_loss(arrivals, service, [2])
    assert found == pytest.approx(lost / (1 + lost), rel=1e-10)


# --- conditions ---------------------------------------------------------------------------------


def reasons(scenario: Scenario) -> list[str]:
    predictions, others = predict(scenario)
    assert not predictions
    own = (each.reason for each in others if each.source.startswith("altman2000"))
    kinds = ("there are no [pages]", "packets have no costs")
    return [reason for reason in own if not any(kind in reason for kind in kinds)]


def test_what_has_no_phases_is_refused_by_server() -> None:
    laws = [ERLANG, Uniform(low=0.5, high=1.0)]
    system = {"arrivals": MAP2, "word": [0, 1], "laws": laws}
    for discipline in ("preemptive", "non-preemptive"):
        found = reasons(scenario_of(system, discipline))
        assert "the service of server 1 is not of phase type (uniform)" in found
    unused = scenario_of(system | {"word": [0]}, "preemptive")
    assert set(predicted(unused)) == {0, "all"}


def test_a_routing_still_to_be_found_is_refused_on_both_sides() -> None:
    scenario = scenario_of(SYSTEMS["in-turn"], "preemptive").with_("servers.routing", "optimal")
    assert set(reasons(scenario)) == {"the routing is still to be optimised"}
    with pytest.raises(ScenarioError, match=r"servers\.routing"):
        sim.run(scenario)


def test_too_many_phases_are_refused_before_they_are_built() -> None:
    system = {"arrivals": MAP2, "word": [0], "laws": [Erlang(shape=10**6, mean=1.0)]}
    found = reasons(scenario_of(system, "preemptive"))
    assert any("joint phases at server 0" in reason for reason in found)


def test_too_many_observed_gaps_are_refused_unless_services_are_exponential() -> None:
    gaps = Renewal(Empirical(values=tuple(1 + i / 8 for i in range(10_000))))
    found = reasons(scenario_of({"arrivals": gaps, "word": [0], "laws": [ERLANG]}, "preemptive"))
    assert "3 joint phases for each of 10000 observed gaps" in found
    exponential = {"arrivals": gaps, "word": [0], "laws": [Exponential(rate=1e-3)]}
    direct = np.mean(np.exp(-1e-3 * np.array(gaps.gap.observations)))
    assert predicted(scenario_of(exponential, "preemptive"))[0] == pytest.approx(direct)


def test_arrivals_that_remember_their_start_are_refused() -> None:
    parts = Map(D0=((-1.0, 0.0), (0.0, -2.0)), D1=((1.0, 0.0), (0.0, 2.0)))
    found = reasons(scenario_of({"arrivals": parts, "word": [0], "laws": [H2]}, "preemptive"))
    assert "the arrivals have 2 closed classes of phases" in found


@pytest.mark.parametrize(
    ("word", "locks"),
    [([0, 1, 1], True), ([0, 1, 1, 0, 1, 1], True), ([0, 1, 1, 1], False), ([0, 0, 0], False)],
)
@pytest.mark.parametrize("law", [Exponential(rate=1.0), ERLANG], ids=str)
@pytest.mark.parametrize("discipline", ["preemptive", "non-preemptive"])
def test_periods_that_lock_are_refused(
    word: list[int], locks: bool, law: Distribution, discipline: str
) -> None:
    scenario = scenario_of({"arrivals": IN_TURN, "word": word, "laws": [law] * 2}, discipline)
    if locks:
        assert any("arrivals of period 3 and a routing of period 3" in r for r in reasons(scenario))
    else:
        assert predicted(scenario)


@pytest.mark.statistical
def test_locked_runs_differ_by_their_start() -> None:
    """Twelve runs of seed 1 fall into three groups: 0.333, 0.361, 0.417 of server 1's packets.

    Each run's standard deviation is below 0.009; runs that forget their start would lie within
    0.05 of each other but for a probability of 1e-3.
    """
    system = {"arrivals": IN_TURN, "word": [0, 1, 1], "laws": [Exponential(rate=2.0)] * 2}
    scenario = scenario_of(system, "preemptive", horizon=3000.0, replications=12)
    values = sim.run(scenario).replications["preemption_probability", 1]
    assert max(values) - min(values) > 0.05


def test_embedded_period() -> None:
    assert embedded_period(*matrices(IN_TURN)) == 3
    assert [embedded_period(*matrices(each)) for each in (MAP2, MMPP2, Poisson(rate=1.0))] == [
        1
    ] * 3
    entered = np.zeros((4, 4))  # a phase that is left for good, before the circle
    entered[:3, :3] = np.array(IN_TURN.D1)
    entered[3, :3] = [0.5, 0.0, 0.0]
    hidden = -np.diag(entered.sum(axis=1))
    assert embedded_period(hidden, entered) == 3
    hidden[0, 1], hidden[0, 0] = 1.0, -2.0  # a step without an arrival breaks the circle
    assert embedded_period(hidden, entered) == 1


# --- the engine on a path by hand ---------------------------------------------------------------


class Path:
    """An event log that keeps its rows without the number of the replication."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        self.rows.append(row[1:6])


def constant_path(discipline: str) -> tuple[list[tuple[Any, ...]], ServersTally]:
    """Packets at 1, 2, … to servers 0, 0, 1 in turn, whose services take 1.5 and 3."""
    laws = [Deterministic(value=1.5), Deterministic(value=3.0)]
    gaps = Renewal(Deterministic(value=1.0))
    system = {"arrivals": gaps, "word": [0, 0, 1], "laws": laws}
    scenario = scenario_of(system, discipline, horizon=6.0, warmup=1.0)
    path = Path()
    tally = ParallelServers(scenario, 0, 1, path).run()  # type: ignore[arg-type]  # a log to read
    assert tally.servers is not None
    assert tally.window == 5.0
    return path.rows, tally.servers


def test_preemptive_by_hand() -> None:
    """(time, event, server, packet, busy servers); at 6 the service of packet 2 ends first."""
    rows, counted = constant_path("preemptive")
    assert rows == [
        (1.0, "arrival", 0, 0, 1),
        (2.0, "arrival", 0, 1, 1),
        (2.0, "loss", 0, 0, 1),
        (3.0, "arrival", 1, 2, 2),
        (3.5, "service", 0, 1, 1),
        (4.0, "arrival", 0, 3, 2),
        (5.0, "arrival", 0, 4, 2),
        (5.0, "loss", 0, 3, 2),
        (6.0, "service", 1, 2, 1),
        (6.0, "arrival", 1, 5, 2),
    ]
    assert counted == ServersTally(
        arrived=(3, 2),
        lost=(2, 0),
        served=(1, 1),
        inside_at_start=(1, 0),  # the arrival at the warm-up comes before the cut
        inside_at_end=(1, 1),
        busy_time=(4.5, 3.0),
        spaced=(3, 1),  # the first packet of server 1 comes in the window
        spacing_cost=(0.0, 0.0),
        places=(0, 0),
    )


def test_non_preemptive_by_hand() -> None:
    rows, counted = constant_path("non-preemptive")
    assert rows == [
        (1.0, "arrival", 0, 0, 1),
        (2.0, "arrival", 0, 1, 1),
        (2.0, "loss", 0, 1, 1),
        (2.5, "service", 0, 0, 0),
        (3.0, "arrival", 1, 2, 1),
        (4.0, "arrival", 0, 3, 2),
        (5.0, "arrival", 0, 4, 2),
        (5.0, "loss", 0, 4, 2),
        (5.5, "service", 0, 3, 1),
        (6.0, "service", 1, 2, 0),
        (6.0, "arrival", 1, 5, 1),
    ]
    assert counted == ServersTally(
        arrived=(3, 2),
        lost=(2, 0),
        served=(2, 1),
        inside_at_start=(1, 0),
        inside_at_end=(0, 1),
        busy_time=(3.0, 3.0),
        spaced=(3, 1),
        spacing_cost=(0.0, 0.0),
        places=(0, 0),
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"served": (0, 1)}, "server 0: 4 packets came, 3 accounted for"),
        ({"lost": (2, 1)}, "server 1: 2 packets came, 3 accounted for"),
        ({"arrived": (4, 2), "inside_at_start": (0, 0)}, ""),
        ({"inside_at_end": (2, 1), "lost": (1, 0)}, "server 0 holds 2 packets"),
        ({"busy_time": (5.1, 3.0)}, "longer than the window"),
        ({"busy_time": (5.0 * (1 + 1e-9) + 3 * 6.0 * 2.0**-50, 3.0)}, ""),
        ({"busy_time": (-0.1, 3.0)}, "negative time"),
    ],
)
def test_conservation_can_fail(error: dict[str, Any], message: str) -> None:
    _, honest = constant_path("preemptive")
    wrong = dataclasses.replace(honest, **error)
    if not message:
        wrong.check(5.0, 6.0)
        return
    with pytest.raises(ConservationError, match=message):
        wrong.check(5.0, 6.0)


def test_estimates_of_a_path_by_hand() -> None:
    laws = [Deterministic(value=1.5), Deterministic(value=3.0)]
    system = {"arrivals": Renewal(Deterministic(value=1.0)), "word": [0, 0, 1], "laws": laws * 2}
    scenario = scenario_of(system, "preemptive", horizon=6.0, warmup=1.0)
    found = sim.run(scenario.with_("costs.loss", 10.0))
    each = {(row.measure, row.subject): row.estimate for row in found.estimates}
    assert math.isnan(each.pop(("preemption_probability", 2)))
    assert math.isnan(each.pop(("preemption_probability", 3)))
    assert each == pytest.approx(
        {
            ("preemption_probability", 0): 2 / 3,
            ("preemption_probability", 1): 0.0,
            ("preemption_probability", "all"): 0.5,
            ("arrival_rate", None): 1.0,
            ("loss_rate", None): 0.4,
            ("throughput", None): 0.4,
            ("control_cost", None): 4.0,
        }
    )
    assert found.events == 2  # one packet ended at server 1 in each of two replications


# --- the engine against the formulas ------------------------------------------------------------

JUDGED = ("preemption_probability",)
ARRIVALS: dict[str, Any] = {
    "poisson": Poisson(rate=2.0),
    "constant": Renewal(Deterministic(value=0.5)),
    "gamma": Renewal(Gamma(shape=0.7, mean=0.5)),
    "mmpp": Mmpp(Q=((-0.6, 0.6), (0.9, -0.9)), rates=(1.0, 4.0)),
    "map": MAP3,
}
SLOW = [Exponential(rate=0.3), Erlang(shape=2, mean=2.0)]


@cache
def simulated(arrivals: str, discipline: str) -> Any:
    scenario = slow_servers(arrivals, discipline)
    return scenario, sim.run(scenario)


def slow_servers(arrivals: str, discipline: str) -> Scenario:
    system = {"arrivals": ARRIVALS[arrivals], "word": [0, 1, 1, 0, 1], "laws": SLOW}
    horizon = 18000.0 if arrivals == "map" else 8000.0  # half as many packets per unit time
    run = {"horizon": horizon, "warmup": 20.0, "replications": 20, "seed": 3}
    return scenario_of(system, discipline, **run)


@pytest.mark.statistical
@pytest.mark.parametrize("discipline", ["preemptive", "non-preemptive"])
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_every_kind_of_arrivals_agrees(arrivals: str, discipline: str) -> None:
    scenario, found = simulated(arrivals, discipline)
    rows = compare(predict(scenario)[0], found, JUDGED)
    judged = [row for row in rows if row.measure in JUDGED]
    assert {row.verdict for row in judged} == {"agrees"}
    assert {row.subject for row in judged} == {0, 1, "all"}


@pytest.mark.statistical
def test_random_routing_agrees() -> None:
    system = {"arrivals": MAP2, "random": [0.5, 0.5], "laws": SLOW}
    run = {"horizon": 9000.0, "warmup": 20.0, "replications": 20, "seed": 3}
    for discipline in ("preemptive", "non-preemptive"):
        scenario = scenario_of(system, discipline, **run)
        assert overall(compare(predict(scenario)[0], sim.run(scenario), JUDGED)) == "agrees"


@cache
def controlled() -> Any:
    laws = [Exponential(rate=1.0), Exponential(rate=2.0)]
    system = {"arrivals": ARRIVALS["mmpp"], "word": [0, 1, 1, 0, 1], "laws": laws}
    run = {"horizon": 4000.0, "warmup": 20.0, "replications": 40, "seed": 4}
    scenario = scenario_of(system, "preemptive", **run)
    return scenario, sim.run(scenario)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "error",
    [
        {"servers.routing.period": [0, 1, 1, 0, 0]},
        {"servers.routing.period": [0, 1, 0, 1, 1, 0]},
        {"servers.rates": [1.03, 2.06]},
        {"servers.arrivals.mmpp": {"Q": [[-0.6, 0.6], [0.9, -0.9]], "rates": [1.03, 4.12]}},
        {"servers.routing.random": [0.4, 0.6]},
    ],
    ids=str,
)
def test_a_changed_system_disagrees(error: dict[str, Any]) -> None:
    """One slot of the period, 3 % of the service or arrival rates, the same shares drawn."""
    true, found = controlled()
    judged = (*JUDGED, "loss_rate", "throughput")
    assert overall(compare(predict(true)[0], found, judged)) != "disagrees"
    assert overall(compare(predict(true.with_(error))[0], found, judged)) == "disagrees"


@pytest.mark.statistical
def test_disciplines_differ_for_erlang_services() -> None:
    """What the paper grants to exponential services fails for others: |z| > 10 in both ways."""
    for simulated_as, claimed_as in itertools.permutations(("preemptive", "non-preemptive")):
        found = simulated("map", simulated_as)[1]
        rows = compare(predict(slow_servers("map", claimed_as))[0], found, JUDGED)
        (erlang,) = [row for row in rows if row.subject == 1]
        assert erlang.verdict == "disagrees"
        assert abs(erlang.z) > 10


def test_a_service_that_hardly_ever_outlasts_a_gap_has_a_loss() -> None:
    """Probabilities over a gap go down to 1e-300. Every second packet comes one gap after another.

    The one before that came long ago, so that the loss is half of P(S > 1.375).
    """
    service = phases(Erlang(shape=50, mean=0.4375))
    found = non_preemptive_loss(Renewal(Deterministic(value=1.375)), service, [1, 5])
    assert found == pytest.approx(gamma.sf(1.375, 50, scale=0.4375 / 50) / 2, rel=1e-6)
