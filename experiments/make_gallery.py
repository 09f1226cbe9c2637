"""Make the pictures of the gallery: each scenario of the library, drawn from a run of its own.

Run as ``python -m experiments.make_gallery``; with the engines compiled it takes half a minute.
Beside the pictures stands of what file each was made, so that a test sees one that is out of date.
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
from analytic import check_course, check_scenario, course_of, predict, resolve
from crawlsim.report import (
    plot_comparison,
    plot_course,
    plot_levels,
    plot_obsolescence_rates,
    plot_page_set,
    plot_probes,
    plot_shared_probes,
    plot_spacing_costs,
)
from crawlsim.report.course_figures import SHOWN
from scenarios import Scenario, library_names, load
from scenarios.library import library_text

FOLDER = Path(__file__).parents[1] / "docs" / "pictures" / "gallery"
DIGESTS = FOLDER / "made-of.csv"
REPLICATIONS = 20
DOTS_PER_INCH = 130
COLOURS = 128


def digest_of(name: str) -> str:
    """What a picture is made of: the file of the scenario."""
    return hashlib.sha256(library_text(name).encode()).hexdigest()[:16]


def picture_of(scenario: Scenario) -> Axes:
    """What says most about a scenario: its course, levels, pages, probes, costs or verdicts."""
    if scenario.sources is not None:
        return plot_shared_probes(scenario)
    if scenario.probing is not None:
        return plot_probes(scenario)
    if scenario.servers is not None and scenario.servers.spacing_cost is not None:
        return plot_spacing_costs(scenario)
    results = crawlsim.run(scenario, replications=min(scenario.run.replications, REPLICATIONS))
    predictions, _ = predict(scenario)
    if len(results.course):
        shown = next(each for each in SHOWN if (each, None) in results.course.columns)
        course = check_course(scenario, course_of(scenario).course, results)
        return plot_course(results, scenario, shown, course)
    measures = {block.measure for block in results.rows.blocks}
    if "obsolescence_rate" in measures and scenario.buffer is None:
        return plot_obsolescence_rates(results, predictions)
    if scenario.page_set is not None:
        return plot_page_set(results, predictions)
    if "level_probability" in measures:
        return plot_levels(results, predictions)
    return plot_comparison(check_scenario(scenario, predictions, results))


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
    for name in library_names():
        write_picture(resolve(load(name)), FOLDER / f"{name}.png")
    with DIGESTS.open("w", encoding="utf-8", newline="") as file:
        rows = [(name, digest_of(name)) for name in library_names()]
        csv.writer(file, lineterminator="\n").writerows([("scenario", "made of"), *rows])


if __name__ == "__main__":
    main()
