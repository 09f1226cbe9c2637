"""An indexer that rests, and pages that come back: exact results against chains built naively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive_chains import explored
from systems import EVERY_KIND, queue

import analytic
from analytic.machinery.phase_type import as_phase_type, moment
from analytic.transient.queue_start import queue_forgetting
from scenarios import Scenario, ScenarioError, library_names, load, scenario_from
from scenarios.activation import Optimal
from scenarios.model import present

OF_RESTS = "doshi1986 vacations and retrials, with a capacity"
OF_THE_ROBOTS = {"crawl_rate", "crawl_frequency"}
"""What a fixed number of robots does, whatever the buffer."""

LARGE = 400
"""Waiting places that are never all taken."""


def one_server(buffer: dict[str, Any], rate: float = 0.6) -> Scenario:
    """Poisson deliveries before one server, exponential with mean 1 if nothing else is said."""
    return scenario_from(
        {
            "name": "one-server",
            "robots": {"available": 1, "access_time": {"exponential": {"rate": rate}}},
            "buffer": {
                "waiting_places": LARGE,
                "service": {"exponential": {"mean": 1.0}},
                **buffer,
            },
        }
    )


def exact(scenario: Scenario, *wanted: str) -> list[float]:
    found = analytic.exact_values(scenario)
    return [found[name, None][0] for name in wanted]


# --- textbooks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "theta"), [(0.6, 0.3), (0.3, 2.0), (0.8, 0.5)])
def test_falin_and_templeton_m_m_1(rate: float, theta: float) -> None:
    """The M/M/1 retrial queue: rho / (1 - rho) * (lambda / theta + rho) pages in orbit, 1 blocked
    in 1 / rho, nothing lost."""
    lone = one_server({"waiting_places": 0, "retrial": {"rate": theta}}, rate)
    names = "mean_in_orbit", "blocking_probability", "loss_probability", "throughput"
    expected = rate / (1 - rate) * (rate / theta + rate), rate, 0.0, rate
    assert exact(lone, *names) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_m_g_1_retrial_queue() -> None:
    """Pages in orbit: lambda^2 / (1 - rho) * (E S^2 / 2 + E S / theta), by Falin and Templeton."""
    rate, theta = 0.5, 0.7
    law = {"erlang": {"shape": 3, "mean": 1.2}}
    lone = one_server({"waiting_places": 0, "service": law, "retrial": {"rate": theta}}, rate)
    square = 1.2**2 * (1 + 1 / 3)
    expected = rate**2 / (1 - rate * 1.2) * (square / 2 + 1.2 / theta)
    assert exact(lone, "mean_in_orbit") == pytest.approx([expected], rel=1e-9)


def test_an_orbit_without_room_is_a_loss_system() -> None:
    """Most pages that come back without a place: of two servers, Erlang's formula with one more
    place as the rate grows."""
    lone = one_server({"waiting_places": 1, "retrial": {"rate": 1e7, "most": 1}}, 0.9)
    wider = one_server({"waiting_places": 2}, 0.9)
    names = "loss_probability", "throughput"
    assert exact(lone, *names) == pytest.approx(exact(wider, *names), rel=1e-5)


VACATIONS = [
    {"exponential": {"mean": 2.0}},
    {"erlang": {"shape": 3, "mean": 1.5}},
    {"hyperexponential": {"probabilities": [0.6, 0.4], "rates": [2.0, 0.3]}},
]
SERVICES = [{"exponential": {"mean": 1.0}}, {"erlang": {"shape": 2, "mean": 0.9}}]


def moments(law: dict[str, Any]) -> tuple[float, float]:
    scenario = one_server({"service": law})
    phases = present(as_phase_type(scenario.buffer.service))  # type: ignore[union-attr, arg-type]  # it has one
    return moment(phases, 1), moment(phases, 2)


def mean_wait(rate: float, service: dict[str, Any]) -> float:
    """Pollaczek and Khinchine."""
    mean, square = moments(service)
    return rate * square / (2 * (1 - rate * mean))


@pytest.mark.by_day(besides=("vacation1-service1",))
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("vacation", VACATIONS)
def test_decomposition_of_vacations(vacation: dict[str, Any], service: dict[str, Any]) -> None:
    """M/G/1 with multiple vacations: the wait is longer by a residual vacation (Doshi, 1986)."""
    rate = 0.5
    mean, square = moments(vacation)
    found = analytic.exact_values(
        one_server({"service": service, "vacation": {"time": vacation}}, rate)
    )
    took = mean_wait(rate, service) + square / (2 * mean) + moments(service)[0]
    assert found["sojourn_time", "served"][0] == pytest.approx(took, rel=1e-9)
    assert found["mean_in_system", None][0] == pytest.approx(rate * took, rel=1e-9)


@pytest.mark.parametrize("enough", [1, 2, 5, 9])
def test_yadin_and_naor_n_policy(enough: int) -> None:
    """M/G/1 that resumes at N pages: the wait is longer by (N - 1) / (2 lambda), a cycle begins at
    the rate lambda (1 - rho) / N, and the level is 0 for (1 - rho) / N of the time."""
    rate, service = 0.5, {"erlang": {"shape": 2, "mean": 1.1}}
    found = analytic.exact_values(
        one_server({"service": service, "vacation": {"resume_at": enough}}, rate)
    )
    took = mean_wait(rate, service) + (enough - 1) / (2 * rate) + 1.1
    idle = 1 - rate * 1.1
    expected = {
        ("sojourn_time", "served"): took,
        ("resume_rate", None): rate * idle / enough,
        ("idle_indexers", None): idle,
        ("starvation_probability", None): idle / enough,
    }
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-9)


@pytest.mark.by_day("set_up0", "set_up2")
@pytest.mark.parametrize("set_up", VACATIONS)
def test_set_up_times_by_welch(set_up: dict[str, Any]) -> None:
    """M/G/1 with set-ups: the wait is longer by (2 E D + lambda E D^2) / (2 (1 + lambda E D));
    (Welch, 1964); of M/M/1 with exponential ones the wait is longer by a set-up."""
    rate, service = 0.5, SERVICES[1]
    mean, square = moments(set_up)
    found = analytic.exact_values(one_server({"service": service, "set_up": set_up}, rate))
    more = (2 * mean + rate * square) / (2 * (1 + rate * mean))
    took = mean_wait(rate, service) + more + moments(service)[0]
    assert found["sojourn_time", "served"][0] == pytest.approx(took, rel=1e-9)
    if set_up is VACATIONS[0]:
        assert more == pytest.approx(mean)


# --- chains built naively -----------------------------------------------------------------------


class Naive:
    """Servers with names, each without a page or with a phase; what else the one of them does.

    A state: the servers, what the first does without a page ("there", or "idle", or "away" and
    "up" with a phase), the pages ahead of one that is followed, those behind it (none is followed:
    all that wait, and None), the pages in orbit, and the phase of the deliveries.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.__dict__.update(given)

    def waiting(self, state: Any) -> int:
        _, _, ahead, behind, _, _ = state
        return int(ahead + (0 if behind is None else 1 + behind))

    def level(self, state: Any) -> int:
        return self.waiting(state) + sum(phase is not None for phase in state[0])

    def entering(self, state: Any, pages: int) -> int:
        room = self.places + self.servers - self.level(state)
        if self.admission == "reject":
            return pages if pages <= room else 0
        if self.admission == "complete":
            return pages if room > 0 else 0
        return max(min(pages, room), 0)

    def settled(self, state: Any) -> Any:
        """What servers do that are free and there: probabilities and states."""
        servers, doing, ahead, behind, orbit, phase = state
        if None not in servers or doing[0] in ("away", "up"):
            return [(1.0, state)]
        waiting = self.waiting(state)
        rest = (ahead, behind, orbit, phase)
        if doing == ("idle",):
            return self.back((servers, doing, *rest)) if waiting >= self.enough else [(1.0, state)]
        if waiting == 0:
            return self.left((servers, doing, *rest)) if self.rests else [(1.0, state)]
        if behind is None:
            gone = (ahead - 1, None)
        elif ahead > 0:
            gone = (ahead - 1, behind)
        else:
            return [(1.0, "taken")]
        place = servers.index(None)
        return [
            (share * more, after)
            for number, share in enumerate(self.service[0])
            for more, after in self.settled(
                ((*servers[:place], number, *servers[place + 1 :]), doing, *gone, orbit, phase)
            )
        ]

    def left(self, state: Any) -> Any:
        servers, _, *rest = state
        if self.vacation is None:
            return [(1.0, (servers, ("idle",), *rest))]
        alpha = self.vacation[0]
        return [(share, (servers, ("away", i), *rest)) for i, share in enumerate(alpha)]

    def back(self, state: Any) -> Any:
        servers, _, *rest = state
        if self.waiting(state) < self.enough:
            return self.left(state)
        if self.set_up is None:
            return self.settled((servers, ("there",), *rest))
        return [(share, (servers, ("up", i), *rest)) for i, share in enumerate(self.set_up[0])]

    def rates(self, state: Any) -> list[tuple[int, int, float]]:
        """Deliveries: pages, the phase afterwards, the rate."""
        D = self.D[self.active(self.level(state))]
        return [
            (pages, after, D[pages][state[5], after])
            for pages in range(len(D))
            for after in range(len(D[0]))
            if pages or after != state[5]
        ]

    def joined(self, state: Any, came: int, orbit: int, phase: int) -> Any:
        """A state with some pages more, and another orbit and phase."""
        servers, doing, ahead, behind, _, _ = state
        if behind is None:
            return (servers, doing, ahead + came, None, orbit, phase)
        return (servers, doing, ahead, behind + came, orbit, phase)

    def orbit_after(self, state: Any, refused: int) -> int:
        return int(min(state[4] + refused, self.most)) if self.most else 0

    def moves(self, state: Any) -> Any:  # noqa: C901  # all that may happen, in one place
        servers, doing, ahead, behind, orbit, phase = state
        for pages, after, rate in self.rates(state):
            come = self.entering(state, pages)
            kept = self.orbit_after(state, pages - come)
            for share, settled in self.settled(self.joined(state, come, kept, after)):
                yield rate * share, settled
        if orbit and self.entering(state, 1):
            for share, settled in self.settled(self.joined(state, 1, orbit - 1, phase)):
                yield orbit * self.retry * share, settled
        rest = (ahead, behind, orbit, phase)
        T = self.service[1]
        exits = -T.sum(axis=1)
        for place, job in enumerate(servers):
            if job is None:
                continue
            free = (*servers[:place], None, *servers[place + 1 :])
            for share, settled in self.settled((free, doing, *rest)):
                yield exits[job] * share, settled
            for other in range(len(T)):
                if other != job:
                    yield (
                        T[job, other],
                        ((*servers[:place], other, *servers[place + 1 :]), doing, *rest),
                    )
        if doing[0] in ("away", "up"):
            T = (self.vacation if doing[0] == "away" else self.set_up)[1]
            for other in range(len(T)):
                if other != doing[1]:
                    yield T[doing[1], other], (servers, (doing[0], other), *rest)
            there = (servers, ("there",), *rest)
            for share, settled in self.back(state) if doing[0] == "away" else self.settled(there):
                yield -T[doing[1]].sum() * share, settled
        yield self.theta * ahead, (servers, doing, ahead - 1, behind, orbit, phase)
        if behind is not None:
            yield self.theta * behind, (servers, doing, ahead, behind - 1, orbit, phase)
            yield self.theta, "obsolete"

    def measures(self) -> dict[Any, float]:  # noqa: C901  # one sum after the other
        idle = ((None,) * self.servers, ("there",), 0, None, 0)
        starts = [s for p in range(len(self.D[1][0])) for _, s in self.settled((*idle, p))]
        index, Q, _ = explored(self.moves, starts)
        p = dict(zip(index, stationary(Q), strict=True))
        names = "came", "lost", "blocked", "served", "idle", "robots", "orbit", "up", "resumed"
        sums = dict.fromkeys(names, 0.0)
        at_once = 0.0
        entered: dict[Any, float] = {}
        levels = np.zeros(self.places + self.servers + len(self.D[1]))
        exits = -self.service[1].sum(axis=1)
        for state, share in p.items():
            levels[self.level(state)] += share
            sums["idle"] += share * state[0].count(None) / self.servers
            sums["robots"] += share * self.active(self.level(state))
            sums["orbit"] += share * state[4]
            sums["up"] += share * (state[1][0] == "up")
            sums["served"] += share * sum(exits[job] for job in state[0] if job is not None)
            for rate, after in self.moves(state):
                rested = state[1][0] in ("idle", "away")
                sums["resumed"] += share * rate * (rested and after[1][0] in ("there", "up"))
            arrivals = [(*each, False) for each in self.rates(state)]
            if state[4]:
                arrivals.append((1, state[5], state[4] * self.retry, True))
            for pages, after, rate, again in arrivals:
                come = self.entering(state, pages)
                kept = state[4] - come if again else self.orbit_after(state, pages - come)
                if not again:
                    sums["came"] += share * rate * pages
                    sums["blocked"] += share * rate * (pages - come)
                    sums["lost"] += share * rate * (pages - come - (kept - state[4]))
                for place in range(come):
                    page = (*state[:2], state[2] + place, come - 1 - place, kept, after)
                    for part, settled in self.settled(page):
                        if settled == "taken":
                            at_once += share * rate * part
                        else:
                            entered[settled] = entered.get(settled, 0.0) + share * rate * part
        alpha, T = self.service
        mean = np.linalg.solve(-T, np.ones(len(T)))
        first, second = float(alpha @ mean), 2 * float(alpha @ np.linalg.solve(-T, mean))
        served, obsolete = at_once * np.array([1.0, first, second]), np.zeros(3)
        if entered:
            index, Q, out = explored(self.moves, list(entered), ("taken", "obsolete"))
            tagged = Q - np.diag(Q.sum(axis=1) + out.sum(axis=1))
            a = np.zeros(len(tagged))
            a[: len(entered)] = list(entered.values())
            once = np.linalg.solve(-tagged, out)
            twice = np.linalg.solve(-tagged, once)
            thrice = 2 * np.linalg.solve(-tagged, twice)
            (begun, gone), (wait, gone_time), (square, gone_square) = (
                a @ each for each in (once, twice, thrice)
            )
            served += [begun, wait + begun * first, square + 2 * wait * first + begun * second]
            obsolete += [gone, gone_time, gone_square]
        found = {
            ("arrival_rate", None): sums["came"],
            ("loss_probability", None): sums["lost"] / sums["came"],
            ("obsolescence_probability", None): obsolete[0] / sums["came"],
            ("throughput", None): sums["served"],
            ("mean_active_robots", None): sums["robots"],
            ("sojourn_time", "served"): served[1] / served[0],
            ("sojourn_time_second_moment", "served"): served[2] / served[0],
        }
        if self.rests:
            found["idle_indexers", None] = sums["idle"]
            found["resume_rate", None] = sums["resumed"]
            found["set_up_share", None] = sums["up"]
        if self.most:
            found["mean_in_orbit", None] = sums["orbit"]
            found["blocking_probability", None] = sums["blocked"] / sums["came"]
        assert served[0] == pytest.approx(sums["served"], rel=1e-8)
        if obsolete[0] > 0:
            found["sojourn_time", "obsolete"] = obsolete[1] / obsolete[0]
            found["sojourn_time_second_moment", "obsolete"] = obsolete[2] / obsolete[0]
        return found | {
            ("level_probability", at): float(share) for at, share in enumerate(levels) if share
        }


