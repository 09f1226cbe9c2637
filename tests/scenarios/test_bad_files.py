"""A corpus of bad scenario files: each breaks one rule, and the message says which."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scenarios import ScenarioError, load
from scenarios.errors import MISSING, brief

HERE = Path(__file__).parent / "bad_files"
NAMES_OF_GOOD = ("queue", "joint", "crawl", "probes", "parallel", "page-set")

COLUMNS = {
    "good.csv": b"page,rate\na,0.1\nb,0.2\nc,0.3\n",
    "word.csv": b"rate\n0.1\nfast\n",
    "negative.csv": b"1.0\n-2.0\n",
    "headers.csv": b"rate\n",
    "latin.csv": b"rat\xe9\n1.0\n",
}
"""Files beside the scenario file."""


class Bad(NamedTuple):
    """A bad file and pieces of its message; value None: the message shows no value."""

    text: str | bytes
    key: str
    value: str | None
    allowed: str


SYNTAX = {
    "empty": Bad("", "name", None, "is missing"),
    "no value": Bad("name = ", "", None, "is not TOML: Invalid value"),
    "open header": Bad("[robots", "", None, "is not TOML: Expected ']'"),
    "open string": Bad('name = "a', "", None, "is not TOML: Unterminated string"),
    "key twice": Bad("a = 1\na = 2", "", None, "is not TOML: Cannot overwrite a value"),
    "closed table": Bad("a = {}\na.b = 2", "", None, "is not TOML: Cannot mutate"),
    "half a surrogate": Bad(r'name = "\ud800"', "", None, "is not TOML: Escaped character"),
    "5000 digits": Bad("a = " + "9" * 5000, "", None, "is not TOML: Exceeds the limit"),
    "brackets": Bad("a = " + "[" * 2000 + "]" * 2000, "", None, "is nested too deeply"),
    "latin-1": Bad('name = "é"'.encode("latin-1"), "", None, "is not UTF-8 (byte 8)"),
    "utf-16": Bad('name = "e"'.encode("utf-16"), "", None, "is not UTF-8 (byte 0)"),
}
DEEP = {
    "open brackets": Bad("a = " + "[" * 2000, "", None, "is nested too deeply"),
    "tables": Bad("a = " + "{a = " * 2000 + "1" + "}" * 2000, "", None, "is nested too deeply"),
    "dots": Bad(".".join(["run"] * 3000) + " = 1", "", None, "is nested too deeply"),
    "headers": Bad("[" + ".".join(["run"] * 3000) + "]", "", None, "is nested too deeply"),
}


def entries_of(name: str) -> dict[str, str]:
    """The dotted keys of a good file with their TOML values."""
    lines = (HERE / f"good/{name}.toml").read_text().splitlines()
    return dict(line.split(" = ", 1) for line in lines)


def text_of(entries: dict[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in entries.items())


def cases(file: Path) -> Iterator[tuple[str, Bad]]:
    """The cases of a file; bad_files/README.md says how they are written."""
    for case in re.split(r"\n(?! )", file.read_text().strip()):
        title, *lines = case.split("\n")
        entries = entries_of(title.partition(": ")[0])
        for line in lines:
            key, _, value = line[4:].partition(" = ")
            if line.startswith("  -"):
                del entries[key]
            elif line.startswith("  +"):
                entries[key] = value
        *said, allowed = [line[4:] for line in lines if line.startswith("  >")]
        key, has_value, value = "".join(said).partition(" = ")
        yield title, Bad(text_of(entries), key, value if has_value else None, allowed)


AGAIN = HERE / "again.txt"
FILES = sorted(set(HERE.glob("*.txt")) - {AGAIN})
CORPUS = [*SYNTAX.items(), *(case for file in FILES for case in cases(file))]
ALL = [*CORPUS, *DEEP.items(), *cases(AGAIN)]


def refusal(text: str | bytes, folder: Path) -> ScenarioError:
    """The error of a file with this text, which must be a ScenarioError and nothing else."""
    for name, content in COLUMNS.items():
        (folder / name).write_bytes(content)
    path = folder / "bad.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as caught:
        load(path)
    return caught.value


@pytest.mark.parametrize("name", NAMES_OF_GOOD)
def test_the_file_is_good_before_it_is_spoilt(name):
    assert load(HERE / f"good/{name}.toml").name == name


@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in ALL])
def test_a_bad_file_is_refused_with_key_value_and_rule(bad, tmp_path):
    error = refusal(bad.text, tmp_path)
    file, *entry, allowed = str(error).splitlines()
    key, has_value, value = "".join(entry).partition(" = ")
    assert file == str(tmp_path / "bad.toml")
    assert len(entry) <= 1
    assert key == error.key == bad.key
    assert bool(has_value) == (bad.value is not None)
    assert (bad.value or "") in value
    assert allowed == error.allowed
    assert bad.allowed in allowed


def test_every_bad_file_breaks_another_rule(tmp_path):
    errors = [refusal(bad.text, tmp_path) for _, bad in CORPUS]
    rules = {(error.key, error.allowed) for error in errors}
    assert len(rules) == len(CORPUS) >= 75


def test_no_two_bad_files_have_the_same_name():
    assert len(dict(ALL)) == len(ALL)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("none.toml", "cannot be read: No such file or directory"),
        (".", "cannot be read: Is a directory"),
        ("good.csv/bad.toml", "cannot be read: Not a directory"),
        ("a" * 300 + ".toml", "cannot be read: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(name, allowed, tmp_path):
    (tmp_path / "good.csv").touch()
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / name)
    assert str(caught.value).splitlines() == [str(tmp_path / name), allowed]


def test_a_name_with_a_null_byte_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="embedded null"):
        load(tmp_path / "a\0b.toml")


@pytest.mark.parametrize("name", ["no-such-scenario", "a" * 300])
def test_a_name_that_is_not_in_the_library_is_refused(name):
    with pytest.raises(ScenarioError) as caught:
        load(name)
    first, allowed = str(caught.value).splitlines()
    assert first == name
    assert allowed == "is neither a file nor in the library (`crawlsim scenarios` lists all)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (2.0, "2.0"),
        ("two\nlines", r'"two\nlines"'),
        (["a", False, (1, 2)], '["a", false, [1, 2]]'),
        ({"mean": 1.0, "a": {"b": {"c": {"d": 1}}}}, "{ mean = 1.0, a = { b = { c = { ... } } } }"),
        ({}, "{}"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        ("a" * 1000, '"' + "a" * 27 + "..." + "a" * 28 + '"'),
    ],
)
def test_a_value_is_shown_briefly_and_as_toml(value, shown):
    assert brief(value) == shown


def test_an_error_is_the_same_after_pickling():
    error = ScenarioError("buffer.service", MISSING, "is missing", "a.toml")
    assert (
        str(pickle.loads(pickle.dumps(error))) == str(error) == "a.toml\nbuffer.service\nis missing"
    )
