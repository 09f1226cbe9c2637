"""Reading traces, the estimators on cases with known answers, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from analytic.machinery.phase_type import as_phase_type, moment
from crawlsim.fitting import Fit, Options, fit, fitted_scenario, read_trace
from crawlsim.logs.fit.batches import batch_cut, batches_of
from crawlsim.logs.fit.crawl_logs import (
    cho_garcia_molina,
    likely_intervals,
    likely_rates,
)
from crawlsim.logs.fit.deliveries import fit_deliveries
from crawlsim.logs.fit.hyper_erlang import (
    HyperErlang,
    log_likelihood,
    maximum_likelihood,
    sample_of,
    three_moments,
    two_moments,
)
from crawlsim.logs.fit.order_two import (
    Process,
    correlation_bound,
    gap_moments,
    likelihood_of,
    map_of_order_two,
)
from crawlsim.logs.fit.page_changes import (
    counted_rates,
    expected_changes,
    history_of,
    poisson_staleness_at_own_rate,
    staleness_at_own_rate,
)
from crawlsim.logs.fit.poisson_tests import dispersion
from crawlsim.logs.fit.sizes import fit_sizes, quality_of
from crawlsim.logs.fit.source_changes import equal_breaks, periodic_intensity
from crawlsim.logs.fit.trace import Trace, read_instant
from crawlsim.logs.read.gaps import gaps_of_visits
from crawlsim.logs.read.log import ChangeLog
from crawlsim.scheduling import VisitLog
from experiments.crawl_log_bias import bias_of_cho_garcia_molina, bias_of_naive
from experiments.fit_coverage import gaps_of
from scenarios import ScenarioError, load, scenario_from


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


# Reading


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_dates_are_counted_from_a_monday(tmp_path: Path, name: str) -> None:
    text = (
        "time,note,page\n2026-11-16T00:00:00Z,x,a\n2026-11-16T13:00:00+01:00,,b\n2026-11-23,y,a\n"
    )
    trace = read_trace(written(tmp_path, text, name), time_unit="week")
    assert trace.kind == "changes"
    assert trace.pages == ("a", "b")
    assert trace.page.tolist() == [0, 0, 1]
    assert trace.values % 1 == pytest.approx([0.0, 0.0, 0.5 / 7], abs=1e-9)
    assert np.diff(trace.values)[0] == pytest.approx(1.0)
    assert trace.values[0] == pytest.approx(read_instant("2026-11-16", True, "week"))


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("page,time", "changes"),
        ("changed,time,page", "crawls"),
        ("Time", "deliveries"),
        ("page,bytes", "sizes"),
    ],
)
def test_the_header_says_the_kind(tmp_path: Path, header: str, kind: str) -> None:
    row = ",".join("1" for _ in header.split(","))
    assert read_trace(written(tmp_path, f"{header}\n{row}\n")).kind == kind


def test_without_a_header_the_kind_must_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "a,1.5\nb,2\n")
    assert read_trace(path, "changes").values.tolist() == [1.5, 2.0]
    with pytest.raises(ScenarioError, match="--kind must say"):
        read_trace(path)
    with pytest.raises(ScenarioError, match="must name the columns url or page; time"):
        read_trace(path, "crawls")


def test_broken_rows_are_counted_by_line(tmp_path: Path) -> None:
    text = (
        "page,time,changed\na,1,1\nb,x,0\n\na,2,maybe\n,3,1\na,4\nb,5,1,6\na,nan,1\r\n"
        '"c, d",7,True\n"broken,8,1\na,9,no\n'
    )
    trace = read_trace(written(tmp_path, text))
    assert trace.values.tolist() == [1.0, 9.0, 7.0]
    assert trace.log.changed.tolist() == [False, False, False]
    assert trace.pages[trace.page[2]] == "c, d"
    assert trace.broken.count == 7
    assert [line for line, _ in trace.broken.lines] == [3, 5, 6, 7, 8, 9, 11]
    assert trace.broken.lines[0][1] == "time = 'x' is not a number"


@pytest.mark.thorough
@given(st.lists(st.sampled_from(["a,1,0", "a,2", "", "b,x,1", "b,3,true", "c,4,5,6", ",5,1"])))
def test_every_row_is_read_or_reported(rows: list[str]) -> None:
    """With and without quotes, which are read another way: the same rows, the same lines."""
    import tempfile

    found = []
    for first in ("z,0,1", '"z",0,1'):
        with tempfile.TemporaryDirectory() as folder:
            text = "\n".join(["page,time,changed", first, *rows])
            trace = read_trace(written(Path(folder), text))
        assert trace.rows + trace.broken.count == 1 + sum(map(bool, rows))
        found.append((trace.values.tolist(), [line for line, _ in trace.broken.lines]))
    assert found[0] == found[1]


def test_lines_are_the_same_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"page{n % 7},{n}" if n % 10 else "page" for n in range(500)]
    path = written(tmp_path, "\n".join(["page,time", *rows]))
    whole = read_trace(path)
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 64)
    parts = read_trace(path)
    assert parts.values.tolist() == whole.values.tolist()
    assert parts.broken == whole.broken
    assert whole.broken.count == 50
    assert whole.broken.lines[1][0] == 12


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"page,time\n", "no row with a URL"),
        (b"page,time\na,b\n", "line 2 time = 'b'"),
        (b"who,what\n1,2\n", "the first line must name columns"),
        (gzip.compress(b"page,time\na,1\n", mtime=0)[:-9], "is not a complete gz file"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=said):
        read_trace(path)


# Change times


def changes(times: dict[str, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    page = np.concatenate([np.full(len(each), n) for n, each in enumerate(times.values())])
    return page.astype(np.int32), np.concatenate([np.array(each) for each in times.values()])


def test_change_rates_are_counts_over_time_watched() -> None:
    page, time = changes({"a": [0.0, 1.0, 4.0, 1.0], "b": [2.0, 10.0], "c": [9.9]})
    history = history_of(page, time, 3)
    assert history.repeated == 1
    rates = counted_rates(history, 0.5)
    assert rates.index.tolist() == [0, 1]
    assert rates.rates.tolist() == [2 / 10, 1 / 8]
    assert rates.left_out == 1
    assert history.gaps[1].tolist() == [1.0, 3.0, 8.0]
    assert expected_changes(history)(np.array([0.0, 2.0, 10.0])) == pytest.approx([0, 0.4, 3.0])


def test_a_page_that_did_not_change_has_half_a_change_in_the_time_watched() -> None:
    """Jeffreys' estimate; below any page that was watched as long and changed."""
    page, time = changes({"a": [0.0, 7.0], "b": [0.0], "c": [6.0], "d": [0.0, 1.0, 10.0]})
    rates = counted_rates(history_of(page, time, 4), 0.5)
    assert rates.rates.tolist() == [1 / 10, 0.5 / 10, 0.5 / 4, 2 / 10]
    assert rates.never.tolist() == [False, True, True, False]
    assert rates.low[1] == 0.0
    assert 10 * rates.high[1] == pytest.approx(-np.log(0.05))
    assert (rates.low < rates.rates).all()
    assert (rates.rates < rates.high).all()
    assert rates.standard_errors == pytest.approx(
        [1 / 10, np.sqrt(0.5) / 10, np.sqrt(0.5) / 4, np.sqrt(2) / 10]
    )


