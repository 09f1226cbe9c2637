"""Pages that are served by class: exact results against a naive chain, and Cobham's means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from naive_chains import explored
from systems import EVERY_KIND, queue

import analytic
from analytic.indexing_queue.erlang import erlang_b
from scenarios import Scenario, ScenarioError, library_names, load, scenario_from
from scenarios.activation import Optimal
from scenarios.model import present
from sim import rules, simpy_engine

OF_CLASSES = "cobham1954 priorities, with a capacity"
TAGGED = 0.5
"""Added to the class of the page that is followed."""


class Naive:
    """Pages by their classes, in the order in which they entered.

    A state: the busy servers, the line, and the phase of the deliveries. What has to be known of
    the page that is followed is where it stands; "served", "obsolete" and "out" are its ends.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.__dict__.update(given)

    def entering(self, state: Any, pages: int) -> int:
        busy, line, _ = state
        room = self.servers + self.places - busy - len(line)
        if self.admission == "reject":
            return pages if pages <= room else 0
        if self.admission == "complete":
            return pages if room > 0 else 0
        return max(min(pages, room), 0)

    def one_more(self, state: Any, page: float, enters: bool) -> Any:
        """A page comes, of a class, or the one that is followed."""
        busy, line, phase = state
        if enters and busy < self.servers:
            return (busy + 1, line, phase) if page == int(page) else "at once"
        if enters:
            return busy, (*line, page), phase
        lowest = max((int(each) for each in line), default=-1)
        if self.pushes and lowest > int(page):
            newest = max(place for place, each in enumerate(line) if int(each) == lowest)
            if line[newest] != lowest:
                return "out"
            return busy, (*line[:newest], *line[newest + 1 :], page), phase
        return state if page == int(page) else "refused"

    def rates(self, state: Any) -> Iterator[tuple[int, int, float]]:
        D = self.D[self.active(state[0] + len(state[1]))]
        for pages in range(len(D)):
            for after in range(len(D[0])):
                if pages or after != state[2]:
                    yield pages, after, D[pages][state[2], after]

    def delivered(self, state: Any, pages: int, entering: int, begin: int = 0) -> dict[Any, float]:
        """Where the pages from one on lead, of classes drawn one by one."""
        here = {state: 1.0}
        for number in range(begin, pages):
            after: dict[Any, float] = {}
            for each, part in here.items():
                for group, share in enumerate(self.shares):
                    then = each
                    if not isinstance(each, str):
                        then = self.one_more(each, float(group), number < entering)
                    after[then] = after.get(then, 0.0) + part * share
            here = after
        return here

    def moves(self, state: Any) -> Iterator[tuple[float, Any]]:
        busy, line, phase = state
        for pages, after, rate in self.rates(state):
            come = self.entering(state, pages)
            for then, share in self.delivered((busy, line, after), pages, come).items():
                yield rate * share, then
        if line:
            first = min(int(each) for each in line)
            place = min(place for place, each in enumerate(line) if int(each) == first)
            rest = (*line[:place], *line[place + 1 :])
            then = (busy, rest, phase) if line[place] == first else "served"
            yield busy * self.mu, then
        elif busy:
            yield busy * self.mu, (busy - 1, line, phase)
        for place, page in enumerate(line):
            rest = (*line[:place], *line[place + 1 :])
            yield self.theta, (busy, rest, phase) if page == int(page) else "obsolete"

    def measures(self) -> dict[Any, float]:
        index, Q, _ = explored(self.moves, [(0, (), phase) for phase in range(len(self.D[1][0]))])
        A = Q - np.diag(Q.sum(axis=1))
        A = np.vstack([A.T[1:], np.ones(len(Q))])
        solution = np.linalg.solve(A, np.append(np.zeros(len(Q) - 1), 1.0))
        p = dict(zip(index, solution, strict=True))
        levels = np.zeros(self.servers + self.places + len(self.D[1]))
        for state, share in p.items():
            levels[state[0] + len(state[1])] += share
        found = {("level_probability", at): share for at, share in enumerate(levels) if share}
        every, came, lost = np.zeros((3, 3)), 0.0, 0.0
        for group in range(len(self.shares)):
            moments, refused = self.followed(p, group)
            out = refused + moments[0, 2]
            delivered = refused + moments[0].sum()
            every, came, lost = every + moments, came + delivered, lost + out
            if delivered > 0:
                found["loss_probability", group] = out / delivered
                found["obsolescence_probability", group] = moments[0, 1] / delivered
            if moments[0, 0] > 0:
                found["sojourn_time", f"served {group}"] = moments[1, 0] / moments[0, 0]
                second = "sojourn_time_second_moment"
                found[second, f"served {group}"] = moments[2, 0] / moments[0, 0]
                accepted = moments.sum(axis=1)
                found["sojourn_time", f"accepted {group}"] = accepted[1] / accepted[0]
                found[second, f"accepted {group}"] = accepted[2] / accepted[0]
        served = every[:, 0]
        return found | {
            ("arrival_rate", None): came,
            ("loss_probability", None): lost / came,
            ("throughput", None): served[0],
            ("obsolescence_probability", None): every[0, 1] / came,
            ("sojourn_time", "served"): served[1] / served[0],
            ("sojourn_time_second_moment", "all"): every[2].sum() / came,
        }

    def followed(self, p: Any, group: int) -> tuple[Any, float]:
        """Moments 0, 1, 2 of the times of a class: served, obsolete, pushed out; those refused."""
        refused = at_once = out_at_once = 0.0
        entered: dict[Any, float] = {}
        for (busy, line, phase), share in p.items():
            for pages, after, rate in self.rates((busy, line, phase)):
                come = self.entering((busy, line, phase), pages)
                for number in range(pages):
                    before = self.delivered((busy, line, after), number, come)
                    for state, part in before.items():
                        flow = share * rate * part * self.shares[group]
                        then = self.one_more(state, group + TAGGED, number < come)
                        refused += flow * (then == "refused")
                        at_once += flow * (then == "at once")
                        if isinstance(then, str):
                            continue
                        for end, chance in self.delivered(then, pages, come, number + 1).items():
                            if end == "out":
                                out_at_once += flow * chance
                            else:
                                entered[end] = entered.get(end, 0.0) + flow * chance
        moments = np.zeros((3, 3))
        if any(entered.values()):
            _, Q, out = explored(self.moves, list(entered), ("served", "obsolete", "out"))
            T = Q - np.diag(Q.sum(axis=1) + out.sum(axis=1))
            a = np.zeros(len(T))
            a[: len(entered)] = list(entered.values())
            once = np.linalg.solve(-T, out)
            twice = np.linalg.solve(-T, once)
            moments = np.array([a @ once, a @ twice, 2 * a @ np.linalg.solve(-T, twice)])
        moments[0, 2] += out_at_once
        mean, square = 1 / self.mu, 2 / self.mu**2
        served, wait, wait_square = moments[:, 0] + np.array([at_once, 0.0, 0.0])
        moments[:, 0] = [
            served,
            wait + served * mean,
            wait_square + 2 * wait * mean + served * square,
        ]
        return moments, refused


