"""All pages of the site in one folder, from which Sphinx makes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from generator.api import api_pages
from generator.bibliography import bibliography_pages
from generator.commands import command_pages
from generator.formulas import formula_pages
from generator.gallery import gallery_pages
from generator.keys import key_pages
from generator.links import relinked
from generator.markdown import with_long_tables_folded
from generator.measures import measure_pages
from generator.notation import notation_pages
from generator.papers import paper_pages
from generator.places import pages_of, place_of
from generator.solutions import with_solutions

_KINDS = (
    command_pages,
    key_pages,
    measure_pages,
    formula_pages,
    paper_pages,
    notation_pages,
    bibliography_pages,
    gallery_pages,
    api_pages,
)


_LEDGERS = ("docs/errata.md", "docs/scenario-file.md", "benchmarks/README.md")
"""Pages of long tables, which fold out."""


def stage(root: Path, folder: Path) -> None:
    """Write every page and picture into the folder; what has not changed is not touched.

    Parameters
    ----------
    root : Path
        Of the repository.
    folder : Path
        Whatever else is in it is removed.
    """
    files = {**generated(), **repository_files(root), **downloads(root)}
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        if file.relative_to(folder).as_posix() not in files:
            file.unlink()
    for name, content in files.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def generated() -> dict[str, bytes]:
    """Pages that the package tells, by their files."""
    pages = {place: text for kind in _KINDS for place, text in kind().items()}
    return {f"{place}.md": text.encode() for place, text in pages.items()}


def repository_files(root: Path) -> dict[str, bytes]:
    """Pages, pictures and other files that pages link to, by their files."""
    places = pages_of(root)
    files: dict[str, bytes] = {}

    def file_at(path: str) -> str | None:
        if path.startswith("scenarios/library/"):
            return f"{place_of(path)}.md"
        if not (root / path).is_file():
            return None
        name = path.removeprefix("docs/")
        files[name] = (root / path).read_bytes()
        return name

    for path, place in places.items():
        if path.endswith(".ipynb"):
            files[f"{place}.ipynb"] = _notebook_page(root, path, places, file_at)
        else:
            text = (root / path).read_text("utf-8")
            text = relinked(text, path, places, file_at)
            text = with_long_tables_folded(text) if path in _LEDGERS else text
            files[f"{place}.md"] = text.encode()
    for picture in (root / "docs" / "pictures").rglob("*.png"):
        files[picture.relative_to(root / "docs").as_posix()] = picture.read_bytes()
    return files


def downloads(root: Path) -> dict[str, bytes]:
    """The notebooks as they are, by the files to which their pages link."""
    notebooks = [path for path in pages_of(root) if path.endswith(".ipynb")]
    return {_download(path): (root / path).read_bytes() for path in notebooks}


def _download(path: str) -> str:
    return f"downloads/{path}"


def _notebook_page(
    root: Path, path: str, places: Mapping[str, str], file_at: Callable[[str], str | None]
) -> bytes:
    """A notebook with a link to its file, and with its solutions, if any."""
    notebook = _relinked_notebook(root, path, places, file_at)
    solutions = path.replace("notebooks/", "notebooks/solutions/")
    if solutions in places:
        solved = _relinked_notebook(root, solutions, places, file_at)
        notebook["cells"] = with_solutions(notebook["cells"], solved["cells"])
    title = notebook["cells"][0]["source"]
    title[1:1] = ["\n", f"{{download}}`{PurePath(path).name} </{_download(path)}>`\n"]
    return json.dumps(notebook, indent=1).encode()


def _relinked_notebook(
    root: Path, path: str, places: Mapping[str, str], file_at: Callable[[str], str | None]
) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((root / path).read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = relinked("".join(cell["source"]), path, places, file_at)
            cell["source"] = source.splitlines(keepends=True)
    return notebook
