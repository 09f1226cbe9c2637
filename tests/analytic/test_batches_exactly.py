"""Servers that take batches: exact results against chains built naively."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from naive_chains import explored
from systems import EVERY_KIND, queue

import analytic
from analytic.indexing_queue.batches import (
    SolvedBatches,
    batch_chain_of,
    batch_levels,
    batch_rates,
    sojourn_moments_of_batches,
    solve_batches,
)
from analytic.machinery.phase_type import moment
from scenarios import Scenario, ScenarioError, library_names, load, scenario_from
from scenarios.activation import Optimal

OF_BATCHES = "neuts1967 bulk service, with a capacity"
OF_THE_ROBOTS = {"crawl_rate", "crawl_frequency"}
"""What a fixed number of robots does, whatever the buffer."""


def test_neuts_rule_by_hand() -> None:
    """M/M^[a,b]/1/K: one server, exponential, that begins with 2 to 3 of at most 4 pages.

    By hand: states w (idle with w = 0, 1) and (w, s) with s pages in service.
    """
    arrivals, service, least, most, places = 2.1, 0.8, 2, 3, 4
    idle = [(waiting, 0) for waiting in range(least)]
    busy = [(waiting, size) for waiting in range(places + 1) for size in range(least, most + 1)]
    index = {state: place for place, state in enumerate(idle + busy)}
    Q = np.zeros((len(index),) * 2)
    for (waiting, size), row in index.items():
        if size == 0 and waiting + 1 < least:
            Q[row, index[waiting + 1, 0]] += arrivals
        elif size == 0:
            Q[row, index[0, least]] += arrivals
        elif waiting < places:
            Q[row, index[waiting + 1, size]] += arrivals
        if size > 0 and waiting < least:
            Q[row, index[waiting, 0]] += service
        elif size > 0:
            begun = min(waiting, most)
            Q[row, index[waiting - begun, begun]] += service
    p = stationary(Q)
    in_service = np.array([size for _, size in index])
    level = in_service + np.array([waiting for waiting, _ in index])
    full = np.array([state[0] == places for state in index])
    batches = service * float(p @ (in_service > 0))
    found = analytic.exact_values(
        queue(
            {
                "activation.static": 3,
                "buffer.waiting_places": places,
                "buffer.service": {"exponential": {"rate": service}},
                "buffer.obsolescence": "never",
                "buffer.batch": {"most": most, "least": least},
            }
        )
    )
    expected = {
        ("loss_probability", None): float(p @ full),
        ("starvation_probability", None): float(p[0]),
        ("idle_indexers", None): float(p @ (in_service == 0)),
        ("mean_batch", None): service * float(p @ in_service) / batches,
        ("mean_in_system", None): float(p @ level),
        ("sojourn_time", "served"): float(p @ level) / (arrivals * (1 - float(p @ full))),
        **{("level_probability", at): float(p @ (level == at)) for at in range(places + most + 1)},
    }
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-11)


def stationary(Q: Any) -> Any:
    A = Q - np.diag(Q.sum(axis=1))
    A = np.vstack([A.T[1:], np.ones(len(Q))])
    return np.linalg.solve(A, np.append(np.zeros(len(Q) - 1), 1.0))


class Naive:
    """Servers with names; each has nothing, or so many pages and a phase.

    A state: the servers, the pages ahead of one that is followed, those behind it (none is
    followed: all that wait, and None), and the phase of the deliveries.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.__dict__.update(given)
        self.exits = -self.T.sum(axis=1)

    def level(self, state: Any) -> int:
        servers, ahead, behind, _ = state
        waiting = ahead + (0 if behind is None else 1 + behind)
        return waiting + sum(each[0] for each in servers if each)

    def room(self, state: Any) -> int:
        servers, ahead, behind, _ = state
        waiting = ahead + (0 if behind is None else 1 + behind)
        return self.places - waiting + self.most * servers.count(None)

    def entering(self, state: Any, pages: int) -> int:
        room = self.room(state)
        if self.admission == "reject":
            return pages if pages <= room else 0
        if self.admission == "complete":
            return pages if room > 0 else 0
        return max(min(pages, room), 0)

    def settled(self, state: Any) -> Any:
        """Where idle servers begin: probabilities and states; "taken": with the page followed."""
        servers, ahead, behind, phase = state
        waiting = ahead + (0 if behind is None else 1 + behind)
        if None not in servers or waiting < self.least:
            return [(1.0, state)]
        size = min(waiting, self.most)
        if behind is None:
            left = (ahead - size, None)
        elif size <= ahead:
            left = (ahead - size, behind)
        else:
            return [(1.0, "taken")]
        place = servers.index(None)
        return [
            (share * more, after)
            for number, share in enumerate(self.alpha)
            for more, after in self.settled(
                ((*servers[:place], (size, number), *servers[place + 1 :]), *left, phase)
            )
        ]

    def rates(self, state: Any) -> list[tuple[int, int, float]]:
        """Deliveries: pages, the phase afterwards, the rate."""
        D = self.D[self.active(self.level(state))]
        return [
            (pages, after, D[pages][state[3], after])
            for pages in range(len(D))
            for after in range(len(D[0]))
            if pages or after != state[3]
        ]

    def moves(self, state: Any) -> Any:
        servers, ahead, behind, phase = state
        for pages, after, rate in self.rates(state):
            come = self.entering(state, pages)
            if behind is None:
                joined = (servers, ahead + come, None, after)
            else:
                joined = (servers, ahead, behind + come, after)
            for share, settled in self.settled(joined):
                yield rate * share, settled
        for place, job in enumerate(servers):
            if job is None:
                continue
            free = (*servers[:place], None, *servers[place + 1 :])
            for share, settled in self.settled((free, ahead, behind, phase)):
                yield self.exits[job[1]] * share, settled
            for other in range(len(self.T)):
                if other != job[1]:
                    changed = (*servers[:place], (job[0], other), *servers[place + 1 :])
                    yield self.T[job[1], other], (changed, ahead, behind, phase)
        yield self.theta * ahead, (servers, ahead - 1, behind, phase)
        if behind is not None:
            yield self.theta * behind, (servers, ahead, behind - 1, phase)
            yield self.theta, "obsolete"

    def measures(self) -> dict[Any, float]:
        idle = ((None,) * self.servers, 0, None)
        index, Q, _ = explored(self.moves, [(*idle, phase) for phase in range(len(self.D[1][0]))])
        p = dict(zip(index, stationary(Q), strict=True))
        sums = dict.fromkeys(("came", "lost", "served", "batches", "idle", "robots"), 0.0)
        at_once = 0.0
        entered: dict[Any, float] = {}
        levels = np.zeros(self.places + self.servers * self.most + len(self.D[1]))
        for state, share in p.items():
            levels[self.level(state)] += share
            sums["idle"] += share * state[0].count(None) / self.servers
            sums["robots"] += share * self.active(self.level(state))
            for job in filter(None, state[0]):
                sums["batches"] += share * self.exits[job[1]]
                sums["served"] += share * self.exits[job[1]] * job[0]
            for pages, after, rate in self.rates(state):
                come = self.entering(state, pages)
                sums["came"] += share * rate * pages
                sums["lost"] += share * rate * (pages - come)
                for place in range(come):
                    page = (state[0], state[1] + place, come - 1 - place, after)
                    for part, settled in self.settled(page):
                        if settled == "taken":
                            at_once += share * rate * part
                        else:
                            entered[settled] = entered.get(settled, 0.0) + share * rate * part
        mean = np.linalg.solve(-self.T, np.ones(len(self.T)))
        first = float(self.alpha @ mean)
        second = 2 * float(self.alpha @ np.linalg.solve(-self.T, mean))
        served, obsolete = at_once * np.array([1.0, first, second]), np.zeros(3)
        if entered:
            index, Q, out = explored(self.moves, list(entered), ("taken", "obsolete"))
            T = Q - np.diag(Q.sum(axis=1) + out.sum(axis=1))
            a = np.zeros(len(T))
            a[: len(entered)] = list(entered.values())
            once = np.linalg.solve(-T, out)
            twice = np.linalg.solve(-T, once)
            thrice = 2 * np.linalg.solve(-T, twice)
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
            ("idle_indexers", None): sums["idle"],
            ("mean_batch", None): sums["served"] / sums["batches"],
            ("mean_active_robots", None): sums["robots"],
            ("sojourn_time", "served"): served[1] / served[0],
            ("sojourn_time_second_moment", "served"): served[2] / served[0],
        }
        assert served[0] == pytest.approx(sums["served"], rel=1e-8)
        if obsolete[0] > 0:
            found["sojourn_time", "obsolete"] = obsolete[1] / obsolete[0]
            found["sojourn_time_second_moment", "obsolete"] = obsolete[2] / obsolete[0]
        return found | {
            ("level_probability", at): float(share) for at, share in enumerate(levels) if share
        }


