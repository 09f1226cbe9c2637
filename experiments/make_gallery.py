"""Make the pictures of the gallery: each scenario of the library, drawn from a run of its own.

Run as ``python -m experiments.make_gallery``; with the engines compiled it takes half a minute.
Beside the pictures stands of what file each was made, so that a test sees one that is out of date,
and the number that the scenario is about.
"""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import crawlsim
from analytic import check_course, course_of, exact_values, predict, resolve
from crawlsim.pictures import plot_measure
from crawlsim.report import (
    plot_course,
    plot_levels,
    plot_obsolescence_rates,
    plot_page_set,
    plot_probes,
    plot_shared_probes,
    plot_spacing_costs,
)
from crawlsim.report.course_figures import SHOWN, theory_between
from crawlsim.report.rule_figures import has_map, plot_rule
from scenarios import Scenario, library_names, load
from scenarios.library import library_text

FOLDER = Path(__file__).parents[1] / "docs" / "pictures" / "gallery"
DIGESTS = FOLDER / "made-of.csv"
REPLICATIONS = 20
DOTS_PER_INCH = 130
COLOURS = 128

BY_SUBJECT = ("preemption_probability", "sojourn_quantile")
"""Measures whose subjects tell more than the levels do."""

INPUTS = ("arrival_rate", "throughput")
"""Measures that are rather what a scenario begins with: named only where there is no other."""


def digest_of(name: str) -> str:
    """What a picture is made of: the file of the scenario."""
    return hashlib.sha256(library_text(name).encode()).hexdigest()[:16]


def picture_of(scenario: Scenario) -> Axes:
    """What a scenario is about: a course, probes, costs, pages, a rule, its measure, or levels."""
    if scenario.sources is not None:
        return plot_shared_probes(scenario)
    if scenario.probing is not None:
        return plot_probes(scenario)
    if scenario.servers is not None and scenario.servers.spacing_cost is not None:
        return plot_spacing_costs(scenario)
    if has_map(scenario):
        return plot_rule(scenario)
    results = crawlsim.run(scenario, replications=min(scenario.run.replications, REPLICATIONS))
    predictions, _ = predict(scenario)
    if len(results.course):
        shown = next(each for each in SHOWN if (each, None) in results.course.columns)
        course = check_course(scenario, course_of(scenario).course, results)
        theory = theory_between(scenario)
        return plot_course(results, scenario, shown, course, theory=theory)
    measures = {block.measure for block in results.rows.blocks}
    if "obsolescence_rate" in measures:
        return plot_obsolescence_rates(results, predictions)
    if scenario.page_set is not None:
        return plot_page_set(results, predictions)
    first = scenario.judged[0]
    by_class = scenario.model.queue is not None and scenario.model.queue.classes is not None
    if first in BY_SUBJECT or by_class or "level_probability" not in measures:
        return plot_measure(results, scenario, predictions, course_of(scenario).course, first)
    return plot_levels(results, predictions)


def number_of(scenario: Scenario) -> tuple[str, str]:
    """The measure that a scenario is about, and its exact value; empty where there is none."""
    exact = exact_values(scenario)
    found = (
        (name, exact[name, subject][0])
        for name in sorted(scenario.judged, key=INPUTS.__contains__)
        for subject in (None, "all")
        if (name, subject) in exact
    )
    name, value = next(found, ("", ""))
    return name, f"{value:.3g}" if name else ""


def write_picture(scenario: Scenario, file: Path) -> None:
    """The picture as a PNG of few colours."""
    figure = picture_of(scenario).figure
    assert isinstance(figure, Figure)
    stream = io.BytesIO()
    with mpl.rc_context({"savefig.facecolor": "white"}):
        figure.savefig(stream, format="png", dpi=DOTS_PER_INCH)
    picture = Image.open(stream).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def main() -> None:
    """All pictures, and what they are made of."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = [("scenario", "made of", "measure", "value")]
    for name in library_names():
        scenario = resolve(load(name))
        write_picture(scenario, FOLDER / f"{name}.png")
        rows.append((name, digest_of(name), *number_of(scenario)))
    with DIGESTS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
