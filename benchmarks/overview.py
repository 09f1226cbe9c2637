"""One table of all benchmarks: ours, the peer, their ratio, and what it is to be.

Reads what the benchmarks wrote into a folder, ``out`` by default, and draws the ratios beside their
limits: ``python benchmarks/overview.py [FOLDER] [--figure FILE]``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = ("benchmark", "ours", "peer", "peer's", "unit", "ratio", "asked", "holds")


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """The rows of all benchmarks of a folder."""
    files = sorted(folder.glob("bench_*.json"))
    return [row for file in files for row in json.loads(file.read_text()).get("compared", [])]


def holds(row: dict[str, Any]) -> str:
    """Whether the ratio is what it is to be."""
    if not row["limit"]:
        return ""
    sign, number = row["limit"].split()
    kept = row["ratio"] >= float(number) if sign == ">=" else row["ratio"] <= float(number)
    return "yes" if kept else "NO"


def number(value: float) -> str:
    """Three digits that count; from a thousand on no exponent, but thousands set apart."""
    rounded = f"{value:.3g}"
    return rounded if value < 1e3 else f"{float(rounded):,.0f}"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|--:|---|--:|---|--:|---|---|"]
    for row in rows:
        cells = [row["what"], number(row["ours"]), row["peer"], number(row["theirs"])]
        cells += [row["unit"], number(row["ratio"]), row["limit"], holds(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def drawing(rows: Sequence[dict[str, Any]]) -> Figure:
    """How many times faster than each peer, and below that what share of each limit was taken.

    Above, what was asked for is a black mark, to be reached; below it is the black line, not to be
    passed.
    """
    taken = [row for row in rows if row["limit"].startswith("<=")]
    faster = [row for row in rows if row not in taken]
    heights = [len(faster), len(taken)]
    figure = Figure(figsize=(7.2, 1.6 + 0.2 * sum(heights)), layout="constrained")
    above, below = figure.subplots(2, height_ratios=heights)
    ratios = [row["ratio"] for row in faster]
    _bars(above, faster, "#4c78a8", ratios, "times faster than the peer (black: asked for)")
    shares = [row["ratio"] / float(row["limit"].split()[1]) for row in taken]
    _bars(below, taken, "#b07800", shares, "share taken of what was allowed")
    above.set_xscale("log")
    for place, row in enumerate(faster):
        if row["limit"]:
            asked = float(row["limit"].split()[1])
            above.plot([asked, asked], [place - 0.45, place + 0.45], "k-", lw=2)
    below.axvline(1.0, color="k", lw=2)
    return figure


def _bars(
    ax: Axes, rows: Sequence[dict[str, Any]], colour: str, values: Sequence[float], title: str
) -> None:
    """A bar for each row, with its value at the end."""
    bars = ax.barh(range(len(rows)), values, color=colour, height=0.7)
    beside = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    texts = [number(value) for value in values]
    ax.bar_label(bars, texts, padding=7, fontsize=6.5, bbox=beside)
    names = [
        row["what"] if row["peer"] == "limit" else f"{row['what']} / {row['peer']}" for row in rows
    ]
    ax.set_yticks(range(len(rows)), names, fontsize=6.5)
    ax.invert_yaxis()
    ax.margins(x=0.12, y=0.01)
    ax.set_xlabel(title, fontsize=8)
    ax.tick_params(axis="x", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One table of all benchmarks.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("out"))
    parser.add_argument("--figure", type=Path, help="PNG file to draw")
    parsed = parser.parse_args(arguments)
    rows = rows_in(parsed.folder)
    print(table(rows))
    if parsed.figure is not None:
        drawing(rows).savefig(parsed.figure, dpi=90, facecolor="white")


if __name__ == "__main__":
    main()