def random_system(seed: int) -> tuple[Scenario, Naive]:
    random = np.random.default_rng(seed)
    servers = int(random.integers(1, 3))
    most = int(random.integers(1, 6 - 2 * servers + 1))
    places = int(random.integers(0, 5))
    least = int(random.integers(1, min(most, places + 1) + 1))
    theta = float(random.choice([0.0, 0.2, 1.0]))
    if random.random() < 0.5:
        T, alpha = np.array([[-1.1]]), np.ones(1)
        service: Any = {"exponential": {"rate": 1.1}}
    else:
        T, alpha = np.array([[-3.0, 1.0], [0.5, -0.8]]), np.array([0.6, 0.4])
        service = {"phase-type": {"alpha": alpha.tolist(), "T": T.tolist()}}
    buffer: dict[str, Any] = {
        "waiting_places": places,
        "servers": servers,
        "service": service,
        "batch": {"most": most, "least": least},
        "obsolescence": {"exponential": {"rate": theta}} if theta else "never",
    }
    tables: dict[str, Any] = {"name": "random", "buffer": buffer, "run": {"horizon": 2000.0}}
    if random.random() < 0.5:
        rate, at = float(random.choice([0.4, 1.0, 3.0])), int(random.integers(least, 8))
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
        **{"servers": servers, "most": most, "places": places, "least": least, "theta": theta},
        **{"T": T, "alpha": alpha, "D": D, "active": active, "admission": admission},
    }
    return scenario_from(tables), Naive(naive)


