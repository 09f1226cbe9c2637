"""The notebooks that have no exercises yet run from top to bottom and say what their text says."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def sources(path: Path) -> list[str]:
    """The code cells."""
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(path: Path) -> list[Any]:
    """What each code cell shows last; cells are plain Python."""
    names: dict[str, Any] = {}
    shown = []
    with mpl.rc_context({"figure.max_open_warning": 0}):
        mpl.use("Agg")
        for source in sources(path):
            *statements, last = ast.parse(source).body
            exec(compile(ast.Module(statements, []), path.name, "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), path.name, "eval"), names))
            else:
                exec(compile(ast.Module([last], []), path.name, "exec"), names)
    return shown


def test_the_thresholds_say_what_the_text_says() -> None:
    """The numbers in words: a quarter, half the waste, a factor of three, 4 %, 60 %."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "thresholds")
    frames = [each for each in run(path) if hasattr(each, "columns")]
    fixed, table, judged, service, patience, mistakes = frames
    assert fixed.control_cost.idxmin() == 3
    assert table.gain.max() == pytest.approx(25, abs=0.5)
    assert set(judged.verdict) == {"agrees"}
    assert service.cost.max() / service.cost.min() == pytest.approx(4 / 3, abs=0.02)
    assert patience.cost.max() / patience.cost.min() == pytest.approx(2, abs=0.1)
    assert patience["at"].iloc[-1] == (0,)
    by = mistakes.groupby("variable")["too much, %"].max()
    assert by["service"] < 4
    assert by["obsolescence"] == pytest.approx(60, abs=1)
    assert (mistakes.paid / mistakes.believed).max() == pytest.approx(3, abs=0.5)


def test_the_log_of_a_crawler_says_what_the_text_says() -> None:
    """The printed statistics; 4, 1 at 2 saves twice 9.3 %; a seventh too low; agreement."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "crawler-log")
    frames = [each for each in run(path) if hasattr(each, "columns")]
    statistics, sizes, table, decisions, judged = frames
    off = (statistics.fitted - statistics.printed) / statistics["standard error"]
    assert off.drop("lag_correlation").abs().max() < 3.3
    assert off["lag_correlation"] < -50
    assert 1 / sizes.probability[0] == pytest.approx(174, abs=0.5)
    assert sizes["mean service"][0] / sizes["mean service"][1] == pytest.approx(168, abs=0.5)
    best = table.loc[table.cost.idxmin()]
    assert (best.robots, best["at"]) == ((4, 1), (2,))
    assert best.gain == pytest.approx(2 * 9.3, abs=0.5)
    assert decisions.paid[0] == decisions.paid[1]
    assert decisions["at"].tolist() == [(2,), (2,), (4,)]
    assert decisions.believed[2] / decisions.paid[0] == pytest.approx(6 / 7, abs=0.01)
    assert decisions.paid[2] / decisions.paid[0] < 1.01
    assert set(judged.verdict) == {"agrees"}


def test_the_routing_says_what_the_text_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Valleys that move out, one block length, bounds below optima, the theorem that fails."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "routing")
    drawn: list[list[int]] = []

    def show() -> None:
        axes = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
        drawn.append([len(ax.lines) for ax in axes])
        plt.close("all")

    plt.close("all")
    monkeypatch.setattr(plt, "show", show)
    frames = [each for each in run(path) if hasattr(each, "columns")]
    assert [len(axes) for axes in drawn] == [2, 1]  # a figure that belongs to no window is not seen
    assert all(min(axes) > 0 for axes in drawn)
    figure_1, bursts, bounds, table, judged, failures, walks = frames
    assert figure_1.Poisson.iloc[0] == pytest.approx(1 + 2**0.5)
    assert (figure_1.constant < figure_1.Poisson).all()
    assert set(bursts["best word"]) == {"0 1 1", "0 1 1 1"}
    assert (bursts.lost < bursts["in turn"]).all()
    assert set(bounds.proved) == {"yes"}
    assert (bounds["linear, %"] <= bounds["Coffman, %"]).all()
    assert (bounds[bounds.rates == "1, 2"]["linear, %"] == 0).all()
    assert table.order.iloc[0] == "optimum"
    assert table.cost.is_monotonic_increasing
    assert set(judged.verdict) == {"agrees"}
    assert judged.kind.tolist() == ["exact", "lower bound"]
    assert not np.signbit(bounds["linear, %"]).any()
    assert failures["word repeated"].tolist() == [0, 0, 4, 10, 32]
    assert not failures["finite horizon"].any()
    assert walks.atoms.tolist() == [2, 6, 24, 120, 720]
    assert walks.cost.tolist() == pytest.approx(walks["least cost"].tolist())


def test_the_probing_says_what_the_text_says() -> None:
    """A third and 8 % more, the bound, agreement, powers of n, a grid that is too coarse."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "probing")
    table, near, judged, costs, fits, last = (e for e in run(path) if hasattr(e, "index"))
    assert table["above, %"]["uniform"] == pytest.approx(34, abs=1)
    assert table["above, %"]["threshold"] == pytest.approx(8, abs=0.5)
    assert near["cost"] / near["bound"] - 1 == pytest.approx(2e-5, abs=1e-5)
    assert near["probes on a breakpoint"] == 19
    assert judged.verdict.tolist() == ["agrees"] * 8
    assert (costs >= 1).all(axis=None)
    assert (fits["R², power"] > fits["R², exponential"]).all()
    bent = fits.index[fits["R², power"] < 0.96]
    assert set(bent) == {("dbworld", "threshold"), ("dbworld", "first arrival")}
    assert (last.idxmin() == "4032 slots").all()
    assert last.micronet["672 slots"] > last.micronet["threshold"]


