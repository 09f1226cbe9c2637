"""Rows of all pages of a run as Parquet, written some pages at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crawlsim.own_files import claim, writing
from scenarios import Scenario, ScenarioError
from sim.page_spool import PageSpool, page_table

ENDING = ".parquet"


def claim_table(
    path: str | Path, scenario: Scenario, option: str = "--pages", *, force: bool = False
) -> None:
    """Refuse a table that could not be written in the end, before any work.

    Raises
    ------
    ScenarioError
        If the name does not end in .parquet, something of somebody else lies there, the scenario
        has no pages, or Parquet cannot be written here.
    """
    target = Path(path)
    if target.suffix != ENDING:
        raise ScenarioError(option, str(path), f"must end in {ENDING}")
    if scenario.model.pages is None:
        raise ScenarioError(option, str(path), f"{scenario.name} has no [pages]")
    try:
        import pyarrow.parquet  # noqa: F401  # whether it is there
    except ImportError:
        raise ScenarioError(option, str(path), "needs the extra crawlsim[parquet]") from None
    claim(option, path, force=force)


@contextmanager
def table_of_pages(
    path: str | Path, scenario: Scenario, option: str = "--pages", *, force: bool = False
) -> Iterator[PageSpool]:
    """What a run fills with what it has of each page; in the end the table is there, or none.

    Parameters
    ----------
    path : path
        A .parquet file; beside it lies, until then, what the replications have counted.
    scenario : Scenario
    option : str
        What a refusal names.
    force : bool
        Whether a file of somebody else may be replaced.
    """
    with writing(option, Path(path).absolute(), force=force) as complete:
        spool = PageSpool(complete.parent)
        yield spool
        _write(complete, spool, scenario)


def _write(path: Path, spool: PageSpool, scenario: Scenario) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    names = None if scenario.model.pages is None else scenario.model.pages.names
    file: Any = None
    try:
        for columns in page_table(spool, scenario):
            first = int(columns["page"][0])
            arrays: dict[str, Any] = {name: pyarrow.array(each) for name, each in columns.items()}
            if names is not None:
                arrays["name"] = pyarrow.array(names[first : first + len(columns["page"])])
            table = pyarrow.table(arrays)
            file = file or ParquetWriter(path, table.schema)
            file.write_table(table)
    finally:
        if file is not None:
            file.close()