@pytest.mark.by_day(every=10)
@pytest.mark.parametrize("seed", range(200))
def test_random_systems_against_a_naive_chain(seed: int) -> None:
    scenario, naive = random_system(seed)
    found = analytic.exact_values(scenario)
    expected = naive.measures()
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


def in_batches(scenario: Scenario) -> Scenario | None:
    """The same with a server that takes two pages at once, in place of a waiting place."""
    assert scenario.buffer is not None
    places = max(scenario.buffer.waiting_places - 1, 0)
    try:
        return scenario.with_({"buffer.batch": 2, "buffer.waiting_places": places})
    except ScenarioError:  # services by the page, rules by phase, or of another capacity
        return None


SYSTEMS = {
    name: system
    for name, one in {**EVERY_KIND, **{name: load(name) for name in library_names()}}.items()
    if one.buffer is not None
    and one.buffer.batch is None
    and not one.interventions
    and one.model.frontier is None
    and not isinstance(one.activation, Optimal)
    and (system := in_batches(one)) is not None
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_formula_of_single_pages_answers_for_batches(name: str) -> None:
    scenario = analytic.resolve(SYSTEMS[name])
    predictions, others = analytic.predict(scenario)
    of_one = {each.measure for each in predictions if each.source != OF_BATCHES}
    assert of_one <= OF_THE_ROBOTS
    assert any("servers take batches of pages (buffer.batch)" in each.reasons for each in others)
    assert analytic.relaxation_time_of(scenario) is None
    assert analytic.accuracy_of(scenario) is None
    for law in analytic.exact_laws(scenario):
        assert "batches" in law.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"buffer.batch.wait": 1.0}, "how long the oldest page waits"),
        (
            {"buffer.batch.per_page": {"exponential": {"mean": 0.1}}},
            "each page adds to its service",
        ),
        ({"buffer.service": {"uniform": {"low": 0.0, "high": 1.0}}}, "not of phase type"),
        ({"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.0}}}, "timers are not exp"),
        ({"activation": {"switching": {"targets": [3] * 9}}}, "switched on one at a time"),
        (
            {
                "activation": {"threshold": {"robots": [3, 1], "at": [90]}},
                "buffer.batch.most": 1000,
                "buffer.waiting_places": 100,
            },
            "with the sizes of batches has 101002 states, limit 60000",
        ),
    ],
)
def test_what_is_simulated_only_says_why(changes: dict[str, Any], reason: str) -> None:
    plain = {"activation": {"static": 3}, "buffer.waiting_places": 4}
    scenario = queue(plain | {"buffer.batch": {"most": 4, "least": 2}} | changes)
    predictions, others = analytic.predict(scenario)
    assert not any(each.source == OF_BATCHES for each in predictions)
    assert any(
        reason in why for each in others if each.source == OF_BATCHES for why in each.reasons
    )


