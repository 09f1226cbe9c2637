"""Which cell is best, from records that are made by hand: the words, the choice, the refusals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from systems import queue

from crawlsim.bounds import WrittenBound
from crawlsim.ranking import (
    Goal,
    Within,
    difference_rows,
    estimated,
    indifference_of,
    percent,
    ranked,
    some_cells,
    without_effect,
)
from scenarios import ScenarioError
from sim.estimates.choosing import MOST_REPLICATIONS, Indifference
from sim.sweep import Cell, Row

NAN = math.nan
LOSS = ("loss_probability", None)
LEAST = Goal("--minimise", "loss_probability")
GREATEST = Goal("--maximise", "loss_probability")


def grid_of(count: int, replications: int = 4) -> list[Cell]:
    scenario = queue({"run.replications": replications})
    return [Cell({"a": n}, scenario) for n in range(1, count + 1)]


def record(
    values: Sequence[float], predicted: float | None = None, key: tuple[str, Any] = LOSS
) -> dict[str, Any]:
    """What comes out of a cell whose replications have these values."""
    given = np.array(values, float)
    count = len(given)
    mean = float(given.mean())
    error, half = NAN, NAN
    if count > 1:
        error = float(given.std(ddof=1) / math.sqrt(count))
        half = float(stats.t.ppf(0.975, count - 1)) * error
    without = ((given.sum() - given) / (count - 1)).tolist() if count > 1 else [NAN]
    row = Row(*key, mean, error, mean - half, mean + half, count, predicted, "a formula")
    return {"varied": {}, "rows": [row], "without_each": [(*key, without)]}


def without_a_row() -> dict[str, Any]:
    return {"varied": {}, "rows": [], "without_each": []}


NEAR = ([0.2, 0.3, 0.1, 0.2], [0.25, 0.25, 0.2, 0.15], [0.9, 0.8, 0.9, 1.0])


# What is best by estimates


def test_the_best_cell_has_rivals_that_are_not_told_apart() -> None:
    """By hand: paired differences of mean 0.0125, and of 0.7; Bonferroni over the two."""
    records = [record(each) for each in NEAR]
    found = ranked(LEAST, grid_of(3), records, 0.9)
    assert found is not None
    half = stats.t.ppf(0.975, 3) * np.std(NEAR[0], ddof=1) / 2
    assert found.index == 0
    assert found.sentence == (
        f"least loss_probability: a = 1, with 0.2 ± {half:.6g}; with 90 % confidence the best is "
        "this cell or (a = 2)"
    )
    assert found.record["not_told_apart"] == [{"a": 2}]
    assert (found.record["cell"], found.record["tied"]) == ({"a": 1}, [])
    doubts = [
        stats.t.sf(np.mean(each) / (np.std(each, ddof=1) / 2), 3)
        for each in (np.subtract(other, NEAR[0]) for other in NEAR[1:])
    ]
    assert found.record["confidence"] == pytest.approx(max(0.0, 1 - 2 * max(doubts)))
    assert found.record["solved_cell"] is None
    most = ranked(GREATEST, grid_of(3), records, 0.9)
    assert most is not None
    assert (most.index, most.record["not_told_apart"]) == (2, [])
    against = [np.subtract(NEAR[2], other) for other in NEAR[:2]]
    doubt = max(stats.t.sf(np.mean(each) / (np.std(each, ddof=1) / 2), 3) for each in against)
    assert most.sentence.endswith(f"best of all cells with {percent(1 - 2 * doubt)} confidence")
    assert most.sentence.startswith("greatest loss_probability: a = 3, with 0.9 ± ")


@pytest.mark.parametrize(
    ("predicted", "words"),
    [((0.3, 0.2, 0.9), "by the formulas a = 2"), ((0.1, 0.2, 0.9), "by the formulas too")],
)
def test_what_the_formulas_say_stands_beside_where_they_cover_all_cells(
    predicted: tuple[float, ...], words: str
) -> None:
    records = [record(*each) for each in zip(NEAR, predicted, strict=True)]
    found = ranked(LEAST, grid_of(3), records, 0.9)
    assert found is not None
    assert found.sentence.endswith(f"or (a = 2); {words}")
    assert found.record["solved_cell"] == {"a": 1 + int(np.argmin(predicted))}
    some = ranked(LEAST, grid_of(3), [*records[:2], record(NEAR[2])], 0.9)
    assert some is not None
    assert "formulas" not in some.sentence


def test_one_replication_does_not_tell_how_sure_that_is() -> None:
    alone = ranked(LEAST, grid_of(1), [record([0.2])], 0.9)
    assert alone is not None
    assert alone.sentence.endswith("; one replication does not tell how sure that is")
    two = ranked(LEAST, grid_of(2), [record([0.2]), record([0.3])], 0.9)
    assert two is not None
    assert two.sentence.endswith(
        "; one replication does not tell how sure that is; (a = 2) cannot be told apart from it"
    )


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_cells_that_tie_are_told_apart_by_the_formulas_alone(value: float) -> None:
    """Cell 4 is better than none of them, and cannot be told apart."""
    rows = [[value] * 4, [value] * 4, [value + 0.9] * 4, [value, value + 0.1, value, value]]
    seen = "none seen" if value == 0 else "the same in every replication"
    words = (
        f"2 cells tie at {value:g}, {seen}: (a = 1), (a = 2); the simulation does not tell which "
        "of them is best; (a = 4) cannot be told apart from them"
    )
    found = ranked(LEAST, grid_of(4), [record(each) for each in rows], 0.9)
    assert found is not None
    assert (found.index, found.sentence) == (0, f"least loss_probability: {words}")
    assert found.record["tied"] == [{"a": 1}, {"a": 2}]
    assert found.record["not_told_apart"] == [{"a": 2}, {"a": 4}]
    exact = (0.02, 0.01, 0.9, 0.3)
    found = ranked(LEAST, grid_of(4), [*map(record, rows, exact)], 0.9)
    assert found is not None
    assert (found.index, found.sentence) == (
        1,
        "least loss_probability: a = 2, with 0.01 by the formulas; in the simulation " + words,
    )
    assert found.record["not_told_apart"] == [{"a": 1}, {"a": 4}]


def test_cells_without_a_value_are_not_chosen_from() -> None:
    some = [without_a_row(), record(NEAR[0])]
    found = ranked(LEAST, grid_of(2), some, 0.9)
    assert found is not None
    assert found.index == 1
    assert found.sentence.endswith("best of all cells with 99.9 % confidence")
    undefined = record([NAN, NAN, NAN])
    assert ranked(LEAST, grid_of(2), [undefined, undefined], 0.9) is None
    assert ranked(LEAST, grid_of(1), [undefined], 0.9, Indifference(0.1, 0.9, 99), pytest.fail) is (
        None
    )


def test_a_measure_of_no_cell_is_refused() -> None:
    with pytest.raises(ScenarioError) as error:
        ranked(Goal("--maximise", "loss_rat"), grid_of(1), [record(NEAR[0])], 0.9)
    assert (error.value.key, error.value.value) == ("--maximise", "loss_rat")
    assert error.value.allowed.startswith("must be a measure that cells are compared by: ")
    every = record(NEAR[0], key=("staleness", "all"))
    found = ranked(Goal("--minimise", "staleness"), grid_of(1), [every], 0.9)
    assert found is not None
    assert found.sentence.startswith("least staleness all: a = 1")


# What is best by the formulas alone


def test_what_only_formulas_give_is_best_where_it_is_known() -> None:
    key = ("recovery_time", None)

    def of(predicted: float | None) -> dict[str, Any]:
        return {
            "rows": [Row(*key, NAN, NAN, NAN, NAN, 4, predicted, "a formula")],
            "without_each": [],
        }

    records = [without_a_row(), of(3.5), of(2.0), of(None), of(7.25)]
    for option, index, words in (
        ("--minimise", 2, "least recovery_time: a = 3, with 2, exactly"),
        ("--maximise", 4, "greatest recovery_time: a = 5, with 7.25, exactly"),
    ):
        goal = Goal(option, "recovery_time")
        found = ranked(goal, grid_of(5), records, 0.95)
        assert found is not None
        assert (found.index, found.sentence) == (index, words)
        assert found.record == {
            "measure": "recovery_time",
            "subject": None,
            "cell": {"a": index + 1},
            "predicted": 2.0 if index == 2 else 7.25,
            "method": "solved",
        }
        assert ranked(goal, grid_of(2), [without_a_row(), of(None)], 0.95) is None


# Within bounds


def within(option: str, *bounds: tuple[str, str, float]) -> Within:
    return Within(option, tuple(WrittenBound(*each) for each in bounds))


def test_the_first_or_last_cell_within_a_bound_says_what_is_not_settled() -> None:
    """Means 0.2 ± 0.13, 0.2125 ± 0.08, 0.9: only the first interval reaches below 0.1."""
    records = [without_a_row(), *(record(each) for each in NEAR)]
    first = ranked(within("--first", ("loss_probability", "<=", 0.21)), grid_of(4), records, 0.9)
    assert first is not None
    half = stats.t.ppf(0.975, 3) * np.std(NEAR[0], ddof=1) / 2
    assert first.index == 1
    assert first.sentence == (
        f"first with loss_probability <= 0.21: a = 2, with 0.2 ± {half:.6g}; not settled, since "
        "the 95 % interval contains the bound: (a = 2)"
    )
    assert first.record["not_settled"] == [{"a": 2}]
    assert first.record["bound"] == "<= 0.21"
    assert first.record["method"] == "first within the bound"
    last = ranked(within("--last", ("loss_probability", "<", 0.5)), grid_of(4), records, 0.9)
    assert last is not None
    half = stats.t.ppf(0.975, 3) * np.std(NEAR[1], ddof=1) / 2
    assert last.sentence == f"last with loss_probability < 0.5: a = 3, with 0.2125 ± {half:.6g}"
    assert last.record["not_settled"] == []
    none = within("--first", ("loss_probability", ">", 2.0), ("loss_probability", "<", 1.0))
    assert ranked(none, grid_of(4), records, 0.9) is None
    assert none.missed == "no cell has loss_probability>2 and loss_probability<1"
    assert none.text == "loss_probability > 2 and loss_probability < 1"


@pytest.mark.parametrize(
    ("values", "predicted", "words"),
    [
        ([0.0, 0.0], None, "none seen"),
        ([0.0, 0.0], 0.001, "0.001 by the formulas, none seen in the simulation"),
        ([NAN, NAN], 0.001, "0.001 by the formulas, not estimated in the simulation"),
    ],
)
def test_what_a_bound_is_on_is_the_exact_value_where_there_is_one(
    values: list[float], predicted: float | None, words: str
) -> None:
    goal = within("--first", ("loss_probability", "<", 0.1))
    found = ranked(goal, grid_of(1), [record(values, predicted)], 0.9)
    assert found is not None
    assert found.sentence == f"first with loss_probability < 0.1: a = 1, with {words}"
    assert ranked(goal, grid_of(1), [record([0.01, 0.01], 0.2)], 0.9) is None


# An indifference


@pytest.mark.parametrize(
    ("size", "goal", "replications", "most", "message"),
    [
        (0.1, None, 20, None, "--indifference = 0.1\nneeds --minimise or --maximise"),
        (
            0.1,
            within("--first", ("loss_probability", "<", 0.1)),
            20,
            None,
            "--indifference = 0.1\nneeds --minimise or --maximise",
        ),
        (
            0.1,
            Goal("--minimise", "recovery_time"),
            20,
            None,
            "--indifference = 0.1\ndoes not go with recovery_time, which is exact",
        ),
        (math.inf, LEAST, 20, None, "--indifference = inf\nmust be finite"),
        (0.1, LEAST, 9, None, "run.replications = 9\nmust be at least 10 with --indifference"),
        (
            0.1,
            LEAST,
            20,
            19,
            "--max-replications = 19\nmust be at least run.replications = 20 with --indifference",
        ),
    ],
)
def test_an_indifference_that_nothing_can_be_chosen_by_is_refused(
    size: float, goal: Goal | None, replications: int, most: int | None, message: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        indifference_of(size, 0.9, goal, grid_of(2, replications), most)
    assert str(error.value) == message


def test_replications_are_added_until_a_limit() -> None:
    assert indifference_of(None, 0.9, None, grid_of(1), None) is None
    for replications, most, limit in (
        (10, None, MOST_REPLICATIONS),
        (20, 20, 20),
        (MOST_REPLICATIONS + 1, None, MOST_REPLICATIONS + 1),
    ):
        found = indifference_of(0.1, 0.9, LEAST, grid_of(2, replications), most)
        assert found == Indifference(0.1, 0.9, limit)
    with pytest.raises(ScenarioError) as error:
        indifference_of(0.1, 0.9, LEAST, [*grid_of(1, 20), *grid_of(1, 21)], None)
    assert str(error.value) == "--indifference = 0.1\ndoes not go with --vary run.replications"


def test_a_choice_needs_values_of_every_replication() -> None:
    first = record([0.1] * 10)
    undefined = record([0.1] * 10)
    undefined["without_each"] = [(*LOSS, [0.1] * 9 + [NAN])]
    rule = Indifference(0.05, 0.9, 100)
    with pytest.raises(ScenarioError) as error:
        ranked(LEAST, grid_of(2), [first, undefined], 0.9, rule, pytest.fail)
    assert str(error.value) == (
        '--minimise = "loss_probability"\nis undefined in some replications of a = 2; a longer '
        "run.horizon defines it"
    )


def test_a_choice_says_which_cells_were_dropped_and_when() -> None:
    """Constants with a little noise, of which the third is far off and the first two are near."""
    rng = np.random.default_rng(4)
    noise = rng.normal(0.0, 0.01, (3, 200))
    means = [0.30, 0.31, 0.90]
    asked: list[tuple[int, range]] = []

    def of(n: int, which: range) -> dict[str, Any]:
        values = means[n] + noise[n, which.start : which.stop]
        return record(values.tolist())

    def further(n: int, which: range) -> dict[str, Any]:
        asked.append((n, which))
        found = of(n, which)
        row, (_, _, without) = found["rows"][0], found["without_each"][0]
        return {"estimates": [(*LOSS, row.estimate, without)]}

    rule = Indifference(0.05, 0.9, 100)
    found = ranked(LEAST, grid_of(3, 10), [of(n, range(10)) for n in range(3)], 0.9, rule, further)
    assert found is not None
    assert asked == []
    estimate = means[0] + noise[0, :10].mean()
    assert found.sentence.startswith(
        f"least loss_probability: a = 1, with {estimate:.6g} in 10 replications; with a "
        "probability of at least 90 % no other cell is better"
    )
    assert "within 0.05 of it by the estimates: (a = 2)" in found.sentence
    assert found.sentence.endswith("dropped after 10 replications: (a = 2), (a = 3)")
    assert found.warning == ""
    assert [row[:3] for row in found.choice] == [(n, *LOSS) for n in (1, 2, 3)]
    assert [row[3] for row in found.choice] == pytest.approx(
        [means[n] + noise[n, :10].mean() for n in range(3)]
    )
    assert [row[6] for row in found.choice][::2] == ["best", "worse"]
    means[1] = 0.303
    fine = Indifference(1e-6, 0.9, 20)
    found = ranked(LEAST, grid_of(3, 10), [of(n, range(10)) for n in range(3)], 0.9, fine, further)
    assert found is not None
    assert asked == [(0, range(10, 20)), (1, range(10, 20))]
    margin = found.record["better_by_at_most"]
    assert margin > 1e-6
    assert f"no other cell is better by more than {margin:.6g} (--max" in found.sentence
    assert "(--max-replications was reached before 1e-06)" in found.sentence
    assert found.sentence.endswith(
        "dropped after 10 replications: (a = 3); still undecided after 20 replications: (a = 2)"
    )
    assert found.warning == (
        "least loss_probability: not settled within 1e-06 by --max-replications 20: another cell "
        f"may be better by {margin:.6g}"
    )
    assert found.record["not_told_apart"] == [{"a": 2}]
    assert [row[4:] for row in found.choice] == [
        (20, None, "best"),
        (20, margin, "may be best"),
        (10, 0.0, "worse"),
    ]


# Cells beside one another


def test_cells_differ_from_one_of_them_with_paired_errors() -> None:
    records = [record(each) for each in NEAR[:2]]
    for against, sign in ((0, 1), (1, -1)):
        (row,) = difference_rows(grid_of(2), records, against)
        difference = sign * np.subtract(NEAR[1], NEAR[0])
        error = difference.std(ddof=1) / 2
        half = stats.t.ppf(0.975, 3) * error
        mean = difference.mean()
        assert row[:4] == (str(2 - against), *LOSS, f"a = {1 + against}")
        assert row[4:] == pytest.approx((mean, error, mean - half, mean + half))


def test_pseudo_values_of_a_record_are_its_replications() -> None:
    (value,) = estimated(record(NEAR[0])).values()
    assert value.pseudo_values == pytest.approx(NEAR[0])


def test_entries_without_effect_are_those_that_change_no_number() -> None:
    scenario = queue()
    grid = [Cell({"a": a, "b": b, "c": 7}, scenario) for a in (1, 2) for b in (1, 2)]
    by_b = [record([0.1]), record([0.2])] * 2
    assert without_effect(grid, by_b) == ["a"]
    assert without_effect(grid, [record([0.1])] * 4) == ["a", "b"]
    assert without_effect(grid, [record([0.1 * n]) for n in range(4)]) == []


def test_some_cells_are_named_and_the_others_counted() -> None:
    grid = grid_of(5)
    assert some_cells(grid, [0, 2, 3]) == "(a = 1), (a = 3), (a = 4)"
    assert some_cells(grid, [0, 2, 3, 4]) == "(a = 1), (a = 3), (a = 4) and 1 more"
    assert [percent(each) for each in (1.0, 0.9999, 0.95, 0.8765)] == [
        "99.9 %",
        "99.9 %",
        "95 %",
        "87.6 %",
    ]
