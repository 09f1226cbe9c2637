"""Make the figures of the pages of results: theory as lines, simulation as points with intervals.

Run as ``PYTHONPATH=docs python -m experiments.make_theory_figures``; it takes a quarter of an hour,
with ``--redraw``, which simulates nothing anew, half of that. Beside the pictures stand their
numbers, which the pages and the tests read.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from itertools import groupby

import numpy as np
from generator.figures import FOLDER, NUMBERS, Number, changed_words, figures
from generator.formulas import label_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from analytic import FORMULAS
from crawlsim.report.drawing import SIMULATED, THEORY, by_decades, dress, legend_above
from crawlsim.report.words import with_unit
from experiments.names_of_lines import name_ends
from experiments.theory_points import PROBES, knobs_of, points_of, predicted_at, scenario_of

FEWEST = 3
"""A figure has at least so many values of what is changed."""

Lines = dict[tuple[str, str, str], list[tuple[float, float]]]
"""By source, kind and subject, the places and the values of a line."""

_PLACES = 40
_COLOURS = 16
_DOTS_PER_INCH = 110
_STYLES = {"exact": "-", "lower bound": "--", "upper bound": "-.", "asymptotic": ":"}


def numbers() -> list[Number]:
    """The numbers of all figures; of the formulas of one page, those of the first one's measure."""
    found: dict[str, list[Number]] = {}
    for formula in FORMULAS:
        label = label_of(formula.paper, formula.number)
        about = (label, formula.source, scenario_of(formula).time_unit)
        mine = [Number(*about, *point) for point in points_of(formula)]
        if len({each.to for each in mine}) < FEWEST:
            continue
        before = found.setdefault(label, [])
        if not before or _axes_of(before[0]) == _axes_of(mine[0]):
            before += mine
    return [number for page in found.values() for number in page]


def _axes_of(number: Number) -> tuple[str, str]:
    return number.changed, number.measure


def write(found: list[Number]) -> None:
    """The numbers as a table."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Number._fields)
        for number in found:
            table.writerow(f"{each:.6g}" if isinstance(each, float) else each for each in number)


def between(found: list[Number]) -> Lines:
    """Theory at places between the points: for each line of a figure, places and values."""
    lines: Lines = {}
    for source in dict.fromkeys(each.source for each in found):
        mine = [each for each in found if each.source == source]
        formulas = [each for each in FORMULAS if each.source == source]
        base = scenario_of(formulas[0])
        knob = next(each for each in knobs_of(base) if each.name == mine[0].changed)
        ends = min(each.to for each in mine), max(each.to for each in mine)
        places = np.geomspace(*ends, _PLACES)
        if mine[0].changed == PROBES:
            places = np.unique(places.round())
        for place in places.tolist():
            values = {
                str("" if each.subject is None else each.subject): each.value
                for formula in formulas
                for each in predicted_at(formula, base, knob, place)
                if each.measure == mine[0].measure
            }
            for line in dict.fromkeys(each.line for each in mine):
                value = values.get(line[-1], math.nan)
                lines.setdefault(line, []).append((place, value))
    return lines


def draw(found: list[Number], lines: Lines) -> Figure:
    """Lines and points against what is changed."""
    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    ax = figure.add_subplot()
    first = found[0]
    dress(ax, changed_words(first), with_unit(first.measure, None, first.time_unit))
    ends = []
    for _, group in groupby(sorted(found, key=lambda each: each.line), lambda each: each.line):
        line = list(group)
        _draw_line(ax, line, lines[line[0].line])
        ends.append((line[-1].to, line[-1].theory, line[0].subject_words))
    points = [(each.to, each.simulated, SIMULATED) for each in found]
    said = by_decades(ax, points, (value for line in lines.values() for _, value in line))
    if ax.get_yscale() == "linear" and min(each.low for each in found) >= 0:
        ax.set_ylim(bottom=0)
    legend_above(ax, title=said or None)
    if len({each.subject for each in found}) > 1:
        name_ends(ax, ends)
    return figure


def _draw_line(ax: Axes, line: list[Number], smooth: list[tuple[float, float]]) -> None:
    """Theory as a line, simulation as points; each is named in the legend once."""
    known = set(ax.get_legend_handles_labels()[1])
    theory = "theory" if line[0].kind == "exact" else line[0].kind
    points = "simulation, 95 % intervals"
    x = [each.to for each in line]
    ax.plot(
        *zip(*smooth, strict=True),
        linestyle=_STYLES.get(line[0].kind, (0, (5, 1))),
        color=THEORY,
        lw=1.1,
        label=f"_{theory}" if theory in known else theory,
    )
    ax.errorbar(
        x,
        [each.simulated for each in line],
        [
            [each.simulated - each.low for each in line],
            [each.high - each.simulated for each in line],
        ],
        fmt="o",
        ms=3.5,
        lw=1.1,
        capsize=2.5,
        color=SIMULATED,
        label=f"_{points}" if points in known else points,
    )


def save(figure: Figure, name: str) -> None:
    """As a PNG of few colours."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DOTS_PER_INCH, facecolor="white")
    picture = Image.open(stream).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    picture.save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """All figures, and their numbers."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if "--redraw" not in sys.argv:
        write(numbers())
    for file in FOLDER.glob("*.png"):
        if file.stem not in figures():
            file.unlink()
    for label, found in figures().items():
        save(draw(found, between(found)), label)


if __name__ == "__main__":
    main()
