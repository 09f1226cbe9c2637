"""What fits do where there is too little, too much, or nothing that is sure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from crawlsim.fitting import Fit, Options, Trace, fit, fitted_scenario, read_trace
from crawlsim.logs.fit import deliveries, order_two, shared_prior, signal_worth, sizes
from crawlsim.logs.fit import with_signals as worth_fitted
from crawlsim.logs.fit.batches import Batches, _root, batches_of
from crawlsim.logs.fit.deliveries import DeliveryFit, Tried, batch_process, fit_deliveries
from crawlsim.logs.fit.hyper_erlang import HyperErlang, _two_points, sample_of, three_moments
from crawlsim.logs.fit.order_two import Process
from crawlsim.logs.fit.page_changes import counted_rates, history_of
from crawlsim.logs.fit.poisson_tests import dispersion
from crawlsim.logs.fit.shared_prior import Groups, sampled
from crawlsim.logs.fit.signal_worth import Beside, Draws
from crawlsim.logs.fit.sizes import law_parameters
from crawlsim.logs.fit.with_signals import HostWorth, _listening, must_be_heard, worth_of_hosts
from crawlsim.logs.read.csv_lines import separator_hint
from crawlsim.logs.read.gaps import Gaps, gaps_of_visits
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.signals import Heard, SignalLog
from scenarios import ScenarioError, scenario_from


def refused(text: str) -> Any:
    """Nothing else is said."""
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


# What signals are worth


def beside_of(page: list[int], signals: list[int], heard: list[int]) -> Beside:
    number = len(page)
    gaps = Gaps(
        page=np.array(page, np.int32),
        start=np.arange(float(number)),
        length=np.ones(number),
        changed=np.ones(number, bool),
        first=np.zeros(len(heard)),
        visits=np.bincount(page, minlength=len(heard)) + 1,
        begin=0.0,
        end=float(number),
        interval=1.0,
    )
    return Beside(gaps, np.array(signals), np.array(heard), np.ones(len(heard)))


def test_too_many_folders_are_taken_by_hosts_and_too_many_hosts_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five pages in four folders of three hosts."""
    groups = Groups(np.array([0, 1, 1, 2, 3]), np.array([0, 1, 1, 2]))

    def by(most: int) -> tuple[list[int], list[int]]:
        monkeypatch.setattr(signal_worth, "_MOST_FOLDERS", most)
        found = signal_worth._of_few_folders(groups)
        return found.folder.tolist(), found.host.tolist()

    assert by(4) == ([0, 1, 1, 2, 3], [0, 1, 1, 2])
    assert by(3) == ([0, 1, 1, 1, 2], [0, 1, 2])
    assert by(2) == ([0, 0, 0, 0, 0], [0])