def test_a_window_cuts_both_ends() -> None:
    page, time = changes({"a": [0.0, 1.0, 4.0, 9.0], "b": [5.0, 6.0]})
    rates = counted_rates(history_of(page, time, 2, (2.0, 8.0)), 0.1)
    assert rates.rates.tolist() == [1 / 6, 1 / 3]


def test_the_intensity_knows_how_often_each_piece_was_watched() -> None:
    """Two and a half periods: the first half is watched three times."""
    times = np.array([0.1, 0.2, 2.3, 4.4, 1.5])
    found = periodic_intensity(times, [0.0, 1.0], 2.0, (0.0, 5.0))
    assert found.counts.tolist() == [4, 1]
    assert found.exposures.tolist() == [3.0, 2.0]
    assert found.cumulative([0.5, 2.0, 5.0]) == pytest.approx([2 / 3, 4 / 3 + 0.5, 5.0])
    assert np.all(found.low < found.values)
    with pytest.raises(ValueError, match="never watched"):
        periodic_intensity(times, [0.0, 1.0], 2.0, (0.0, 1.0))
    with pytest.raises(ValueError, match="begin with 0"):
        periodic_intensity(times, [0.5, 1.0], 2.0, (0.0, 5.0))


def test_dispersion_counts_whole_windows() -> None:
    found = dispersion(np.array([0.9, 1.1, 1.2, 1.3, 2.5, 3.5]), (0.5, 4.2), 1.0)
    assert found.windows == 3
    assert found.index == pytest.approx(np.var([3, 1, 1], ddof=1) / (5 / 3))


