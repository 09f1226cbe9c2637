"""Programs of other tools say what `solve` says; what they cannot say is refused by its key.

Each measure of a simulation is off by more than its interval, widened as for one false alarm in
100,000, with that probability; a place more or less moves at least one of them by ten times that.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import crawlsim
from crawlsim.exports import TARGETS
from crawlsim.exports.laws import CIW, LINE, SIMPY, _numbers, written
from experiments.line_oracles import PATIENT, PYTHON, SYSTEMS, printed_measures, right
from scenarios import ScenarioError, load

FALSE_ALARM = 1e-5
EXPONENTIAL = {"exponential": {"rate": 1.0}}
ERLANG = {"erlang": {"shape": 2, "mean": 1.5}}
PHASES = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.0]]}}
RUN = {"horizon": 1500.0, "warmup": 50.0, "replications": 12}
MAP = SYSTEMS["MAP-M-1-6"]["robots"]["access_time"]
MANY = {"empirical": {"values": [1.0, 2.0] * 501}}

NEWEST_FIRST = {
    "name": "newest-first",
    "robots": {"available": 3, "access_time": {"exponential": {"mean": 2.0}}},
    "activation": {"static": 2},
    "buffer": {
        "waiting_places": 3,
        "service": EXPONENTIAL,
        "discipline": "lifo",
        "when_full": "push-out",
        "obsolescence": {"exponential": {"mean": 4.0}},
    },
    "run": RUN,
}
TWO_INDEXERS = {
    "name": "two-indexers",
    "robots": {"classes": [{"available": 2, "access_time": {"erlang": {"shape": 2, "mean": 1.5}}}]},
    "buffer": {"waiting_places": 2, "servers": 2, "service": EXPONENTIAL},
    "run": RUN,
}


def with_laws(gaps: Any, service: Any) -> dict[str, Any]:
    return {
        "name": "laws",
        "robots": {"available": 1, "access_time": gaps},
        "buffer": {"waiting_places": 4, "service": service},
        "run": RUN,
    }


MIXTURE = {"probabilities": [0.5, 0.5], "of": [PHASES, EXPONENTIAL]}
LAWS = {
    "deterministic": {"deterministic": {"value": 1.1}},
    "gamma": {"gamma": {"shape": 0.7, "mean": 1.0}},
    "hyperexponential": {"hyperexponential": {"probabilities": [0.3, 0.7], "rates": [0.5, 2.0]}},
    "phase-type": PHASES,
    "lognormal": {"lognormal": {"mean": 1.0, "sd": 0.8}},
    "weibull": {"weibull": {"mean": 1.0, "shape": 1.7}},
    "uniform": {"uniform": {"low": 0.5, "high": 1.5}},
    "empirical": {"empirical": {"values": [0.2, 0.9, 1.9]}},
    "mixture": {"mixture": MIXTURE},
}


def printed(program: str, folder: Path, python: Path | str = sys.executable) -> Any:
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [python, "-W", "ignore", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return printed_measures(done.stdout)


def disagreeing(said: Any, system: Any) -> list[str]:
    """The measures that are further off than chance allows."""
    exact = {
        f"{row.measure} {row.subject or ''}".strip(): row.value
        for row in crawlsim.solve(system).predictions
        if row.kind == "exact"
    }
    compared = [name for name in said if name in exact]
    assert {"loss_rate", "throughput", "loss_probability", "mean_in_system"} <= set(compared)
    freedom = crawlsim.Scenario.model_validate(system).run.replications - 1
    wider = stats.t.ppf(1.0 - FALSE_ALARM / 2, freedom) / stats.t.ppf(0.975, freedom)
    return [
        name
        for name in compared
        if abs(said[name][0] - exact[name]) > wider * said[name][1] + 1e-12
    ]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("to", "system", "places"),
    [
        ("simpy", NEWEST_FIRST, "WAITING_PLACES = 3"),
        ("ciw", TWO_INDEXERS, "queue_capacities=[2]"),
    ],
    ids=["simpy", "ciw"],
)
def test_a_program_agrees_and_one_with_a_place_less_does_not(
    to: str, system: Any, places: str, tmp_path: Path
) -> None:
    program = crawlsim.export(system, to)
    assert disagreeing(printed(program, tmp_path), system) == []
    planted = program.replace(
        places, places.replace("3", "2") if "3" in places else "queue_capacities=[1]"
    )
    assert planted != program
    assert "loss_probability" in disagreeing(printed(planted, tmp_path), system)


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("to", "law"), [*product(("simpy", "ciw"), LAWS)])
def test_every_law_is_that_of_the_file_as_a_service_and_as_an_access(
    to: str, law: str, tmp_path: Path
) -> None:
    for system in (with_laws(EXPONENTIAL, LAWS[law]), with_laws(LAWS[law], EXPONENTIAL)):
        assert disagreeing(printed(crawlsim.export(system, to), tmp_path), system) == []


@pytest.mark.thorough
@pytest.mark.statistical
def test_a_pareto_law_and_accesses_with_a_phase_in_simpy(tmp_path: Path) -> None:
    pareto = with_laws(EXPONENTIAL, {"pareto": {"mean": 1.0, "shape": 3.0}})
    for system in (pareto, SYSTEMS["MAP-M-1-6"], SYSTEMS["M-and-E2-M-2-6"]):
        assert disagreeing(printed(crawlsim.export(system, "simpy"), tmp_path), system) == []


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("to", ["simpy", "ciw"])
def test_pages_become_obsolete_under_both_orders(to: str, tmp_path: Path) -> None:
    newest = NEWEST_FIRST | {"buffer": NEWEST_FIRST["buffer"] | {"when_full": "lose-new"}}  # type: ignore[operator]
    for system in (newest, PATIENT["M-M-1-6-patience-E2"]):
        assert disagreeing(printed(crawlsim.export(system, to), tmp_path), system) == []


@pytest.mark.thorough
@pytest.mark.skipif(not PYTHON.exists(), reason="there is no .venv-oracles (make oracles)")
@pytest.mark.parametrize("name", ["M-D-1-6", "MAP-PH-2-4-patience-M", "M-H2-1-5-lifo"])
def test_line_says_the_same_where_it_is_installed(name: str, tmp_path: Path) -> None:
    said = printed(crawlsim.export(SYSTEMS[name], "line"), tmp_path, PYTHON)
    exact = right(name)
    assert said.keys() <= exact.keys()
    for measure, (value, _) in said.items():
        assert value == pytest.approx(exact[measure], rel=1e-8)


def test_programs_of_line_hold_the_numbers_of_the_file() -> None:
    for system in SYSTEMS.values():
        compile(crawlsim.export(system, "line"), system["name"], "exec")
    text = crawlsim.export(TWO_INDEXERS, "line")
    assert "CAPACITY = 4 " in text
    assert "set_number_of_servers(2)" in text
    assert "Exp(1.0)" in text
    assert "SchedStrategy.FCFS" in text
    assert "MAP([[-2.6666666666666665, " in text  # two robots, the rate of each phase 4/3
    lone = TWO_INDEXERS | {"activation": {"static": 1}}
    assert "Erlang.fit_mean_and_order(1.5, 2)" in crawlsim.export(lone, "line")
    assert "qsys_mapg1k([[-0.9]], [[0.9]], " in crawlsim.export(SYSTEMS["M-D-1-6"], "line")
    assert '{"type": "det", "d": 1.0}, 6)' in crawlsim.export(SYSTEMS["M-D-1-6"], "line")


def test_line_gets_the_phases_of_robots_that_are_counted() -> None:
    """Of two phases each: 29 robots are thirty counts, and not 2^29."""
    robots = {"access_time": ERLANG, "available": 29}
    compile(crawlsim.export(TWO_INDEXERS | {"robots": robots}, "line"), "many", "exec")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("library", "changes", "key"),
    [
        ("whittle-index", {}, "pages"),
        ("routing-two-servers", {}, "servers"),
        ("dbworld-threshold", {}, "source"),
        ("four-robots-one-threshold", {}, "activation.threshold"),
        ("marked-robots", {}, "robots.deliveries"),
        ("batches-that-fit", {}, "robots.deliveries"),
        ("indexer-in-bulk", {}, "buffer.batch"),
        ("one-robot", {"robots.failure.probability": 0.1}, "robots.failure"),
        ("one-robot", {"interventions": [{"at": 9.0, "robots": 0}]}, "interventions"),
    ],
)
def test_what_no_tool_can_say_is_refused_by_its_key(
    to: str, library: str, changes: dict[str, Any], key: str
) -> None:
    with pytest.raises(ScenarioError, match=TARGETS[to].tool) as refused:
        crawlsim.export(crawlsim.load(library).with_(changes), to)
    assert refused.value.key == key


@pytest.mark.parametrize(
    ("to", "changes", "key"),
    [
        ("line", {"buffer.obsolescence": LAWS["gamma"]}, "buffer.obsolescence"),
        ("line", {"buffer.service": LAWS["lognormal"]}, "buffer.service"),
        ("line", {"buffer.service": LAWS["deterministic"], "buffer.servers": 2}, "buffer.service"),
        ("line", {"robots.access_time": LAWS["uniform"]}, "robots.access_time"),
        ("line", {"robots.access_time": ERLANG, "robots.available": 30}, "robots.access_time"),
        ("line", {"buffer.when_full": "push-out"}, "buffer.when_full"),
        ("ciw", {"buffer.when_full": "push-out"}, "buffer.when_full"),
        ("ciw", {"buffer.service": {"pareto": {"mean": 1.0, "shape": 3.0}}}, "buffer.service"),
        ("ciw", {"robots.access_time": MAP}, "robots.access_time"),
        ("simpy", {"activation.static": 0}, "activation.static"),
        ("simpy", {"buffer.service": MANY}, "buffer.service"),
    ],
)
def test_what_one_tool_cannot_say_is_refused_by_its_key(
    to: str, changes: dict[str, Any], key: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        crawlsim.export(crawlsim.load("one-robot").with_(changes), to)
    assert refused.value.key == key


def test_an_unknown_tool_is_refused() -> None:
    with pytest.raises(ScenarioError, match="must be"):
        crawlsim.export("one-robot", "jmt")


def test_the_command_writes_a_file_of_its_own_only(crawlsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "one_robot.py"
    asked = ("export", "one-robot", "--to", "simpy")
    code, text, _ = crawlsim(*asked)
    assert code == 0
    for _ in range(2):
        code, out, err = crawlsim(*asked, "--out", str(path))
        assert (code, out) == (0, "")
        assert f"next: python {path}" in err
    assert path.read_text(encoding="utf-8").startswith(text)
    path.write_text("# mine\n")
    code, _, err = crawlsim(*asked, "--out", str(path))
    assert (code, path.read_text()) == (2, "# mine\n")
    assert "was not written by crawlsim" in err
    assert crawlsim(*asked, "--out", str(path), "--force")[0] == 0


def test_the_command_refuses_names_that_would_be_imported(crawlsim: Any, tmp_path: Path) -> None:
    asked = ("export", "one-robot", "--to", "simpy", "--out")
    for name, reason in (("simpy.py", "imported in place"), ("my.toml", "must end in .py")):
        code, _, err = crawlsim(*asked, str(tmp_path / name))
        assert (code, reason in err) == (2, True)
    code, _, err = crawlsim("export", "one-robot", "talim-switching", "--to", "ciw")
    assert (code, "a single scenario" in err) == (2, True)


def test_numbers_of_laws_are_counted_with_the_matrices_that_they_become() -> None:
    given = {
        "empirical": {"values": [1.0, 2.0, 4.0, 8.0, 9.0]},
        "hyperexponential": {"probabilities": [0.2, 0.3, 0.5], "rates": [1.0, 2.0, 3.0]},
        "exponential": {"mean": 2.0},
    }
    laws = [load("one-robot").with_("buffer.service", {key: law}) for key, law in given.items()]
    counts = [_numbers(scenario.buffer.service) for scenario in laws if scenario.buffer]
    assert counts == [5, 9, 1]


def service_of(law: dict[str, Any]) -> Any:
    return load("one-robot").with_("buffer.service", law).buffer.service  # type: ignore[union-attr]


def test_phases_in_the_words_of_each_tool() -> None:
    """As matrices: what leaves a phase goes to where the next time begins, or to the end."""
    law = service_of({"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.5, -0.8]]}})
    text = written(law, SIMPY)
    assert text is not None
    D0, D1 = eval(text, {"markovian": lambda *matrices: matrices})
    assert D0 == [[-3.0, 1.0], [0.5, -0.8]]
    assert np.array(D1) == pytest.approx(np.array([[2.0 * 0.6, 2.0 * 0.4], [0.3 * 0.6, 0.3 * 0.4]]))
    text = written(law, CIW)
    assert text is not None
    ciw = SimpleNamespace(dists=SimpleNamespace(PhaseType=lambda **named: named))
    said = eval(text, {"ciw": ciw})
    assert said["initial_state"] == [0.6, 0.4, 0.0]
    assert np.array(said["absorbing_matrix"]) == pytest.approx(
        np.array([[-3.0, 1.0, 2.0], [0.5, -0.8, 0.3], [0.0, 0.0, 0.0]])
    )
    assert written(law, LINE) == "PH([0.6, 0.4], [[-3.0, 1.0], [0.5, -0.8]])"


def test_mixtures_in_the_words_of_each_tool() -> None:
    mixed = {"mixture": {"probabilities": [0.25, 0.75], "of": [LAWS["deterministic"], ERLANG]}}
    law = service_of(mixed)
    one, other = law.of
    assert written(law, SIMPY) == (
        f"lambda: random.choices([{written(one, SIMPY)}, {written(other, SIMPY)}], "
        "[0.25, 0.75])[0]()"
    )
    assert written(law, CIW) == (
        f"ciw.dists.MixtureDistribution([{written(one, CIW)}, {written(other, CIW)}], [0.25, 0.75])"
    )
    assert written(law, LINE) is None
    phases = {"probabilities": [0.25, 0.75], "of": [EXPONENTIAL, ERLANG]}
    start, steps = eval(str(written(service_of({"mixture": phases}), LINE)), {"PH": lambda *of: of})
    assert start == [0.25, 0.75, 0.0]
    assert np.array(steps) == pytest.approx(
        np.array([[-1.0, 0.0, 0.0], [0.0, -4 / 3, 4 / 3], [0.0, 0.0, -4 / 3]])
    )
    pareto = {"pareto": {"mean": 1.0, "shape": 3.0}}
    of_pareto = service_of({"mixture": {"probabilities": [0.5, 0.5], "of": [ERLANG, pareto]}})
    assert written(of_pareto, CIW) is None
    assert written(of_pareto, SIMPY) is not None


def test_a_mixture_has_the_numbers_of_its_parts() -> None:
    some = {"empirical": {"values": [1.0, 2.0, 4.0]}}
    fast = {"hyperexponential": {"probabilities": [0.4, 0.6], "rates": [1.0, 2.0]}}
    law = service_of({"mixture": {"probabilities": [0.5, 0.25, 0.25], "of": [some, fast, ERLANG]}})
    assert _numbers(law) == 3 + 2**2 + 1


def test_what_a_program_needs_is_named_with_what_it_holds() -> None:
    for to, target in TARGETS.items():
        for library, key in (("whittle-index", "pages"), ("dbworld-threshold", "source")):
            with pytest.raises(ScenarioError) as refused:
                crawlsim.export(library, to)
            assert str(refused.value) == (
                f"{key}\n{target.tool} cannot say it in such a program, which has {target.holds}"
            )
    assert TARGETS["line"].holds == (
        "robots that are always active and a buffer with waiting places, servers, fifo or lifo, "
        "obsolescence by an exponential law, and nothing else"
    )
    assert ", obsolescence by a law, push-out, and nothing else" in TARGETS["simpy"].holds


def test_a_program_without_a_robot_is_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        crawlsim.export(load("one-robot").with_("activation.static", 0), "simpy")
    assert str(refused.value) == "activation.static = 0\nwithout robots there is nothing to write"
