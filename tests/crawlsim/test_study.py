"""A study is all that its repetition needs, and nothing that differs goes unseen."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from rocrate.rocrate import ROCrate

from crawlsim import ScenarioError, load, repeat
from crawlsim.cli.program import commands
from crawlsim.study.archive import COMMANDS, RECORDED, WITHOUT_EFFECT, read_study
from crawlsim.study.repeating import ROUNDING, SAME
from crawlsim.study.stress import QUESTIONS, Stress

TITLE = "A <b>crawl</b> of *mine*"
SCENARIO = f"""
name = "mine"
title = "{TITLE}"
[pages]
change_rates = {{ file = "far away/the rates.csv", column = "rate" }}
[robots]
available = 2
access_time = {{ exponential = {{ mean = 2.0 }} }}
accessing = {{ policy = "randomized", frequencies = "uniform" }}
[run]
horizon = 400.0
warmup = 50.0
replications = 3
"""
WORDS = {
    "check": ("--set", "robots.available=3", "--seed", "7"),
    "sweep": (
        *("--vary", "robots.available=1..2", "--minimise", "weighted_obsolescence"),
        "--no-solve",
    ),
    "optimize": ("--target", "frequencies"),
}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, whose data file lies in another one."""
    folder: Path = tmp_path_factory.mktemp("home")
    (folder / "far away").mkdir()
    (folder / "far away/the rates.csv").write_text("rate\n0.1\n0.3\n0.02\n")
    (folder / "mine.toml").write_text(SCENARIO)
    return folder


@pytest.fixture(scope="session")
def kept() -> dict[str, Path]:
    """Studies that a test has made, by their commands."""
    return {}


@pytest.fixture
def study_of(
    home: Path, kept: dict[str, Path], crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """A study of each command: made once; none may be changed."""

    def made(command: str) -> Path:
        if command not in kept:
            monkeypatch.chdir(home)
            words = [command, "mine.toml", *WORDS[command], "--engine", "simpy"]
            code, _, err = crawlsim(*words, "--study", f"of-{command}")
            assert code == 0, err
            kept[command] = home / f"of-{command}"
        return kept[command]

    return made


@pytest.fixture
def copy(study_of: Callable[[str], Path], tmp_path: Path) -> Path:
    """A study that is cheap to repeat, which may be changed."""
    return Path(shutil.copytree(study_of("optimize"), tmp_path / "copy"))


@pytest.mark.parametrize("command", WORDS)
def test_what_is_repeated_is_the_same(command: str, study_of: Callable[[str], Path]) -> None:
    study = study_of(command)
    before = {each: each.stat().st_mtime_ns for each in study.rglob("*")}
    again = repeat(study, engine="simpy")
    assert again.is_same
    assert again.environment == {}
    assert {each.name for each in again.files} > {"inputs/mine.toml", "inputs/data/the-rates.csv"}
    assert sum(each.name.startswith("results/") for each in again.files) >= 3
    assert {each: each.stat().st_mtime_ns for each in study.rglob("*")} == before


@pytest.mark.parametrize("command", WORDS)
def test_a_study_says_nothing_of_where_it_was_made(
    command: str, study_of: Callable[[str], Path], home: Path
) -> None:
    for each in study_of(command).rglob("*.*"):
        assert str(home).encode() not in each.read_bytes(), each


def test_a_study_depends_on_nothing_outside(
    study_of: Callable[[str], Path], tmp_path: Path
) -> None:
    moved = Path(shutil.copytree(study_of("check"), tmp_path / "elsewhere"))
    assert load(moved / "inputs/mine.toml").robots.available == 3  # type: ignore[union-attr]
    assert read_study(moved).words() == ["check", "--seed=7"]
    assert repeat(moved, engine="simpy").is_same


def test_an_option_without_a_value_is_recorded_as_one_types_it(
    study_of: Callable[[str], Path],
) -> None:
    study = read_study(study_of("sweep"))
    assert study.options["--no-solve"] is True
    assert "--no-solve" in study.words()


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(study: Path) -> None:
        text = (study / name).read_text()
        assert old in text
        (study / name).write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("change", "where", "found"),
    [
        (_edit("results/answer.json", '"cost": ', '"cost": 1'), "answer.json", "changed since"),
        (_edit("inputs/data/the-rates.csv", "0.3", "0.4"), "the-rates.csv", "changed since"),
        (lambda study: (study / "results/best.toml").unlink(), "best.toml", "missing"),
    ],
    ids=["result", "data", "gone"],
)
def test_a_planted_change_is_found(
    change: Callable[[Path], None], where: str, found: str, copy: Path
) -> None:
    change(copy)
    again = repeat(copy)
    assert not again.is_same
    (verdict,) = [each.verdict for each in again.files if each.name.endswith(where)]
    assert verdict.startswith(found)


def test_numbers_that_were_never_made_are_found(copy: Path) -> None:
    """Whoever changes a result and its digest as well is found out by the repetition."""
    from crawlsim.cli.files import digest_of

    _edit("results/answer.json", '"cost": ', '"cost": 1')(copy)
    document = json.loads((copy / "study.json").read_text())
    document["files"]["results/answer.json"] = digest_of(copy / "results/answer.json")
    (copy / "study.json").write_text(json.dumps(document))
    differing = [each for each in repeat(copy).files if each.verdict != SAME]
    assert [(each.name, each.verdict) for each in differing] == [("results/answer.json", "differs")]


