"""Many pages: sums, groups, quantiles, and the worst pages, against the rows of every page."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from systems import pages_counted

import sim
from scenarios import Estimate, Results, Scenario, scenario_from
from scenarios.page_groups import (
    FOLLOWED,
    SHARES,
    followed_pages,
    group_names,
    group_sizes,
    groupings,
    largest_in_groups,
    largest_products,
)
from sim import page_sums
from sim.estimates import page_pool
from sim.page_spool import ENDINGS, PageSpool, page_table
from sim.replicate import Counted, Precision, run_to_precision

PAGES = 203
LIMITS = {"rows": 1000, "sums": 0}


def many(changes: dict[str, Any] | None = None) -> Scenario:
    base = scenario_from(
        {
            "name": "many",
            "pages": {"change_rates": {"zipf": {"pages": PAGES, "exponent": 0.8, "total": 60.0}}},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 0.01}},
                "accessing": {"policy": "randomized"},
            },
            "run": {"horizon": 12.0, "warmup": 3.0, "replications": 11},
        }
    )
    return base.with_(changes) if changes else base


BUFFER = {"waiting_places": 4, "service": {"exponential": {"mean": 0.006}}}
KINDS: dict[str, dict[str, Any]] = {
    "drawn": {},
    "in turn": {"robots.accessing": {"policy": "round-robin"}},
    "golden": {"robots.accessing": {"policy": "golden-ratio", "frequencies": "change-rate"}},
    "by deadline": {"robots.accessing": {"policy": "deadline", "frequencies": "change-rate"}},
    "three robots": {"robots.available": 3},
    "hosts and clients": {
        "pages.hosts": {"zipf": {"hosts": 5, "exponent": 1.0}},
        "robots.host_spacing": 0.002,
        "clients": {"query_rate": 50.0},
    },
    "equal weights": {"pages.weights": "uniform", "costs": {"staleness": 2.0}},
    "through a buffer": {"buffer": BUFFER},
    "unchanged": {
        "robots.unchanged": {"bytes": 300.0},
        "pages.sizes": {"zipf": {"exponent": 0.7, "mean": 2e4}},
    },
    "in turn through a buffer": {
        "buffer": BUFFER,
        "robots.accessing": {"policy": "round-robin"},
    },
}


def both(changes: dict[str, Any], engine: str | None = None) -> tuple[Results, Results]:
    """With a row for each page, and with sums."""
    rows, sums = (
        sim.run(many(changes | {"run.page_rows": limit}), engine=engine)
        for limit in LIMITS.values()
    )
    return rows, sums


def is_single(row: Estimate) -> bool:
    return isinstance(row.subject, int) and row.measure != "level_probability"


def numbers(row: Estimate) -> tuple[float, ...]:
    return row.estimate, row.standard_error, row.low, row.high, row.sample


@pytest.mark.by_day(
    besides=(
        "drawn-simpy",
        "three robots-simpy",
        "hosts and clients-simpy",
        "equal weights-simpy",
        "through a buffer-simpy",
        "in turn through a buffer-simpy",
        "in turn-simpy",
        "golden-simpy",
        "by deadline-simpy",
        "unchanged-simpy",
    )
)
@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_rows_give_the_same_bits(kind: str, engine: str) -> None:
    """Of everything that both have: the whole system, and the pages that are followed."""
    rows, sums = both(KINDS[kind], engine)
    whole = [row for row in rows.estimates if not is_single(row)]
    assert {"weighted_obsolescence", "mean_active_robots"} <= {row.measure for row in whole}
    assert [numbers(row) for row in whole] == [
        numbers(found) for row in whole if (found := sums.find(row.measure, row.subject))
    ]
    followed = set(followed_pages(many(KINDS[kind]).model.pages))
    singles = [row for row in sums.estimates if is_single(row) and row.subject in followed]
    assert {row.subject for row in singles} == followed
    for row in singles:
        assert numbers(row) == numbers(rows.find(row.measure, row.subject))
    assert sums.events == rows.events
    assert (
        sums.replications["weighted_obsolescence", None]
        == (rows.replications["weighted_obsolescence", None])
    )


@pytest.mark.parametrize("kind", KINDS)
def test_ends_of_the_window_shift_sums_as_they_shift_rows(kind: str) -> None:
    """A plan without a period is bounded replication by replication, which is never less."""
    rows, sums = both(KINDS[kind])
    one, other = (each.find("weighted_obsolescence").end_effect_bound for each in (rows, sums))
    if kind == "by deadline":
        assert one <= other <= 1.05 * one
    else:
        assert one == other
    groups = [sums.find("weighted_obsolescence", f"tenth {n}") for n in range(1, 11)]
    assert math.fsum(row.end_effect_bound for row in groups) == pytest.approx(other)
    if "buffer" in kind:  # rows divide by the expected accesses, sums by those that were counted
        rates = [rows.find("crawl_rate", page).estimate for page in range(PAGES)]
        for page in followed_pages(many(KINDS[kind]).model.pages):
            one, other = (each.find("index_age", page).end_effect_bound for each in (rows, sums))
            assert other * rates[page] == pytest.approx(one * np.mean(rates), rel=1e-12)
            assert (other > 0) == kind.startswith("in turn")


def test_both_engines_give_the_same_sums() -> None:
    for changes in KINDS.values():
        one, other = (
            sim.run(many(changes | {"run.page_rows": 0}), engine=engine)
            for engine in ("compiled", "simpy")
        )
        assert list(map(repr, one.estimates)) == list(map(repr, other.estimates))


class Backwards(ThreadPoolExecutor):
    """Chunks that are done in an order of their own."""

    def __init__(self) -> None:
        super().__init__(2)
        self.most = 0
        self._held: list[Any] = []

    def submit(self, work: Any, *given: Any, **named: Any) -> Any:
        import time

        number = given[0][0]
        self.most = max(self.most, number)
        pause = 0.03 if number % 3 == 0 else 0.0
        return super().submit(lambda: (time.sleep(pause), work(*given, **named))[1])


@pytest.mark.parametrize("workers", [lambda: ThreadPoolExecutor(2), Backwards])
def test_any_workers_give_the_same_bits(workers: Any) -> None:
    scenario = many({"run.page_rows": 0})
    alone = sim.run(scenario)
    with workers() as executor:
        together = sim.run(scenario, executor=executor)
    assert list(map(repr, together.estimates)) == list(map(repr, alone.estimates))


def test_processes_give_the_same_bits() -> None:
    from crawlsim.cli.workers import processes

    scenario = many({"run.page_rows": 0, "run.replications": 3})
    with processes(2) as executor:
        found = sim.run(scenario, engine="simpy", executor=executor)
    assert list(map(repr, found.estimates)) == list(map(repr, sim.run(scenario).estimates))


def test_no_more_than_a_few_replications_run_ahead() -> None:
    """Each holds what it has of every page until those before it are there."""
    started: list[int] = []

    class Noted(Executor):
        _max_workers = 2

        def __init__(self) -> None:
            self.inner = ThreadPoolExecutor(2)

        def submit(self, work: Any, chunk: Any) -> Any:  # type: ignore[override]
            started.append(chunk[0])
            return self.inner.submit(work, chunk)

    counted_at: list[tuple[int, int]] = []
    sim.run(
        many({"run.page_rows": 0}),
        executor=Noted(),
        progress=lambda done, _: counted_at.append((done, len(started))),
    )
    assert all(begun <= done + 2 * 2 for done, begun in counted_at)
    assert counted_at[-1] == (11, 11)


def test_more_replications_until_precise_are_those_of_one_run() -> None:
    scenario = many({"run.page_rows": 0, "run.replications": 3})
    found = run_to_precision(scenario, Precision(0.02, ["weighted_obsolescence"], 40))
    assert found.count > 3
    at_once = sim.run(scenario, replications=found.count)
    assert list(map(repr, found.estimates)) == list(map(repr, at_once.estimates))


def test_a_precision_of_pages_is_that_of_their_groups() -> None:
    """Some quantiles are 0 in every replication, and single pages take thousands of them."""
    scenario = many({"run.page_rows": 0, "run.replications": 3})
    precision = Precision(0.1, ["obsolescence_rate"], 200)
    found = run_to_precision(scenario, precision)
    assert 3 < found.count < 200
    assert precision.shortfall(found, scenario) is None
    assert found.find("obsolescence_rate", "quantile 0.01").estimate == 0
    worst = found.find("obsolescence_rate", "tenth 1")
    assert (worst.high - worst.low) / 2 < 0.11 * worst.estimate


@pytest.mark.parametrize("kind", ["drawn", "by deadline", "equal weights", "through a buffer"])
def test_the_worst_pages_are_those_of_the_rows(kind: str) -> None:
    rows, sums = both(KINDS[kind])
    scenario = many(KINDS[kind])
    weights = scenario.model.pages.weights
    every = np.array([row.estimate for row in rows.rows.of_measure("obsolescence_rate")])
    worst = np.argsort(-weights * every, kind="stable")[:FOLLOWED].tolist()
    kept = {
        row.subject: row
        for row in sums.rows.of_measure("obsolescence_rate")
        if isinstance(row.subject, int)
    }
    assert set(worst) <= set(kept)
    assert len(kept) <= 2 * FOLLOWED
    for page in worst:
        row = rows.find("obsolescence_rate", page)
        assert kept[page].estimate == row.estimate
        assert kept[page].sample == row.sample
        for name in ("standard_error", "low", "high"):
            assert getattr(kept[page], name) == pytest.approx(getattr(row, name), rel=1e-12)


@pytest.mark.parametrize("kind", ["drawn", "hosts and clients", "in turn through a buffer"])
def test_groups_are_sums_and_means_of_the_rows(kind: str) -> None:
    rows, sums = both(KINDS[kind])
    scenario = many(KINDS[kind])
    weights = scenario.model.pages.weights
    for grouping in groupings(scenario.model.pages):
        for number, name in enumerate(grouping.names):
            pages = np.flatnonzero(grouping.of_page == number).tolist()
            for row in (each for each in sums.estimates if each.subject == name):
                measure = row.measure
                of = "obsolescence_rate" if measure == "weighted_obsolescence" else measure
                values = [rows.find(of, page).estimate for page in pages]
                if (
                    measure == "time_to_refresh"
                ):  # a mean over changes, of which pages have many or few
                    assert min(values) < row.estimate < max(values)
                    continue
                total = math.fsum(
                    value * (weights[page] if of != measure else 1.0)
                    for page, value in zip(pages, values, strict=True)
                )
                mean = measure in {"obsolescence_rate", "index_age"}
                expected = total / len(pages) if mean else total
                assert row.estimate == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_quantiles_over_the_pages_are_means_of_those_of_the_replications() -> None:
    rows, sums = both({"buffer": BUFFER})
    for measure in ("obsolescence_rate", "crawl_rate", "index_age"):
        table = np.array([rows.replications[measure, page] for page in range(PAGES)])
        for share in SHARES:
            each = np.sort(table, axis=0)[math.ceil(share * PAGES) - 1]
            row = sums.find(measure, f"quantile {share:g}")
            assert row.estimate == pytest.approx(each.mean(), rel=1e-12)
            error = each.std(ddof=1) / math.sqrt(len(each))
            assert row.standard_error == pytest.approx(error, rel=1e-9, abs=1e-15)
            assert row.sample == 0
            assert sums.replications[measure, f"quantile {share:g}"] == pytest.approx(each)


@settings(max_examples=examples(60))
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]), min_size=1, max_size=60),
    st.integers(0, 70),
)
def test_groups_have_every_page_once_and_part_no_equal_rates(rates: list[float], at: int) -> None:
    pages = many({"pages.change_rates": rates}).model.pages
    (grouping,) = groupings(pages)
    assert len(grouping.of_page) == len(rates) == group_sizes(pages).sum()
    assert set(grouping.of_page.tolist()) == set(range(len(grouping.names)))
    of_rate = dict(zip(rates, grouping.of_page.tolist(), strict=True))
    assert [of_rate[rate] for rate in rates] == grouping.of_page.tolist()
    assert [of_rate[rate] for rate in sorted(rates)] == sorted(grouping.of_page.tolist())
    values = np.roll(np.array(rates), at)
    largest = [values[grouping.of_page == n].max() for n in range(len(grouping.names))]
    assert largest_in_groups(pages, values).tolist() == largest


def test_tenths_of_unequal_rates_are_tenths() -> None:
    pages = many({"pages.change_rates": [float(n + 1) for n in range(50)]}).model.pages
    assert group_names(pages) == tuple(f"tenth {n}" for n in range(1, 11))
    assert group_sizes(pages).tolist() == [5.0] * 10


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=50),
    st.integers(1, 8),
    st.integers(1, 7),
)
def test_largest_products_are_those_of_a_sorted_table(
    values: list[int], count: int, block: int
) -> None:
    from scenarios import page_groups

    one = np.array(values, dtype=float)
    other = 1.0 + np.arange(len(values)) % 3
    expected = np.argsort(-one * other, kind="stable")[:count].tolist()
    before = page_groups._BLOCK
    try:
        page_groups._BLOCK = block
        assert largest_products(one, other, count).tolist() == expected
    finally:
        page_groups._BLOCK = before


def test_sums_do_not_depend_on_where_blocks_are_cut_but_for_rounding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tally = pages_counted(np.arange(PAGES), np.linspace(0.0, 9.0, PAGES) ** 2)
    pages = many().model.pages
    whole = page_sums.sums_by_group(pages, tally.stale_time, pages.change_rates)
    monkeypatch.setattr("scenarios.page_groups._BLOCK", 10)
    cut = page_sums.sums_by_group(pages, tally.stale_time, pages.change_rates)
    assert cut == pytest.approx(whole, rel=1e-14)
    assert page_sums.weighted_sum(tally.stale_time, pages.change_rates) == pytest.approx(
        math.fsum((tally.stale_time * pages.change_rates).tolist()), rel=1e-14
    )


def test_pages_that_never_vary_have_no_error_in_the_pool() -> None:
    """Sums of 0.1 are not exact; their last bits are no spread."""
    pool = page_pool.PagePool(many().model.pages)
    stale = np.full(PAGES, 0.1)
    for _ in range(7):
        pool.add(pages_counted(np.ones(PAGES, dtype=np.int64), stale))
    worst = pool.worst(1.0, ())
    assert worst.values[1].tolist() == [0.0] * FOLLOWED
    assert worst.values[0].tolist() == [stale[:1].repeat(7).cumsum()[-1] / 7] * FOLLOWED


def test_what_is_kept_does_not_grow_with_pages_or_replications() -> None:
    """Of a hundred times the pages, and of more replications, the same number of numbers."""
    sizes = []
    for pages, replications in ((300, 4), (30_000, 4), (300, 8)):
        scenario = many(
            {
                "pages.change_rates.zipf.pages": pages,
                "run.page_rows": 0,
                "run.replications": replications,
            }
        )
        counted = Counted(scenario, None)
        assert counted.pool is not None
        results = sim.run(scenario)
        per_replication = len(pickle.dumps(results.replications.blocks)) / replications
        sizes.append((len(results.replications), per_replication))
        assert len(pickle.dumps(results)) < 60_000
    assert sizes[0][0] == sizes[1][0] == sizes[2][0]
    assert sizes[1][1] < 1.1 * sizes[0][1]


def test_of_more_pages_nothing_of_single_pages_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.page_groups.MOST_POOLED", PAGES)
    scenario = many({"run.page_rows": 0})
    assert Counted(scenario, None).pool is not None
    monkeypatch.setattr("scenarios.page_groups.MOST_POOLED", PAGES - 1)
    counted = Counted(scenario, None)
    assert counted.pool is None
    assert not counted.wants_pages
    found = sim.run(scenario)
    single = {row.subject for row in found.estimates if is_single(row)}
    assert single == set(followed_pages(scenario.model.pages))


@pytest.mark.parametrize("kind", ["drawn", "by deadline", "in turn through a buffer"])
@pytest.mark.parametrize("limit", LIMITS.values())
def test_the_table_of_all_pages_has_the_bits_of_the_rows(
    kind: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some pages at a time; a last part of one page numpy would add up in another order."""
    monkeypatch.setattr("sim.page_spool._AT_ONCE", 11 * 101)
    rows = sim.run(many(KINDS[kind]))
    spool = PageSpool(tmp_path)
    scenario = many(KINDS[kind] | {"run.page_rows": limit})
    sim.run(scenario, spool=spool)
    parts = list(page_table(spool, scenario))
    assert len(parts) > 1
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert columns["page"].tolist() == list(range(PAGES))
    names = {row.measure for row in rows.estimates if is_single(row)}
    assert names == {name for name in columns if f"{name}_low" in columns}
    for measure in names:
        of = [row for row in rows.rows.of_measure(measure) if is_single(row)]
        fields = ("estimate", "standard_error", "low", "high")
        for ending, field in zip(ENDINGS, fields, strict=True):
            found = columns[f"{measure}{ending}"]
            assert np.array_equal(found, [getattr(row, field) for row in of], equal_nan=True)