def random_system(seed: int) -> tuple[Scenario, Naive]:
    random = np.random.default_rng(seed)
    servers, places = int(random.integers(1, 4)), int(random.integers(0, 4))
    shares = [[1.0], [0.3, 0.7], [0.2, 0.0, 0.8], [0.2, 0.3, 0.5]][random.integers(4)]
    theta, mu = float(random.choice([0.0, 0.2, 1.0])), float(random.choice([0.4, 1.1]))
    admission = str(random.choice(["partial", "partial", "partial", "reject", "complete"]))
    pushes = admission == "partial" and bool(random.random() < 0.7)
    buffer: dict[str, Any] = {
        "waiting_places": places,
        "servers": servers,
        "service": {"exponential": {"rate": mu}},
        "discipline": "priority",
        "when_full": "push-out-lowest" if pushes else "lose-new",
        "obsolescence": {"exponential": {"rate": theta}} if theta else "never",
    }
    tables: dict[str, Any] = {"name": "random", "buffer": buffer, "run": {"horizon": 2000.0}}
    if random.random() < 0.4:
        rate, at = float(random.choice([0.4, 1.0])), int(random.integers(0, 5))
        pages = [group for group, share in enumerate(shares) for _ in range(round(10 * share))]
        tables["pages"] = {"change_rates": [1.0] * 10, "priority": random.permutation(pages)}
        tables["pages"]["priority"] = tables["pages"]["priority"].tolist()
        tables["robots"] = {
            "available": 3,
            "access_time": {"exponential": {"rate": rate}},
            "accessing": {"policy": "randomized", "frequencies": "uniform"},
        }
        tables["activation"] = {"threshold": {"robots": [3, 1], "at": [at]}}
        D = [np.array([[[0.0]], [[robots * rate]]]) for robots in range(4)]
        active = lambda level: 3 if level <= at else 1  # noqa: E731  # a table in two words
    else:
        B = np.round(random.uniform(0.0, 1.0, (int(random.integers(2, 4)), 2, 2)), 3)
        B[0, [0, 1], [0, 1]] = 0.0
        B[0, [0, 1], [0, 1]] = -B.sum(axis=(0, 2))
        process = {"bmap": {"D": B.tolist()}}
        tables["robots"] = {"available": 1, "deliveries": {"modes": [process], "shares": shares}}
        D, active = [np.zeros_like(B), B], lambda level: 1  # noqa: ARG005  # as the other
        buffer["admission"] = admission
    naive = {
        **{"servers": servers, "places": places, "theta": theta, "mu": mu, "shares": shares},
        **{"D": D, "active": active, "pushes": pushes, "admission": buffer.get("admission")},
    }
    return scenario_from(tables), Naive(naive)