def stationary(Q: Any) -> Any:
    A = Q - np.diag(Q.sum(axis=1))
    A = np.vstack([A.T[1:], np.ones(len(Q))])
    return np.linalg.solve(A, np.append(np.zeros(len(Q) - 1), 1.0))


LAWS: list[tuple[dict[str, Any], Any, Any]] = [
    ({"exponential": {"rate": 1.1}}, np.ones(1), np.array([[-1.1]])),
    (
        {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.5, -0.8]]}},
        *(np.array([0.6, 0.4]), np.array([[-3.0, 1.0], [0.5, -0.8]])),
    ),
    ({"exponential": {"mean": 2.5}}, np.ones(1), np.array([[-0.4]])),
]


def random_system(seed: int) -> tuple[Scenario, Naive]:
    random = np.random.default_rng(seed)
    kind = ("rests", "orbit", "both")[seed % 3]
    rests, comes_back = kind != "orbit", kind != "rests"
    servers = 1 if rests else int(random.integers(1, 3))
    places = int(random.integers(0, 4))
    most = int(random.integers(1, 4)) if comes_back else 0
    retry = float(random.choice([0.2, 1.5]))
    enough = int(random.integers(1, places + 2)) if rests else 1
    theta = float(random.choice([0.0, 0.2, 1.0]))
    service = LAWS[random.integers(len(LAWS))]
    vacation = LAWS[random.integers(len(LAWS))] if rests and random.random() < 0.6 else None
    set_up = LAWS[random.integers(len(LAWS))] if rests and random.random() < 0.6 else None
    buffer: dict[str, Any] = {
        "waiting_places": places,
        "servers": servers,
        "service": service[0],
        "obsolescence": {"exponential": {"rate": theta}} if theta else "never",
    }
    if comes_back:
        buffer["retrial"] = {"rate": retry, "most": most}
    if rests:
        buffer["vacation"] = {"resume_at": enough} | ({"time": vacation[0]} if vacation else {})
        buffer |= {"set_up": set_up[0]} if set_up else {}
    tables: dict[str, Any] = {"name": "random", "buffer": buffer, "run": {"horizon": 2000.0}}
    if random.random() < 0.5:
        rate, at = float(random.choice([0.4, 1.0, 3.0])), int(random.integers(enough, 6))
        tables["robots"] = {"available": 3, "access_time": {"exponential": {"rate": rate}}}
        tables["activation"] = {"threshold": {"robots": [3, 1], "at": [at]}}
        D = [np.array([[[0.0]], [[robots * rate]]]) for robots in range(4)]
        active = lambda level: 3 if level <= at else 1  # noqa: E731  # a table in two words
        admission = "partial"
    else:
        B = np.round(random.uniform(0.0, 1.0, (4, 2, 2)), 3)
        B[0, [0, 1], [0, 1]] = 0.0
        B[0, [0, 1], [0, 1]] = -B.sum(axis=(0, 2))
        tables["robots"] = {"available": 1, "deliveries": {"modes": [{"bmap": {"D": B.tolist()}}]}}
        D, active = [np.zeros_like(B), B], lambda level: 1  # noqa: ARG005  # as the other
        admission = str(random.choice(["partial", "reject", "complete"]))
        buffer["admission"] = admission
    naive = {
        **{"servers": servers, "places": places, "theta": theta, "enough": enough, "rests": rests},
        **{"most": most, "retry": retry, "service": service[1:], "D": D, "active": active},
        "vacation": vacation and vacation[1:],
        "set_up": set_up and set_up[1:],
        "admission": admission,
    }
    return scenario_from(tables), Naive(naive)


