"""Sweeps that are stopped, and go on; sweeps that are compared."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import queue

import sim
import sim.sweep
from crawlsim import ranking
from crawlsim.cli import sweep_cells
from crawlsim.cli.options import RunOptions
from crawlsim.cli.sweep_cells import CellFiles, decisions, identity_of, simulate_as_asked
from crawlsim.report.sweep_figures import SweepRows, heat_figure, plot_heat_map
from scenarios import ScenarioError, dumps
from sim.estimates.paired import Estimated, best_of, paired_difference
from sim.sweep import cells as grid_of

Commands = Any
VARY = ["--vary", "buffer.waiting_places=1,2,3", "--vary", "activation.static=1,2"]
TABLES = ("sweep.csv", "differences.csv", "sweep.svg", "report.html")


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"run.horizon": 400.0, "run.replications": 5})))
    return str(path)


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is simulated from now on, one for each cell."""
    seen: list[str] = []

    def simulate(scenario: Any, *others: Any, **options: Any) -> Any:
        seen.append(scenario.name)
        return simulate_as_asked(scenario, *others, **options)

    monkeypatch.setattr(sweep_cells, "simulate_as_asked", simulate)
    return seen


@pytest.mark.thorough
def test_a_stopped_sweep_computes_only_what_is_missing_and_ends_the_same(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    again = tmp_path / "again"
    assert crawlsim("sweep", scenario_file, *VARY, "--out", str(whole))[0] == 0
    assert crawlsim("sweep", scenario_file, *VARY, "--out", str(again))[0] == 0
    for name in ("cells/00001.json", "cells/00004.json", "sweep.csv"):
        (again / name).unlink()
    (again / "cells/00002.json").write_text('{"rows": [')
    seen = counted(monkeypatch)
    code, text, err = crawlsim("sweep", scenario_file, *VARY, "--out", str(again))
    assert (code, len(seen)) == (0, 3)
    assert "3 of 6 cells are already there and will not be computed again" in err
    assert tables(again) == tables(whole)
    code, printed, _ = crawlsim("sweep", scenario_file, *VARY)
    assert printed == text, "a table from files differs from one computed now"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vary": [["run.seed", [1]]]}, "vary was run.seed=1,2, and is run.seed=1 now"),
        ({"warmup": "70"}, 'warmup was not given, and is "70" now'),
        ({"scenario": {"run": {"seed": 2}}}, "run.seed was 1, and is 2 now"),
        ({"contents": ["b"]}, "a data file had other contents"),
    ],
)
def test_what_another_sweep_differs_in_is_said(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    grid = grid_of(queue(), {"run.seed": [1, 2]})
    identity = {"program": "crawlsim", "vary": [["run.seed", [1, 2]]], "warmup": None}
    identity |= {"scenario": {"run": {"seed": 1}}, "contents": ["a"]}
    CellFiles(str(tmp_path), identity, grid).keep({"varied": {"run.seed": 1}}, 0)
    with pytest.raises(ScenarioError) as refusal:
        CellFiles(str(tmp_path), identity | changes, grid)
    assert refusal.value.allowed == f"holds another sweep: {says}; give another folder"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (VARY[:2], "vary was buffer.waiting_places=1,2,3 activation.static=1,2, and is buffer"),
        ([*VARY[2:], *VARY[:2]], "and is activation.static=1,2 buffer.waiting_places=1,2,3 now"),
        ([*VARY, "--seed", "9"], "run.seed was not given, and is 9 now"),
        (
            [*VARY, "--set", "buffer.service.exponential.rate=2.0"],
            "buffer.service.exponential.rate was 1.0, and is 2.0 now",
        ),
        ([*VARY, "--precision", "0.5"], "precision was not given, and is"),
        ([*VARY, "--warmup", "70"], 'warmup was not given, and is "70" now'),
    ],
)
def test_the_folder_of_another_sweep_is_refused(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, flags: list[str], says: str
) -> None:
    out = tmp_path / "out"
    assert crawlsim("sweep", scenario_file, *VARY, "--out", str(out))[0] == 0
    before = tables(out)
    code, text, err = crawlsim("sweep", scenario_file, *flags, "--out", str(out))
    assert (code, text) == (2, "")
    assert "holds another sweep" in err
    assert says in err
    assert tables(out) == before


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"warmup": "9"}, True),
        ({"precision": 0.1}, True),
        ({"precision": 0.1, "measures": ("throughput",)}, True),
        ({"precision": 0.1, "max_replications": 5}, True),
        ({"engine": "simpy", "jobs": 4, "cluster": "tcp://x:1", "out": "y"}, False),
    ],
)
def test_what_makes_another_sweep(changes: dict[str, Any], differs: bool) -> None:
    options = RunOptions(
        engine=None, jobs=1, cluster=None, out="x", precision=None, measures=(), max_replications=9
    )
    if "precision" in changes and len(changes) > 1:
        options = replace(options, precision=0.1)
    given: tuple[Any, ...] = (queue(), {"run.seed": [1, 2]})
    one = identity_of(*given, options, {"numpy": "1"})
    assert (identity_of(*given, replace(options, **changes), {"numpy": "1"}) != one) is differs
    assert identity_of(*given, options, {"numpy": "2"}) != one


