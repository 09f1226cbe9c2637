"""Where on the site the pages of the repository stand."""

from __future__ import annotations

from pathlib import Path

_SECTIONS = ("tutorials", "theory", "reference")
_THEORY = (
    "accessing",
    "courses",
    "derivations",
    "distributions",
    "next-best",
    "optimal-probes",
    "optimal-robots",
    "page-sets",
    "pipeline",
    "queue-solvers",
    "routing",
    "schedule-peers",
    "verdicts",
)
_REFERENCE = (
    "crawl-logs",
    "engines",
    "errata",
    "glossary",
    "model",
    "nightly",
    "other-tools",
    "plugins",
    "scenario-file",
)

_FIXED = {
    "docs/sections/front.md": "index",
    "docs/from-python.md": "howto/from-python",
    "docs/measures.md": "reference/measuring",
    "benchmarks/README.md": "reference/benchmarks",
    "CHANGELOG.md": "reference/changes",
    **{f"docs/sections/{name}.md": f"{name}/index" for name in _SECTIONS},
    **{f"docs/{name}.md": f"theory/{name}" for name in _THEORY},
    **{f"docs/{name}.md": f"reference/{name}" for name in _REFERENCE},
}


class NoPlaceError(LookupError):
    """A page of the repository that has no place on the site."""


def place_of(path: str) -> str:
    """Where a page stands on the site, without the ending.

    Parameters
    ----------
    path : str
        From the root of the repository, such as ``docs/how-to/bottleneck.md``.

    Raises
    ------
    NoPlaceError
        If it has none.
    """
    if path in _FIXED:
        return _FIXED[path]
    file = Path(path)
    if path.startswith("docs/how-to/") and file.suffix == ".md":
        return f"howto/{file.stem}"
    if path.startswith("docs/tutorials/"):
        return f"tutorials/{file.stem}"
    if path.startswith("docs/theory/"):
        return f"theory/{file.stem}"
    if path.startswith("notebooks/") and file.suffix == ".ipynb":
        return file.with_suffix("").as_posix()
    if path.startswith("scenarios/library/"):
        return f"gallery/{file.stem}"
    raise NoPlaceError(f"{path} has no place on the site; docs/generator/places.py gives it one")


def pages_of(root: Path) -> dict[str, str]:
    """The pages of the repository, path to place."""
    found = [
        *root.glob("docs/*.md"),
        *root.glob("docs/*/*.md"),
        *root.glob("notebooks/**/*.ipynb"),
        root / "benchmarks" / "README.md",
        root / "CHANGELOG.md",
    ]
    paths = sorted(file.relative_to(root).as_posix() for file in found)
    return {path: place_of(path) for path in paths if not path.startswith("docs/_")}