@pytest.mark.by_day(every=20)
@pytest.mark.parametrize("seed", range(200))
def test_random_systems_against_a_naive_chain(seed: int) -> None:
    scenario, naive = random_system(seed)
    found = analytic.exact_values(scenario)
    expected = naive.measures()
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


# --- what they do not cover ---------------------------------------------------------------------


def at_rest(scenario: Scenario) -> Scenario | None:
    """The same with an indexer that rests; with several, with pages that come back."""
    buffer = present(scenario.buffer)
    several = buffer.servers > 1
    changes = {"buffer.retrial": {"rate": 0.5}} if several else {"buffer.vacation.resume_at": 1}
    try:
        return scenario.with_(changes)
    except ScenarioError:  # services by the page, rules by phase, push-out
        return None


SYSTEMS = {
    name: system
    for name, one in {**EVERY_KIND, **{name: load(name) for name in library_names()}}.items()
    if one.buffer is not None
    and one.buffer.batch is None
    and one.model.queue is not None
    and one.model.queue.rest is None
    and not one.interventions
    and one.model.frontier is None
    and not isinstance(one.activation, Optimal)
    and (system := at_rest(one)) is not None
}


@pytest.mark.by_day(every=4)
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_formula_of_an_indexer_that_never_rests_answers(name: str) -> None:
    scenario = analytic.resolve(SYSTEMS[name])
    predictions, others = analytic.predict(scenario)
    of_one = {each.measure for each in predictions if each.source != OF_RESTS}
    assert of_one <= OF_THE_ROBOTS
    told = ("the indexer may rest while pages wait", "pages that find no room come back")
    assert any(reason.startswith(told) for each in others for reason in each.reasons)
    for law in analytic.exact_laws(scenario):
        assert law.reason.startswith(told)


