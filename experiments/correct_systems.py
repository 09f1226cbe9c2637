"""Random systems of every family that has formulas, all of them right: nothing may be refuted.

System n is always the same. Loads go from far below to far above what the indexer can do, so that
losses are rare, frequent, or nearly certain; replications are few or many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scenarios import Scenario, scenario_from

Tables = dict[str, Any]
Draw = np.random.Generator


def correct_system(number: int, *, hard: bool = False) -> Scenario:
    """The random system of a number, with its own family, size and length of run.

    Hard ones are the families that a run is easily too short for: large buffers, heavy tails,
    interventions, several servers.
    """
    rng = np.random.default_rng([20_2611, number])
    families = HARD_FAMILIES if hard else FAMILIES
    family = families[number % len(families)]
    tables = {"name": f"{family.__name__.strip('_')}-{number}", **family(rng)}
    replications = int(rng.choice([2, 3, 5, 10, 20, 40]))
    run = {"replications": replications, "seed": number, **tables.pop("run", {})}
    if "probing" not in tables:
        events = float(rng.choice([1000, 10_000, 40_000, 200_000])) / replications
        window = max(100.0, events * tables.pop("time_per_event"))
        run = {"horizon": window, "warmup": 0.0, **run}
    return scenario_from({**tables, "run": run})


def _positive(rng: Draw, low: float, high: float) -> float:
    """A number between two bounds, evenly in its logarithm; three digits."""
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")


def _shares(rng: Draw, count: int) -> list[float]:
    """Positive numbers that add up to 1."""
    parts = rng.dirichlet(np.ones(count)) * 0.9 + 0.1 / count
    parts[-1] = 1.0 - parts[:-1].sum()
    return [float(part) for part in parts]


def _phase_type(rng: Draw, mean: float) -> Tables:
    order = int(rng.integers(2, 4))
    T = rng.uniform(0.0, 1.0, (order, order))
    np.fill_diagonal(T, 0.0)
    np.fill_diagonal(T, -(T.sum(axis=1) + rng.uniform(0.2, 2.0, order)))
    alpha = np.array(_shares(rng, order))
    scale = float(alpha @ np.linalg.solve(-T, np.ones(order))) / mean
    return {"phase-type": {"alpha": alpha.tolist(), "T": (T * scale).tolist()}}


def _markovian_law(rng: Draw, mean: float) -> Tables:
    """A law with a phase-type form."""
    which = rng.integers(4)
    if which == 0:
        return {"exponential": {"mean": mean}}
    if which == 1:
        return {"erlang": {"shape": int(rng.integers(2, 5)), "mean": mean}}
    if which == 2:
        share = float(rng.uniform(0.05, 0.5))
        slow = mean * float(rng.uniform(1.5, min(8.0, 0.9 / share)))
        fast = (mean - share * slow) / (1 - share)
        return {
            "hyperexponential": {"probabilities": [share, 1 - share], "rates": [1 / slow, 1 / fast]}
        }
    return _phase_type(rng, mean)


def _any_law(rng: Draw, mean: float) -> Tables:
    which = rng.integers(5)
    if which == 0:
        return {"deterministic": {"value": mean}}
    if which == 1:
        return {"gamma": {"shape": _positive(rng, 0.4, 5.0), "mean": mean}}
    if which == 2:
        width = float(rng.uniform(0.1, 0.9))
        return {"uniform": {"low": mean * (1 - width), "high": mean * (1 + width)}}
    return _markovian_law(rng, mean)


def _activation(rng: Draw, robots: int, places: int) -> Tables:
    which = rng.integers(4)
    if which == 0:
        return {"activation": {"static": int(rng.integers(1, robots + 1))}}
    if which == 1 and robots > 1:
        lower = int(rng.integers(0 if places > 0 else 1, robots))
        return {"activation": {"threshold": {"robots": [robots, lower], "at": [places // 2 + 1]}}}
    if which == 2 and robots > 1:
        targets = sorted((int(n) for n in rng.integers(0, robots + 1, places + 2)), reverse=True)
        targets[0] = max(targets[0], 1)
        return {"activation": {"switching": {"targets": targets}}}
    return {}


def _timer(rng: Draw) -> Tables:
    if rng.random() < 0.5:
        return {}
    mean = _positive(rng, 0.3, 30.0)
    law = {"exponential": {"mean": mean}} if rng.random() < 0.7 else _markovian_law(rng, mean)
    return {"obsolescence": law}


def _discipline(rng: Draw) -> Tables:
    return {
        **({"discipline": "lifo"} if rng.random() < 0.2 else {}),
        **({"when_full": "push-out"} if rng.random() < 0.15 else {}),
    }


def _buffer(rng: Draw, places: int) -> Tables:
    service = _markovian_law(rng, 1.0)
    return {"waiting_places": places, "service": service, **_timer(rng), **_discipline(rng)}


def _queue(rng: Draw) -> Tables:
    """Exponential robots before a buffer: light, critical and heavy loads."""
    robots = int(rng.integers(1, 7))
    places = int(rng.choice([0, 1, 2, 3, 5, 9]))
    load = _positive(rng, 0.05, 4.0)
    access = {"exponential": {"mean": robots / load}}
    return {
        "robots": {"available": robots, "access_time": access},
        **_activation(rng, robots, places),
        "buffer": _buffer(rng, places),
        "costs": {"loss": 1.0, "starvation": float(rng.uniform(0.2, 2.0)), "robots": 0.1},
        "time_per_event": 1.0 / load,
    }


def _single_server(rng: Draw) -> Tables:
    """One Poisson robot, often so light that a run sees hardly a loss."""
    load = _positive(rng, 0.02, 1.5)
    places = int(rng.integers(0, 12))
    return {
        "robots": {"available": 1, "access_time": {"exponential": {"rate": load}}},
        "buffer": {
            "waiting_places": places,
            "service": {"exponential": {"mean": 1.0}},
            **_discipline(rng),
        },
        "time_per_event": 1.0 / load,
    }


def _bursts(rng: Draw) -> Tables:
    """Dependent deliveries: two states of unlike rates, in batches or not."""
    fast = _positive(rng, 0.5, 6.0)
    slow = _positive(rng, 0.05, 0.5)
    leave = rng.uniform(0.05, 0.5)
    back = float(rng.uniform(0.05, 0.5))
    D0 = np.array([[-fast - leave, leave], [back, -slow - back]])
    D1 = np.diag([fast, slow])
    batches = [D1] if rng.random() < 0.6 else [0.5 * D1, 0.3 * D1, 0.2 * D1]
    process = {"bmap": {"D": [D0.tolist(), *(each.tolist() for each in batches)]}}
    places = int(rng.choice([1, 2, 4, 7]))
    deliveries = {"thinned": {"process": process, "keep": [0.4, 1.0]}}
    admission = str(rng.choice(["partial", "reject", "complete"]))
    section = {
        "waiting_places": places,
        "service": _markovian_law(rng, 1.0),
        "admission": admission,
        **({"obsolescence": {"exponential": {"mean": 4.0}}} if rng.random() < 0.5 else {}),
    }
    threshold = {"robots": [2, 1], "at": [places // 2]}
    return {
        "robots": {"available": 2, "deliveries": deliveries},
        **({"activation": {"threshold": threshold}} if rng.random() < 0.5 else {}),
        "buffer": section,
        "time_per_event": 2.0 / (fast + slow),
    }


def _pages(rng: Draw, count: int) -> Tables:
    rates = [_positive(rng, 0.005, 1.0) / count for _ in range(count)]
    weights = str(rng.choice(["change-rate", "uniform"]))
    return {"change_rates": rates, "weights": weights}


def _policy(rng: Draw, count: int, planned: bool) -> Tables:
    frequencies = _shares(rng, count) if rng.random() < 0.6 else "uniform"
    if not planned:
        return {"policy": "randomized", "frequencies": frequencies}
    name = str(rng.choice(["round-robin", "cyclic", "golden-ratio", "deadline", "whittle"]))
    if name == "cyclic":
        template = [*range(count), *(int(n) for n in rng.integers(0, count, count))]
        return {"policy": name, "template": [template[n] for n in rng.permutation(len(template))]}
    if name in ("golden-ratio", "deadline"):
        return {"policy": name, "frequencies": frequencies}
    return {"policy": name}


def _refresh(rng: Draw) -> Tables:
    """Robots and pages without a buffer, with access times of any law."""
    count = int(rng.integers(1, 9))
    robots = int(rng.choice([1, 1, 2, 4]))
    planned = bool(rng.random() < 0.6)
    mean = 1.0
    law = _any_law(rng, mean) if robots == 1 else {"exponential": {"mean": mean}}
    return {
        "pages": _pages(rng, count),
        "robots": {
            "available": robots,
            "access_time": law,
            "accessing": _policy(rng, count, planned),
        },
        **({"clients": {"query_rate": 2.0}} if rng.random() < 0.4 else {}),
        "time_per_event": mean / robots,
    }


def _pipeline(rng: Draw) -> Tables:
    """Pages that go through the buffer: staleness end to end."""
    count = int(rng.integers(1, 7))
    places = int(rng.choice([0, 1, 3, 6]))
    robots = int(rng.integers(1, 5))
    load = _positive(rng, 0.1, 2.5)
    return {
        "pages": _pages(rng, count),
        "robots": {
            "available": robots,
            "access_time": {"exponential": {"mean": robots / load}},
            "accessing": _policy(rng, count, planned=bool(rng.random() < 0.3)),
        },
        **_activation(rng, robots, places),
        "buffer": _buffer(rng, places),
        "clients": {"query_rate": 1.0},
        "time_per_event": 1.0 / load,
    }


def _one_robot_pipeline(rng: Draw) -> Tables:
    """One robot whose accesses follow any law, before a buffer."""
    count = int(rng.integers(1, 6))
    load = _positive(rng, 0.2, 2.0)
    return {
        "pages": _pages(rng, count),
        "robots": {
            "available": 1,
            "access_time": _any_law(rng, 1.0 / load),
            "accessing": _policy(rng, count, planned=True),
        },
        "buffer": {"waiting_places": int(rng.integers(0, 6)), "service": _markovian_law(rng, 1.0)},
        "time_per_event": 1.0 / load,
    }


def _servers(rng: Draw) -> Tables:
    """Open-loop routing to servers without waiting rooms."""
    count = int(rng.integers(2, 5))
    fast = _positive(rng, 1.0, 8.0)
    slow = _positive(rng, 0.1, 1.0)
    arrivals = {"mmpp": {"Q": [[-0.4, 0.4], [0.3, -0.3]], "rates": [fast, slow]}}
    if rng.random() < 0.4:
        arrivals = {"poisson": {"rate": fast}}
    order = [*range(count), *(int(n) for n in rng.integers(0, count, int(rng.integers(0, 5))))]
    routing = {"period": [order[n] for n in rng.permutation(len(order))]}
    if rng.random() < 0.3:
        routing = {"random": _shares(rng, count)}
    discipline = str(rng.choice(["preemptive", "non-preemptive"]))
    costs: Tables = {}
    if rng.random() < 0.3:
        costs["weights"] = [_positive(rng, 0.5, 3.0) for _ in range(count)]
    if rng.random() < 0.5:
        laws: list[Tables] = [
            {"table": [4.0, 2.0, 1.0]},
            {"power": {"scale": 1.0, "exponent": 1.5}},
            {"fading": {"scale": 1.0, "rate": 0.5}},
        ]
        costs["spacing_cost"] = laws[int(rng.integers(len(laws)))]
    return {
        "servers": {
            **costs,
            "rates": [_positive(rng, 0.3, 4.0) for _ in range(count)],
            "arrivals": arrivals,
            "routing": routing,
            "discipline": discipline,
        },
        "time_per_event": 1.0 / fast,
    }


def _probing(rng: Draw) -> Tables:
    """A source probed at given times."""
    period = 1.0
    breaks = [0.0, *sorted(float(x) for x in rng.uniform(0.1, 0.9, 3))]
    functions = {
        name: {
            "breaks": breaks,
            "values": [_positive(rng, 0.2, 8.0) for _ in breaks],
            "period": period,
        }
        for name in ("updates", "importance")
    }
    policy = str(rng.choice(["uniform", "threshold", "first-arrival"]))
    horizon = float(rng.integers(2, 8))
    return {
        "source": functions,
        "probing": {"horizon": horizon, "probes": int(rng.integers(1, 20)), "policy": policy},
        "run": {"replications": int(rng.choice([20, 100, 1000]))},
    }


FAMILIES: tuple[Callable[[Draw], Tables], ...] = (
    _queue,
    _single_server,
    _refresh,
    _bursts,
    _pipeline,
    _queue,
    _single_server,
    _one_robot_pipeline,
    _servers,
    _probing,
)
"""The families take turns, those that the verdicts found hardest twice."""


def _large_buffer(rng: Draw) -> Tables:
    """Hundreds of places or more, loads around 1, and a run that may not begin to fill them."""
    places = int(_positive(rng, 100, 4000))
    load = float(rng.choice([0.8, 0.95, 1.0, 1.02, 1.1, 1.6])) * float(rng.uniform(0.98, 1.02))
    robots = int(rng.integers(1, 5))
    servers = int(rng.choice([1, 1, 1, 2, 4]))
    law = _any_law if servers == 1 and places <= 3000 else _exponential_law
    return {
        "robots": {"available": robots, "access_time": _exponential_law(rng, robots / load)},
        "buffer": {
            "waiting_places": places,
            "servers": servers,
            "service": law(rng, float(servers)),
            **({"obsolescence": {"exponential": {"mean": 3.0 * places}}} if places < 500 else {}),
        },
        "time_per_event": 1.0 / load,
        "run": _any_warmup(rng),
    }


def _heavy_tails(rng: Draw) -> Tables:
    """Pareto and lognormal services or accesses."""
    load = _positive(rng, 0.2, 2.0)
    robots = int(rng.integers(1, 4))
    access = _exponential_law(rng, robots / load)
    service = _heavy_law(rng, 1.0)
    if rng.random() < 0.25:
        robots = 1
        access, service = _heavy_law(rng, 1.0 / load), _exponential_law(rng, 1.0)
    pages: Tables = {}
    accessing: Tables = {}
    if rng.random() < 0.4:
        count = int(rng.integers(1, 6))
        pages = {"pages": _pages(rng, count)}
        accessing = {"accessing": _policy(rng, count, planned=False)}
    places = int(rng.choice([0, 1, 3, 8, 20]))
    return {
        **pages,
        "robots": {"available": robots, "access_time": access, **accessing},
        **(_activation(rng, robots, places) if not pages else {}),
        "buffer": {
            "waiting_places": places,
            "service": service,
            **({"obsolescence": {"exponential": {"mean": 5.0}}} if rng.random() < 0.3 else {}),
        },
        "time_per_event": 1.0 / load,
        "run": _any_warmup(rng),
    }


def _with_interventions(rng: Draw) -> Tables:
    """A queue that is changed for a while, or for good, and its course."""
    tables = _queue(rng)
    tables["buffer"].pop("discipline", None)
    if "switching" in tables.get("activation", {}):
        del tables["activation"]
    interventions = []
    for _ in range(int(rng.integers(1, 4))):
        at = float(rng.uniform(0.0, 60.0))
        effects: Tables = {
            "robots": int(rng.integers(0, tables["robots"]["available"] + 1)),
            "robot_speed": float(rng.choice([0.0, 0.5, 2.0])),
            "service_speed": float(rng.choice([0.0, 0.5, 2.0])),
        }
        name = str(rng.choice(list(effects)))
        until = {} if rng.random() < 0.3 else {"until": at + float(rng.uniform(1.0, 40.0))}
        interventions.append({"at": at, **until, name: effects[name]})
    tables["interventions"] = interventions
    return {**tables, "run": {"observe": float(rng.choice([5.0, 20.0, 50.0])), "horizon": 500.0}}


def _several_servers(rng: Draw) -> Tables:
    """Two to six indexers with phases, patience, thresholds."""
    tables = _queue(rng)
    servers = int(rng.integers(2, 7))
    places = tables["buffer"]["waiting_places"]
    for each in ("discipline", "when_full"):
        tables["buffer"].pop(each, None)
    if "switching" in tables.get("activation", {}):
        del tables["activation"]
    service = _markovian_law(rng, float(servers))
    patience = {"obsolescence": {"exponential": {"mean": 4.0}}} if rng.random() < 0.4 else {}
    tables["buffer"] = {
        "waiting_places": places,
        "servers": servers,
        "service": service,
        **patience,
    }
    return {**tables, "run": _any_warmup(rng)}


def _any_warmup(rng: Draw) -> Tables:
    """A short warm-up, or none: the start has to be told from an error."""
    return {"warmup": float(rng.choice([0.0, 0.0, 20.0, 90.0]))}


def _exponential_law(rng: Draw, mean: float) -> Tables:  # noqa: ARG001  # drawn like any other law
    return {"exponential": {"mean": mean}}


def _heavy_law(rng: Draw, mean: float) -> Tables:
    if rng.random() < 0.7:
        return {"pareto": {"mean": mean, "shape": float(rng.uniform(1.2, 6.0))}}
    return {"lognormal": {"mean": mean, "sd": mean * _positive(rng, 0.3, 6.0)}}


HARD_FAMILIES = (_large_buffer, _heavy_tails, _with_interventions, _several_servers)
"""The families for which a run is easily too short."""