def test_the_command_says_what_differs(copy: Path, crawlsim: Any) -> None:
    _edit("inputs/mine.toml", "2.0", "2.5")(copy)
    _edit("provenance.json", '"numpy": "', '"numpy": "0.')(copy)
    code, out, _ = crawlsim("repeat", str(copy))
    assert code == 1
    assert "changed since the study was written" in out
    assert "numpy: 0." in out
    code, out, _ = crawlsim("repeat", str(copy), "--json")
    assert (code, json.loads(out)["is_same"]) == (1, False)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("1.0,0.5", "1.0000000000000002,0.5", ROUNDING),
        ("1.0,0.5", "2.0,0.5", "differs: 1 number, by up to 50 %, 1.4 standard errors"),
        ("one,1.0", "two,1.0", 'differs: "one" is "two" now, in row 1'),
        ("other,,\n", "", "differs: other rows"),
        ("measure", "name", "differs: other columns"),
    ],
)
def test_tables_say_how_far_they_are_apart(
    old: str, new: str, verdict: str, tmp_path: Path
) -> None:
    from crawlsim.study.repeating import _difference

    table = "measure,estimate,standard_error\none,1.0,0.5\nother,,\n"
    for folder, text in (("a", table), ("b", table.replace(old, new))):
        (tmp_path / folder / "results").mkdir(parents=True)
        (tmp_path / folder / "results/t.csv").write_text(text)
    assert _difference(tmp_path / "a", tmp_path / "b", "results/t.csv") == verdict


def _record(**entries: Any) -> Callable[[Path], None]:
    def change(study: Path) -> None:
        path = study / "study.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    return change


def _named_outside(study: Path) -> None:
    _edit("inputs/mine.toml", "data/the-rates.csv", "../../../etc/passwd")(study)


def _behind_a_link(study: Path) -> None:
    (study / "inputs/data/the-rates.csv").unlink()
    (study / "inputs/data/the-rates.csv").symlink_to("/etc/passwd")


def _behind_a_linked_folder(study: Path) -> None:
    shutil.move(study / "inputs/data", study / "data")
    (study / "inputs/data").symlink_to("../data")


def _a_pipe(study: Path) -> None:
    (study / "inputs/mine.toml").unlink()
    os.mkfifo(study / "inputs/mine.toml")


DIGEST = "0" * 64
HOSTILE = {
    "another command": _record(command="fit"),
    "an option that writes": _record(options={"--out": "/tmp/x"}),
    "an option of another command": _record(options={"--target": "static", "--vary": ["x=1"]}),
    "no option": _record(options={"; rm -rf ~": True}),
    "a value that looks like an option": _record(options={"--target": "--out=/tmp/x"}),
    "a file above": _record(files={"../x": DIGEST}),
    "an absolute file": _record(files={"/etc/passwd": DIGEST}),
    "a file elsewhere": _record(files={"study.json": DIGEST}),
    "a scenario that is no file of it": _record(scenarios=["/etc/passwd"]),
    "no digest": _record(files={"inputs/mine.toml": 3}),
    "code": _record(plugins=["plugins/mine.py"]),
    "code among the scenarios": _record(plugins=["inputs/mine.toml"]),
    "a varied file": _record(
        options={"--target": "design", "--over": ['pages.change_rates={file="/etc/passwd"}']}
    ),
    "a later form": _record(form=2),
    "another program": _record(program="other"),
    "no JSON": lambda study: (study / "study.json").write_text("[" * 100_000),
    "no record": lambda study: (study / "study.json").unlink(),
    "data elsewhere": _named_outside,
    "data behind a link": _behind_a_link,
    "data behind a linked folder": _behind_a_linked_folder,
    "a pipe": _a_pipe,
}


def test_of_every_option_it_is_known_whether_numbers_depend_on_it() -> None:
    """A new one that is in neither list is refused beside --study, and in a stranger's study."""
    options = {
        each.opts[0]
        for name in COMMANDS
        for each in commands.commands[name].loaded.params  # type: ignore[attr-defined]
        if isinstance(each, click.Option)
    }
    assert options <= RECORDED | WITHOUT_EFFECT
    assert not RECORDED & WITHOUT_EFFECT
    assert options >= RECORDED