def test_rests_that_change_nothing_are_the_queue_of_always() -> None:
    """Back at the first page, at once: the chain of several servers says the same."""
    changes = {"buffer.obsolescence": {"exponential": {"rate": 0.3}}, "buffer.waiting_places": 4}
    plain = queue(changes | {"buffer.sojourn_quantiles": [0.1, 0.9], "costs.response": 1.0})
    found = analytic.exact_values(plain.with_("buffer.vacation.resume_at", 1))
    expected = analytic.exact_values(plain.with_("buffer.servers", 1))
    same = {key: found[key][0] for key in expected if key in found}
    assert same == pytest.approx({key: expected[key][0] for key in same}, rel=1e-9, abs=1e-12)
    assert {"sojourn_quantile", "control_cost", "idle_indexers"} <= {name for name, _ in same}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"buffer.vacation.time": {"deterministic": {"value": 1.0}}}, "vacations are not of phase"),
        (
            {"buffer.set_up": {"uniform": {"low": 0.0, "high": 1.0}}},
            "set-ups are not of phase type",
        ),
        ({"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.0}}}, "timers are not exp"),
        ({"activation": {"switching": {"targets": [3] * 6}}}, "switched on one at a time"),
        ({"buffer.waiting_places": 70_000}, "its chain has 210006 states, limit 60000"),
        ({"buffer.retrial": {"rate": 1.0, "most": 9_000}}, "states, limit 60000"),
        (
            {"buffer.vacation": None, "buffer.retrial": {"rate": 1.0}},
            "its orbit grows without bound: a full buffer takes fewer than come",
        ),
    ],
)
def test_what_is_simulated_only_says_why(changes: dict[str, Any], reason: str) -> None:
    plain = {
        "activation": {"static": 3},
        "buffer.waiting_places": 4,
        "buffer.service": {"exponential": {"mean": 9.0}},
        "buffer.obsolescence": "never",
        "buffer.vacation": {"time": {"exponential": {"mean": 1.0}}, "resume_at": 2},
    }
    predictions, others = analytic.predict(queue(plain | changes))
    assert not any(each.source == OF_RESTS for each in predictions)
    of_rests = [why for each in others if each.source == OF_RESTS for why in each.reasons]
    assert any(reason in why for why in of_rests), of_rests


def test_robots_that_stop_before_enough_pages_wait_leave_it_asleep() -> None:
    """Two pages wait for a third that never comes."""
    changes = {"activation": {"levels": [3, 3, *[0] * 5]}, "buffer.obsolescence": "never"}
    stuck = queue(changes | {"buffer.waiting_places": 5, "buffer.vacation": {"resume_at": 3}})
    found = analytic.exact_values(stuck)
    assert found["level_probability", 2][0] == pytest.approx(1.0)
    assert found["throughput", None][0] == 0.0


def test_a_queue_at_rest_forgets_its_start_as_its_chain_does() -> None:
    found = queue_forgetting(load("sleeping-indexer"))
    assert found is not None
    assert 5.0 < found.time < 100.0
    unknown = load("sleeping-indexer").with_("buffer.set_up", {"deterministic": {"value": 2.0}})
    assert queue_forgetting(unknown) is None
