"""The report: its figures hold the right numbers, and its page needs nothing else."""

from __future__ import annotations

import html as markup
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from chromium import CHROMIUM
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from systems import queue

import sim
from analytic import (
    Comparison,
    NotApplicable,
    Prediction,
    check_course,
    compare,
    course_of,
    predict,
)
from crawlsim import report
from crawlsim.report.course_figures import theory_between
from crawlsim.report.drawing import (
    COLOURS,
    THEORY,
    VERDICT_COLOURS,
    axes_for,
    ink_on,
    logarithmic,
    svg_text,
)
from crawlsim.report.pages import _change_rates
from crawlsim.report.rule_figures import has_map
from crawlsim.report.words import number
from crawlsim.summary import names_of_worst_pages
from scenarios import Estimate, Results, Scenario, load, scenario_from

PROVENANCE = {"crawlsim": "0.1.0", "Python": "3.11.2"}
VOID = {"meta", "br", "link", "img", "input", "hr"}


def results_of(values: Sequence[tuple[str, int | None, float, float]]) -> Results:
    """Estimates with given standard errors; intervals of two of them."""
    rows = [
        Estimate(measure, subject, value, error, value - 2 * error, value + 2 * error)
        for measure, subject, value, error in values
    ]
    return Results("made-up", "simpy", 7, 40, tuple(rows), {})


def paged(count: int) -> tuple[Scenario, Results, list[Prediction]]:
    """Pages with change rates of a power law, and numbers for each."""
    pages = {"change_rates": {"zipf": {"pages": count, "exponent": 1.0, "total": 2.0}}}
    robots = {
        "available": 1,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "round-robin"},
    }
    scenario = scenario_from({"name": "made-up", "pages": pages, "robots": robots})
    rates = np.linspace(0.9, 0.1, count)
    results = results_of([("obsolescence_rate", n, rates[n] + 0.001, 0.002) for n in range(count)])
    source = "coffman1998 Lemma 4.1"
    return (
        scenario,
        results,
        [
            Prediction("obsolescence_rate", n, float(rates[n]), "exact", source)
            for n in range(count)
        ],
    )


def probed(policy: object = "uniform", horizon: float = 4.0) -> Scenario:
    return scenario_from(
        {
            "name": "probed",
            "time_unit": "day",
            "source": {
                "updates": {"breaks": [0.0, 0.25], "values": [2.0, 6.0], "period": 1.0},
                "importance": {"breaks": [0.0, 0.5], "values": [1.0, 3.0], "period": 2.0},
            },
            "probing": {"horizon": horizon, "probes": 8, "policy": policy},
        }
    )


def compared(**changes: object) -> Comparison:
    given: dict[str, object] = {
        "measure": "loss_rate",
        "subject": None,
        "predicted": 1.0,
        "estimated": 1.01,
        "standard_error": 0.002,
        "z": 5.0,
        "verdict": "agrees",
        "detectable": 0.01,
        "kind": "exact",
        "source": "talim2001 (9)",
        "tolerance": 0.02,
    }
    return Comparison(**(given | changes))  # type: ignore[arg-type]


def checked(scenario: Scenario) -> report.Entry:
    results = sim.run(scenario)
    predictions, others = predict(scenario)
    rows = compare(predictions, results, scenario.judged)
    return report.Entry(scenario, results, predictions, rows, others)


@pytest.fixture(scope="module")
def entry() -> report.Entry:
    return checked(queue({"run.horizon": 200.0, "costs.loss": 1.0}))