def test_the_tests_accept_poisson_changes_of_pages_that_appear_later() -> None:
    """Pages are created all along, so the total rate grows: no reason to call them bursty.

    False alarms of a single seed: five tests at 0.001.
    """
    rng = np.random.default_rng(11)
    found = fit_of(rng, bursts=1)
    assert found.summary["poisson"] is True
    assert found.notes[-1].startswith("Nothing speaks against Poisson")
    poisson = found.summary["out_of_date_if_poisson"]
    assert found.summary["out_of_date_at_own_rate"] == pytest.approx(poisson, abs=0.01)


def test_bursts_are_called_so_with_what_they_do() -> None:
    """Every change comes as three within a hundredth of a day."""
    found = fit_of(np.random.default_rng(12), bursts=3)
    assert found.summary["poisson"] is False
    assert any(note.startswith("Not Poisson") for note in found.notes)
    assert any("too pessimistic" in note for note in found.notes)
    assert found.summary["out_of_date_at_own_rate"] < 0.25


def fit_of(rng: np.random.Generator, bursts: int) -> Fit:
    """Sixty pages created over a hundred days, one change a day until day 200."""
    created = rng.uniform(0.0, 100.0, 60)
    parts = []
    for start in created:
        centres = rng.uniform(start, 200.0, rng.poisson((200.0 - start) / bursts))
        spread = rng.uniform(0.0, 0.01, (len(centres), bursts)) * (bursts > 1)
        parts.append(np.append(start, (centres[:, None] + spread).ravel()))
    page = np.repeat(np.arange(60, dtype=np.int32), [len(part) for part in parts])
    values = np.concatenate(parts)
    pages = [f"p{n}" for n in range(60)]
    return fit(Trace(ChangeLog.of(pages, page, values, dated=False), "day"))


def test_staleness_by_hand() -> None:
    """Two changes in 10 days: visits at 5 and 10; out of date from 1 to 5 and from 9 to 10."""
    page, time = changes({"a": [0.0, 1.0, 9.0], "b": [0.0, 10.0]})
    history = history_of(page, time, 2)
    assert staleness_at_own_rate(history, [0]) == pytest.approx(0.5)


# Crawl logs


@pytest.mark.parametrize(
    ("x", "crawls", "reduced", "naive"),
    [(0.5, 10, 0.0017, -0.213), (1.0, 10, 0.0031, -0.368), (1.0, 50, 1e-4, -0.368),
     (3.0, 10, -0.148, -0.683), (3.0, 50, -0.0024, -0.683)],
)  # fmt: skip
def test_biases_by_the_exact_sum(x: float, crawls: int, reduced: float, naive: float) -> None:
    """Figures of another program, which summed over the binomial law (docs/derivations.md)."""
    assert bias_of_cho_garcia_molina(x, crawls) == pytest.approx(
        reduced, abs=6e-5 + 0.02 * abs(reduced)
    )
    assert bias_of_naive(x, crawls) == pytest.approx(naive, abs=5e-4)
    assert bias_of_naive(x, crawls) == pytest.approx(-np.expm1(-x) / x - 1)


def test_equal_gaps_have_the_closed_form() -> None:
    changed = np.arange(50) < 30
    log = gaps_of(np.zeros(51, np.int32), 0.7 * np.arange(51.0), np.append(False, changed), 1)
    found = likely_rates(log)
    assert found.rates[0] == pytest.approx(-np.log(1 - 30 / 50) / 0.7, rel=1e-10)
    assert found.bias_reduced[0] == pytest.approx(cho_garcia_molina(30, 50, 0.7))
    share = 30 / 50  # delta method on -ln(1 - share) / gap
    (error,) = likely_intervals(log, found).standard_errors
    assert error == pytest.approx(np.sqrt(share / (1 - share) / 50) / 0.7)


