"""Runs the notebooks and stores their outputs: ``python -m experiments.store_notebooks [NAME…]``.

Without names: all of ``notebooks/`` and ``notebooks/solutions/``. The cells are run here as Jupyter
would run them; what is stored is the same every time, so that a difference is one of the results.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
DOTS_PER_INCH = 90
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")

Cell = dict[str, Any]
Names = dict[str, Any]


def all_notebooks() -> list[Path]:
    """Those of the course, then their solutions."""
    return [*sorted(NOTEBOOKS.glob("*.ipynb")), *sorted(NOTEBOOKS.glob("solutions/*.ipynb"))]


def code_cells(path: Path) -> list[Cell]:
    """Code cells in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def outputs_of(source: str, names: Names) -> list[Cell]:
    """What one cell prints, shows and draws, as Jupyter stores it.

    Parameters
    ----------
    source : str
        Plain Python.
    names : dict
        Of the notebook; the cell adds its own.
    """
    found: list[Cell] = []
    printed = io.StringIO()

    def keep_text() -> None:
        if text := printed.getvalue():
            found.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
            printed.seek(0)
            printed.truncate()

    def show() -> None:
        keep_text()
        found.extend(
            {"data": _drawn(number), "metadata": {}, "output_type": "display_data"}
            for number in plt.get_fignums()
        )
        plt.close("all")

    with contextlib.redirect_stdout(printed), mock.patch.object(plt, "show", show):
        value = _run(source, names)
    if value is not None and not source.rstrip().endswith(";"):
        keep_text()
        found.append({"data": _shown(value), "metadata": {}, "output_type": "execute_result"})
    show()
    return found


def executed(path: Path) -> tuple[list[list[Cell]], Names]:
    """The outputs of each code cell, run in an empty folder, and the names that they leave."""
    names: Names = {"__name__": "__main__"}
    with as_in_jupyter(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = [outputs_of("".join(cell["source"]), names) for cell in code_cells(path)]
    return found, names


@contextlib.contextmanager
def as_in_jupyter() -> Iterator[None]:
    """Figures without a window, and tables of the width that a notebook has."""
    shape = pd.option_context("display.max_columns", 20, "display.width", 80)
    with mpl.rc_context({"figure.max_open_warning": 0}), shape:
        mpl.use("Agg")
        plt.close("all")
        yield
        plt.close("all")


def stored(path: Path) -> str:
    """The notebook with its outputs, as text."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    found, _ = executed(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, outputs) in enumerate(zip(cells, found, strict=True), start=1):
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = count
        cell["execution_count"] = count
        cell["outputs"] = outputs
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def numbers(outputs: list[Cell]) -> list[float]:
    """All numbers that a cell prints or shows as text."""
    texts = [output.get("text") or output["data"].get("text/plain", "") for output in outputs]
    return [float(each) for text in texts for each in NUMBER.findall("".join(text))]


def _run(source: str, names: Names) -> Any:
    """The value of a last expression, if there is one."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], None
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def _shown(value: Any) -> Cell:
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": _lines(value._repr_html_())} | data
    return data


def _drawn(number: int) -> Cell:
    figure = plt.figure(number)
    width, height = (int(each * figure.dpi) for each in figure.get_size_inches())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return {
        "image/png": base64.b64encode(file.getvalue()).decode(),
        "text/plain": [f"<Figure size {width}x{height} with {len(figure.axes)} Axes>"],
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Store the outputs of the notebooks named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="such as one-queue, solutions/one-queue")
    asked = parser.parse_args().names
    for path in [NOTEBOOKS / f"{name}.ipynb" for name in asked] or all_notebooks():
        before = os.times()
        path.write_text(stored(path), encoding="utf-8")
        after = os.times()
        seconds = after.user + after.system - before.user - before.system
        print(f"{path.relative_to(NOTEBOOKS)}: {seconds:.0f} s, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