def points(ax: Axes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and the ends of the bars of the simulated points."""
    (container,) = [each for each in ax.containers if isinstance(each, ErrorbarContainer)]
    line, _, (bars,) = container.lines
    assert line is not None
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    x, y = line.get_data(orig=False)
    return np.asarray(x), np.asarray(y), ends


def line_of(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (line,) = [each for each in ax.lines if each.get_label() == label]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_a_course_is_a_line_of_theory_with_points_a_band_and_shaded_interventions() -> None:
    scenario = load("indexer-outage").with_("run.replications", 30)
    results = sim.run(scenario)
    course = course_of(scenario).course
    rows = check_course(scenario, course, results)
    ax = report.plot_course(results, scenario, "mean_in_system", rows)
    times, predicted = line_of(ax, "theory")
    assert_allclose(times, course.times)
    assert_allclose(predicted, course.columns["mean_in_system", None])
    x, y, _ = points(ax)
    assert_allclose(y, results.course.columns["mean_in_system", None][0][: len(x)])
    (shaded,) = ax.patches
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == (30.0, 40.0)
    page = render(report.Entry(scenario, results, course=rows))
    assert "Weighted obsolescence over time" in page
    closer = theory_between(scenario)
    smooth, values = line_of(
        report.plot_course(results, scenario, "mean_in_system", rows, theory=closer), "theory"
    )
    assert len(smooth) >= 200
    assert_allclose(np.interp(times, smooth, values), predicted)
    known = replace(closer, columns={})  # as of very many pages, at more times than may be
    plain = report.plot_course(results, scenario, "mean_in_system", rows, theory=known)
    assert_allclose(line_of(plain, "theory")[0], course.times)
    # What is about an interval is constant on it: no line through the ends of intervals.
    steps, rates = line_of(
        report.plot_course(results, scenario, "loss_rate", rows, theory=closer), "theory"
    )
    assert steps.tolist() == [0.0, *course.times]
    assert_allclose(rates[1:], course.columns["loss_rate", None])
    assert "from 30 to 40 (minute)" in page
    with pytest.raises(ValueError, match="no course of"):
        report.plot_course(results, scenario, "sojourn_time")


def test_a_logarithmic_axis_has_words_at_1_2_and_5_alone() -> None:
    ax = axes_for(None)
    ax.plot([1.0, 4.0], [1.0, 4.0])
    logarithmic(ax, "y")
    ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    assert high / low == pytest.approx(10.0)
    words = [label.get_text() for label in ax.get_yticklabels(minor=True)]
    assert set(words) <= {""}
    shown = [
        label.get_text() for label in ax.get_yticklabels() if low <= label.get_position()[1] <= high
    ]
    assert shown == ["1", "2", "5"]


def test_levels_are_points_with_intervals_and_the_theory_is_bars() -> None:
    values = [0.5, 0.3, 0.2]
    results = results_of([("level_probability", n, p, 0.01) for n, p in enumerate(values)])
    theory = [Prediction("level_probability", n, 1 / 3, "exact", "mine") for n in range(3)]
    ax = report.plot_levels(results, theory)
    x, y, ends = points(ax)
    assert_allclose(x, [0, 1, 2])
    assert_allclose(y, values)
    assert_allclose(ends, [[p - 0.02, p + 0.02] for p in values])
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in ax.patches]
    assert_allclose(bars, [[0, 1 / 3], [1, 1 / 3], [2, 1 / 3]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pages in the system", "fraction of time")


@pytest.mark.by_day("3", "40")
@pytest.mark.parametrize("count", [3, 40, 10_000])
def test_pages_are_points_and_the_theory_lies_at_their_change_rates(count: int) -> None:
    _, results, theory = paged(count)
    rates = [1 / (n + 1) for n in range(count)]
    ax = report.plot_obsolescence_rates(results, theory, change_rates=rates)
    x, y, ends = points(ax)
    assert_allclose(x, rates)
    assert_allclose(y, [row.estimate for row in results.estimates])
    assert_allclose(ends[:, 0], [row.low for row in results.estimates])
    place, values = line_of(ax, "theory")
    assert_allclose(place, sorted(rates))
    assert_allclose(values, [row.value for row in reversed(theory)])
    assert "change rate" in ax.get_xlabel()
    assert len(svg_text(ax, "pages")) < 120_000


@pytest.mark.parametrize(("count", "shown"), [(20, False), (21, True), (0, False)])
def test_many_unlike_pages_stand_at_their_change_rates(count: int, shown: bool) -> None:
    rates = [1 / (n + 1) for n in range(count)]
    pages = load("cyclic-constant").with_("pages.change_rates", rates) if count else queue()
    assert _change_rates(pages) == (rates if shown else None)


def test_pages_without_change_rates_stand_at_their_numbers() -> None:
    _, results, theory = paged(5)
    figure = Figure()
    given = figure.add_subplot()
    ax = report.plot_obsolescence_rates(results, theory, given)
    assert ax is given
    assert_allclose(points(ax)[0], range(5))
    assert ax.get_xlabel() == "page"


def test_probes_are_drawn_over_the_rate_of_updates() -> None:
    ax = report.plot_probes(probed({"times": [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]}))
    rate, probes, *_ = ax.lines
    assert_allclose(rate.get_xdata(), [0, 0.25, 1, 1.25, 2, 2.25, 3, 3.25, 4])
    assert_allclose(rate.get_ydata(), [2, 6, 2, 6, 2, 6, 2, 6, 6])
    assert_allclose(np.unique(probes.get_xdata()), [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4])
    (importance,) = ax.child_axes
    assert_allclose(importance.lines[0].get_ydata(), [1, 3, 1, 3, 3])
    labels = (ax.get_xlabel(), ax.get_ylabel(), importance.get_ylabel())
    assert labels == ("time (day)", "updates per day", "importance")


def test_a_long_horizon_is_shown_from_its_start() -> None:
    ax = report.plot_probes(probed(horizon=1e6))
    assert 1.0 < ax.get_xlim()[1] < 1000.0


def test_a_scenario_without_a_source_has_no_probes_to_draw() -> None:
    with pytest.raises(ValueError, match=r"queue has no \[source\]"):
        report.plot_probes(queue())


def test_results_without_levels_pages_or_differences_have_nothing_to_draw() -> None:
    results = results_of([("throughput", None, 1.0, 0.1)])
    theory = [Prediction("level_probability", 0, 0.5, "exact", "mine")]
    with pytest.raises(ValueError, match="made-up has no level_probability to draw"):
        report.plot_levels(results, theory)
    with pytest.raises(ValueError, match="made-up has no obsolescence_rate to draw"):
        report.plot_obsolescence_rates(results)
    for rows in ([], [compared(tolerance=0.0)], [compared(kind="lower bound")]):
        with pytest.raises(ValueError, match="no difference to draw"):
            report.plot_comparison(rows)


def test_differences_are_shown_in_tolerances_with_two_standard_errors() -> None:
    rows = [
        compared(),
        compared(source="talim2001 (3)"),
        compared(measure="throughput", estimated=1.2, verdict="disagrees"),
        compared(measure="starvation_probability", estimated=0.9, verdict="not judged"),
        compared(measure="loss_probability", kind="lower bound", estimated=9.0),
    ]
    ax = report.plot_comparison(rows)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["throughput", "loss rate"]
    agreeing = next(each for each in ax.containers if each.get_label() == "agrees")
    assert isinstance(agreeing, ErrorbarContainer)
    line, _, (bars,) = agreeing.lines
    assert line is not None
    assert_allclose(line.get_xdata(), [0.5])
    assert_allclose(bars.get_segments()[0][:, 0], [0.3, 0.7])
    assert [text.get_text() for text in ax.texts] == ["+10"]
    assert "tolerance" in ax.get_xlabel()


@pytest.mark.parametrize("name", ["loss_rate", "sojourn_time_second_moment_accepted"])
def test_the_label_below_the_differences_is_never_cut(name: str) -> None:
    ax = report.plot_comparison([compared(measure=name), compared(measure="throughput")])
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    label = ax.xaxis.label.get_window_extent()
    assert figure.bbox.x0 <= label.x0
    assert label.x1 <= figure.bbox.x1


def test_of_many_differences_the_largest_are_shown() -> None:
    rows = [compared(measure=f"m{n}", estimated=1 + 0.0001 * n) for n in range(60)]
    ax = report.plot_comparison(rows)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"m{n}" for n in range(36, 60)]
    assert ax.get_xlabel().endswith("24 largest of 60")


class Page(HTMLParser):
    """The elements of a page, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def values(self, *names: str) -> list[str]:
        return [value for _, name, value in self.attributes if name in names]


def render(*entries: report.Entry) -> str:
    return report.html(entries, provenance=PROVENANCE)


def entry_of(scenario: Scenario, *rows: Comparison) -> report.Entry:
    others = [NotApplicable("altman2000 (6)", ("there are no [servers]",))]
    results = results_of([("loss_rate", None, 1.0, 0.01)])
    return report.Entry(scenario, results, (), rows, others)


@pytest.mark.thorough
def test_the_page_is_well_formed_and_fetches_nothing(entry: report.Entry) -> None:
    text = render(entry)
    page = Page(text)
    assert page.open == []
    links = page.values("src", "href", "xlink:href", "action", "data", "srcset")
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\((?!#)|<script|<link|\son\w+=", text)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link[0] == "#"} <= set(ids)


def test_each_figure_is_small_and_is_xml(entry: report.Entry) -> None:
    figures = re.findall(r"<svg.*?</svg>", render(entry), re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        ElementTree.fromstring(figure)
        assert len(figure) < 100_000


def test_the_page_says_what_was_run_and_with_what(entry: report.Entry) -> None:
    text = " ".join(Page(render(entry)).words)
    for expected in (
        "waiting_places = 3",
        "0.1.0",
        "3.11.2",
        "Optimal threshold control",
        "compiled",
    ):
        assert expected in text
    assert "there are no [pages]" in text


@pytest.mark.thorough
def test_the_same_input_gives_the_same_page(entry: report.Entry) -> None:
    assert render(entry) == render(entry)


def test_what_a_user_writes_is_escaped() -> None:
    attack = '<script>alert("1")</script>$x$'
    scenario = probed().with_({"title": attack, "paper": attack, "time_unit": attack})
    own = compared(measure=f"{attack}m", source=attack)
    page = Page(report.html([entry_of(scenario, own)], provenance={attack: attack}))
    assert page.open == []
    assert "script" not in {tag for tag, _, _ in page.attributes}
    text = "".join(page.words)
    assert text.count(attack) >= 5
    assert "script" not in page.open


@pytest.mark.parametrize(
    ("rows", "verdict", "meaning"),
    [
        ([compared()], "agrees", "The judged number agrees"),
        ([compared()], "agrees", "a difference of 2 % would have been seen"),
        (
            [compared(), compared(measure="throughput", detectable=0.52)],
            "agrees",
            "2 % (52 % for throughput) would",
        ),
        (
            [compared(), compared(measure="throughput", verdict="disagrees")],
            "disagrees",
            "1 of 2 judged numbers differs",
        ),
        (
            [compared(verdict="inconclusive", replications_needed=123)],
            "inconclusive",
            "123 replications (now 40) would settle it",
        ),
        (
            [compared(verdict="inconclusive", predicted=float("nan"))],
            "inconclusive",
            "No formula predicts loss rate",
        ),
        ([compared(verdict="not judged")], "not judged", "nothing was judged"),
        ([], "simulated", "Simulated only"),
    ],
)
def test_every_verdict_stands_there_in_words(
    rows: list[Comparison], verdict: str, meaning: str
) -> None:
    text = render(entry_of(queue(), *rows))
    assert f"<strong>{verdict}</strong>" in text
    assert meaning in text


def test_sources_of_the_same_number_share_a_row() -> None:
    rows = [compared(), compared(source="talim2001 section 4"), compared(predicted=1.005)]
    page = render(entry_of(queue(), *rows))
    assert page.count('<th scope="row" title="pages lost per unit time">') == 2 + 1
    both = [f'<a href="#ref-talim2001">Talim 2001, {each}</a>' for each in ("eq. 9", "section 4")]
    assert f"M/M/1/K ({'; '.join(both)})" in page


def test_undefined_numbers_do_not_break_the_page() -> None:
    nan = float("nan")
    results = Results(
        "queue", "simpy", 1, 1, (Estimate("level_probability", 0, nan, nan, nan, nan),), {}
    )
    rows = compare([Prediction("level_probability", 0, 0.5, "exact", "mine")], results)
    assert "–" in render(report.Entry(queue(), results, (), rows))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (None, "–"),
        (float("inf"), "–"),
        (-2.5, "−2.5000"),
        (1e-5, "1.0000 · 10⁻⁵"),
        (100_000.0, "100\N{NARROW NO-BREAK SPACE}000"),
        (123456.7, "123\N{NARROW NO-BREAK SPACE}457"),
        (-99999.6, "−1.0000 · 10⁵"),
        (1234567.8, "1.2346 · 10⁶"),
        (13.000000000000002, "13"),  # whole but for rounding
        (13.00000001, "13.000"),
    ],
)
def test_numbers_are_written_for_people(value: float | None, text: str) -> None:
    assert number(value) == text


MEASURING = """<body style="margin:0"><template id="page">PAGE</template><pre id="seen"></pre>
<script>
const seen = [], widths = WIDTHS;
widths.forEach((width, place) => {
  const frame = document.createElement("iframe");
  frame.style = "border:0;height:900px;width:" + width + "px";
  frame.srcdoc = document.getElementById("page").content.textContent;
  frame.onload = () => {
    const inside = frame.contentDocument, found = [];
    inside.querySelectorAll("details").forEach(each => each.open = true);
    inside.querySelectorAll("body *:not(svg *)").forEach(each => {
      const held = each.parentElement.closest(".scroll, pre");
      if (!held && each.getBoundingClientRect().right > width + 0.5) found.push(each.tagName);
    });
    seen[place] = inside.documentElement.scrollWidth + " [" + found + "]";
    document.getElementById("seen").textContent = seen.join("; ");
  };
  document.body.append(frame);
});</script></body>"""


def seen_in_browser(page: str, widths: list[int], folder: Path) -> str:
    """For each width of a frame: the page's own width, and what lies beyond the frame."""
    wrapper = folder / "wrapper.html"
    text = MEASURING.replace("WIDTHS", str(widths)).replace("PAGE", markup.escape(page))
    wrapper.write_text(text, encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
    more = "--disable-background-networking --disable-component-update --disable-sync"
    more += " --virtual-time-budget=5000"
    profile = f"--user-data-dir={folder / 'profile'}"
    assert CHROMIUM
    done = subprocess.run(
        [CHROMIUM, *flags.split(), *more.split(), profile, "--dump-dom", wrapper.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    return found[1]


@pytest.mark.parametrize(
    "name", ["fit", "optimum", "replay", "replays", "schedule", "sweep", "template"]
)
def test_a_browser_fetches_nothing_for_any_page_that_is_written(name: str) -> None:
    head, text = (
        resources.files("crawlsim.report").joinpath(f"{file}.html").read_text()
        for file in ("page", name)
    )
    assert text.startswith('{% extends "page.html" %}')
    block = r"{% block allowed %}(.*?){% endblock %}"
    own = re.search(block, text) or re.search(block, head)
    assert own
    text = re.sub(block, own[1], head)
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*)">', text)
    assert found
    allowed = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    assert allowed.pop("default-src") == "'none'"
    assert ("script-src" in allowed) == (name == "replay")
    assert set(allowed.values()) <= {"'none'", "'unsafe-inline'", "data:"}


def test_nothing_overflows_from_phone_to_desktop(entry: report.Entry, tmp_path: Path) -> None:
    """In a browser where there is one; otherwise by what makes it so: no fixed widths."""
    long = load("one-robot").with_({"title": "x" * 300, "paper": "y" * 300})
    page = render(entry, entry_of(long, compared(measure="m" * 60, source="z" * 200)))
    if CHROMIUM:
        seen = seen_in_browser(page, [360, 390, 1280], tmp_path)
        assert seen == "360 []; 390 []; 1280 []"
        return
    parsed = Page(page)
    assert ("meta", "content", "width=device-width, initial-scale=1") in parsed.attributes
    assert page.count("<table>") == page.count('<div class="scroll"')
    assert "figure svg { display: block; width: 100%" in page


def test_these_checks_can_fail(entry: report.Entry, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Page("<p><b>crossed</p></b>")
    with pytest.raises(ElementTree.ParseError):
        ElementTree.fromstring("<svg><g></svg>")
    wide = render(entry).replace("<h1>", '<h1 style="width:2000px">')
    if CHROMIUM:
        seen = seen_in_browser(wide, [390], tmp_path)
        assert re.match(r"2\d\d\d \[.*H1", seen)


def test_pages_with_names_are_labelled_in_the_figure() -> None:
    """The worst ones, and no mark of a name is taken for a formula."""
    changes = {"pages.names": ["$a$", "b"], "pages.change_rates": [0.3, 0.1]}
    scenario = load("pipeline-one-page").with_(
        changes | {"robots.accessing": {"policy": "round-robin"}, "run.horizon": 2000.0}
    )
    results = sim.run(scenario, replications=3)
    names = names_of_worst_pages(scenario, results)
    texts = report.plot_obsolescence_rates(results, names=names).texts
    assert {text.get_text() for text in texts} == {r"\$a\$", "b"}


def _texts(ax: Axes) -> list[str]:
    return [each.get_text() for each in ax.texts]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("batches-that-fit", ["active"]),
        ("talim-switching", ["target"]),
        ("good-and-bad-network", ["state 0", "state 1"]),
        (
            "pause-for-large-pages",
            [f"arrivals {arrival}, service {phase}" for arrival in (0, 1) for phase in (0, 1)],
        ),
    ],
)
def test_a_rule_is_a_map_of_its_numbers_by_level(name: str, rows: list[str]) -> None:
    scenario = load(name)
    assert has_map(scenario)
    ax = report.plot_rule(scenario)
    assert [label.get_text() for label in ax.get_yticklabels()] == rows
    written = np.array(_texts(ax)).reshape(len(rows), -1)
    if name == "batches-that-fit":
        assert ax.get_title(loc="left") == "active robots"
        assert written.tolist() == [["2", "2", "2", "1", "2", "1", "1"]]
    if name == "talim-switching":
        assert written.tolist() == [[str(n) for n in scenario.activation.targets[0]]]  # type: ignore[union-attr]  # it switches
    if name == "pause-for-large-pages":
        assert [written[0, 0], written[1, 0]] == ["4", "4"]
        assert written[1, 1] == str(scenario.activation.root[1][0][1])  # type: ignore[union-attr]  # it is free


def test_costs_by_distance_are_curves_with_the_distances_of_the_order() -> None:
    """Server 0 gets every other packet; server 2 costs what server 1 does, times its weight."""
    servers = {
        "arrivals": {"poisson": {"rate": 1.0}},
        "rates": [1.0, 1.0, 1.0],
        "routing": {"period": [0, 1, 0, 2]},
        "weights": [1.0, 2.0, 2.0],
        "spacing_cost": {"table": [8.0, 4.0, 2.0, 1.0, 0.5]},
    }
    ax = report.plot_spacing_costs(scenario_from({"name": "order", "servers": servers}))
    curves, marks = ax.lines[::2], ax.lines[1::2]
    assert [line.get_label() for line in curves] == ["server 0", "server 1", "server 2"]
    for line, weight in zip(curves, (1.0, 2.0, 2.0), strict=True):
        costs = np.asarray(line.get_ydata())[:6]
        assert costs == pytest.approx(weight * np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.5]))
    dots = [(list(line.get_xdata()), list(line.get_ydata())) for line in marks]
    assert dots == [([2], [4.0]), ([4], [2.0]), ([4], [2.0])]
    assert [line.get_linestyle() for line in curves][:2] == ["-", "-"]
    assert curves[2].get_linestyle() != "-"


def test_groups_of_pages_stand_in_their_order_with_their_theory() -> None:
    pages = {"change_rates": {"zipf": {"pages": 40, "exponent": 0.8, "total": 40.0}}}
    scenario = load("cyclic-constant").with_({"pages": pages, "run.page_rows": 0})
    results = sim.run(scenario.with_({"run.horizon": 100.0, "run.warmup": 10.0}), replications=3)
    rows = [Prediction("obsolescence_rate", f"tenth {n}", n / 10, "exact", "us") for n in (2, 1)]
    ax = report.plot_groups(results, rows)
    names = [f"tenth {n}" for n in range(1, 11)]
    assert [label.get_text() for label in ax.get_xticklabels()] == names
    theory, *_ = (line for line in ax.lines if line.get_color() == THEORY)
    assert dict(zip(theory.get_xdata(), theory.get_ydata(), strict=True)) == {1: 0.2, 0: 0.1}
    estimates = [results.find("obsolescence_rate", name) for name in names]
    drawn = [list(line.get_ydata()) for line in ax.lines]
    assert [each.estimate for each in estimates if each] in drawn


def test_a_rule_of_classes_is_a_map_of_who_is_switched_on() -> None:
    scenario = load("one-fast-three-slow")
    ax = report.plot_rule(scenario)
    (image,) = ax.images
    choices = scenario.activation.choices  # type: ignore[union-attr]  # it switches
    shown = np.asarray(image.get_array()) - 1
    assert shown.T.ravel().tolist() == np.array(choices).ravel().tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [  # type: ignore[union-attr]  # it has one
        "nobody",
        "near switched on",
        "far switched on",
    ]


def test_a_threshold_needs_no_map() -> None:
    assert not has_map(load("four-robots-one-threshold"))


def test_numbers_have_the_ink_that_is_read_on_their_cell() -> None:
    assert ink_on("#1f6bb3") == "white"
    assert ink_on("#5a9fd4") == ink_on("white") == "#1d2329"
    ax = report.plot_rule(load("talim-switching"))
    inks = {text.get_text(): text.get_color() for text in ax.texts}
    assert (inks["16"], inks["4"]) == ("white", "#1d2329")


def _colours(css: str) -> tuple[dict[str, str], dict[str, str]]:
    """The variables of a style that are colours, in the light and in the dark."""
    light, _, dark = css.partition("@media (prefers-color-scheme: dark)")
    found = [dict(re.findall(r"--([\w-]+): (#\w+);", part)) for part in (light, dark)]
    return found[0], found[0] | found[1]


def _contrast(one: str, other: str) -> float:
    """As WCAG counts it."""
    lights = []
    for colour in (one, other):
        shares = np.array(to_rgb(colour))
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        lights.append(float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05)
    return max(lights) / min(lights)


def test_pages_are_read_in_the_light_and_in_the_dark() -> None:
    files = resources.files("crawlsim.report")
    style = files.joinpath("style.css").read_text()
    assert not re.findall(r"#[0-9a-f]{3,6}\b", style)  # of colours there are two each
    light, dark = _colours(files.joinpath("colours.css").read_text())
    assert light["paper"] != dark["paper"]
    for theme in (light, dark):
        for name in ("ink", "soft", "link"):
            assert _contrast(theme[name], theme["paper"]) > 4.5
            assert _contrast(theme[name], theme["wash"]) > 4.5
        for name in ("agrees", "disagrees", "inconclusive", "neutral"):
            assert _contrast(theme[name], theme[f"{name}-wash"]) > 4.5


def test_figures_in_the_dark_are_read_as_in_the_light() -> None:
    """The page turns them around: what they are drawn in must be read then, too."""
    style = resources.files("crawlsim.report").joinpath("style.css").read_text()
    assert "figure svg { filter: invert(0.9) hue-rotate(180deg); }" in style
    _, dark = _colours(resources.files("crawlsim.report").joinpath("colours.css").read_text())
    turned = np.array(  # what the filter does to the colours, by the specification
        [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]
    )
    for colour in ("#333333", "#444444", *COLOURS, *VERDICT_COLOURS.values()):
        seen = np.clip(turned @ (0.9 - 0.8 * np.array(to_rgb(colour))), 0.0, 1.0)
        least = 4.5 if colour in ("#333333", "#444444") else 3.0
        assert _contrast(to_hex(seen), dark["paper"]) > least
