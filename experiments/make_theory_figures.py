"""Make the figures of the pages of results: theory as lines, simulation as points with intervals.

Run as ``PYTHONPATH=docs python -m experiments.make_theory_figures``; it takes some minutes. Beside
the pictures stand their numbers, which the pages and the tests read.
"""

from __future__ import annotations

import csv
import io
from itertools import groupby

from generator.figures import FOLDER, NUMBERS, Number, changed_words, figures
from generator.formulas import label_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from analytic import FORMULAS
from crawlsim.report.drawing import SIMULATED, THEORY, dress, legend_above
from crawlsim.report.words import with_unit
from experiments.theory_points import points_of, scenario_of

FEWEST = 3
"""A figure has at least so many values of what is changed."""

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


def draw(found: list[Number]) -> Figure:
    """Lines and points against what is changed."""
    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    ax = figure.add_subplot()
    first = found[0]
    dress(ax, changed_words(first), with_unit(first.measure, None, first.time_unit))
    named = len({each.subject for each in found}) > 1
    for _, group in groupby(sorted(found, key=lambda each: each.line), lambda each: each.line):
        line = list(group)
        _draw_line(ax, line)
        if named:
            end = (line[-1].to, line[-1].theory)
            words = line[0].subject_words
            ax.annotate(words, end, (6, 0), textcoords="offset points", fontsize=8, va="center")
    if min(each.low for each in found) >= 0:
        ax.set_ylim(bottom=0)
    legend_above(ax)
    return figure


def _draw_line(ax: Axes, line: list[Number]) -> None:
    """Theory as a line, simulation as points; each is named in the legend once."""
    known = set(ax.get_legend_handles_labels()[1])
    theory = "theory" if line[0].kind == "exact" else line[0].kind
    points = "simulation, 95 % intervals"
    x = [each.to for each in line]
    ax.plot(
        x,
        [each.theory for each in line],
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
    for file in FOLDER.glob("*.png"):
        file.unlink()
    write(numbers())
    for label, found in figures().items():
        save(draw(found), label)


if __name__ == "__main__":
    main()
