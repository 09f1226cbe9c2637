"""`crawlsim fit`: what --into changes, in which unit; windows, refusals, what is shown, figures."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from crawlsim.fitting import Options, fit, fitted_scenario, read_trace
from crawlsim.logs.fit.poisson_tests import dispersion
from crawlsim.report.fit_report import figures_of, plot_change_rates
from scenarios import Scenario, ScenarioError, dumps, load

MONDAY = np.datetime64("2026-01-05")


def dates(days: np.ndarray) -> list[str]:
    seconds = MONDAY + (days * 86400).astype("timedelta64[s]")
    return [f"{each}Z" for each in np.datetime_as_string(seconds)]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every kind, as dates and as numbers of days."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(40)
    days = np.sort(rng.uniform(0, 60, 300))
    batched = np.cumsum(rng.exponential(np.where(rng.random(600) < 0.2, 0.3, 0.02)))
    for name, written in (("dates", dates), ("numbers", lambda days: days.tolist())):
        rows = {
            "changes": [f"p{n % 3},{each}" for n, each in enumerate(written(days))],
            "crawls": [f"p{n % 3},{each},{n % 7 % 2}" for n, each in enumerate(written(days))],
            "deliveries": [f"{each}" for each in written(batched)],
        }
        header = {"changes": "page,time", "crawls": "page,time,changed", "deliveries": "time"}
        for kind, lines in rows.items():
            Path(f"{kind}-{name}.csv").write_text("\n".join([header[kind], *lines]))
    Path("sizes.csv").write_text("\n".join(["bytes", *map(str, rng.exponential(2.0, 300))]))
    return tmp_path


def based(name: str, unit: str | None) -> Scenario:
    scenario = load(name)
    if unit is None and "time_unit" not in scenario.model_fields_set:
        return scenario
    return scenario.with_("time_unit", unit)


# What is replaced


INTO = {
    ("changes", "whittle-index", ()): ["pages.change_rates", "pages.names"],
    ("crawls", "whittle-index", ()): ["pages.change_rates", "pages.names"],
    ("changes", "dbworld-uniform", ("--pieces", "14")): ["source.updates"],
    ("deliveries", "batches", ()): ["robots.deliveries"],
    ("sizes", "one-robot", ()): ["buffer.service"],
    ("sizes", "batches", ("--section", "obsolescence")): ["buffer.obsolescence"],
    ("sizes", "one-robot", ("--section", "access_time")): ["robots.access_time"],
}


@pytest.mark.by_day(besides=("day-case3", "None-case3", "None-case4", "None-case5", "None-case6"))
@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("case", INTO)
@pytest.mark.parametrize("unit", ["day", None])
def test_the_fitted_part_and_nothing_else_is_replaced(
    case: tuple[str, str, tuple[str, ...]], unit: str | None, crawlsim: Any
) -> None:
    kind, name, options = case
    before = based(name, unit)
    Path("base.toml").write_text(dumps(before))
    trace = "sizes.csv" if kind == "sizes" else f"{kind}-numbers.csv"
    extra = ("--time-unit", "day") if kind != "sizes" and unit is None else ()
    arguments = ("fit", trace, *options, *extra, "--into", "base.toml")
    code, out, err = crawlsim(*arguments, "--out", "made.toml")
    assert code == 0, err
    assert f"Replaced in {name}: {', '.join(INTO[case])}." in out
    found = json.loads(crawlsim(*arguments, "--json")[1])
    assert (found["replaced"], found["left_out"]) == (INTO[case], [])
    before_file = before.as_file()
    after_file = load("made.toml").as_file()
    table, entry = INTO[case][0].split(".")
    assert after_file[table][entry] != before_file[table][entry]
    after_file[table][entry] = before_file[table][entry]
    if table == "pages":
        assert len(after_file[table].pop("names")) == len(load("made.toml").pages.change_rates)
    assert after_file == before_file


@pytest.mark.usefixtures("logs")
def test_what_the_fit_takes_the_place_of_is_said(crawlsim: Any) -> None:
    """Deliveries are another way to say access times, and both cannot stay."""
    Path("base.toml").write_text(dumps(based("one-robot", "day")))
    arguments = ("fit", "deliveries-dates.csv", "--into", "base.toml")
    _, out, _ = crawlsim(*arguments)
    assert "Replaced in one-robot: robots.deliveries; instead of robots.access_time." in out
    assert json.loads(crawlsim(*arguments, "--json")[1])["left_out"] == ["robots.access_time"]


# In which unit of time


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("kind", ["changes", "crawls", "deliveries"])
@pytest.mark.parametrize("unit", [None, "fortnight", "time unit", "days"])
def test_dates_are_not_counted_in_a_unit_that_nobody_knows(
    kind: str, unit: str | None, crawlsim: Any
) -> None:
    name = "batches" if kind == "deliveries" else "whittle-index"
    Path("base.toml").write_text(dumps(based(name, unit)))
    arguments = ("fit", f"{kind}-dates.csv", "--into", "base.toml")
    code, out, err = crawlsim(*arguments, "--out", "made.toml")
    assert (code, out) == (2, "")
    assert "time_unit" in err
    assert unit is None or f'time_unit = "{unit}"' in err
    assert "--time-unit must say it: second, minute, hour, day, week or year" in err
    assert not Path("made.toml").exists()
    code, out, _ = crawlsim(*arguments, "--out", "made.toml", "--time-unit", "hour")
    assert code == 0
    assert f"One unit of time of {name} is taken to be one hour." in out
    after = load("made.toml")
    assert ("time_unit" in after.model_fields_set) == (unit is not None)
    assert unit is None or after.time_unit == unit


@pytest.mark.usefixtures("logs")
def test_numbers_go_into_any_unit_and_the_output_says_which(crawlsim: Any) -> None:
    for unit in (None, "fortnight"):
        Path("base.toml").write_text(dumps(based("whittle-index", unit)))
        code, out, err = crawlsim("fit", "changes-numbers.csv", "--into", "base.toml")
        assert code == 0, err
        assert "The times of the trace are taken to be in the unit of time of whittle-index" in out
        assert f"time in {unit or 'time unit'}s" in out
    Path("base.toml").write_text(dumps(based("whittle-index", "week")))
    code, out, _ = crawlsim("fit", "changes-numbers.csv", "--into", "base.toml")
    assert code == 0
    assert "taken to be" not in out
    code, _, err = crawlsim("fit", "changes-dates.csv", "--into", "base.toml", "--time-unit", "day")
    assert code == 2
    assert "the scenario counts in weeks" in err


@pytest.mark.usefixtures("logs")
def test_a_unit_changes_rates_by_its_length(crawlsim: Any) -> None:
    Path("base.toml").write_text(dumps(based("whittle-index", "hour")))
    found = [
        json.loads(crawlsim("fit", "changes-dates.csv", *options, "--json")[1])
        for options in ((), ("--into", "base.toml"), ("--time-unit", "week"))
    ]
    day, hour, week = (np.array(each["changes"]["pages.change_rates"]) for each in found)
    assert hour == pytest.approx(day / 24, rel=1e-9)
    assert week == pytest.approx(day * 7, rel=1e-9)
    assert [each["units"]["change_rate"] for each in found] == [
        "per day", "per hour", "per week",
    ]  # fmt: skip


@pytest.mark.usefixtures("logs")
def test_from_python_units_must_agree() -> None:
    found = fit(read_trace("changes-dates.csv", time_unit="day"))
    with pytest.raises(ScenarioError, match="counted in days"):
        fitted_scenario(found, "x", based("whittle-index", "hour"))


# Windows


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("kind", ["crawls", "deliveries"])
def test_a_window_is_a_shorter_file(kind: str, crawlsim: Any) -> None:
    lines = Path(f"{kind}-dates.csv").read_text().splitlines()
    since = "2026-01-10T06:00:00Z"
    until = "2026-01-24T18:00:00Z"
    place = kind == "crawls"
    inside = [row for row in lines[1:] if since <= row.split(",")[place] <= until]
    assert 20 < len(inside) < len(lines) - 21
    Path("shorter.csv").write_text("\n".join([lines[0], *inside]))
    window = ("--since", since, "--until", until)
    cut = json.loads(crawlsim("fit", f"{kind}-dates.csv", *window, "--json")[1])
    whole = json.loads(crawlsim("fit", "shorter.csv", "--json")[1])
    assert cut["rows"] == len(inside)
    assert cut["parameters"] == whole["parameters"]
    assert cut["summary"] == whole["summary"]
    for option, value in (("--since", "2030-01-01"), ("--until", "2020-01-01")):
        code, _, err = crawlsim("fit", f"{kind}-dates.csv", option, value)
        assert code == 2
        assert f'{option} = "{value}"\nthe window holds no row' in err


# Loads of the scenarios that are made


@pytest.mark.usefixtures("logs")
def test_the_engine_is_half_loaded() -> None:
    deliveries = fit(read_trace("deliveries-numbers.csv"))
    made = fitted_scenario(deliveries, "x")
    mean = made.as_file()["buffer"]["service"]["exponential"]["mean"]
    pages = 600 / (deliveries.find("mean_gap").estimate * deliveries.summary["batches"])
    assert mean * pages == pytest.approx(0.5, abs=0.02)
    sizes = read_trace("sizes.csv")
    for section in ("service", "access_time"):
        entries = fitted_scenario(fit(sizes, Options(section=section)), "x").as_file()
        service = entries["buffer"]["service"]["exponential"]["mean"]
        access = entries["robots"]["access_time"]["exponential"]["mean"]
        assert service / access == pytest.approx(0.5)
    rates = fit(read_trace("changes-numbers.csv")).changes["pages.change_rates"]
    entries = fitted_scenario(fit(read_trace("changes-numbers.csv")), "x").as_file()
    assert entries["robots"]["access_time"]["exponential"]["mean"] * sum(rates) == pytest.approx(1)


# Refusals


REFUSED = {
    "size\n" + 20 * "5\n": "needs at least three observations that are not all equal",
    "size\n" + "".join(f"{5 + 1e-9 * (n % 3)}\n" for n in range(20)): "not all equal",
    "size\n" + "1e200\n2e200\n5e200\n": "must be a positive number, 1e-50 to 1e+50",
    "size\n" + "1e-200\n2e-200\n": "must be a positive number, 1e-50 to 1e+50",
    "size\n7\n": "1 row of sizes\\nneeds at least three",
    "time\n" + "".join(f"{n}\n" for n in range(50)): "all gaps between batches are 1, which no",
    "time\n"
    + "".join(f"{0.1 * n}\n" for n in range(50)): "all gaps between batches are 0.1, which",
    "time\n" + 50 * "3\n": "too few gaps between batches: 0 of 1 batch; at least 20",
    "time\n3\n": "1 row of deliveries",
    "page,time\na,1\n": "1 row of changes",
    "page,time\na,1\nb,1\na,1\n": "the window holds no page",
    "page,time,changed\na,1,1\n": "no page was crawled twice",
}


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.filterwarnings("error")
def test_data_that_no_fit_is_for(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text(text)
    options = ("--time-unit", "day", "--out", "made.toml")
    code, out, err = crawlsim("fit", "trace.csv", *options)
    assert (code, out) == (2, ""), err
    assert REFUSED[text].replace("\\n", "\n") in err.replace('"', "")
    assert not Path("made.toml").exists()


@pytest.mark.usefixtures("logs")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sizes.csv", "--rate", "inf"), "--rate"),
        (("sizes.csv", "--rate", "nan"), "'nan' is not a number"),
        (("sizes.csv", "--mean", "-1"), "1e-50<=x<=1e+50"),
        (("sizes.csv", "--mean", "1e-300"), "--mean"),
        (("deliveries-dates.csv", "--batch-gap", "nan"), "--batch-gap"),
        (("deliveries-dates.csv", "--longest-gap", "inf"), "--longest-gap"),
        (("changes-dates.csv", "--shortest", "nan"), "--shortest"),
        (("SOURCE", "--period", "1e-300"), "--period"),
        (("SOURCE", "--period", "1e-9"), "--period = 1e-09\nmakes pieces of 5.95e-12"),
        (("SOURCE", "--period", "1e-6", "--pieces", "10000"), "--period"),
        (("SOURCE", "--breaks", "0,inf"), '--breaks = "0,inf"\nmust be numbers'),
        (("SOURCE", "--breaks", "0,4,4"), '--breaks = "0,4,4"\nmust begin with 0, increase'),
        (("SOURCE", "--breaks", "0,9"), "stay below the period 7"),
        (("SOURCE", "--breaks", "0,1e-13"), "--breaks"),
        (("changes-dates.csv", "--since", "5"), "must be a date"),
        (("sizes.csv", "--since", "5"), "does not go with"),
    ],
)
def test_options_that_no_fit_can_use(arguments: tuple[str, ...], said: str, crawlsim: Any) -> None:
    trace, *options = arguments
    if trace == "SOURCE":
        trace = "changes-dates.csv"
        options = ["--section", "source", *options]
    code, out, err = crawlsim("fit", trace, *options, "--out", "made.toml")
    assert (code, out) == (2, ""), err
    assert said in err
    assert not Path("made.toml").exists()


def test_windows_without_an_event_take_no_memory() -> None:
    """A thousand events in 1e15 windows, each alone: the index is 1 but for a millionth."""
    times = np.sort(np.random.default_rng(41).choice(10**12, 1000, replace=False)) * 1e3 + 0.5
    found = dispersion(times, (0.0, 1e15), 1.0)
    assert found.windows == 10**15
    assert found.index == pytest.approx(1.0, abs=1e-6)
    assert 0.9 < found.p_value <= 1.0
    few = np.array([0.5, 0.6, 3.5])
    assert dispersion(few, (0.0, 4.0), 1.0).index == pytest.approx(
        np.var([2, 0, 0, 1], ddof=1) / 0.75
    )


# What is shown


@pytest.mark.usefixtures("logs")
def test_numbers_come_with_their_units(crawlsim: Any) -> None:
    _, out, _ = crawlsim("fit", "deliveries-dates.csv", "--time-unit", "hour")
    lines = {line.split("  ")[1].strip(): line.split() for line in out.splitlines() if "  " in line}
    assert lines["mean gap"][-1] == "hours"
    assert "squared coefficient of variation of gaps" in lines
    assert "pages per time" in out
    assert "pages per hour" in " ".join(out.split())
    _, out, _ = crawlsim("fit", "crawls-dates.csv")
    assert "per day" in out
    assert "are irregular" in out
    assert "its interval does not hold" in " ".join(out.split())
    _, out, _ = crawlsim("fit", "sizes.csv")
    assert "as in the file" in out
    assert "squared coefficient of variation" in out


def test_one_of_a_thing_is_no_plural(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["a,1,1", "a,2,0", "a,3,1", "b,1,0", "x", "a,3,1"]
    Path("crawls.csv").write_text("\n".join(["page,time,changed", *rows]))
    _, out, err = crawlsim("fit", "crawls.csv", "--report", "fit.html")
    assert "1 of 6 rows is broken" in err
    assert "1 page was crawled once only and is left out" in out
    assert "1 row repeats a page and time; it counts once" in out
    assert "1 broken row left out" in Path("fit.html").read_text()


def test_zero_has_no_sign() -> None:
    from crawlsim.report.words import number as of_report
    from scenarios.text import number

    assert (number(-0.0), of_report(-0.0)) == ("0", "0")
    assert (number(-2.0), of_report(-2.0)) == ("-2", "−2")


# Figures


def drawn(path: str, **options: Any) -> dict[str, Any]:
    found = fit(read_trace(path, time_unit="day"), Options(**options))
    return {plot.__name__: plot(found, None) for plot in figures_of(found)}


@pytest.mark.usefixtures("logs")
def test_labels_of_figures_do_not_touch_and_are_not_cut_off() -> None:
    for path, options in (
        ("changes-numbers.csv", {}),
        ("changes-numbers.csv", {"section": "source", "pieces": 7}),
        ("crawls-numbers.csv", {}),
        ("deliveries-numbers.csv", {}),
        ("sizes.csv", {}),
    ):
        for name, ax in drawn(path, **options).items():
            figure = ax.figure
            assert isinstance(figure, Figure)
            figure.canvas.draw()
            legend = ax.get_legend()
            if legend is not None:
                assert legend.get_window_extent().x1 <= figure.bbox.x1, name
            for axis, side in ((ax.xaxis, "x"), (ax.yaxis, "y")):
                boxes = [
                    (getattr(box, f"{side}0"), getattr(box, f"{side}1"))
                    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
                    if tick.label1.get_text() and tick.label1.get_visible()
                    for box in [tick.label1.get_window_extent()]
                    if ax.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= ax.bbox.x1 + 1 or side == "y"
                ]
                ends = sorted(boxes)
                assert all(one[1] < two[0] for one, two in itertools.pairwise(ends)), name


@pytest.mark.parametrize(("pages", "marker", "line"), [(20, "o", "None"), (21, "None", "-")])
def test_few_pages_are_points_and_many_a_line(
    pages: int, marker: str, line: str, tmp_path: Path
) -> None:
    axes = drawn(crawls_of(pages, tmp_path))
    (rates,) = axes["plot_change_rates"].lines
    assert (rates.get_marker(), rates.get_linestyle()) == (marker, line)


@pytest.mark.parametrize(
    ("options", "always"),
    [({}, False), ({"rates": "likelihood"}, False), ({}, True)],
    ids=["under the prior", "most likely", "in doubt"],
)
def test_the_picture_of_rates_shows_those_of_the_table(
    options: dict[str, str], always: bool, tmp_path: Path
) -> None:
    """From a tenth of the lowest rate to ten times the highest where a log is in doubt."""
    path = Path(crawls_of(12, tmp_path))
    if always:
        path.write_text(re.sub(r",0$", ",1", path.read_text(), flags=re.MULTILINE))
    found = fit(read_trace(str(path), time_unit="day"), Options(**options))
    rows = [each for each in found.parameters if each.name == "change_rate"]
    rows.sort(key=lambda row: -row.estimate)
    rates = [row.estimate for row in rows]
    floor, ceiling = min(rates) / 10, 10 * max(rates)
    ends = [(max(row.low, floor), min(row.high, ceiling)) for row in rows]
    assert all(row.low == 0.0 and row.high == np.inf for row in rows) == always
    ax = plot_change_rates(found)
    assert ax.lines[0].get_ydata().tolist() == pytest.approx(rates)
    drawn_ends = [tuple(path.vertices[:, 1]) for path in ax.collections[0].get_paths()]
    np.testing.assert_allclose(drawn_ends, ends)


def crawls_of(pages: int, folder: Path) -> str:
    """Four visits of each page."""
    rng = np.random.default_rng(42)
    page = np.repeat(np.arange(pages), 4)
    rows = (f"{n},{t:.6f},{c}" for n, t, c in zip(
        page, rng.uniform(0, 10, len(page)), rng.integers(0, 2, len(page)), strict=True
    ))  # fmt: skip
    path = folder / "crawls.csv"
    path.write_text("page,time,changed\n" + "\n".join(rows))
    return str(path)


def test_figures_of_many_pages_hold_hundreds_of_marks(tmp_path: Path) -> None:
    axes = drawn(crawls_of(3000, tmp_path))
    (intervals,) = axes["plot_change_rates"].collections
    assert 100 < len(intervals.get_paths()) <= 400
    assert all(len(line.get_xdata()) <= 400 for line in axes["plot_crawl_rates"].lines)


def test_batches_of_one_size_have_a_bar_of_the_usual_width(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    times = np.cumsum(np.random.default_rng(43).exponential(1.0, 60))
    path.write_text("time\n" + "\n".join(map(str, times)))
    ax = drawn(str(path))["plot_batch_sizes"]
    assert ax.get_xlim() == pytest.approx((0.3, 5.7))
    assert [tick for tick in ax.get_xticks() if tick % 1] == []


# Numbers that nothing else looks at


@pytest.mark.usefixtures("logs")
def test_options_do_what_they_say() -> None:
    deliveries = fit(read_trace("deliveries-numbers.csv"), Options(robots=4))
    assert deliveries.changes["robots.deliveries"]["thinned"]["keep"] == [0.25, 0.5, 0.75, 1.0]
    sizes = read_trace("sizes.csv")
    mean = sizes.values.mean()
    for options, wanted in ((Options(mean=3.0), 3.0), (Options(rate=4.0), mean / 4.0)):
        assert fit(sizes, options).summary["scaled_by"] * mean == pytest.approx(wanted)


def test_a_source_is_watched_from_its_first_change_on(tmp_path: Path) -> None:
    """The first of the changes begins the watch and is none of the counted ones."""
    path = tmp_path / "trace.csv"
    path.write_text("page,time\n" + "\n".join(f"a,{n}" for n in range(15)))
    found = fit(read_trace(path, time_unit="day"), Options(section="source", pieces=7))
    assert found.summary["changes"] == 14


def test_few_updates_have_a_mean_rate_without_an_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--section", "source", "--pieces", "1", "--time-unit", "day", "--json"]
    for updates, given in ((39, False), (42, True)):
        times = np.random.default_rng(updates).uniform(0.0, 60.0, updates)
        rows = [f"a,{time!r}" for time in (0.0, *sorted(times.tolist()))]
        Path("few.csv").write_text("\n".join(["page,time", *rows]))
        _, out, _ = crawlsim("fit", "few.csv", *options)
        found = json.loads(out)
        mean = next(p for p in found["parameters"] if p["parameter"] == "mean_update_rate")
        assert (mean["low"] is not None) is given
        assert any("no interval" in note for note in found["notes"]) is not given


def test_pages_that_did_not_change_are_visited_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["a,0", "a,30", "a,100", "b,0", "b,50", *(f"still{n},0" for n in range(8))]
    Path("log.csv").write_text("\n".join(["page,time", *rows]))
    code, out, _ = crawlsim("fit", "log.csv", "--time-unit", "day", "--out", "made.toml", "--json")
    assert code == 0
    notes = " ".join(json.loads(out)["notes"])
    assert "8 pages did not change" in notes
    assert "0.04 of all 0.07 changes per day" in notes
    made = load("made.toml")
    assert made.pages is not None
    assert made.pages.change_rates == pytest.approx([0.02, 0.01, *([0.005] * 8)])
    assert made.as_file()["robots"]["access_time"]["exponential"]["mean"] == pytest.approx(1 / 0.07)
    code, out, _ = crawlsim("optimize", "made.toml", "--target", "frequencies", "--json")
    assert code == 0
    (found,) = json.loads(out)
    assert min(found["decision"]["frequencies"]) > 0.03
    assert not [note for note in found["notes"] if "never accessed" in note]
