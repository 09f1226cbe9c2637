"""The files of ``--figures``: what a command draws, in the shape of slides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from crawlsim.cli.files import (
    figure_bytes,
    own_folder,
    place_of,
    provenance,
    write_files,
)
from scenarios import ScenarioError

if TYPE_CHECKING:
    from crawlsim.report.drawing import Drawing

_OPTION = "--figures"
_FORMAT = "svg"


def claim_figures(
    folder: str | None, drawn_as: str | None, *, force: bool, beside: str | None = None
) -> None:
    """Refuse a folder in which figures would replace what is not ours, before any work.

    Parameters
    ----------
    folder : str or None
        As given; None asks for no figures.
    drawn_as : str or None
        The format, by default SVG.
    force : bool
    beside : str, optional
        The folder of ``--out``, which has a provenance of its own.

    Raises
    ------
    ScenarioError
    """
    if folder is None:
        if drawn_as is not None:
            raise ScenarioError("--format", drawn_as, f"needs {_OPTION}")
        return
    place = place_of(folder)
    if beside is not None and place.resolve() == place_of(beside).resolve():
        raise ScenarioError(_OPTION, folder, "is the folder of --out; give another one")
    there = [each.name for each in place.glob(f"*.{drawn_as or _FORMAT}")] if place.is_dir() else []
    own_folder(folder, there, force=force, option=_OPTION)


def write_figures(
    folder: str | None,
    drawn_as: str | None,
    drawings: Callable[[], Iterable[tuple[str, Drawing]]],
    runs: Sequence[Mapping[str, Any]],
    *,
    force: bool,
) -> None:
    """Each figure as a slide in a file of its own, named for its scenario and what it shows.

    Parameters
    ----------
    folder : str or None
        None asks for no figures.
    drawn_as : str or None
        As of `claim_figures`.
    drawings : callable
        Gives the names of scenarios and their drawings.
    runs : sequence of mapping
        What repeats them, for the provenance.
    force : bool
    """
    if folder is None:
        return
    from matplotlib.figure import Figure

    from crawlsim.report.drawing import as_slide

    drawn_as = drawn_as or _FORMAT
    files: dict[str, bytes] = {}
    shown = []
    for scenario, drawing in drawings():
        figure = drawing.ax.get_figure(root=True)
        assert isinstance(figure, Figure)
        # A name of a user's own, such as that of a class of robots, may hold any letter.
        name = f"{scenario}-{re.sub(r'[^A-Za-z0-9.]+', '-', drawing.name)}.{drawn_as}"
        files[name] = figure_bytes(as_slide(figure), f".{drawn_as}")
        shown.append(f"{name}: {drawing.caption}")
    record = partial(provenance, runs, {"figures": place_of(folder).name, "format": drawn_as})
    write_files(place_of(folder), files, record, force=force, option=_OPTION)
    click.echo("\n".join([f"written to {folder}:", *shown]), err=True)