@pytest.mark.thorough
def test_a_cell_that_is_not_as_it_was_written_is_computed_again(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    flags = ["sweep", scenario_file, *VARY, "--out", str(out)]
    crawlsim(*flags)
    before = tables(out)
    cell = out / "cells/00002.json"
    for wrong in (
        "{}",
        '{"rows": 5}',
        '{"varied": {}, "decision": null, "run": {}, "rows": [], "without_each": []}',
        '{"sha256": "0", "record": {"varied": {}}}',
        "[NaN]",
        cell.read_text().replace("0.", "1.", 1),
    ):
        cell.write_text(wrong)
        code, _, err = crawlsim(*flags)
        assert code == 0, wrong
        assert "5 of 6 cells are already there" in err, wrong
        assert tables(out) == before, wrong
    cell.unlink()
    cell.mkdir()
    code, _, err = crawlsim(*flags)
    assert code == 2
    assert "cells/00002.json there is no file" in err


def test_no_link_is_followed_and_no_partial_file_stays(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    place = tmp_path / "out/cells"
    victim.write_text("precious")
    place.mkdir(parents=True)
    (place / ".sweep.json.partial").symlink_to(victim)
    assert crawlsim("sweep", scenario_file, *VARY, "--out", str(tmp_path / "out"))[0] == 0
    assert victim.read_text() == "precious"
    assert len(list(place.iterdir())) == 6 + 2, "six cells, the identity, and the link"


def test_a_data_file_among_the_varied_values_counts_too(crawlsim: Commands, tmp_path: Path) -> None:
    data = tmp_path / "sizes.csv"
    scenario = tmp_path / "sizes.toml"
    data.write_text("1.0\n2.0\n")
    scenario.write_text(dumps(queue({"run.replications": 2}), tmp_path))
    law = f'{{ empirical = {{ file = "{data}" }} }}'
    vary = f"buffer.service={law},{{ exponential = {{ rate = 1.0 }} }}"
    flags = ["sweep", str(scenario), "--vary", vary, "--out", str(tmp_path / "out")]
    assert crawlsim(*flags)[0] == 0
    data.write_text("1.0\n2.5\n")
    code, _, err = crawlsim(*flags)
    assert code == 2
    assert "a data file had other contents" in err


@pytest.mark.thorough
def test_engine_workers_and_the_measure_to_minimise_do_not_make_another_sweep(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert crawlsim("sweep", scenario_file, *VARY, *out)[0] == 0
    seen = counted(monkeypatch)
    others = ["--engine", "simpy", "--jobs", "2", "--minimise", "loss_probability"]
    code, text, _ = crawlsim("sweep", scenario_file, *VARY, *out, *others)
    assert (code, seen) == (0, [])
    assert "least loss_probability: buffer.waiting_places = 3, activation.static = 1" in text


def test_a_data_file_with_other_contents_makes_another_sweep(
    crawlsim: Commands, tmp_path: Path
) -> None:
    data = tmp_path / "sizes.csv"
    scenario = tmp_path / "sizes.toml"
    data.write_text("1.0\n2.0\n")
    changes = {"buffer.service": {"empirical": {"file": str(data)}}, "run.replications": 2}
    scenario.write_text(dumps(queue(changes), tmp_path))
    flags = ["sweep", str(scenario), "--vary", "run.seed=1,2", "--out", str(tmp_path / "out")]
    assert crawlsim(*flags)[0] == 0
    data.write_text("1.0\n2.5\n")
    code, _, err = crawlsim(*flags)
    assert code == 2
    assert "a data file had other contents" in err


@pytest.mark.by_day(besides=("left0",))
@pytest.mark.parametrize("left", [{}, {"thesis.tex": "x"}, {"sweep.json": "{}"}])
def test_a_folder_of_cells_that_is_not_ours_is_refused_and_an_empty_one_is_used(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, left: dict[str, str]
) -> None:
    place = tmp_path / "out/cells"
    place.mkdir(parents=True)
    for name, text in left.items():
        (place / name).write_text(text)
    code, _, err = crawlsim("sweep", scenario_file, *VARY, "--out", str(tmp_path / "out"))
    assert code == (2 if left else 0)
    if left:
        assert "cells there was not written by crawlsim" in err
        assert {path.name for path in place.iterdir()} == set(left)


@pytest.mark.nightly
def test_killed_at_any_moment_a_sweep_goes_on_and_ends_the_same(
    scenario_file: str, tmp_path: Path
) -> None:
    """SIGKILL while the cells are computed and while the last files are written."""
    command = [sys.executable, "-m", "crawlsim", "sweep", scenario_file, *VARY, "--out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    whole = tmp_path / "whole"
    killed = tmp_path / "killed"
    subprocess.run([*command, str(whole)], env=environment, check=True, capture_output=True)
    for cells in (0, 2, 5, 6):
        process = subprocess.Popen([*command, str(killed)], env=environment, stderr=-3, stdout=-3)
        while process.poll() is None and len(list(killed.glob("cells/0*.json"))) < cells:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, str(killed)], env=environment, check=True, capture_output=True)
    assert tables(killed) == tables(whole)


def test_killed_while_files_are_replaced_a_folder_is_still_ours(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert crawlsim("run", scenario_file, "--out", str(out))[0] == 0
    replace = Path.replace

    for moment in range(1, 6):
        moves = iter(range(99))

        def until_killed(
            self: Path, target: Path, moves: Any = moves, moment: int = moment
        ) -> Path:
            if next(moves) == moment:
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", until_killed)
        seed = ["--seed", str(moment)]
        assert crawlsim("run", scenario_file, "--out", str(out), *seed)[0] == 130
        monkeypatch.setattr(Path, "replace", replace)
        assert crawlsim("run", scenario_file, "--out", str(out), *seed)[0] == 0


@pytest.mark.thorough
def test_differences_between_cells_are_paired(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    """Longer buffers lose less; the pairs know it far better than the two intervals alone."""
    out = tmp_path / "out"
    crawlsim("sweep", scenario_file, "--vary", "buffer.waiting_places=3,4", "--out", str(out))
    with (out / "differences.csv").open() as stream:
        (row,) = [r for r in csv.DictReader(stream) if r["measure"] == "loss_probability"]
    cells = [
        queue({"run.horizon": 400.0, "run.replications": 5, "buffer.waiting_places": places})
        for places in (4, 3)
    ]
    one, other = (sim.run(cell) for cell in cells)
    key = ("loss_probability", None)
    found = [each.find(*key) for each in (one, other)]
    assert found[0] is not None
    assert found[1] is not None
    assert float(row["difference"]) == pytest.approx(found[0].estimate - found[1].estimate)
    apart = np.subtract(one.leave_one_out[key], other.leave_one_out[key])
    error = math.sqrt(4 / 5 * np.sum((apart - apart.mean()) ** 2))
    assert float(row["standard_error"]) == pytest.approx(error)
    assert error < 0.7 * math.hypot(found[0].standard_error, found[1].standard_error)


def estimated(values: Any) -> Estimated:
    """The mean of some values, one a replication."""
    numbers = np.asarray(values, dtype=float)
    return Estimated(float(numbers.mean()), (numbers.sum() - numbers) / (len(numbers) - 1))


def test_intervals_of_differences_cover_the_truth_and_not_a_shifted_one() -> None:
    """2000 pairs with correlation: 95 % intervals within 93.5 and 96.5 % (3 standard errors)."""
    generator = np.random.default_rng(5)
    hits = shifted = 0
    for _ in range(2000):
        common = generator.normal(size=12)
        pair = [estimated(common + generator.normal(0.3 * k, 0.4, size=12)) for k in (1, 0)]
        found = paired_difference(*pair)
        hits += found.low <= 0.3 <= found.high
        shifted += found.low <= 0.6 <= found.high
    assert 0.935 < hits / 2000 < 0.965
    assert shifted / 2000 < 0.75


def test_unequal_numbers_of_replications_are_not_paired() -> None:
    found = paired_difference(estimated([1.0, 2.0, 3.0]), estimated([1.0, 2.0]))
    assert found.standard_error == pytest.approx(math.hypot(math.sqrt(1 / 3), 0.5))
    assert found.degrees == 1


def test_the_confidence_of_being_best_is_not_promised_in_vain() -> None:
    """Of 3000 choices among three close systems, those said to be 80 to 95 % sure are."""
    generator = np.random.default_rng(6)
    right: list[bool] = []
    for _ in range(3000):
        means = generator.normal(0, 0.5, size=3)
        systems = [estimated(mean + generator.normal(size=10)) for mean in means]
        best = best_of(systems)
        assert best is not None
        if 0.8 <= best.confidence <= 0.95:
            right.append(bool(best.index == means.argmin()))
    assert len(right) > 500
    assert np.mean(right) > 0.85


def test_a_confidence_is_never_negative_and_never_certain() -> None:
    twins = [estimated([1.0, 2.0, 3.0])] * 5
    best = best_of(twins)
    assert best is not None
    assert best.confidence == 0.0
    assert [ranking.percent(share) for share in (1.0, 0.9996, 0.8765)] == [
        "99.9 %",
        "99.9 %",
        "87.6 %",
    ]


def test_last_bits_make_no_difference() -> None:
    one = estimated([0.1, 0.2, 0.3])
    other = Estimated(one.estimate * (1 + 1e-16), one.leave_one_out * (1 + 2e-16))
    found = paired_difference(one, other)
    assert (found.difference, found.standard_error, found.doubt) == (0.0, 0.0, 0.5)


@pytest.mark.thorough
def test_differences_are_from_the_first_cell_or_from_the_best(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    for goal, against in (
        ([], "buffer.waiting_places = 1, activation.static = 1"),
        (["--maximise", "throughput"], "buffer.waiting_places = 3, activation.static = 2"),
    ):
        out = tmp_path / f"out{len(goal)}"
        crawlsim("sweep", scenario_file, *VARY, *goal, "--out", str(out))
        with (out / "differences.csv").open() as stream:
            rows = [r for r in csv.DictReader(stream) if r["measure"] == "throughput"]
        assert {row["against"] for row in rows} == {against}
        assert len(rows) == 5
        if goal:
            assert all(float(row["difference"]) < 0 for row in rows)


def test_a_map_has_its_numbers_in_their_places_and_frames_the_least() -> None:
    values = {(x, y): 10.0 * x + y for x in (1, 2) for y in (1, 2, 3)}
    values[2, 2] = 0.5
    rows = [
        {"a": str(x), "b": str(y), "measure": "throughput", "subject": None, "estimate": value}
        for (x, y), value in values.items()
    ]
    ax = plot_heat_map(rows, "throughput", ["a", "b"])
    texts = {text.get_position(): text.get_text() for text in ax.texts}
    assert texts == {(x - 1, y - 1): f"{value:.3g}" for (x, y), value in values.items()}
    (frame,) = ax.patches
    assert (frame.get_x() + 0.48, frame.get_y() + 0.48) == (1.0, 1.0)


def test_an_interrupt_of_a_sweep_that_keeps_nothing_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt), sweep_cells._said_when_interrupted(None):
        raise KeyboardInterrupt


def test_no_cell_has_a_value(crawlsim: Commands, scenario_file: str) -> None:
    flags = ["--vary", "run.seed=1,2", "--set", "activation={ static = 0 }"]
    flags = ["sweep", scenario_file, *flags, "--minimise", "loss_probability"]
    assert json.loads(crawlsim(*flags, "--json")[1])["best"] is None
    assert "no cell has a value of loss_probability" in crawlsim(*flags)[1]


def test_equal_systems_are_rivals_and_undefined_ones_are_not() -> None:
    one = estimated([1.0, 2.0, 3.0])
    nothing = Estimated(math.nan, np.full(3, math.nan))
    best = best_of([nothing, one, one, estimated([8.0, 9.0, 10.0])])
    assert best is not None
    assert (best.index, best.rivals) == (1, (2,))
    assert best.confidence <= 0.5
    assert best_of([nothing]) is None


def test_the_best_cell_is_named_with_its_confidence(crawlsim: Commands, scenario_file: str) -> None:
    flags = ["--minimise", "loss_probability", "--json"]
    code, text, _ = crawlsim("sweep", scenario_file, *VARY, *flags)
    best = json.loads(text)["best"]
    assert code == 0
    assert best["cell"] == {"buffer.waiting_places": 3, "activation.static": 1}
    assert best["solved_cell"] == best["cell"]
    assert best["confidence"] > 0.99
    assert best["low"] < best["estimate"] < best["high"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--minimise", "loss"], "must be a measure"),
        (["--minimise", "weighted_obsolescence"], "that cells are compared by: "),
        (["--minimise", "control_cost"], "that cells are compared by: "),
        (["--maximise", "sojourn_time everywhere"], "sojourn_time all"),
        (["--minimise", "throughput", "--maximise", "throughput"], "does not go with --minimise"),
    ],
)
def test_a_measure_that_cannot_be_optimised_is_refused_before_anything_is_simulated(
    crawlsim: Commands,
    scenario_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    says: str,
) -> None:
    seen = counted(monkeypatch)
    out = tmp_path / "out"
    code, text, err = crawlsim("sweep", scenario_file, *VARY, *flags, "--out", str(out))
    assert (code, text, seen) == (2, "", [])
    assert says in err
    assert not out.exists()


def test_a_subject_can_be_named_and_more_can_be_better(
    crawlsim: Commands, scenario_file: str
) -> None:
    flags = ["sweep", scenario_file, *VARY, "--json"]
    least = json.loads(crawlsim(*flags, "--minimise", "sojourn_time")[1])["best"]
    assert (least["measure"], least["subject"]) == ("sojourn_time", "all")
    assert least["cell"] == least["solved_cell"]
    served = json.loads(crawlsim(*flags, "--minimise", "sojourn_time  served")[1])["best"]
    assert served["cell"] == {"buffer.waiting_places": 1, "activation.static": 1}
    most = json.loads(crawlsim(*flags, "--maximise", "throughput")[1])["best"]
    assert most["cell"] == {"buffer.waiting_places": 3, "activation.static": 2}
    assert most["solved_cell"] == most["cell"]
    assert most["low"] < most["estimate"] < most["high"]


def test_an_interrupt_says_what_is_kept(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counted(monkeypatch)
    counting = sweep_cells.simulate_as_asked

    def until_third(*arguments: Any, **options: Any) -> Any:
        if len(seen) == 2:
            raise KeyboardInterrupt
        return counting(*arguments, **options)

    monkeypatch.setattr(sweep_cells, "simulate_as_asked", until_third)
    out = tmp_path / "out"
    code, _, err = crawlsim("sweep", scenario_file, *VARY, "--out", str(out))
    assert code == 130
    assert f"interrupted; 2 of 6 cells are in {out}; the same command resumes" in err
    code, _, err = crawlsim("sweep", scenario_file, *VARY)
    assert "interrupted; nothing was written" in err


def test_a_cell_that_falls_short_of_its_precision_is_named_again_when_it_is_read(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path / "out")]
    precision = ["--precision", "0.001", "--measure", "throughput", "--max-replications", "6"]
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1,2", *out, *precision]
    for _ in range(2):
        _, _, err = crawlsim(*flags)
        for places in (1, 2):
            assert f"queue, buffer.waiting_places = {places}: after 6 replications" in err


@pytest.mark.nightly
def test_a_record_of_another_cell_is_computed_again(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    wrong = tmp_path / "wrong"
    for out in (whole, wrong):
        crawlsim("sweep", scenario_file, *VARY, "--out", str(out))
    (wrong / "cells/00001.json").write_bytes((whole / "cells/00003.json").read_bytes())
    crawlsim("sweep", scenario_file, *VARY, "--out", str(wrong))
    assert tables(wrong) == tables(whole)


def test_two_sweeps_begun_at_the_same_time_do_not_share_a_folder(tmp_path: Path) -> None:
    """Both find the folder empty; whoever finishes a cell first has it."""
    grid = grid_of(queue(), {"run.seed": [1, 2]})
    record = {"varied": {"run.seed": 1}}
    one, other = (CellFiles(str(tmp_path), {"program": "crawlsim", "n": n}, grid) for n in (1, 2))
    one.keep(record, 0)
    with pytest.raises(ScenarioError, match="holds another sweep"):
        other.keep(record, 1)
    assert list(one.finished()) == [0]
    assert not (tmp_path / "cells/00001.json").exists()


def test_cells_at_zero_tie_and_the_formulas_lead(crawlsim: Commands, scenario_file: str) -> None:
    """Nothing was ever lost in either; by the formulas the largest buffer loses least."""
    flags = ["sweep", scenario_file, "--set", "buffer.service.exponential.mean=0.01"]
    flags += ["--vary", "buffer.waiting_places=20,30,40", "--minimise", "loss_probability"]
    last = crawlsim(*flags)[1].splitlines()[-1]
    assert last.startswith("least loss_probability: buffer.waiting_places = 40, with ")
    assert "by the formulas; in the simulation 3 cells tie at 0, none seen: " in last
    assert "confidence" not in last
    best = json.loads(crawlsim(*flags, "--json")[1])["best"]
    assert best["cell"] == {"buffer.waiting_places": 40}
    assert [each["buffer.waiting_places"] for each in best["tied"]] == [20, 30, 40]
    assert [each["buffer.waiting_places"] for each in best["not_told_apart"]] == [20, 30]


def test_ties_without_formulas_name_no_best_cell() -> None:
    cells = [sim.sweep.Cell({"a": n}, None) for n in range(5)]  # type: ignore[arg-type]
    nothing = estimated([0.0, 0.0, 0.0])
    best = best_of([nothing, estimated([1.0, 2.0, 3.0]), nothing, nothing, nothing])
    assert best is not None
    assert best.ties == (2, 3, 4)
    assert ranking.tie_words(cells, best, 0.0, None).startswith(
        "4 cells tie at 0, none seen: (a = 0), (a = 2), (a = 3) and 1 more"
    )


def test_the_title_of_a_heat_map_keeps_the_value() -> None:
    keys = ["a", "b", "buffer.service.exponential.mean", "robots.access_time.exponential.mean"]
    rows = [
        {"measure": "throughput", "subject": None, "estimate": float(x + y)}
        | dict(zip(keys, (x, y, 0.657, 12.5), strict=True))
        for x in (1, 2)
        for y in (1, 2)
    ]
    figure = heat_figure(SweepRows(rows, [("throughput", None)], keys, "time unit"))
    assert figure is not None
    title = figure.get_suptitle()
    assert "mean service time of a page (time unit): 0.657" in title
    assert "mean access time (time unit): 12.5" in title


def test_a_folder_in_the_place_of_a_cell_is_refused(tmp_path: Path) -> None:
    grid = grid_of(queue(), {"run.seed": [1, 2]})
    files = CellFiles(str(tmp_path), {"program": "crawlsim"}, grid)
    files.keep({"varied": {"run.seed": 1}}, 0)
    (tmp_path / "cells/00001.json").mkdir()
    with pytest.raises(ScenarioError, match=r"cells/00001.json there is no file"):
        files.finished()


OPTIMAL = {"optimal": "static"}


@pytest.mark.parametrize(
    ("activations", "columns"),
    [
        ([{"static": 1}, {"static": 2}], ()),
        ([{"static": 1}, OPTIMAL], ("decision",)),
        ([OPTIMAL, OPTIMAL], ("decision",)),
    ],
    ids=["none", "one", "all"],
)
def test_a_sweep_that_decides_in_any_cell_has_a_column_for_it(
    activations: list[dict[str, Any]], columns: tuple[str, ...]
) -> None:
    priced = queue({"costs": {"loss": 1.0, "starvation": 1.0}})
    assert decisions(grid_of(priced, {"activation": activations})) == columns