@pytest.mark.by_day(every=20)
@pytest.mark.parametrize("seed", range(200))
def test_random_systems_against_a_naive_chain(seed: int) -> None:
    scenario, naive = random_system(seed)
    found = analytic.exact_values(scenario)
    expected = naive.measures()
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(("servers", "when_full"), [(1, "lose-new"), (3, "push-out-lowest")])
def test_cobham_means_at_large_buffers(servers: int, when_full: str) -> None:
    """Waits of 1/(1 - s)(1 - s') times the delay of a page that has to wait, s and s' the loads of
    the classes before, without and with its own."""
    service, rate, shares = 1.3, 0.7 * servers * 1.3, (0.2, 0.3, 0.5)
    found = analytic.exact_values(
        scenario_from(
            {
                "name": "cobham",
                "robots": {
                    "available": 1,
                    "deliveries": {"independent": [{"poisson": {"rate": rate}}], "shares": shares},
                },
                "buffer": {
                    "waiting_places": 90,
                    "servers": servers,
                    "service": {"exponential": {"rate": service}},
                    "discipline": "priority",
                    "when_full": when_full,
                },
            }
        )
    )
    blocked = erlang_b(rate / service, servers)
    waits = blocked / (1 - 0.7 * (1 - blocked)) / (servers * service)
    before = 0.0
    for group, share in enumerate(shares):
        mean = waits / (1 - 0.7 * before) / (1 - 0.7 * (before + share)) + 1 / service
        before += share
        assert found["sojourn_time", f"served {group}"][0] == pytest.approx(mean, rel=1e-9)


def by_class(scenario: Scenario) -> Scenario | None:
    """The same with two classes of pages, the first of which is served first."""
    pages = scenario.model.pages
    changes: dict[str, Any] = {"buffer.discipline": "priority", "buffer.when_full": "lose-new"}
    if pages is not None:
        changes["pages.priority"] = [page % 2 for page in range(pages.count)]
    else:
        changes["robots.deliveries.shares"] = [0.3, 0.7]
    try:
        return scenario.with_(changes)
    except ScenarioError:  # pages without classes
        return None


SYSTEMS = {
    name: system
    for name, one in {**EVERY_KIND, **{name: load(name) for name in library_names()}}.items()
    if one.buffer is not None
    and one.buffer.discipline != "priority"
    and not isinstance(one.activation, Optimal)
    and (one.model.pages is None or one.model.pages.count <= 100)
    and (system := by_class(one)) is not None
}


OF_THE_ORDER = {"sojourn_time_second_moment", "sojourn_quantile"}
OF_PAGES = {"obsolescence_rate", "weighted_obsolescence", "index_age", "stale_answer_probability"}
"""What depends on who goes first: of pages, or of their times all but the mean."""