def test_one_page_at_a_time_is_the_chain_of_several_servers() -> None:
    """A batch of at most one page is no batch."""
    changes = {"buffer.servers": 2, "buffer.obsolescence": {"exponential": {"rate": 0.3}}}
    several = queue(changes | {"buffer.sojourn_quantiles": [0.1, 0.9], "costs.response": 1.0})
    found = analytic.exact_values(several.with_("buffer.batch", 1))
    expected = analytic.exact_values(several)
    ours = {key: value for key, (value, _) in found.items() if key[0] != "mean_batch"}
    assert found["mean_batch", None][0] == pytest.approx(1.0, rel=1e-12)
    theirs = {key: expected[key][0] for key in ours}
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert {"sojourn_quantile", "control_cost"} <= {name for name, _ in ours}


@pytest.mark.by_day(every=20)
@pytest.mark.parametrize("seed", range(200))
def test_sizes_of_batches_matter_to_levels_only(seed: int) -> None:
    """Where robots do not follow the level: the chain without them says the same of all else."""
    scenario = random_system(seed)[0]
    if scenario.activation is not None:
        scenario = scenario.with_("activation", {"static": 2})
    chain = batch_chain_of(scenario)
    solved = [solve_batches(replace(chain, is_sized=sized)) for sized in (True, False)]
    assert len(solved[1].probabilities) <= len(solved[0].probabilities)
    sized, unsized = map(batch_rates, solved)
    assert unsized == pytest.approx(sized, rel=1e-9, abs=1e-12)
    moments = [dict(by_class(each)) for each in solved]
    assert moments[1] == pytest.approx(moments[0], rel=1e-9, abs=1e-12)
    by_level = batch_levels(solved[0])
    mean = float(by_level @ np.arange(len(by_level)))
    service = moment(chain.service, 1)
    assert sized["waiting"] + sized["served"] * service == pytest.approx(mean, rel=1e-9)


def by_class(solved: SolvedBatches) -> Iterator[tuple[tuple[str, Any], float]]:
    for measure, subject, value in sojourn_moments_of_batches(solved):
        yield (measure, subject), value


@pytest.mark.thorough
def test_batches_of_five_hundred() -> None:
    """Three servers with 2000 places: too many sizes for the levels, and few states without."""
    scenario = queue(
        {
            "robots.available": 40,
            "robots.access_time": {"exponential": {"rate": 1.0}},
            "activation": {"static": 40},
            "buffer.waiting_places": 2000,
            "buffer.servers": 3,
            "buffer.service": {"exponential": {"mean": 30.0}},
            "buffer.obsolescence": "never",
            "buffer.batch": 500,
        }
    )
    found = analytic.exact_values(scenario)
    # 1200 pages come in a service of 30 time units, and 1500 are taken at most
    lost, idle = (found[name, None][0] for name in ("loss_probability", "idle_indexers"))
    assert found["mean_batch", None][0] == pytest.approx(400 * (1 - lost) / (1 - idle), rel=1e-9)
    assert 0.03 < lost < 0.05
    assert not any(name == "level_probability" for name, _ in found)
    others = analytic.predict(scenario)[1]
    assert any("with the sizes of batches" in why for each in others for why in each.reasons)


def test_robots_that_stop_before_a_batch_is_full_leave_it_waiting() -> None:
    """Two pages wait for a third that never comes: one closed class, without the empty system."""
    changes = {"activation": {"levels": [3, 3, *[0] * 8]}, "buffer.obsolescence": "never"}
    stuck = queue(changes | {"buffer.waiting_places": 5, "buffer.batch": {"most": 4, "least": 3}})
    found = analytic.exact_values(stuck)
    assert found["level_probability", 2][0] == pytest.approx(1.0)
    assert found["throughput", None][0] == 0.0
    assert ("mean_batch", None) not in found