def test_the_switching_says_what_the_text_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten misprinted costs; half as much again, a part of it; free thresholds; fewer in phase 1."""
    monkeypatch.chdir(Path(__file__).parents[1])
    (path,) = (path for path in NOTEBOOKS if path.stem == "switching")
    figures, misprints, gap, seen, judged = (e for e in run(path) if hasattr(e, "columns"))
    assert figures.cost.round(6).tolist() == [0.209074, 0.25924, 0.322115]
    costs = misprints[misprints.column == "C_d"]
    assert costs.table.tolist().count(1) == 8
    assert costs.table.tolist().count(2) == 2
    early = costs[costs.table == 1]
    assert (early["at the printed stop"].round(5) == early.printed.astype(float)).all()
    more = gap.set_index("rule").more
    assert more["fixed number"] == pytest.approx(54, abs=1)
    assert 0 < more["one level for all"] < more["fixed number"] / 2
    assert gap.cost.iloc[-2:].tolist() == pytest.approx([0.2592, 0.0890], abs=5e-5)
    assert (seen["phase 1"] <= seen["phase 0"]).all()
    assert set(judged.verdict) == {"agrees"}


def test_the_fitting_says_what_the_text_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bursts spoil a copy once; crawls see half of them and less; promises are kept."""
    monkeypatch.delenv("CRAWLSIM_TRACE", raising=False)
    (path,) = (path for path in NOTEBOOKS if path.stem == "fitting")
    frames = [each for each in run(path) if hasattr(each, "columns")]
    rates, shares, judged, crawls, table = frames
    assert (rates.low < rates.estimate).all()
    stale, poisson = shares.share
    assert stale < 0.8 * poisson
    assert set(judged.verdict) == {"agrees"}
    seen = crawls.set_index("changes")["likelihood / true"]
    assert seen["the log"] < 0.5
    assert seen["Poisson"] == pytest.approx(1, abs=0.06)
    paid = table.set_index("policy")
    assert (abs(paid.paid / paid.promised - 1) < 0.03).all()


def test_which_page_next_says_what_the_text_says() -> None:
    """The reverse of the optimum, 1.0472 refuted, three distances, an index near the bound."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "which-page-next")
    alternatives, distances, golden, policies, index = (
        e for e in run(path) if hasattr(e, "columns")
    )
    above = alternatives.set_index("frequencies")["above the bound, %"]
    assert above["change-rate"] > 5 * above["uniform"] > 25 * above["optimal"]
    assert distances.distance.tolist() == [144, 233, 377]
    assert (distances["how often"] @ distances.distance, distances["how often"].sum()) == (
        17711,
        72,
    )
    golden = golden.set_index("pages")
    assert round(golden.exact[246], 4) == 1.1014
    assert ((golden.low <= golden.exact) & (golden.exact <= golden.high)).all()
    assert (golden.low.loc[[152, 246, 400]] > 1.0472).all()
    assert (golden.high.loc[[123, 199, 322]] < 1.0472 + 0.003).all()
    assert (golden.exact < 1.109017).all()
    assert ((policies["simulated, low"] <= policies.cost) & (policies.cost <= policies.high)).all()
    names = policies.sort_values("cost").policy.tolist()
    assert names == ["deficit", "golden-ratio", "whittle", "round-robin", "randomized"]
    assert index["cost over the bound"].between(1.0, 1.003).all()


def test_more_robots_staler_says_what_the_text_says() -> None:
    """Seven robots best, 19 % more with ten, three of four; the fastest page given up."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "more-robots-staler")
    curves, checked, bigger, helps, frequencies = (e for e in run(path) if hasattr(e, "columns"))
    assert curves[20].idxmin() == 7
    assert curves[20][10] / curves[20][7] == pytest.approx(1.19, abs=0.005)
    assert curves[100][10] == pytest.approx(0.75, abs=0.005)
    assert ((checked.low <= checked.exact) & (checked.exact <= checked.high)).all()
    assert bigger["waiting places"][bigger.stale.idxmin()] in (2, 3)
    plain, *others = (helps.loc[name] for name in helps.index)
    assert all(row[16] < plain[16] for row in others)
    assert [row[16] < plain.min() for row in others] == [False, True, True, True, True, True]
    replaced = helps.loc["newer copies replace older ones"]
    assert replaced.is_monotonic_decreasing
    assert replaced.tolist() == pytest.approx([0.4839, 0.4011, 0.3617, 0.3542], abs=0.0025)
    assert frequencies.frequencies.iloc[-1] == "optimal"
    more = frequencies.set_index("frequencies").more
    assert more["best without a buffer"] > more["uniform"] > 0


def test_one_bad_hour_says_what_the_text_says() -> None:
    """Half an hour whatever the outage's length; three hours with a large buffer; holding back."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "one-bad-hour")
    agreement, longer, buffers, decisions = (e for e in run(path) if hasattr(e, "columns"))
    assert ((agreement.low <= agreement.exact) & (agreement.exact <= agreement.high)).all()
    recover = longer.set_index("outage, minutes")["minutes to recover"]
    assert recover[10] == pytest.approx(recover[60], abs=0.01)
    assert recover[10] == pytest.approx(31, abs=0.5)
    places = buffers.set_index("waiting places")
    assert places["minutes to recover"][60] == pytest.approx(180, abs=2)
    assert places["pages lost in three hours"].is_monotonic_decreasing
    assert places["copies out of date, of 8"].is_monotonic_increasing
    minutes, lost, stale = (decisions[name] for name in decisions)
    assert lost["two robots during the outage"] < lost["nothing"] / 3
    held_back = [name for name in decisions.index if "after it" in name and "robots" in name]
    assert (minutes[held_back] > minutes["nothing"]).all()
    assert (stale[held_back] < stale["nothing"] - 0.02).all()