def test_irregular_gaps_meet_the_score_and_the_likelihood_ratio() -> None:
    rng = np.random.default_rng(13)
    gaps = rng.exponential(1.0, 40)
    changed = rng.random(40) < -np.expm1(-1.3 * gaps)
    time = np.append(0.0, np.cumsum(gaps))
    log = gaps_of(np.zeros(41, np.int32), time, np.append(True, changed), 1)
    (rate,) = likely_rates(log).rates
    likely = likely_intervals(log, likely_rates(log))
    seen = gaps[changed]
    assert (seen / np.expm1(rate * seen)).sum() == pytest.approx(gaps[~changed].sum(), rel=1e-9)

    def value(mu: float) -> float:
        return float(np.log(-np.expm1(-mu * seen)).sum() - mu * gaps[~changed].sum())

    for end in (likely.low[0], likely.high[0]):
        assert 2 * (value(rate) - value(end)) == pytest.approx(3.8414588, rel=1e-6)
    assert likely.low[0] < rate < likely.high[0]


def test_pages_that_never_or_always_changed() -> None:
    """Half a change, and one more gap without a change; intervals by the likelihood of the log."""
    page = np.repeat(np.arange(3, dtype=np.int32), 6)
    time = np.tile(np.arange(6.0), 3)
    changed = np.array([[0] * 6, [1] * 6, [0, 1, 0, 0, 1, 0]], dtype=bool).ravel()
    log = gaps_of(page, time, changed, 3)
    found = likely_rates(log)
    assert found.never.tolist() == [True, False, False]
    assert found.always.tolist() == [False, True, False]
    assert found.rates[:2] == pytest.approx([0.5 / 5, -np.log(1 - 5 / 6)])
    likely = likely_intervals(log, found)
    assert (likely.low[0], likely.high[1]) == (0.0, np.inf)
    assert np.exp(-5 * likely.high[0]) == pytest.approx(0.05)
    assert (-np.expm1(-likely.low[1])) ** 5 == pytest.approx(0.05)
    uneven = time + 0.3 * (time == 2.0)
    log = gaps_of(page, uneven, changed, 3)
    found = likely_rates(log)
    assert not found.equal_gaps.any()
    likely = likely_intervals(log, found)
    assert np.exp(-5 * likely.high[0]) == pytest.approx(0.05)
    gaps = np.array([1.0, 1.3, 0.7, 1.0, 1.0])
    assert np.prod(-np.expm1(-likely.low[1] * gaps)) == pytest.approx(0.05)


@pytest.mark.parametrize("gaps", [1, 2, 200])
@pytest.mark.parametrize("even", [True, False], ids=["even", "uneven"])
def test_a_page_that_is_never_seen_to_change_is_below_one_with_a_change(
    gaps: int, even: bool
) -> None:
    """As in change times: by half at least, watched alike."""
    lengths = np.ones(gaps) if even else np.linspace(0.5, 1.5, gaps)
    time = np.tile(np.append(0.0, np.cumsum(lengths)), 2)
    changed = np.zeros(len(time), dtype=bool)
    changed[-1] = True
    page = np.repeat(np.arange(2, dtype=np.int32), gaps + 1)
    log = gaps_of(page, time, changed, 2)
    found = likely_rates(log)
    assert found.rates[0] == pytest.approx(0.5 / lengths.sum())
    assert found.rates[0] < 0.75 * found.rates[1]
    likely = likely_intervals(log, found)
    assert 0.0 == likely.low[0] < found.rates[0] < likely.high[0]


def test_two_rows_at_one_time_are_one_crawl() -> None:
    times = np.array([0.0, 1.0, 1.0, 3.0])
    log = VisitLog.of(["a"], np.zeros(4, np.int32), times, np.array([0, 0, 1, 0], bool))
    gaps = gaps_of_visits(log)
    assert gaps.length.tolist() == [1.0, 2.0]
    assert gaps.changed.tolist() == [True, False]
    assert log.repeated == 1


# Deliveries


