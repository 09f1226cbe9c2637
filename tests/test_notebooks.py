"""What a notebook must be, that it runs anywhere, and that its text says what its numbers say."""

from __future__ import annotations

import ast
import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from latex2mathml.converter import convert
from scipy.stats import binom

import crawlsim
from analytic.page_refresh import WORST_GOLDEN_RATIO
from experiments.store_notebooks import (
    NOTEBOOKS,
    Cell,
    Names,
    all_notebooks,
    executed,
    numbers,
)

COURSE = [path.stem for path in all_notebooks() if path.parent == NOTEBOOKS]
SOLUTIONS = [f"solutions/{path.stem}" for path in all_notebooks() if path.parent != NOTEBOOKS]
SLOW_SOLUTIONS = {"solutions/fitting", "solutions/intervals", "solutions/mirror"}
"""Those that take more than three seconds: nightly."""

PUBLIC = ("analytic", "crawlsim", "scenarios", "sim")
OTHERS = {"matplotlib", "numpy", "pandas", "scipy", "math"}
MOST_LINES = 12
HEADING = re.compile(r"^## Exercises$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$(?!\$)([^$\n]+)\$")
OF_THE_REPOSITORY = re.compile(
    r"\b(?:docs|experiments|tests|benchmarks|notebooks)/|\.\./(?!\w[\w-]*\.ipynb\))"
)


