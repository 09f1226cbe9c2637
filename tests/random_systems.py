"""Random scenarios over the schema, small enough to simulate in no time."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scenarios import scenario_from
from scenarios.deliveries import joint_size
from scenarios.service_phases import seen_phases
from sim.engine_inputs import top_level

__all__ = [
    "changing_search_engines",
    "frontiers",
    "hysteretic",
    "large_search_engines",
    "listening_search_engines",
    "page_sets",
    "prioritised",
    "probed_sources",
    "resting",
    "search_engines",
    "server_farms",
]

Tables = dict[str, Any]

RUN = {"horizon": 60.0, "warmup": 7.0, "replications": 2}

times = st.sampled_from([0.25, 0.5, 1.0, 2.0, 0.7])
shares = st.sampled_from([[1.0], [0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5]])


@st.composite
def phase_types(draw: Any) -> Tables:
    order = draw(st.integers(1, 3))
    rates = [draw(st.sampled_from([0.5, 1.5, 4.0])) for _ in range(order)]
    alpha = draw(
        st.sampled_from([[1.0], [0.3, 0.7], [0.0, 0.4, 0.6]]).filter(
            lambda each: len(each) == order
        )
    )
    T = [[0.0] * order for _ in range(order)]
    for phase in range(order):
        T[phase][phase] = -rates[phase]
        if order > 1:
            T[phase][(phase + 1) % order] = rates[phase] * draw(st.sampled_from([0.0, 0.5, 0.9]))
    return {"phase-type": {"alpha": alpha, "T": T}}


@st.composite
def hyperexponentials(draw: Any) -> Tables:
    probabilities = draw(shares)
    rates = [draw(st.sampled_from([0.3, 1.0, 3.0])) for _ in probabilities]
    return {"hyperexponential": {"probabilities": probabilities, "rates": rates}}


single_laws = st.one_of(
    times.map(lambda mean: {"exponential": {"mean": mean}}),
    times.map(lambda value: {"deterministic": {"value": value}}),
    st.builds(lambda n, mean: {"erlang": {"shape": n, "mean": mean}}, st.integers(1, 4), times),
    st.builds(
        lambda shape, mean: {"gamma": {"shape": shape, "mean": mean}},
        st.sampled_from([0.3, 0.99, 1.0, 2.5]),
        times,
    ),
    st.builds(lambda low, width: {"uniform": {"low": low, "high": low + width}}, times, times),
    st.lists(times, min_size=1, max_size=4).map(lambda values: {"empirical": {"values": values}}),
    st.builds(
        lambda key, mean, sd: {key: {"mean": mean, "sd": sd * mean}},
        st.sampled_from(["gamma", "lognormal", "weibull", "pareto", "uniform"]),
        times,
        st.sampled_from([0.1, 0.5]),
    ),
    st.builds(
        lambda key, mean, shape: {key: {"mean": mean, "shape": shape}},
        st.sampled_from(["weibull", "pareto"]),
        times,
        st.sampled_from([1.3, 4.0]),
    ),
    hyperexponentials(),
    phase_types(),
)


@st.composite
def mixtures(draw: Any) -> Tables:
    probabilities = draw(shares)
    components = [draw(single_laws) for _ in probabilities]
    return {"mixture": {"probabilities": probabilities, "of": components}}


laws = single_laws | mixtures()

markovian = st.sampled_from(
    [
        {"poisson": {"rate": 0.8}},
        {"mmpp": {"Q": [[-0.4, 0.4], [0.2, -0.2]], "rates": [0.0, 2.0]}},
        {"map": {"D0": [[-1.5, 0.1], [0.2, -0.6]], "D1": [[1.0, 0.4], [0.0, 0.4]]}},
    ]
)
batch_deliveries = st.sampled_from(
    [
        {"bmap": {"D": [[[-1.0]], [[0.5]], [[0.3]], [[0.2]]]}},
        {
            "bmap": {
                "D": [
                    [[-1.1, 0.1], [0.05, -0.35]],
                    [[0.5, 0.0], [0.05, 0.1]],
                    [[0.4, 0.1], [0.05, 0.1]],
                ]
            }
        },
    ]
)
gaps = st.one_of(laws, laws.map(lambda law: {"renewal": law}), markovian)


@st.composite
def deliveries(draw: Any, robots: int) -> Tables:
    any_process = st.one_of(markovian, batch_deliveries)
    kind = draw(st.sampled_from(["modes", "independent", "thinned", "marked"]))
    if kind == "modes":
        scalar = st.sampled_from(
            [{"poisson": {"rate": 0.7}}, {"bmap": {"D": [[[-1.0]], [[0.5]], [[0.5]]]}}]
        )
        return {"modes": [draw(scalar) for _ in range(robots)]}
    if kind == "independent":
        return {"independent": [draw(any_process) for _ in range(robots)]}
    if kind == "thinned":
        keep = sorted(draw(st.floats(0, 1)) for _ in range(robots))
        return {"thinned": {"process": draw(any_process), "keep": keep}}
    matrices = [[[0.3, 0.0], [0.0, 0.1]], [[0.0, 0.1], [0.1, 0.0]]]
    own = [
        [draw(st.sampled_from(matrices)) for _ in range(draw(st.integers(1, 2)))]
        for _ in range(robots)
    ]
    total = [sum(sum(matrix[row]) for robot in own for matrix in robot) for row in range(2)]
    D0 = [[-total[0] - 0.2, 0.2], [0.1, -total[1] - 0.1]]
    return {"marked": {"D0": D0, "robots": own}}


@st.composite
def activations(draw: Any, robots: int, capacity: int, buffer: Tables | None) -> Tables | None:
    kinds = ["none", "static"] if buffer is None else ["none", "static", "threshold", "switching"]
    kind = draw(st.sampled_from(kinds))
    if kind == "static":
        return {"static": draw(st.integers(0, robots))}
    if kind == "threshold":
        modes = draw(st.lists(st.integers(0, robots), min_size=1, max_size=3, unique=True))
        at = sorted(draw(st.integers(0, capacity + 1)) for _ in modes[1:])
        return {"threshold": {"robots": sorted(modes, reverse=True), "at": at}}
    if kind == "switching":
        assert buffer is not None
        service = buffer["service"]
        several = buffer.get("servers", 1) > 1 or "batch" in buffer
        row = st.lists(st.integers(0, robots), min_size=capacity + 1, max_size=capacity + 1).map(
            lambda targets: [max(targets[0], 1), *targets[1:]]
        )
        order = len(service["phase-type"]["alpha"]) if "phase-type" in service else 1
        by_phase = order > 1 and not several and draw(st.booleans())
        return {
            "switching": {"targets": [draw(row) for _ in range(order)] if by_phase else draw(row)}
        }
    return None


PLANS = ("dyadic", "deadline", "deficit", "billiard", "balanced", "whittle")


@st.composite
def perhaps_by_state(draw: Any, tables: Tables) -> Tables:
    """The system, perhaps with numbers of robots at each level or state for its thresholds."""
    if "threshold" not in tables.get("activation", {}) or draw(st.booleans()):
        return tables
    scenario = scenario_from(tables)
    assert scenario.robots is not None
    assert scenario.buffer is not None
    levels = top_level(scenario) + 1
    numbers = st.integers(0, scenario.robots.available)
    by_level = {"levels": draw(st.lists(numbers, min_size=levels, max_size=levels))}
    deliveries = scenario.robots.deliveries
    one_by_one = scenario.buffer.servers == 1 and scenario.buffer.batch is None
    if not one_by_one or deliveries is None or draw(st.booleans()):
        return {**tables, "activation": by_level}
    seen = seen_phases(scenario.buffer.service)
    order, phases = joint_size(deliveries)[0], 1 if seen is None else len(seen.alpha)
    rows = [st.lists(numbers, min_size=each, max_size=each) for each in (1, phases)]
    free = [[draw(rows[min(level, 1)]) for _ in range(order)] for level in range(levels)]
    return {**tables, "activation": {"free": free}}


@st.composite
def accessing(draw: Any, pages: int) -> Tables:
    policy = draw(st.sampled_from(["cyclic", "round-robin", "randomized", "golden-ratio", *PLANS]))
    if policy == "cyclic":
        template = draw(st.lists(st.integers(0, pages - 1), min_size=1, max_size=6))
        return {"policy": policy, "template": template}
    if policy == "whittle":
        numbers = st.lists(st.sampled_from([0.0, 0.1, 1.0]), min_size=pages, max_size=pages)
        return {"policy": policy, "exponents": draw(numbers), "values": draw(numbers)}
    return {"policy": policy}


@st.composite
def buffers(
    draw: Any, places: int, with_pages: bool, batched: bool, in_batches: bool = False
) -> Tables:
    clocks = st.one_of(laws, st.just("never"), *([st.just("page-change")] if with_pages else []))
    by_size = {"page-size": {"time_per_unit": 0.3, "constant": draw(times)}}
    buffer = {
        "waiting_places": places,
        **draw(st.sampled_from([{}, {}, {"servers": 1}, {"servers": 2}, {"servers": 3}])),
        "service": draw(st.one_of(laws, *[st.just(by_size)] * with_pages)),
        "obsolescence": draw(clocks),
        "discipline": draw(st.sampled_from(["fifo", "lifo"])),
        "admission": draw(st.sampled_from(["partial", "reject", "complete"])),
    }
    if buffer["admission"] == "partial" or not batched:
        buffer["admission"] = "partial"
        buffer["when_full"] = draw(st.sampled_from(["lose-new", "push-out"]))
        buffer["replace_older_copy"] = with_pages and draw(st.booleans())
    return draw(batches(buffer)) if in_batches else buffer


def capacity_of(buffer: Tables) -> int:
    """Pages that there is room for, those in service included."""
    batch = buffer.get("batch", 1)
    most: int = batch["most"] if isinstance(batch, dict) else batch
    return int(buffer["waiting_places"]) + most * int(buffer.get("servers", 1))


@st.composite
def batches(draw: Any, buffer: Tables) -> Tables:
    """The buffer, of which servers take batches."""
    most = draw(st.integers(1, 5))
    least = draw(st.integers(1, min(most, buffer["waiting_places"] + 1)))
    batch: Tables = {"most": most, "least": least}
    if draw(st.booleans()) and not buffer.get("replace_older_copy"):
        batch["wait"] = draw(times)
    if draw(st.booleans()):
        batch["per_page"] = draw(laws)
    if "page-size" in buffer["service"]:
        buffer = {**buffer, "service": draw(laws)}
    return {**buffer, "batch": most if batch == {"most": most, "least": 1} else batch}


commits = st.fixed_dictionaries(
    {"commit_interval": st.sampled_from([0.5, 2.0, 30.0])},
    optional={"phase": st.sampled_from([0.0, 0.25])},
)


unchanged = st.sampled_from([{}, {"unchanged": {"bytes": 1.0}}])
shorter = st.just({"unchanged": {"share_of_time": 0.3}})


@st.composite
def search_engines(draw: Any, *, in_batches: bool = False) -> Tables:
    """Pages, robots, activation, buffer and clients in any sensible subset."""
    with_pages = draw(st.booleans())
    with_buffer = in_batches or not with_pages or draw(st.booleans())
    available = draw(st.integers(1, 4))
    robots: Tables = {"available": available}
    tables: Tables = {"name": "random", "robots": robots, "run": RUN}
    switching = False
    if with_buffer:
        joint = draw(st.booleans())
        tables["buffer"] = draw(buffers(draw(st.integers(0, 5)), with_pages, joint, in_batches))
        capacity = capacity_of(tables["buffer"])
        rule = draw(activations(available, capacity, tables["buffer"]))
        switching = rule is not None and "switching" in rule
    else:
        joint = draw(st.booleans())
        rule = draw(activations(available, 0, None))
    if rule is not None:
        tables["activation"] = rule
    if joint and not switching:
        robots["deliveries"] = draw(deliveries(available))
        told_apart = not {"independent", "marked"}.isdisjoint(robots["deliveries"])
        if told_apart and (rule is None or "static" in rule) and draw(st.booleans()):
            these = draw(st.sets(st.integers(0, available - 1)))
            tables["activation"] = {"these": sorted(these)}
    else:
        robots["access_time"] = draw(gaps)
    if with_pages:
        count = draw(st.integers(1, 6))
        rates = [draw(st.sampled_from([0.0, 0.05, 0.5, 3.0])) for _ in range(count)]
        sizes = draw(st.lists(st.sampled_from([0.0, 2.0, 9.0]), min_size=count, max_size=count))
        tables["pages"] = {"change_rates": rates, "weights": "uniform", "sizes": sizes}
        robots["accessing"] = draw(accessing(count))
        if "access_time" in robots and (rule is None or "static" in rule) and draw(st.booleans()):
            hosts = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
            tables["pages"]["hosts"] = hosts
            robots["host_spacing"] = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
        if draw(st.booleans()):
            tables["clients"] = {"query_rate": draw(st.sampled_from([0.5, 5.0]))}
        tables |= draw(st.just({}) | st.fixed_dictionaries({"index": commits}))
        tables["pages"] |= draw(st.sampled_from([{}, {"refresh_quantiles": [0.5, 0.99]}]))
        robots |= draw(unchanged if "deliveries" in robots else unchanged | shorter)
    if "access_time" in robots and "host_spacing" not in robots and draw(st.booleans()):
        robots["failure"] = {
            "probability": draw(st.sampled_from([0.0, 0.1, 0.6])),
            "retries": draw(st.integers(0, 2)),
        }
    if "access_time" in robots and draw(st.booleans()):
        split_into_classes(draw, tables)
    return draw(perhaps_by_state(tables))


@st.composite
def prioritised(draw: Any, systems: Any) -> Tables:
    """Such a system with a buffer that serves its pages by class."""
    tables = draw(systems)
    assume("buffer" in tables)
    robots, buffer = dict(tables["robots"]), {**tables["buffer"], "discipline": "priority"}
    tables = {**tables, "robots": robots, "buffer": buffer}
    if buffer["admission"] == "partial":
        buffer["when_full"] = draw(st.sampled_from(["lose-new", "push-out-lowest"]))
    if isinstance(buffer.get("batch"), dict):
        buffer["batch"] = {key: each for key, each in buffer["batch"].items() if key != "wait"}
    if "pages" in tables:
        count = len(tables["pages"]["change_rates"])
        classes = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
        return {**tables, "pages": {**tables["pages"], "priority": classes}}
    assume("deliveries" in robots)
    robots["deliveries"] = {**robots["deliveries"], "shares": draw(shares)}
    return tables


@st.composite
def resting(draw: Any, systems: Any, *, besides: bool = True) -> Tables:
    """Such a system whose indexer rests and whose pages come back; `besides`: or only one of both.

    By class nothing comes back.
    """
    tables = draw(systems)
    assume("buffer" in tables and "free" not in tables.get("activation", {}))
    buffer = {**tables["buffer"]}
    kinds = [("rest", "orbit"), ("rest",), ("orbit",)] if besides else [("rest", "orbit")]
    kind = draw(st.sampled_from(kinds))
    assume("rest" not in kind or buffer.get("servers", 1) == 1)
    if "orbit" in kind:
        assume(buffer["discipline"] != "priority")
        buffer |= {"when_full": "lose-new", "replace_older_copy": False}
        if buffer["obsolescence"] == "page-change":
            buffer["obsolescence"] = "never"
        buffer["retrial"] = {"rate": draw(st.sampled_from([0.3, 2.0]))}
        buffer["retrial"] |= draw(st.sampled_from([{}, {"most": 1}, {"most": 3}]))
    if "rest" in kind:
        if "page-size" in buffer["service"]:
            buffer["service"] = draw(laws)
        resume_at = draw(st.integers(1, buffer["waiting_places"] + 1))
        buffer["vacation"] = {"resume_at": resume_at}
        buffer["vacation"] |= draw(st.just({}) | laws.map(lambda law: {"time": law}))
        buffer |= draw(st.just({}) | laws.map(lambda law: {"set_up": law}))
    return {**tables, "buffer": buffer}


quarters = st.integers(0, 120).map(lambda n: n / 2) | st.sampled_from([0.3, 20.001])


@st.composite
def interventions(draw: Any, tables: Tables, *, indexers_stop: bool) -> Tables:
    """One intervention, of those that fit the system."""
    at = draw(quarters)
    given: Tables = {"at": at}
    if draw(st.booleans()):
        given["until"] = at + draw(st.sampled_from([0.001, 0.25, 1.0, 3.5, 20.0]))
        if draw(st.booleans()):
            length = given["until"] - at
            given["every"] = max(length, draw(st.sampled_from([0.5, 1.0, 5.0, 12.0])))
    effects = ["robot_speed"]
    effects += ["service_speed"] * ("buffer" in tables) + ["change_factor"] * ("pages" in tables)
    effects += ["query_factor"] * ("clients" in tables)
    fixed = {"switching", "free"}.isdisjoint(tables.get("activation", {}))
    effects += ["robots", "robots"] * (fixed and "host_spacing" not in tables["robots"])
    buffer = tables.get("buffer", {})
    servers = buffer.get("servers", 1)
    one_by_one = {"batch", "vacation", "set_up"}.isdisjoint(buffer)
    effects += ["indexers", "indexers"] * (indexers_stop and servers > 1 and one_by_one)
    numbers = {"robots": st.integers(0, 3), "indexers": st.integers(0, servers)}
    for effect in draw(st.sets(st.sampled_from(effects), min_size=1, max_size=3)):
        given[effect] = draw(numbers.get(effect, st.sampled_from([0.0, 0.5, 1.0, 2.0, 0.3])))
    return given


@st.composite
def changing_search_engines(
    draw: Any, *, in_batches: bool = False, indexers_stop: bool = False
) -> Tables:
    """The same with interventions, observed now and then, sometimes without a warm-up."""
    tables = draw(search_engines(in_batches=in_batches))
    changes = interventions(tables, indexers_stop=indexers_stop)
    tables["interventions"] = draw(st.lists(changes, max_size=3))
    observe = draw(st.sampled_from([None, 0.5, 7.0, 100.0]))
    warmup = draw(st.sampled_from([0.0, 7.0]))
    tables["run"] = RUN | {"warmup": warmup} | ({} if observe is None else {"observe": observe})
    return tables


@st.composite
def signals(draw: Any, pages: int) -> Tables:
    """Signals of changes: all kinds of pages, heard at once or after a delay."""
    shares = st.sampled_from([0.0, 0.3, 1.0])
    of_each = st.lists(shares, min_size=pages, max_size=pages)
    given: Tables = {"recall": draw(st.sampled_from([0.5, 1.0]) | of_each)}
    noise = st.sampled_from([{"precision": 0.2}, {"precision": 1.0}, {"false_rate": 1.0}])
    given |= draw(noise)
    if draw(st.booleans()):
        given["delay"] = draw(single_laws)
    return given


@st.composite
def listening_search_engines(draw: Any) -> Tables:
    """Robots that hear signals, in all else as those that change."""
    tables = draw(changing_search_engines())
    robots, pages = tables["robots"], tables.get("pages")
    fewest = sum(each["available"] for each in robots.get("classes", ())) or robots["available"]
    assume(pages is not None and "host_spacing" not in robots)
    pages["change_rates"] += [0.05, 1.0] * fewest
    pages.pop("sizes")
    assume(tables.get("buffer", {}).get("service", {}) != {"page-size"})
    pages["signals"] = draw(signals(len(pages["change_rates"])))
    policy = st.sampled_from([{"policy": "crawl-value"}, {"policy": "on-signal"}])
    robots["accessing"] = draw(policy)
    tables["run"].setdefault("observe", 4.0)  # without a course there is other code: see frontiers
    return tables


@st.composite
def frontiers(draw: Any, *, in_batches: bool = False) -> Tables:
    """Pages that fall due, with or without hosts, failures, a buffer and interventions."""
    pages, robots = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    of_each = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), min_size=pages, max_size=pages)
    accesses = {
        "policy": "due",
        "intervals": draw(st.sampled_from([0.5, 2.0]) | of_each),
        "order": draw(st.sampled_from(["first-due", "most-overdue", "priority"])),
        "first": draw(st.sampled_from(["spread", "at-once"])),
        "from": draw(st.sampled_from(["delivery", "start"])),
        "delay_quantiles": draw(st.sampled_from([[], [0.5]])),
    }
    fleet: Tables = {"available": robots, "access_time": draw(laws), "accessing": accesses}
    tables: Tables = {
        "name": "random",
        "pages": {
            "change_rates": draw(of_each),
            "weights": "uniform",
            "priority": draw(of_each),
            "hosts": draw(st.lists(st.integers(0, 2), min_size=pages, max_size=pages)),
        },
        "robots": fleet,
        "run": RUN | {"observe": 4.0},  # without a course there is other code: the library has it
    }
    fleet |= draw(unchanged | shorter)
    if draw(st.booleans()):
        tables["pages"]["signals"] = draw(signals(pages))
        accesses["levels"] = accesses.pop("intervals")
    if draw(st.booleans()):
        fleet["host_spacing"] = draw(st.sampled_from([0.0, 0.75, 3.0]))
    if draw(st.booleans()):
        fleet["failure"] = {"probability": draw(st.sampled_from([0.0, 0.3]))} | draw(
            st.sampled_from(
                [{}, {"timeout": 0.7}, {"backoff": {"first": 0.25, "factor": 3.0, "most": 4.0}}]
            )
        )
    if in_batches or draw(st.booleans()):
        tables["buffer"] = draw(buffers(draw(st.integers(0, 4)), True, False, in_batches))
        rule = {"threshold": {"robots": [robots, 1], "at": [1]}}
        tables |= draw(st.sampled_from([{}, {"activation": rule}]))
    if draw(st.booleans()):
        tables["index"] = draw(commits)
    if draw(st.booleans()):
        tables["interventions"] = draw(interventions(tables, indexers_stop=False))
    return tables


@st.composite
def hysteretic(draw: Any, systems: Any) -> Tables:
    """One of these with thresholds, of which the level goes back later, or robots have to start."""
    tables = draw(systems)
    assume("buffer" in tables and "host_spacing" not in tables["robots"])
    classes = tables["robots"].get("classes", [tables["robots"]])
    robots = sum(each["available"] for each in classes)
    top = tables["buffer"]["waiting_places"] + tables["buffer"].get("servers", 1)
    numbers = draw(st.lists(st.integers(0, robots), min_size=2, max_size=3, unique=True))
    at = sorted(draw(st.integers(0, top)) for _ in numbers[1:])
    back = sorted(draw(st.integers(0, level)) for level in at)
    rule: Tables = {"threshold": {"robots": sorted(numbers, reverse=True), "at": at, "back": back}}
    one_by_one = "deliveries" not in tables["robots"]
    waits = tables["robots"].get("accessing", {}).get("policy") == "due"
    if one_by_one and not waits and draw(st.booleans()):
        rule["start_up"] = draw(single_laws)
    limits = [each for each in tables.get("interventions", []) if "robots" not in each]
    kept = tables.get("interventions", []) if draw(st.booleans()) else limits
    return {**tables, "activation": rule} | ({"interventions": kept} if kept else {})


def split_into_classes(draw: Any, tables: Tables) -> None:
    """Give some of the robots other access times; a fixed number is sometimes one by class."""
    robots = tables["robots"]
    available = robots.pop("available")
    first = draw(st.integers(1, available))
    counts = [first, available - first] if first < available else [first]
    times = [robots.pop("access_time"), draw(gaps)]
    robots["classes"] = [
        {"available": count, "access_time": time}
        for count, time in zip(counts, times, strict=False)
    ]
    rule = tables.get("activation", {})
    if "static" in rule and draw(st.booleans()):
        rule["static"] = [draw(st.integers(0, count)) for count in counts]
    if "switching" in rule and draw(st.booleans()):
        rule["switching"] = {"choices": draw(choices(rule["switching"]["targets"], counts))}


@st.composite
def choices(draw: Any, targets: Any, counts: list[int]) -> Any:
    """A class for each level and active robots of each class, and each list of the targets."""
    if isinstance(targets[0], list):
        return [draw(choices(row, counts)) for row in targets]
    table = np.full((len(targets), *(count + 1 for count in counts)), -1)
    for level, *active in np.ndindex(table.shape):
        left = [index for index, count in enumerate(counts) if active[index] < count]
        rest = [] if level == 0 and not any(active) else [-1]
        table[(level, *active)] = draw(st.sampled_from(left + rest))
    return table.tolist()


SHAPES = (4, 50, 1000, 10**6)
PRICES = ("loss", "starvation", "obsolescence", "response", "robots", "staleness")


def _many_phases(draw: Any, law: Tables | str) -> Tables | str:
    """The law, or an Erlang law of many phases."""
    shape = draw(st.sampled_from((0, 0, *SHAPES)))
    return {"erlang": {"shape": shape, "mean": 1.0}} if shape else law


@st.composite
def large_search_engines(draw: Any) -> Tables:
    """The same with prices, many robots, phases and places: often more than can be solved."""
    tables = draw(search_engines())
    robots = tables["robots"]
    buffer = tables.get("buffer")
    activation = tables.get("activation", {})
    targets = activation.get("switching", {}).get("targets")
    chosen = activation.get("switching", {}).get("choices")
    by_state = bool({"levels", "free"} & activation.keys()) or chosen is not None
    if "access_time" in robots:
        robots["available"] += draw(st.sampled_from([0, 2, 36, 1000]))
        robots["access_time"] = _many_phases(draw, robots["access_time"])
        if "activation" not in tables and draw(st.booleans()):
            tables["activation"] = {"static": robots["available"]}
    if buffer is not None:
        by_phase = targets and isinstance(targets[0], list)
        if not by_phase and chosen is None and "free" not in activation:
            buffer["service"] = _many_phases(draw, buffer["service"])
        if targets is None and not by_state:
            buffer["waiting_places"] += draw(st.sampled_from([0, 0, 20, 400]))
        if isinstance(buffer["obsolescence"], dict):
            buffer["obsolescence"] = _many_phases(draw, buffer["obsolescence"])
        names = PRICES if "pages" in tables else PRICES[:-1]
        prices = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
        if prices:
            tables["costs"] = dict.fromkeys(prices, 1.5)
    return tables


spacing_costs = st.sampled_from(
    [
        {"table": [3.0]},
        {"table": [3.0, 1.0, 0.5]},
        {"table": [0.1, 0.3, 0.7]},
        {"power": {"scale": 1.3, "exponent": -0.7}},
        {"power": {"scale": 1.3, "exponent": 1.0}},
        {"geometric": {"first": 1.3, "ratio": 0.7}},
        {"fading": {"scale": 1.3, "rate": 0.7}},
    ]
)
"""Laws of costs by distance that a server may have that is never used."""


@st.composite
def server_farms(draw: Any) -> Tables:
    """Servers without buffers behind an open-loop router."""
    count = draw(st.integers(1, 4))
    word = st.lists(st.integers(0, count - 1), min_size=1, max_size=5)
    routing = draw(
        st.one_of(
            word.map(lambda period: {"period": period}),
            st.just({"random": [1.0 / count] * count}),
        )
    )
    servers = {
        "service": [draw(laws) for _ in range(count)],
        "arrivals": draw(st.one_of(laws.map(lambda law: {"renewal": law}), markovian)),
        "routing": routing,
        "discipline": draw(st.sampled_from(["preemptive", "non-preemptive"])),
        **draw(st.sampled_from([{}, {"weights": [1.5] * count}])),
        **draw(st.sampled_from([{}, {"waiting_places": 2, "discipline": "non-preemptive"}])),
        **draw(st.one_of(st.just({}), spacing_costs.map(lambda cost: {"spacing_cost": cost}))),
    }
    return {"name": "random", "servers": servers, "run": RUN}


@st.composite
def rates(draw: Any) -> Tables:
    """A piecewise-constant rate."""
    count = draw(st.integers(1, 4))
    values = [draw(st.sampled_from([0.0, 0.5, 2.0, 7.0])) for _ in range(count)]
    values[-1] = max(values[-1], 0.5)
    return {"breaks": [0.3 * each for each in range(count)], "values": values, "period": 1.5}


@st.composite
def probed_sources(draw: Any) -> Tables:
    """A source and its monitor."""
    times = sorted(draw(st.lists(st.integers(1, 99), max_size=8, unique=True)))
    policy = {"times": [0.1 * each for each in times] + [10.0]}
    return {
        "name": "random",
        "source": {"updates": draw(rates()), "importance": draw(rates())},
        "probing": {"horizon": 10.0, "policy": policy},
    }


@st.composite
def page_sets(draw: Any) -> Tables:
    """Pages that come and go; robots that keep up with them, and such as do not."""
    pages = {
        "birth_rate": draw(st.sampled_from([0.05, 0.5, 2.0])),
        "lifetime": draw(laws),
        "change_rate": draw(st.sampled_from([0.0, 0.3])),
        "discovery": draw(st.one_of(st.just("at-birth"), laws)),
        "first_access": draw(st.sampled_from(["in-turn", "at-once"])),
    }
    robots = {
        "available": draw(st.integers(1, 3)),
        "access_time": draw(st.one_of(laws, markovian)),
        "accessing": {"policy": draw(st.sampled_from(["randomized", "round-robin"]))},
    }
    return {"name": "random", "page_set": pages, "robots": robots, "run": RUN}