@pytest.mark.thorough
def test_batches_are_cut_where_the_gaps_fall_apart() -> None:
    rng = np.random.default_rng(14)
    starts = np.cumsum(rng.exponential(1.0, 3000) + 0.05)
    sizes = rng.choice([1, 2, 5], len(starts), p=[0.5, 0.3, 0.2])
    times = np.concatenate([s + 1e-5 * np.arange(n) for s, n in zip(starts, sizes, strict=True)])
    found = batches_of(times)
    assert 1e-5 < found.threshold < 0.05
    assert found.sizes.tolist() == sizes.tolist()
    assert batch_cut(rng.exponential(1.0, 3000)).threshold == 0.0


def test_stops_are_left_out() -> None:
    times = np.concatenate([np.arange(30.0), 1000 + np.arange(30.0)])
    found = batches_of(times, longest_gap=10.0)
    assert found.stops == 1
    assert found.gaps.max() == 1.0


def test_the_printed_correlation_has_no_process_of_order_two() -> None:
    """avrachenkov2011, section 7: mean 212.03, variance 51352.38, lag correlation 0.622."""
    variation = 51352.38 / 212.03**2
    assert correlation_bound(variation) == pytest.approx(0.06227, abs=1e-5)
    with pytest.raises(ValueError, match=r"0\.622 .* at most 0\.0622"):
        map_of_order_two(212.03, variation, 0.622)
    found = map_of_order_two(212.03, variation, 0.06)
    assert gap_moments(found)[::3] == pytest.approx([212.03, 0.06])


@given(st.floats(0.01, 100), st.floats(1.01, 20), st.floats(0, 1), st.floats(0.5, 2), st.booleans())
def test_moments_of_order_two_are_met(
    mean: float, variation: float, share: float, skew: float, given_third: bool
) -> None:
    correlation = share * correlation_bound(variation) * 0.999
    third = skew * 3.0 * (1 + variation) ** 2 * mean**3 if given_third else None
    found = map_of_order_two(mean, variation, correlation, third)
    assert (found.D1 >= 0).all()
    rounding = 1e-12 * np.abs(found.D0).max()
    assert found.D0.sum(axis=1) + found.D1.sum(axis=1) == pytest.approx(0, abs=rounding)
    moments = gap_moments(found)
    assert moments[0] == pytest.approx(mean)
    assert moments[1] == pytest.approx(variation, rel=1e-6)
    assert moments[3] == pytest.approx(correlation, abs=1e-9)


@pytest.mark.parametrize(
    ("variation", "correlation"), [(0.7, 0.0), (0.8, 0.01), (0.8, -0.01), (3.0, -0.05)]
)
def test_less_variable_or_negative_gaps(variation: float, correlation: float) -> None:
    found = map_of_order_two(2.0, variation, correlation)
    assert (found.D1 >= -1e-12).all()
    moments = gap_moments(found)
    assert moments[:2] == pytest.approx((2.0, variation))
    assert moments[3] == pytest.approx(correlation, abs=1e-9)