def cells_of(name: str) -> list[Cell]:
    return list(json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"])


def code_of(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["cell_type"] == "code"]


def words_of(cells: list[Cell]) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def figures_of(cell: Cell) -> list[Any]:
    return [each for each in cell["outputs"] if "image/png" in each.get("data", {})]


def faults(cells: list[Cell]) -> Iterator[str]:
    """What is wrong with the form of a notebook, whether of the course or with solutions."""
    code, words = code_of(cells), words_of(cells)
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        yield "not every code cell was run, in order"
    if len(json.dumps(cells)) > 390_000:
        yield "larger than 400 kB"
    for cell in code:
        if figures_of(cell) and not described(cell):
            yield "a figure without words for those who cannot see it"
        if any(each.get("name") == "stderr" for each in cell["outputs"]):
            yield "a warning is stored"
    for text in (words, *("".join(cell["source"]) for cell in code)):
        if found := OF_THE_REPOSITORY.search(text):
            yield f"a path of the repository: {found[0]}"
    yield from not_public("\n".join("".join(cell["source"]) for cell in code))
    for formula in [*DISPLAYED.findall(words), *INLINE.findall(DISPLAYED.sub("", words))]:
        if "merror" in convert(formula) or "\\" in re.sub("<[^>]*>", "", convert(formula)):
            yield f"a formula that cannot be set: {formula}"


def teaching_faults(cells: list[Cell]) -> Iterator[str]:
    """What is wrong with a notebook of the course."""
    code, words = code_of(cells), words_of(cells)
    first = "".join(code[0]["source"]).strip().splitlines()
    if len(first) > 5 or not all(isinstance(each, ast.Assign) for each in parsed(code[0])):
        yield "the first cell is not five lines of parameters"
    if not any(figures_of(cell) for cell in code):
        yield "no figure is stored"
    elif lines_before_a_picture(code) > MOST_LINES:
        yield f"more than {MOST_LINES} lines of code before the first picture"
    if not DISPLAYED.search(words):
        yield "no formula is set on a line of its own"
    exercises = HEADING.search(words)
    if exercises is None or len(re.findall(r"^\d\. ", exercises[1], re.MULTILINE)) < 3:
        yield "fewer than three exercises"


def lines_before_a_picture(code: list[Cell]) -> int:
    """Lines of code, parameters and imports included, up to the first cell that draws."""
    first = next(place for place, cell in enumerate(code) if figures_of(cell))
    lines = [line.strip() for cell in code[: first + 1] for line in cell["source"]]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def described(cell: Cell) -> bool:
    return bool(cell["metadata"].get("mystnb", {}).get("image", {}).get("alt"))


def parsed(cell: Cell) -> list[ast.stmt]:
    return ast.parse("".join(cell["source"])).body


def not_public(source: str) -> Iterator[str]:
    """Names of crawlsim that are not in an `__all__`, and packages that do not come with it."""
    for module, name in names_used(source):
        if module.split(".")[0] not in OTHERS and not is_public(module, name):
            yield f"not public: {module}" + (f".{name}" if name else "")


def names_used(source: str) -> Iterator[tuple[str, str | None]]:
    """What is imported, and attributes of our packages."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((each.name, None) for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((module, each.name) for each in names)
            case ast.Attribute(value=ast.Name(id=package), attr=name) if package in PUBLIC:
                yield package, name


def is_public(module: str, name: str | None = None) -> bool:
    """Whether a package of crawlsim lists its names, and this one among them."""
    if module.split(".")[0] not in PUBLIC:
        return False
    listed = getattr(import_module(module), "__all__", ())
    return bool(listed) and (name is None or name in listed)


def as_stored(name: str) -> Names:
    """The names that a notebook leaves, run in an empty folder, if its numbers are those stored."""
    found, names = executed(NOTEBOOKS / f"{name}.ipynb")
    for cell, outputs in zip(code_of(cells_of(name)), found, strict=True):
        if "timing" not in cell["metadata"].get("tags", []):
            assert same(numbers(outputs), numbers(cell["outputs"])), "".join(cell["source"])
    return names


def same(some: list[float], others: list[float]) -> bool:
    return len(some) == len(others) and all(
        math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
        for one, other in zip(some, others, strict=True)
    )


@pytest.mark.parametrize("name", [*COURSE, *SOLUTIONS])
def test_the_form_is_right(name: str) -> None:
    assert not [*faults(cells_of(name))]


@pytest.mark.parametrize("name", COURSE)
def test_it_teaches(name: str) -> None:
    assert not [*teaching_faults(cells_of(name))]


@pytest.mark.parametrize("name", COURSE)
def test_every_exercise_has_its_solution(name: str) -> None:
    words = words_of(cells_of(name))
    exercises = HEADING.search(words)
    assert exercises
    asked = re.findall(r"^(\d)\. ", exercises[1], re.MULTILINE)
    assert (
        re.findall(r"^## (\d)\. ", words_of(cells_of(f"solutions/{name}")), re.MULTILINE) == asked
    )
    assert f"(solutions/{name}.ipynb)" in words


def test_each_has_a_test_of_what_it_says() -> None:
    assert sorted(SOLUTIONS) == sorted(f"solutions/{name}" for name in COURSE)
    assert [name for name in COURSE if f"test_{name.replace('-', '_')}" not in globals()] == []


def spoilt(change: Callable[[list[Cell]], object]) -> list[str]:
    """The faults of a good notebook in which something was changed."""
    cells = copy.deepcopy(cells_of("one-queue"))
    change(cells)
    return [*faults(cells), *teaching_faults(cells)]


def code_added(source: str) -> Callable[[list[Cell]], object]:
    return lambda cells: code_of(cells)[-1].update(source=[source])


def words_replaced(old: str, new: str) -> Callable[[list[Cell]], object]:
    def change(cells: list[Cell]) -> None:
        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = "".join(cell["source"]).replace(old, new).splitlines(True)

    return change


def without_figures(cells: list[Cell]) -> None:
    for cell in code_of(cells):
        cell["outputs"] = [each for each in cell["outputs"] if each not in figures_of(cell)]


def without_descriptions(cells: list[Cell]) -> None:
    for cell in code_of(cells):
        cell["metadata"] = {}


WARNING = {"output_type": "stream", "name": "stderr", "text": ["a warning"]}


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("run, in order", lambda cells: code_of(cells)[1].update(execution_count=7)),
        ("run, in order", lambda cells: code_of(cells)[1].update(execution_count=None)),
        ("400 kB", lambda cells: code_of(cells)[1]["outputs"].append({"text": "x" * 400_000})),
        ("cannot see", without_descriptions),
        ("no figure", without_figures),
        ("before the first picture", lambda cells: code_of(cells)[1].update(outputs=[])),
        ("warning", lambda cells: code_of(cells)[1]["outputs"].append(WARNING)),
        ("docs/", words_replaced("## Exercises", "docs/errata.md\n\n## Exercises")),
        ("../", code_added("open('../data.csv')")),
        ("experiments.windows", code_added("from experiments.windows import Plan")),
        ("crawlsim.searching", code_added("import crawlsim.searching")),
        ("not public: papers", code_added("import papers")),
        ("analytic.pipeline.nothing", code_added("from analytic.pipeline import nothing")),
        ("crawlsim.api", code_added("import crawlsim\ncrawlsim.api")),
        ("requests", code_added("import requests")),
        ("cannot be set", words_replaced(r"\rho^n", r"\rhoo^n")),
        ("of its own", words_replaced("$$", "$")),
        ("exercises", words_replaced("## Exercises", "## Questions")),
        ("exercises", words_replaced("3. **", "- **")),
        ("five lines", lambda cells: cells.remove(code_of(cells)[0])),
    ],
)
def test_a_fault_of_the_form_is_found(fault: str, change: Callable[[list[Cell]], object]) -> None:
    assert any(fault in each for each in spoilt(change))


def test_a_changed_number_is_found() -> None:
    stored = [{"output_type": "stream", "text": ["loss 0.0888, from -1e-3 to 12 of p_95 x2\n"]}]
    assert numbers(stored) == [0.0888, -0.001, 12.0]
    assert same([0.0888], [0.08880001])
    assert not same([0.0888], [0.0889])
    assert not same([0.0888], [])


@pytest.mark.by_day(
    besides=("solutions/probing", "solutions/more-robots-staler", "solutions/one-bad-hour")
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[pytest.mark.nightly] if each in SLOW_SOLUTIONS else [])
        for each in SOLUTIONS
    ],
)
def test_solutions_are_as_stored(name: str) -> None:
    as_stored(name)


def test_one_queue() -> None:
    """Within the intervals; inconclusive, then agrees; the mirror image."""
    names = as_stored("one-queue")
    for level, share in enumerate(names["exact"]):
        dot = names["results"].find("level_probability", level)
        assert abs(share - dot.estimate) < 3.5 * dot.standard_error
    turned = names["level_probabilities"](1 / 0.8, names["waiting_places"])
    assert turned == pytest.approx(names["exact"][::-1])
    verdicts = [
        "".join(output["text"]).strip()
        for cell in code_of(cells_of("one-queue"))
        for output in cell["outputs"]
        if "judged(" in "".join(cell["source"]) and "text" in output
    ]
    assert verdicts == ["inconclusive", "agrees"]


@pytest.mark.thorough
def test_intervals() -> None:
    """Eight of a hundred miss; half the width for four times the work; 29 false alarms, and 2."""
    names = as_stored("intervals")
    assert names["misses"].sum() == 8
    assert binom.sf(7, 100, 0.05) == pytest.approx(1 / 8, abs=0.005)
    assert names["widths"] == pytest.approx(names["line"], rel=0.06)
    assert names["line"][2] / names["line"][4] == pytest.approx(5**0.5 * 2.26 / 2.01, rel=0.01)
    assert (names["peeking"][-1], names["patient"][-1]) == pytest.approx((0.29, 0.02))


@pytest.mark.thorough
def test_break_it() -> None:
    """Half the loss and twice the loss; right formulas agree; without a buffer any law will do."""
    names = as_stored("break-it")
    table = names["verdicts"](names["assumed"], names["results"])
    assert set(table.loc["exponential"].verdict) == {"agrees"}
    assert set(table.loc[["constant", "mixed"]].verdict) == {"disagrees"}
    ratio = (table.estimated / table.predicted).xs("loss_probability", level=1)
    assert ratio.constant < 0.5
    assert ratio.mixed == pytest.approx(2, abs=0.05)
    assert set(names["own"].values()) == {"agrees"}
    assert set(names["verdicts"](names["unbuffered"], names["no_buffer"]).verdict) == {"agrees"}


@pytest.mark.thorough
def test_fitting() -> None:
    """2 and 7 intervals miss; errors larger by sqrt 3; half the rate; right for the copies."""
    names = as_stored("fitting")
    assert (names["missing"](names["plain"]), names["missing"](names["fit"])) == (2, 7)
    assert "factor of about 1.8" in names["fit"].notes[1]
    assert np.median(names["estimated"] / names["truth"]) == pytest.approx(0.5, abs=0.03)
    true, crawled, really = names["table"]
    assert crawled == pytest.approx(really, abs=0.005)
    assert true > 1.4 * really


@pytest.mark.thorough
def test_crawler_log() -> None:
    """The printed statistics; 4, 1 at 2 saves 18 %; few timestamps give the rule, not the cost."""
    names = as_stored("crawler-log")
    fitted = {name: names["fitted"].find(name) for name in names["names"]}
    assert fitted["mean_gap"].low < 212.03 < fitted["mean_gap"].high
    assert fitted["mean_batch_size"].low < 3.2634 < fitted["mean_batch_size"].high
    assert 1 / names["p"] == pytest.approx(174, abs=0.5)
    moments = [
        names["p"] * names["s1"] ** k + (1 - names["p"]) * names["s2"] ** k for k in (1, 2, 3)
    ]
    printed = [m / math.factorial(k) for k, m in enumerate(names["moments"], start=1)]
    scale = 8.2 / names["moments"][0]
    assert moments == pytest.approx([m * scale**k for k, m in enumerate(printed, start=1)])
    best = names["table"].loc[names["table"].cost.idxmin()]
    assert (best.robots, best["at"]) == ((4, 1), (2,))
    assert best.gain == pytest.approx(18, abs=0.5)
    for level, dot in names["dots"].items():
        exact = names["truth"].cost_of((4, 1), (level,))
        assert abs(dot.estimate - exact) < 4 * dot.standard_error
    parts, least = names["parts"], names["truth"].optimum.cost
    assert (parts.paid.loc[500:] == parts.paid[65_000]).all()
    assert parts.paid[65_000] == pytest.approx(least)
    assert 1 < parts.paid[100] / least < 1.0011
    assert (parts.believed / least - 1).abs().max() == pytest.approx(0.036, abs=0.005)


@pytest.mark.thorough
def test_mirror() -> None:
    """The data of the log; four fetchers, or seven in turn; one that is told beats eight."""
    names = as_stored("mirror")
    rates, goal = names["rates"], names["goal"] * len(names["rates"])
    log = NOTEBOOKS.with_name("docs") / "examples" / "pep-changes.csv.gz"
    fitted = crawlsim.fit(log, since="2022-08-22", until="2026-08-22")
    true = fitted.changes["pages.change_rates"]
    assert np.sort(rates) == pytest.approx(np.sort(true), rel=0.04)  # ages are in whole days
    in_turn, best = (np.array(names["theory"][name]) for name in ("in turn", "best"))
    assert np.argmax(best < goal) == 3
    assert np.argmax(in_turn < goal) == 6
    dots = names["dots"]
    assert dots["best"][4].high < goal < dots["in turn"][6].low
    for n, dot in dots["in turn"].items():
        assert abs(dot.estimate - in_turn[n - 1]) < 4 * dot.standard_error
    for n, dot in dots["best"].items():
        assert 1 < dot.estimate / best[n - 1] < 1.04
    after, weeks = names["after"], names["weeks"]
    assert [after(0, 0), after(7, 1e9)] == pytest.approx([best[3]] * 2)
    mean, error = weeks.mean(axis=1), weeks.sem(axis=1)
    for day in range(1, 8):
        assert abs(mean[day] - after(day, 0)) < 4 * error[day]
        assert abs(mean[day + 7] - after(7, day)) < 4 * error[day + 7]
    assert mean[7] / len(rates) == pytest.approx(0.034, abs=0.001)
    assert after(7, 6) < goal < mean[13]
    assert mean[15] < goal < weeks.loc[15].max()
    recovered = [(weeks[stop].loc[8:] < goal).idxmax() - 7 for stop in weeks]
    assert (min(recovered), max(recovered)) == (4, 9)
    assert names["one"].high < best[7]


@pytest.mark.thorough
def test_more_robots_staler() -> None:
    """Seven robots best, ten and sixteen cost 19 and 46 % more; the fastest page given up."""
    names = as_stored("more-robots-staler")
    exact = names["exact"]
    assert names["best"] == 7
    assert exact[10] / exact[7] == pytest.approx(1.19, abs=0.005)
    assert exact[16] / exact[7] == pytest.approx(1.46, abs=0.005)
    sweep = names["sweep"]
    for dot in sweep[sweep.measure == "stale_answer_probability"].itertuples():
        assert abs(dot.estimate - exact[dot[1]]) < 4 * dot.standard_error
    off = names["table"].formula - names["table"].exact
    assert off.abs().max() < 0.01
    assert off.max() > 10 * off.loc[16]
    assert names["shares"][0] == 0
    assert names["rates"][0] / names["rates"].sum() == pytest.approx(0.28, abs=0.005)
    more = names["frequencies"].more
    assert more["best without a buffer"] > more["uniform"] > 0


@pytest.mark.thorough
def test_one_bad_hour() -> None:
    """Full after three minutes; half an hour whatever the outage's length, from five minutes on."""
    names = as_stored("one-bad-hour")
    course = names["course"]
    level = dict(zip(course.times, course.columns["mean_in_system", None], strict=True))
    assert level[32.5] < 17.5 < 20 < level[35.0]
    assert level[180.0] == pytest.approx(7, abs=0.5)
    dots = names["seen"][names["seen"].measure == "mean_in_system"]
    late = dots[dots.time > 40]
    off = (late.estimate - [level[time] for time in late.time]) / late.standard_error
    assert off.abs().max() < 4
    recover = names["longer"]["minutes to recover"]
    assert recover.loc[5:].tolist() == pytest.approx([31] * 4, abs=0.1)
    assert recover[1] < 21
    for name in ("pages lost", "copies out of date, of 8"):
        assert names["longer"][name].is_monotonic_increasing


@pytest.mark.thorough
def test_probing() -> None:
    """A third and 8 % more; nine o'clock sharp; nothing unseen 32 and 26 % of the time."""
    names = as_stored("probing")
    cost = names["cost"]
    assert cost["uniform"] / cost["optimal"] == pytest.approx(1.34, abs=0.01)
    assert cost["threshold"] / cost["optimal"] == pytest.approx(1.08, abs=0.005)
    assert 0 <= cost["optimal"] / names["found"].lower_bound - 1 < 2e-5
    for policy, dot in names["seen"].items():
        assert abs(dot.estimate - cost[policy]) < 4 * dot.standard_error
    week = [time for time in names["probe_times"](names["plans"]["optimal"]) if time < 7]
    assert sum(time % 1 == 9 / 24 for time in week) == 3
    assert all(time % 1 == 0 for time in names["probe_times"](names["plans"]["uniform"]))
    unseen = names["table"]["nothing unseen"]
    assert (unseen["uniform"], unseen["optimal"]) == pytest.approx((0.32, 0.26), abs=0.005)
    assert unseen.idxmax() == "uniform"


def test_routing() -> None:
    """Circles at 2, 3, 4, 5; proved; 1 + sqrt 2; dots on the lines."""
    names = as_stored("routing")
    lost = names["lost"]
    best = [min(names["lengths"], key=lambda n: lost(n, rate)) for rate in names["fast"]]
    assert best == [2, 3, 4, 5]
    for n, dot in zip(names["lengths"], names["dots"], strict=True):
        assert abs(dot.estimate - lost(n, 15.0)) < 4 * dot.standard_error
    assert names["found"].cost == pytest.approx(names["found"].lower_bound, rel=1e-12)
    assert names["found"].cost == pytest.approx(lost(3, 4.0))
    assert names["crossings"].poisson[2] == pytest.approx(1 + 2**0.5)


@pytest.mark.thorough
def test_switching() -> None:
    """Ten robots 54 % more, one level 25 %; thresholds a third; the bound attained."""
    names = as_stored("switching")
    assert names["numbers"][names["fixed"].argmin()] == 10
    assert names["fixed"].min() == pytest.approx(names["rows"]["ten robots"])
    for robots, dot in names["dots"].items():
        exact = names["fixed"][robots - 4]
        assert abs(dot.estimate - exact) < 4 * dot.standard_error
    assert names["best"].cost == pytest.approx(names["best"].lower_bound, rel=1e-14)
    assert names["best"].decision["targets"] == [16, 14, 12, 9, 7, 4]
    assert names["best"].cost / 0.4 == pytest.approx(2 / 3, abs=0.03)
    assert names["free"].decision == {"robots": [16, 1], "at": [3]}
    assert names["free"].cost / names["best"].cost == pytest.approx(1 / 3, abs=0.015)
    assert names["table"]["more than targets, %"]["one level"] == pytest.approx(25, abs=1)


def test_thresholds() -> None:
    """Three robots all the time; a quarter saved; a factor of three, 4 and 60 %."""
    names = as_stored("thresholds")
    assert min(names["fixed"], key=names["fixed"].get) == 3
    best = names["search"].optimum
    assert (best.robots, best.at) == ((4, 3, 1), (1, 3))
    assert best.gain == pytest.approx(25, abs=0.5)
    for level, dot in zip(names["levels"], names["dots"], strict=True):
        exact = names["search"].cost_of((4, 1), (level,))
        assert abs(dot.estimate - exact) < 4 * dot.standard_error
    wrong = names["mistakes"]
    assert (wrong["paid"] / wrong["believed cost"]).max() == pytest.approx(3, abs=0.5)
    assert wrong["too much, %"]["variable service"] < 4
    assert wrong["too much, %"]["variable obsolescence"] == pytest.approx(60, abs=1)
    assert names["truth"].optimum.at == (0,)


@pytest.mark.thorough
def test_which_page_next() -> None:
    """The bound by hand; chasing changes is worst; 10 % over the bound, not 4.7."""
    names = as_stored("which-page-next")
    costs = list(names["exact"].values())
    assert costs[0] == max(costs)
    assert costs[3] == min(costs)
    assert names["least"] == pytest.approx(names["bound"])
    assert (names["shares"] == 0).tolist() == [True] * 5 + [False] * 55
    for exact, dot in zip(costs, names["dots"], strict=True):
        assert abs(dot.estimate - exact) < 4 * dot.standard_error
    ratio = dict(zip(names["numbers"], names["ratio"], strict=True))
    table = names["golden_table"]
    for pages in names["tried"]:
        assert table.low[pages] - 0.001 < ratio[pages] < table.high[pages] + 0.001
    assert ratio[246] == pytest.approx(1.1014, abs=5e-5)
    assert (table.low.loc[[152, 246, 400]] > 1.0472).all()
    assert max(ratio.values()) < WORST_GOLDEN_RATIO
    assert round(WORST_GOLDEN_RATIO, 3) == 1.109