@pytest.mark.parametrize("change", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_study_is_refused(
    change: Callable[[Path], Any], copy: Path, crawlsim: Any
) -> None:
    change(copy)
    code, out, err = crawlsim("repeat", str(copy))
    assert (code, out) == (2, "")
    assert "root:" not in err
    assert len(err.splitlines()) <= 4
    assert "Traceback" not in err


def test_a_report_has_twenty_items_most_of_them_filled_in(
    study_of: Callable[[str], Path],
) -> None:
    """Where data files are read and no paper is cited, four are asked of the author."""
    text = (study_of("check") / "report.md").read_text()
    assert sum(line.startswith("### ") for line in text.splitlines()) == 20
    assert text.count("To the author") == 4 == len(QUESTIONS)
    assert "16 of its 20 items" in text
    assert "<b>" not in text
    assert "Varied: `robots.available=1..2`" in (study_of("sweep") / "report.md").read_text()
    decided = (study_of("optimize") / "report.md").read_text()
    assert "`weighted_obsolescence`: sum of weights" in decided
    assert "No random number is drawn." in decided
    html = (study_of("check") / "report.html").read_text()
    assert "&lt;b&gt;crawl" in html
    assert "<b>" not in html


def test_what_the_author_answers_stands_in_the_report(
    home: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    answers = home / "answered/answers.toml"
    answers.parent.mkdir()
    words = ("optimize", "mine.toml", *WORDS["optimize"], "--study", "answered")
    answers.write_text('purpose = "To learn"\nlicence = "mine"\n')
    code, _, err = crawlsim(*words)
    assert (code, "licence" in err) == (2, True)
    answers.write_text('purpose = "To learn | <i>"\n')
    assert crawlsim(*words)[0] == 0
    text = (home / "answered/report.md").read_text()
    assert "To learn \\| \\<i\\>" in text
    assert "17 of its 20 items" in text
    assert answers.read_text() == 'purpose = "To learn | <i>"\n'
    assert crawlsim(*words)[0] == 0


def test_every_section_of_the_library_is_described() -> None:
    """Each scenario has a picture, a logic and components, whatever it is made of."""
    from scenarios.library import library_names

    study = read_study_like("run")
    for name in library_names():
        report = Stress(study, [load(name)], [], {}, Path(), {}, {"platform": "x"}, 1.0)
        items = {each.number: each for each in [*report._logic(), *report._data()]}
        assert "→" in items["2.1"].picture, name
        assert items["2.2"].said, name
        assert items["3.4"].said, name


def read_study_like(command: str) -> Any:
    from crawlsim.study.archive import Study

    return Study(command, {}, ["inputs/x.toml"], 0, {}, [])


@pytest.mark.parametrize("words", [("--out", "x"), ("--trace", "x.csv"), ("--pages", "x.parquet")])
def test_a_study_has_its_own_places(
    words: tuple[str, str], home: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    code, _, err = crawlsim("run", "mine.toml", *words, "--study", "no")
    assert code == 2
    assert "does not go with --study" in err
    assert not (home / "no").exists()


def test_nothing_of_another_is_replaced_and_what_fails_leaves_nothing(
    home: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    words = ("optimize", "mine.toml", "--target", "frequencies", "--study")
    (home / "taken").mkdir()
    (home / "taken/README.md").write_text("mine")
    code, _, err = crawlsim(*words, "taken")
    assert (code, "was not written by crawlsim" in err) == (2, True)
    assert [each.name for each in (home / "taken").rglob("*")] == ["README.md"]
    code, _, err = crawlsim(*words[:3], "routing", "--study", "failed")
    assert code == 2
    assert not (home / "failed").exists()
    (home / "linked").mkdir()
    (home / "linked/inputs").symlink_to(home / "taken")
    code, _, err = crawlsim(*words, "linked")
    assert (code, "behind a link" in err) == (2, True)


def test_a_sweep_is_not_replaced_by_another(
    study_of: Callable[[str], Path], tmp_path: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same one again reads its cells, also where the folder was moved."""
    moved = Path(shutil.copytree(study_of("sweep"), tmp_path / "moved"))
    monkeypatch.chdir(moved.parent)
    before = (moved / "study.json").read_bytes()
    words = ("sweep", "moved/inputs/mine.toml", "--study", "moved", "--engine", "simpy")
    code, _, err = crawlsim(*words, "--vary", "robots.available=1..3")
    assert code == 2
    assert "holds another study: sweep --vary=robots.available=1..2" in err
    assert (moved / "study.json").read_bytes() == before
    monkeypatch.setattr("crawlsim.cli.sweep_cells.simulate_as_asked", None)
    assert crawlsim(*words, *WORDS["sweep"])[0] == 0
    assert (moved / "study.json").read_bytes() == before


def test_a_record_of_another_place_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is no study"):
        repeat(tmp_path)


def test_the_metadata_are_a_research_object(study_of: Callable[[str], Path]) -> None:
    """As the library reads them: every file of the study is there, and each has its type."""
    study = study_of("sweep")
    document = json.loads((study / "ro-crate-metadata.json").read_text())
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {each["@id"]: each for each in document["@graph"]}
    assert {"name", "description", "datePublished", "license"} < set(entities["./"])
    parts = {each["@id"] for each in entities["./"]["hasPart"]}
    assert set(read_study(study).files) < parts
    for part in parts:
        assert entities[part]["contentSize"] == str((study / part).stat().st_size)
    linked = ROCrate(study)
    assert {each.id for each in linked.data_entities} == parts
    assert linked.get("#run")["result"]


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["check", "sweep"])
def test_the_other_engine_gives_the_same(command: str, study_of: Callable[[str], Path]) -> None:
    again = repeat(study_of(command), engine="compiled")
    assert again.is_same, again.record()