@pytest.mark.parametrize(("variation", "correlation", "said"), [
    (0.4, 0.0, "at least 0.5"), (0.51, 0.2, "no MAP of order two"),
    (2.0, 0.26, "at most 0.25"), (9.0, -0.44, "no MAP of order two"),
])  # fmt: skip
def test_infeasible_moments_are_refused(variation: float, correlation: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        map_of_order_two(1.0, variation, correlation)


def test_the_likelihood_of_gaps_is_that_of_the_matrices() -> None:
    from scipy.linalg import expm

    process = map_of_order_two(1.0, 3.0, 0.2)
    gaps = np.array([0.1, 2.0, 0.7, 30.0])
    jumps = np.linalg.inv(-process.D0) @ process.D1
    vector = np.array([jumps[1, 0], jumps[0, 1]]) / (jumps[1, 0] + jumps[0, 1])
    for gap in gaps:
        vector = vector @ expm(process.D0 * gap) @ process.D1
    assert likelihood_of(gaps, process) == pytest.approx(np.log(vector.sum()))
    alike = Process(-np.eye(2), np.full((2, 2), 0.5))
    assert likelihood_of(gaps, alike) == pytest.approx(-gaps.sum())


def test_regular_deliveries_get_a_renewal_process_and_a_note() -> None:
    gaps = np.random.default_rng(15).gamma(6.0, 1.0, 3000)
    found = fit_deliveries(batches_of(np.append(0.0, np.cumsum(gaps))))
    assert found.chosen == "renewal"
    assert "at least 0.5" in found.notes[0]
    assert "map" not in found.tried


# Sizes


def test_the_content_sizes_of_the_paper() -> None:
    """avrachenkov2011, section 7; every digit of docs/derivations.md, and scaled to 8.2."""
    law = three_moments(49207.0356, 2.0527e11, 2.5773e18)
    assert law.probabilities[0] == pytest.approx(0.005753048878502514, rel=1e-12)
    assert law.means == pytest.approx([4210818.97, 25126.54], rel=1e-7)
    scaled = law.scaled(8.2 / 49207.0356)
    assert scaled.means == pytest.approx([701.7028184, 4.18715831], rel=1e-9)
    assert scaled.rates == pytest.approx([0.00142510, 0.23882546], rel=1e-5)
    assert "hyperexponential" in law.entry()


@given(st.floats(0.01, 1e4), st.floats(0.011, 50))
def test_two_moments_are_met(mean: float, variation: float) -> None:
    law = two_moments(mean, variation)
    assert law.moment(1) == pytest.approx(mean)
    assert law.moment(2) == pytest.approx((1 + variation) * mean**2)


def test_a_variation_that_takes_more_than_a_thousand_phases_is_refused() -> None:
    assert two_moments(2.0, 1e-3).shapes == (1000,)
    with pytest.raises(ValueError, match=r"0\.000999 needs more than 1000 phases"):
        two_moments(2.0, 0.999e-3)


@pytest.mark.parametrize(
    ("shapes", "name"),
    [
        ((1,), "exponential"),
        ((2,), "Erlang(2)"),
        ((1, 1), "hyperexponential(2)"),
        ((1, 1, 1), "hyperexponential(3)"),
        ((2, 2), "mixture of Erlang(2, 2)"),
        ((1, 2), "mixture of Erlang(1, 2)"),
    ],
)
def test_a_law_has_the_name_of_its_branches(shapes: tuple[int, ...], name: str) -> None:
    equal = (1 / len(shapes),) * len(shapes)
    assert HyperErlang(equal, shapes, (1.0,) * len(shapes)).name == name


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=30, unique=True))
def test_three_moments_are_met(values: list[float]) -> None:
    """Any sample has a law, if many phases are allowed."""
    powers = [float(np.mean(np.array(values) ** order)) for order in (1, 2, 3)]
    law = three_moments(*powers, most=100_000)
    assert [law.moment(order) for order in (1, 2, 3)] == pytest.approx(powers, rel=1e-6)
    assert law.shapes[0] == law.shapes[1]


@pytest.mark.parametrize("law", [
    HyperErlang((1.0,), (1,), (2.0,)), HyperErlang((1.0,), (3,), (2.0,)),
    HyperErlang((0.3, 0.7), (1, 1), (0.5, 3.0)), HyperErlang((0.3, 0.7), (2, 4), (0.5, 3.0)),
])  # fmt: skip
def test_a_law_and_its_entry_in_a_scenario_are_one(law: HyperErlang) -> None:
    base = load("one-robot").with_("buffer.service", law.entry())
    assert base.buffer is not None
    phases = as_phase_type(base.buffer.service)
    assert phases is not None
    for order in (1, 2, 3):
        assert moment(phases, order) == pytest.approx(law.moment(order))
    mean, _ = integrate.quad(lambda x: float(law.survival(x)), 0, np.inf)
    assert mean == pytest.approx(law.moment(1))


def test_the_likelihood_never_falls_and_beats_the_moments() -> None:
    rng = np.random.default_rng(16)
    values = rng.exponential(np.where(rng.random(5000) < 0.1, 20.0, 1.0))
    sample = sample_of(values)
    rough, first = maximum_likelihood(sample, (1, 1), precision=1e-2)
    law, best = maximum_likelihood(sample, (1, 1))
    assert first <= best
    assert best == pytest.approx(log_likelihood(sample, law), rel=1e-9)
    assert log_likelihood(sample, rough) <= best
    found = {
        each.how: each.log_likelihood
        for each in fit_sizes(values).candidates
        if each.name == "hyperexponential(2)"
    }
    assert found["maximum likelihood"] >= max(found.values())