@pytest.mark.parametrize(
    ("pages", "expected"),
    [(8, range(8)), (9, [0, 1, 2, 3, 5, 6, 7, 8]), (20, [0, 1, 2, 3, 16, 17, 18, 19])],
)
def test_runs_of_neighbours_stand_for_very_many_pages(
    pages: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of four pages, the first ones and the last ones, of both priors."""
    monkeypatch.setattr(signal_worth, "_MOST_SAMPLED", 8)
    monkeypatch.setattr(signal_worth, "_RUN", 4)
    monkeypatch.setattr(shared_prior, "_SAMPLED_BLOCKS", 2)
    monkeypatch.setattr(shared_prior, "_SAMPLED_PAGES", 4)
    assert signal_worth._sampled(pages).tolist() == list(expected)
    assert sampled(pages).tolist() == list(expected)


def test_what_hosts_are_worth_in_words() -> None:
    none = HostWorth("a.org", 3, 0, (0.5, 0.0, 1.0), (0.5, 0.0, 1.0))
    assert none.sentence == "Signals of a.org: none was heard."
    some = HostWorth("", 3, 7, (0.5, 0.31, 0.72), (0.25, 0.1, 0.404))
    assert some.sentence == (
        "Signals: 50 % (31 to 72) are true; of the changes 25 % (10 to 40) have one."
    )


@pytest.mark.parametrize(("believed", "tried"), [(True, True), (True, False), (False, True)])
def test_hosts_of_which_nothing_is_known_have_all_shares(believed: bool, tried: bool) -> None:
    """Two pages of a host; without a signal between visits the visits say nothing of it."""
    beside = beside_of([0, 1], [0, 2] if tried else [0, 0], [3, 4])
    draws = Draws(np.full((2, 9), 0.25), np.full((2, 9), 1.0), np.full((2, 9), 4.0))
    names = np.array(["https://a.org/1", "https://a.org/2"], object)
    (found,) = worth_of_hosts(draws, beside, names, is_believed=believed)
    assert found[:3] == ("a.org", 2, 7)
    assert found.precision == pytest.approx(
        (0.25, *((0.25, 0.25) if believed and tried else (0, 1)))
    )
    assert found.recall == pytest.approx((0.5, *((0.5, 0.5) if believed else (0, 1))))


@pytest.mark.parametrize(
    ("signals", "times", "message"),
    [
        ([-1, 0], [1.0], None),
        (
            [-1, -1],
            [1.0],
            "--signals = 7 signals no page was visited twice while these signals were heard. Note.",
        ),
        (
            [-1, 0],
            [],
            "--signals = 7 signals none is of a page that was visited and says something of it. "
            "Note.",
        ),
    ],
)
def test_signals_that_never_meet_visits_are_refused(
    signals: list[int], times: list[float], message: str | None
) -> None:
    beside = beside_of([0, 1], signals, [3, 4])
    heard = Heard(np.zeros(len(times), np.int64), np.array(times), 0.0, 2.0, ("Note.",))
    if message is None:
        must_be_heard(beside, heard)
        return
    with pytest.raises(ScenarioError) as error:
        must_be_heard(beside, heard)
    assert f"{error.value.key} = {error.value.value} {error.value.allowed}" == message


def test_robots_listen_only_if_there_are_more_pages_than_robots() -> None:
    robots = {"available": 3, "access_time": "any"}
    listening = {"robots": {**robots, "accessing": {"policy": "crawl-value"}}}
    assert _listening({"robots": robots}, 4) == listening
    assert _listening({"robots": robots}, 3) == {}
    assert _listening({}, 4) == {}


def test_rates_of_a_log_without_belief_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    log = VisitLog(
        np.array(["a", "b"], object),
        np.array([0, 0, 1, 1], np.int32),
        np.array([0.0, 2.0, 1.0, 3.0]),
        np.array([False, True, False, True]),
        dated=False,
    )
    signals = SignalLog(
        np.array(["a", "b"], object),
        np.array([0, 0, 1], np.int32),
        np.array([0.5, 1.5, 2.5]),
        dated=False,
    )
    trace = Trace(log, "day")
    before = Fit(
        "crawls", "pages", trace, (), {}, (), {}, {"pages": {}, "robots": {"available": 2}}
    )
    draws = Draws(
        np.array([[0.5, 0.5], [0.25, 0.25]]),
        np.array([[1.0, 3.0], [2.0, 2.0]]),
        np.array([[2.0, 2.0], [8.0, 8.0]]),
    )
    monkeypatch.setattr(worth_fitted, "drawn", lambda *_: draws)
    for believed in (True, False):
        found = worth_fitted.with_signals(
            before, log, gaps_of_visits(log), signals, 10.0, is_believed=believed
        )
        rates = [each for each in found.parameters if each.name == "total_change_rate"]
        assert [each.subject for each in rates] == ["a", "b"]
        assert [each.estimate for each in rates] == pytest.approx([30.0, 40.0])
        ends = [(20.0, 40.0), (40.0, 40.0)] if believed else [(0.0, np.inf)] * 2
        assert [(each.low, each.high) for each in rates] == [pytest.approx(each) for each in ends]
        assert found.changes["pages.signals"] == {
            "recall": pytest.approx([1 / 3, 2 / 4]),
            "precision": pytest.approx([0.5, 0.25]),
        }
        assert found.summary == {"signals": 3, "signals_between_visits": 3}


# Laws


def test_a_quantile_is_found_below_and_above_the_mean() -> None:
    law = HyperErlang((1.0,), (3,), (2.0,))
    for share in (1e-4, 0.01, 0.5, 0.9999):
        assert law.quantile(share) == pytest.approx(special.gammaincinv(3, share) / 2.0)


def test_moments_that_no_law_has_are_refused() -> None:
    """A variance of 0, and a third moment below the one of a constant times the law."""
    for moments in ((1.0, 1.0, 2.0), (1.0, 2.0, 4.0), (-1.0, 2.0, 9.0)):
        shown = ", ".join(f"{each:g}" for each in moments)
        with refused(f"no positive law has the moments {shown}"):
            three_moments(*moments)
    with refused("the moments need branches of more than 20 phases"):
        three_moments(1.0, 1.001, 1.0031, most=20)
    with refused("rounding leaves no mixture with these moments"):
        _two_points(1.0, 2.0, 4.0, 1)


def test_a_root_outside_the_bracket_is_its_nearer_end() -> None:
    assert [_root(lambda x, at=at: at - x, 1.0, 3.0) for at in (0.5, 1.0, 2.5, 3.0, 4.0)] == [
        1.0,
        1.0,
        pytest.approx(2.5),
        3.0,
        3.0,
    ]


def test_a_law_that_the_sample_does_not_tell_has_no_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Singular, negative, or beyond a factor of e^5 for one standard error."""
    sample = sample_of(np.random.default_rng(1).exponential(1.0, 500))
    law = HyperErlang((0.4, 0.6), (1, 1), (0.5, 2.0))

    def intervals(matrix: np.ndarray) -> list[Any]:
        monkeypatch.setattr(sizes, "information", lambda *_: matrix)
        return law_parameters(sample, law)

    assert intervals(np.ones((3, 3))) == []
    assert intervals(np.diag([100.0, 100.0, -100.0])) == []
    assert intervals(np.diag([100.0, 100.0, 0.99 / 25])) == []
    slow, fast, first, second = intervals(np.diag([100.0, 25.0, 400.0]))
    assert (slow.estimate, fast.estimate) == (2.0, 0.5)
    assert slow.high / slow.estimate == pytest.approx(np.exp(stats.norm.ppf(0.975) / 10))
    assert fast.estimate / fast.low == pytest.approx(np.exp(stats.norm.ppf(0.975) / 5))
    for each, share in ((first, 0.4), (second, 0.6)):
        assert each.estimate == share
        for end, sign in ((each.low, -1), (each.high, 1)):
            assert special.logit(end) - special.logit(share) == pytest.approx(
                sign * stats.norm.ppf(0.975) / 20
            )


# Deliveries


def test_only_a_process_that_is_there_can_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_with(*moments: object) -> Process:
        raise ValueError(f"none with {moments[2]:.3g}")

    monkeypatch.setattr(deliveries, "map_of_order_two", none_with)
    gaps = np.random.default_rng(5).exponential(1.0, 40)
    batches = batches_of(np.append(0.0, np.cumsum(gaps)), 0.0)
    correlation = deliveries.lag_correlations(gaps)[0]
    with refused(f"there is no map with these gaps; none with {correlation:.3g}"):
        fit_deliveries(batches, "map")
    found = fit_deliveries(batches, "renewal")
    assert set(found.tried) == {"poisson", "renewal", "mmpp"}
    assert f"of the MAP, which is not taken: none with {correlation:.3g}" in found.notes


def test_the_mmpp_of_very_many_gaps_is_that_of_twenty_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two gaps at the beginning of each twentieth; what is compared is of all gaps."""
    seen = []
    of_all = deliveries.fit_modulated

    def noted(gaps: np.ndarray) -> Any:
        seen.append(gaps)
        return of_all(gaps)

    monkeypatch.setattr(deliveries, "fit_modulated", noted)
    monkeypatch.setattr(deliveries, "MOST_GAPS", 40)
    gaps = np.random.default_rng(6).exponential(1.0, 100)
    times = np.append(0.0, np.cumsum(gaps))
    found = fit_deliveries(batches_of(times, 0.0))
    np.testing.assert_allclose(seen[0], gaps.reshape(20, 5)[:, :2].ravel())
    rate = 1 / gaps.mean()
    assert found.tried["poisson"].log_likelihood == pytest.approx(
        stats.expon(scale=1 / rate).logpdf(gaps).sum()
    )
    note = "The MMPP is fitted to 40 of the gaps, in twenty blocks."
    assert note in deliveries._notes(found)
    fit_deliveries(batches_of(times[:41], 0.0))
    assert len(seen[1]) == 40


def test_a_batch_that_is_too_large_for_matrices_is_refused() -> None:
    process = Process(np.array([[-1.0]]), np.array([[1.0]]))
    with refused("a batch has 201 pages, more than 200; give a smaller --batch-gap"):
        batch_process(process, np.array([1, 201]))
    (bmap,) = batch_process(process, np.array([1, 200, 1, 1])).values()
    assert [np.ravel(each)[0] for each in bmap["D"]] == [-1.0, 0.75, *[0.0] * 198, 0.25]
    assert batch_process(process, np.array([1, 1])) == process.entry()


def delivery_fit(chosen: str, first: float, stops: int = 0) -> DeliveryFit:
    gaps = np.tile([1.0, 2.0], 50)
    batches = Batches(np.arange(101.0), np.ones(101, np.int64), gaps, 0.0, stops)
    tried = {chosen: Tried(Process(np.array([[-1.0]]), np.array([[1.0]])), -10.0, 1)}
    return DeliveryFit(batches, np.array([first, 0.1]), tried, chosen, (), ())


def test_a_correlation_within_chance_is_said_only_of_a_process_that_has_one() -> None:
    """Three standard errors of 100 gaps are 0.3."""
    assert deliveries._correlation_note(delivery_fit("renewal", 0.29)) == []
    assert deliveries._correlation_note(delivery_fit("renewal", -0.29)) == []
    assert deliveries._correlation_note(delivery_fit("mmpp", 0.29)) == [
        "The lag correlation of the gaps, 0.29, is within chance; mmpp is taken for how it fits "
        "their lengths, and --process renewal is without correlation."
    ]
    for first, wrong in ((0.31, "small"), (-0.31, "large")):
        (note,) = deliveries._correlation_note(delivery_fit("renewal", first))
        assert note == (
            f"Correlations of gaps 1 to 2 apart are {first}, 0.1, more than chance; the process "
            f"renewal has none, so that computed losses and waits will be too {wrong}. To keep "
            "what order two can, give ."
        )


@pytest.mark.parametrize(
    ("stops", "note"),
    [
        (0, "No gap separates batches: every page is a batch of its own."),
        (1, "1 longer gap is a stop of the crawler and left out."),
        (2, "2 longer gaps are stops of the crawler and left out."),
    ],
)
def test_stops_of_the_crawler_are_said(stops: int, note: str) -> None:
    assert deliveries._notes(delivery_fit("renewal", 0.0, stops))[0] == note


# The curvature of a likelihood


@pytest.mark.parametrize("last", [17.0, 4.0])
def test_intervals_where_the_likelihood_is_nearly_square_are_normal_and_else_by_its_fall(
    last: float,
) -> None:
    """With a fourth power in the last number, whose interval ends where it falls by 1.92."""
    logs = np.log([0.5, 2.0, 0.1, 0.3])
    curvature = np.array([100.0, 400.0, 25.0, last])
    reach = stats.norm.ppf(0.975)

    def loss(at: np.ndarray) -> float:
        return float(curvature @ (at - logs) ** 2 / 2 + (at - logs)[3] ** 4)

    reaches = reach / np.sqrt(curvature)
    if last < 16.0:  # of 2 x^2 + x^4 = 1.92
        reaches[3] = np.sqrt(np.sqrt(1.0 + reach**2 / 2) - 1.0)
    found = order_two._parameters(loss, logs, 10.0)
    for each, log, curved, ends in zip(found, logs, curvature, reaches, strict=True):
        assert each.estimate == pytest.approx(np.exp(log) / 10.0)
        assert np.log(each.high / each.estimate) == pytest.approx(ends, abs=0.006)
        assert np.log(each.estimate / each.low) == pytest.approx(ends, abs=0.006)
        assert each.standard_error == pytest.approx(each.estimate / np.sqrt(curved), rel=1e-3)


def test_a_likelihood_that_is_flat_in_one_number_gives_no_intervals() -> None:
    logs = np.log([0.5, 2.0, 0.1, 0.3])

    def flat(at: np.ndarray) -> float:
        return float(50.0 * ((at - logs)[:3] ** 2).sum())

    assert order_two._parameters(flat, logs, 10.0) == ()


def test_the_end_of_a_search_is_kept_where_no_top_is_near() -> None:
    """Newton's method goes to the top of a square loss, but not far, nor where it is flat."""
    top = np.array([1.0, -2.0])

    def square(at: np.ndarray, curvature: float = 3.0) -> float:
        return float(curvature * ((at - top) ** 2).sum() / 2)

    near = top + 0.04
    np.testing.assert_allclose(order_two._finished(square, near), top, atol=1e-9)
    far = top + 0.06
    assert order_two._finished(square, far) is far
    assert order_two._finished(lambda at: square(at, 0.009), near) is near
    assert order_two._finished(lambda at: square(at, -3.0), near) is near
    assert order_two._finished(lambda _: np.nan, near) is near


# Changes


def test_pages_that_are_watched_too_shortly_are_left_out() -> None:
    page = np.array([0, 0, 1, 2], np.int32)
    history = history_of(page, np.array([0.0, 10.0, 4.0, 9.0]), 3)
    found = counted_rates(history, 6.0)
    assert (found.index.tolist(), found.left_out) == ([0, 1], 1)
    np.testing.assert_allclose(found.rates, [1 / 10, 0.5 / 6])
    with refused("no page is watched for 10.5 or longer"):
        counted_rates(history, 10.5)


@pytest.mark.parametrize(
    ("born", "left_out"),
    [([0.0], ""), ([95.0], "1 page is"), ([95.0, 96.0], "2 pages are")],
)
def test_how_many_pages_are_left_out_is_said(born: list[float], left_out: str) -> None:
    times = [0.0, 20.0, 50.0, 100.0, *born]
    page = [0, 0, 0, 0, *range(1, 1 + len(born))]
    names = [f"p{number}" for number in range(1 + len(born))]
    log = ChangeLog.of(names, np.array(page, np.int32), np.array(times), dated=False)
    found = fit(Trace(log, "day"), Options(section="pages", shortest=10.0))
    note = f"{left_out} left out, watched for less than 10 days."
    assert (note in found.notes) == bool(left_out)
    assert any("left out" in each for each in found.notes) == bool(left_out)


def test_a_window_without_a_change_of_the_source_is_refused() -> None:
    log = ChangeLog.of(["a"], np.zeros(4, np.int32), np.array([0.0, 1.0, 8.0, 9.0]), dated=False)
    for since, until, why in (
        ("1", "7", "the window holds no change"),
        ("9", None, "all changes are at one time, or outside the window"),
    ):
        with pytest.raises(ScenarioError) as error:
            fit(Trace(log, "day"), Options(since=since, until=until, pieces=1, period=1.0))
        assert str(error.value) == f'trace = "4 rows of changes"\n{why}'


def test_events_need_two_whole_windows() -> None:
    times = np.array([1.5, 2.5, 2.75, 3.5])
    for window, width in (((0.5, 3.5), 2.0), ((4.0, 9.0), 1.0), ((1.0, 2.9), 1.0)):
        with refused(f"there are no two whole windows of {width:g} with an event"):
            dispersion(times, window, width)
    found = dispersion(times, (1.0, 3.0), 1.0)
    assert (found.windows, found.index) == (2, pytest.approx(0.5 / 1.5))


def test_one_event_says_nothing_of_chance() -> None:
    """It has no pair with which it could share a window: every number of pairs is the only one."""
    assert dispersion(np.array([1.5]), (0.0, 4.0), 1.0).p_value == 1.0


# Into a scenario, and from files


def test_a_scenario_that_cannot_take_the_fit_is_refused() -> None:
    """Its weights are of three pages, and two are fitted; another has no pages at all."""
    log = ChangeLog.of(
        ["a", "b"], np.array([0, 0, 0, 1, 1], np.int32), np.arange(5.0) * 10.0, dated=False
    )
    found = fit(Trace(log, "time unit"), Options(section="pages"))
    whole = fitted_scenario(found, "made").as_file()
    own = {**whole["pages"], "change_rates": [1.0] * 3, "names": list("xyz"), "weights": [1.0] * 3}
    with pytest.raises(ScenarioError) as error:
        fitted_scenario(found, "made", scenario_from({**whole, "pages": own}))
    assert str(error.value) == (
        '--into = "made"\ncannot take the fitted pages.change_rates: pages.weights has 3 entries; '
        "must have 2, one per page; change it, or leave --into out for a new one"
    )


def test_a_trace_of_numbers_is_one_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("1\n2\n")
    with pytest.raises(ScenarioError) as error:
        read_trace([tmp_path / "one", tmp_path / "two"], "sizes")
    assert str(error.value) == (
        '--kind = "sizes"\nis read from one CSV file; logs are crawls or changes'
    )
    assert read_trace(tmp_path / "one", "sizes").values.tolist() == [1.0, 2.0]


def test_dates_are_counted_in_a_unit_of_time(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("url,time\na,2024-01-01\na,2024-01-03\n")
    with pytest.raises(ScenarioError) as error:
        read_trace(path, time_unit="dayz")
    assert str(error.value) == (
        '--time-unit = "dayz"\nmust be second, minute, hour, day, week or year (did you mean '
        "day?), since the times are dates"
    )
    assert np.diff(read_trace(path, time_unit="hour").values).tolist() == [48.0]
    path.write_text("url,time\na,1\na,3\n")
    assert read_trace(path, time_unit="dayz").time_unit == "dayz"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (
            "a,b\n1,2\n",
            'header = "a,b"\nthere is no column size, nor is the first line a row',
        ),
        (
            "0;1\n1;2\n",
            'header = "0;1"\nthere is no column size, nor is the first line a row'
            + separator_hint(["0;1"]),
        ),
        (
            "size\n0\n",
            "no row can be read; line 2 size = '0' must be a positive number, 1e-50 to 1e+50",
        ),
    ],
)
def test_a_file_without_numbers_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text(text)
    with pytest.raises(ScenarioError) as error:
        read_trace(path, "sizes")
    assert str(error.value) == f"{path}\n{message}"


@pytest.mark.parametrize(
    ("text", "values", "line"),
    [
        ("3,b\n1,2\n-1,3\n5,6\n", [3.0, 1.0, 5.0], 3),
        ("x,Size\n1,2\n3,-1\n5,6\n", [2.0, 6.0], 3),
        ("x,Size\n\n1,2\n3,-1\n", [2.0], 4),
    ],
)
def test_numbers_are_those_of_their_column_or_of_the_first(
    text: str, values: list[float], line: int, tmp_path: Path
) -> None:
    """A first line that is a row is one."""
    path = tmp_path / "numbers.csv"
    path.write_text(text)
    found = read_trace(path, "sizes")
    assert found.values.tolist() == values
    assert found.broken.lines == ((line, "size = '-1' must be a positive number, 1e-50 to 1e+50"),)
    assert (found.broken.count, found.broken.of) == (1, len(values) + 1)
    assert found.broken.files == ("numbers.csv",)
