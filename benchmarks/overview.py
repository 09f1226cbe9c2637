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


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|--:|---|--:|---|--:|---|---|"]
    for row in rows:
        cells = [row["what"], f"{row['ours']:.3g}", row["peer"], f"{row['theirs']:.3g}"]
        cells += [row["unit"], f"{row['ratio']:.3g}", row["limit"], holds(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def drawing(rows: Sequence[dict[str, Any]]) -> Figure:
    """The ratios as bars, what was asked for as a mark on each."""
    figure = Figure(figsize=(7.2, 0.9 + 0.26 * len(rows)), layout="constrained")
    ax = figure.add_subplot()
    places = range(len(rows))
    ax.barh(places, [row["ratio"] for row in rows], color="#4c78a8", height=0.7)
    for place, row in zip(places, rows, strict=True):
        ax.annotate(
            f"{row['ratio']:.3g}",
            (row["ratio"], place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
        if row["limit"]:
            ax.plot([float(row["limit"].split()[1])] * 2, [place - 0.45, place + 0.45], "k-", lw=2)
    names = [f"{row['what']} / {row['peer']}" for row in rows]
    ax.set_yticks(list(places), names, fontsize=7)
    ax.set_xscale("log")
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel("ratio, ours to the peer's; black: what was asked for")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One table of all benchmarks.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("out"))
    parser.add_argument("--figure", type=Path, help="PNG file to draw")
    parsed = parser.parse_args(arguments)
    rows = rows_in(parsed.folder)
    print(table(rows))
    if parsed.figure is not None:
        drawing(rows).savefig(parsed.figure, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
