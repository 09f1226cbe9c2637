"""What `import crawlsim` has, with its arguments, against a list that is kept.

A name that goes, or an argument that is renamed, is announced first (CONTRIBUTING.md, "What is
public"). After a change on purpose: STORE_NAMES=1 pytest tests/crawlsim/test_public_names.py.
"""

from __future__ import annotations

import inspect
import os
from importlib.metadata import version
from pathlib import Path

import crawlsim

OURS = ("analytic", "crawlsim", "scenarios", "sim")
STORED = Path(__file__).with_name("public_names.txt")


def lines() -> list[str]:
    """Every name with its arguments, and the public methods of classes."""
    found = []
    for name in crawlsim.__all__:
        thing = getattr(crawlsim, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            found.append(f"class {name}: {', '.join(_members(thing))}")
        elif callable(thing):
            parameters = inspect.signature(thing).parameters.values()
            found.append(f"{name}({', '.join(map(_words, parameters))})")
        else:
            found.append(name)
    return found


def _members(cls: type) -> list[str]:
    """Attributes and methods of a class of ours, without what it has from classes of others."""
    ours = [each for each in cls.__mro__ if each.__module__.partition(".")[0] in OURS]
    names = {name for each in ours for name in {**vars(each), **inspect.get_annotations(each)}}
    return sorted(name for name in names if not name.startswith("_"))


def _words(parameter: inspect.Parameter) -> str:
    """An argument as it is called, with its default; without its type."""
    return str(parameter.replace(annotation=inspect.Parameter.empty))


def test_the_public_names_are_those_that_are_kept() -> None:
    now = "\n".join(lines()) + "\n"
    if os.environ.get("STORE_NAMES"):
        STORED.write_text(now, "utf-8")
    assert now == STORED.read_text("utf-8")


def test_each_has_a_docstring_and_the_version_is_that_of_the_package() -> None:
    for name in crawlsim.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(crawlsim, name)), name
    assert crawlsim.__version__ == version("crawlsim")


def test_what_commands_list_is_listed_in_python(tmp_path: Path) -> None:
    names = [each["name"] for each in crawlsim.library()]
    assert "one-robot" in names
    found = crawlsim.formulas("M/M/1/K")
    assert {"M/M/1/K"} <= {kendall for each in found for kendall in each["kendall"]}
    assert crawlsim.schema()["type"] == "object"
    assert crawlsim.load(crawlsim_file(tmp_path)).pages is not None
    assert {each["paper"] for each in crawlsim.papers()} >= {"talim2001"}
    (items,) = (each["items"] for each in crawlsim.papers() if each["paper"] == "talim2001")
    assert len(crawlsim.paper("talim2001")) == items
    table = crawlsim.reproduce("talim2001", "Table 2")
    assert all(each["computed"] is not None for each in table)


def crawlsim_file(folder: Path) -> Path:
    """A scenario file that `new` has written."""
    file = folder / "my.toml"
    file.write_text(crawlsim.new("pages", name="my"), "utf-8")
    return file


def test_frequencies_of_a_file_are_those_of_the_command(tmp_path: Path) -> None:
    classes = tmp_path / "classes.csv"
    classes.write_text("class,pages,rate\nnews,100,2.0\nrest,10000,0.01\n", "utf-8")
    found = crawlsim.frequencies(classes, 500.0)
    assert found.pages == 10_100
    assert sum(float(each.sum()) for each in found.shares()) == 1.0 or abs(found.sum - 1.0) < 1e-12
    assert found.classes is not None
    assert [each["class"] for each in found.classes] == ["news", "rest"]
    assert 0.0 < found.share_out_of_date < 1.0