def test_many_observations_are_put_together_without_harm() -> None:
    """The log-likelihood of cells differs from that of the observations in the sixth digit."""
    values = np.random.default_rng(17).lognormal(0.0, 1.0, 60_000)
    together = sample_of(values)
    assert len(together.values) < 12_000
    assert together.count == len(values)
    law = HyperErlang((0.4, 0.6), (1, 2), (0.4, 2.0))
    one_by_one = sum(log_likelihood(sample_of(part), law) for part in np.split(values, 6))
    assert log_likelihood(together, law) == pytest.approx(one_by_one, rel=1e-6)


@pytest.mark.thorough
def test_the_true_family_has_the_least_criterion() -> None:
    rng = np.random.default_rng(18)
    assert fit_sizes(rng.exponential(3.0, 4000)).best.name == "exponential"
    assert fit_sizes(rng.gamma(5, 1.0, 4000)).best.name == "Erlang(5)"
    mixed = rng.exponential(np.where(rng.random(4000) < 0.1, 20.0, 1.0))
    assert fit_sizes(mixed).best.name == "hyperexponential(2)"


# Options


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "page,time\na,1\na,2\nb,1\nb,4\n"))
    for options, said in (
        (Options(section="service"), "must be pages or source"),
        (Options(batch_gap=1.0), "does not go with pages from changes"),
        (Options(pieces=3), "does not go with pages"),
        (Options(since="x"), "must be a number"),
        (Options(since="3", until="2"), "must be after"),
        (Options(since="9"), "holds no page"),
        (Options(section="source"), "--time-unit say"),
    ):
        with pytest.raises(ScenarioError, match=said):
            fit(trace, options)


def test_a_fit_knows_its_parameters(tmp_path: Path) -> None:
    found = fit(read_trace(written(tmp_path, "page,time\na,1\na,2\nb,1\nb,4\n")))
    assert found.find("change_rate", "b").estimate == pytest.approx(1 / 3)
    with pytest.raises(KeyError, match="no parameter"):
        found.find("change_rate", "c")
    assert scenario_from(fitted_scenario(found, "x").as_file()).pages is not None


def test_equal_breaks() -> None:
    assert equal_breaks(4, 2.0).tolist() == [0.0, 0.5, 1.0, 1.5]


def test_names_that_look_like_numbers_stay_names(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "page,time\n1,1\n01,2\n1.0,3\n1,4\n"))
    assert trace.pages == ("01", "1", "1.0")


@pytest.mark.parametrize("count", [1, 2, 7])
def test_staleness_of_few_poisson_changes(count: int) -> None:
    """Against simulation: the mean of 4000 pages has an error of at most 0.005; 5 of them."""
    rng = np.random.default_rng(count)
    page = np.repeat(np.arange(4001, dtype=np.int32), count + 1)
    time = np.hstack([np.zeros((4001, 1)), rng.random((4001, count))]).ravel()
    history = history_of(page, time, 4001, (None, 1.0))
    seen = staleness_at_own_rate(history, np.arange(4001))
    assert seen == pytest.approx(poisson_staleness_at_own_rate(np.array([count])), abs=0.02)


def test_the_quality_of_a_fit_to_few_observations_is_nearly_the_exact_test() -> None:
    """Stephens' correction; without it, or with a wrong sign in it, p is off by a fifth here."""
    law = HyperErlang((1.0,), (1,), (1.0,))
    found = quality_of(np.array([0.05, 0.1, 0.2, 0.3, 0.5]), law)
    assert found.distance == pytest.approx(np.exp(-0.5))
    assert found.p_value == pytest.approx(stats.kstwo.sf(found.distance, 5), rel=0.1)


def test_names_of_pages_are_listed_once() -> None:
    """Of a hundred thousand pages a list for each took a hundred seconds."""
    log = ChangeLog.of(["a", "b"], np.array([0, 1], dtype=np.int32), np.array([1.0, 2.0]))
    trace = Trace(log, "day")
    assert trace.pages == ("a", "b")
    assert trace.pages is trace.pages