@pytest.mark.by_day(besides=("pipeline-bigger-buffer",))
@pytest.mark.parametrize("name", SYSTEMS)
def test_formulas_of_pages_alike_say_how_many_there_are_and_no_more(name: str) -> None:
    scenario = analytic.resolve(SYSTEMS[name])
    rows = [each for each in analytic.predict(scenario)[0] if each.source != OF_CLASSES]
    assert not {each.measure for each in rows} & OF_PAGES
    waits = present(scenario.model.queue).waiting_places > 0
    assert not waits or not {each.measure for each in rows} & OF_THE_ORDER
    of_classes = analytic.exact_values(scenario)
    for each in rows:
        if each.kind == "exact":
            value, _ = of_classes[each.measure, each.subject]
            assert each.value == pytest.approx(value, rel=1e-8, abs=1e-12), each.measure


LINES = {
    "erlang": {"buffer.service": {"erlang": {"shape": 3, "mean": 1.2}}},
    "pushed-out": {
        "buffer.service": {"erlang": {"shape": 3, "mean": 1.2}},
        "buffer.when_full": "push-out-lowest",
        "buffer.obsolescence": {"exponential": {"mean": 4.0}},
    },
    "any-law": {"buffer.service": {"uniform": {"low": 0.2, "high": 2.2}}},
    "in-bulk": {"buffer.batch": 2, "buffer.service": {"exponential": {"mean": 2.6}}},
}
"""Services of which classes are not solved, all of the same total as without classes."""


@pytest.mark.by_day(besides=("in-bulk",))
@pytest.mark.parametrize("name", LINES)
def test_totals_are_those_that_are_simulated(name: str) -> None:
    """Seed 11: false alarm 1e-5 a number; an error of 3 % of the loss would be seen."""
    law = {"independent": [{"poisson": {"rate": 0.9}}], "shares": [0.3, 0.7]}
    changes = {
        "robots": {"available": 1, "deliveries": law},
        "activation": None,
        "buffer.waiting_places": 3,
        "buffer.discipline": "priority",
        "run.horizon": 6000.0,
        "run.warmup": 100.0,
        **LINES[name],
    }
    scenario = queue(changes)
    exact = {key: value for key, (value, _) in analytic.exact_values(scenario).items()}
    tallies = [simpy_engine.simulate(scenario, number, 11) for number in range(12)]
    lines = [present(each.buffer) for each in tallies]
    lost = [(each.refused + each.ended[rules.PUSHED_OUT]) / each.delivered for each in lines]
    level = [each.time_in_system / tally.window for each, tally in zip(lines, tallies, strict=True)]
    empty = [each.level_time[0] / tally.window for each, tally in zip(lines, tallies, strict=True)]
    for measure, seen in (
        ("loss_probability", lost),
        ("mean_in_system", level),
        ("starvation_probability", empty),
    ):
        error = float(np.std(seen, ddof=1)) / len(seen) ** 0.5
        assert abs(np.mean(seen) - exact[measure, None]) < 6.5 * error, measure
        assert error < 0.03 * exact[measure, None]
    assert ("loss_probability", 1) not in exact
    assert ("sojourn_time", "served 0") not in exact
    assert ("sojourn_time", "served") not in exact


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"buffer.service": {"uniform": {"low": 0.0, "high": 1.0}}}, "not exponential"),
        ({"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.0}}}, "timers are not exp"),
        ({"buffer.batch": 2}, "servers take batches of pages (buffer.batch)"),
        ({"buffer.waiting_places": 1000}, "have 1003004 states, limit 200000"),
        ({"buffer.discipline": "fifo"}, "pages of all classes are served alike"),
    ],
)
def test_what_is_simulated_only_says_why(changes: dict[str, Any], reason: str) -> None:
    law = {"independent": [{"poisson": {"rate": 1.0}}], "shares": [0.4, 0.6]}
    plain = {"robots": {"available": 1, "deliveries": law}, "activation": None}
    scenario = queue(plain | {"buffer.discipline": "priority"} | changes)
    predictions, others = analytic.predict(scenario)
    assert not any(each.source == OF_CLASSES for each in predictions)
    assert any(
        reason in why for each in others if each.source == OF_CLASSES for why in each.reasons
    )
