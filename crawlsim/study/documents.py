"""The documents of a study: what it is, the lock of versions, the report, the metadata."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version

from crawlsim.cli.files import package_versions
from crawlsim.own_files import IN_MARKUP, signed
from crawlsim.study.archive import RECORD
from crawlsim.study.crate import METADATA, crate
from crawlsim.study.stress import Stress
from scenarios.plugins import installed_versions

LOCK = "requirements.txt"
NAMES = ("README.md", LOCK, "report.md", "report.html", METADATA)
"""All of them."""

_PROGRAM = "crawlsim"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def environment() -> dict[str, str]:
    """Versions and the machine."""
    ours = {"Python": platform.python_version(), "platform": platform.platform()}
    return package_versions() | ours


def documents(report: Stress) -> dict[str, bytes]:
    """The texts of all documents, by their names.

    Parameters
    ----------
    report : Stress
        Knows the study and all that is said of it.
    """
    study = report.study
    texts = {
        "README.md": _readme(report),
        LOCK: "\n".join(_lock()) + "\n",
        "report.md": report.markdown(),
    }
    contents = {name: text.encode() for name, text in texts.items()}
    contents["report.html"] = signed(report.html(), IN_MARKUP)
    sizes = {name: (report.place / name).stat().st_size for name in study.files}
    sizes |= {name: len(content) for name, content in contents.items()}
    sizes |= {RECORD: len(study.text().encode())}
    metadata = crate(
        report.title,
        f"A simulation study by crawlsim: {study.command}. {report.opening}",
        sizes,
        [*study.words(), *study.scenarios],
        study.inputs,
        study.made,
        package_versions(),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return contents | {METADATA: metadata.encode()}


def _readme(report: Stress) -> str:
    also, warning = "", ""
    if plugins := report.study.plugins:
        also = " --run-plugins"
        named = ", ".join(f"`{each}`" for each in plugins)
        warning = f"\nRead {named} first: it is executed, and may do whatever you may do.\n"
    command = " ".join(["crawlsim", *report.study.words(), *report.study.scenarios])
    lines = report.markdown().splitlines()
    return f"""{lines[0]}

A simulation study. All that it needs is in this folder; to repeat it, and to compare every file:

```
pip install -r {LOCK}
crawlsim repeat .{also}
```
{warning}
- `inputs/`: the scenarios and their data, `results/` and `figures/`: what came out of

  ```
  {command}
  ```

- `report.md` and `report.html`: the study by STRESS-DES; `{METADATA}`: the same for archives
- `{RECORD}`: the command, and a digest of each file; `provenance.json`: when, and on what machine
"""


def _lock() -> Iterator[str]:
    """The versions of this program, of packages that add to it, and of all that they need."""
    yield f"# Python {platform.python_version()}, {platform.platform()}"
    found: dict[str, str] = {}
    for name in (_PROGRAM, *installed_versions()):
        _needed(name, found)
    for name, what in sorted(found.items()):
        yield f"{name}=={what}"


def _needed(name: str, found: dict[str, str]) -> None:
    """Add a package and those that it needs, with their versions, to what was found."""
    if name in found:
        return
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        return
    for each in requires(name) or ():
        asked, _, marker = each.partition(";")
        if "extra" not in marker and (needed := _NAME.match(asked)):
            _needed(needed[0].lower(), found)
