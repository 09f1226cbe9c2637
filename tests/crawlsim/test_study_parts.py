"""Parts of studies by themselves: files, differences, answers, and what a report says of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawlsim.study import archive, inputs, repeating
from crawlsim.study.archive import Study, digest_in, opened
from crawlsim.study.inputs import _name_of, chunks_of, plugin_files
from crawlsim.study.repeating import CHANGED, MISSING_FILE, ROUNDING, SAME, FileAgain, Repetition
from crawlsim.study.stress import ANSWERS, QUESTIONS, Stress, answers_in
from scenarios import ScenarioError, load


def study_like(command: str, **options: Any) -> Study:
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    return Study(command, named, ["inputs/x.toml"], 0, {}, [])


def report_of(study: Study, *names: str) -> dict[str, list[str]]:
    """What is said in each item."""
    scenarios = [load(name) for name in names]
    environment = {"platform": "x"}
    report = Stress(study, scenarios, ["a=1"], {}, Path(), {}, environment, 1.0)
    items = [*report._logic(), *report._experiments()]
    return {each.number: each.said for each in items}


# Files of a study


def test_only_plain_files_of_a_study_that_are_not_too_large_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LARGEST_FILE", 3)
    for name, text in (("inputs/a", "abc"), ("inputs/b", "abcd"), ("results/b", "abcd")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "inputs/link").symlink_to("a")
    (tmp_path / "elsewhere").symlink_to("inputs")
    for name, text in (("inputs/a", b"abc"), ("results/b", b"abcd")):
        with opened(tmp_path, name) as stream:
            assert stream.read() == text
    for name, why in (
        ("inputs/b", "it is too large"),
        ("inputs", "it is no plain file"),
        ("elsewhere/a", "it lies behind a link"),
    ):
        with pytest.raises(OSError, match=f"^.Errno 0. {why}$"):
            opened(tmp_path, name)
        assert digest_in(tmp_path, name) == ""
    assert digest_in(tmp_path, "inputs/link") == ""
    assert digest_in(tmp_path, "results/b") == (
        "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"
    )


def test_copies_of_data_files_have_plain_names_that_no_other_has() -> None:
    taken: dict[str, str] = {}
    for path in ("/a/rates.csv", "/b/rates.csv", "/c/rates.csv", "/d/.my rates", "/e/..."):
        taken[path] = _name_of(path, taken)
    assert list(taken.values()) == [
        "inputs/data/rates.csv",
        "inputs/data/2-rates.csv",
        "inputs/data/3-rates.csv",
        "inputs/data/my-rates",
        "inputs/data/data",
    ]


def test_a_data_file_is_copied_in_parts_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rates.csv"
    with pytest.raises(ScenarioError) as error:
        list(chunks_of(path))
    assert (error.value.key, error.value.value, error.value.allowed) == (
        "file",
        str(path),
        "cannot be read: No such file or directory",
    )
    monkeypatch.setattr(inputs, "_CHUNK", 4)
    path.write_text("rate\n0.1\n")
    assert list(chunks_of(path)) == [b"rate", b"\n0.1", b"\n"]


@pytest.mark.parametrize("name", ["a\\b.py", "a\u202eb.py"])
def test_plugins_with_names_that_some_systems_cannot_write_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "files_in_use", lambda: {"good.py": b"1", name: b"2"})
    with pytest.raises(ScenarioError) as error:
        plugin_files()
    assert (error.value.key, error.value.value, error.value.allowed) == (
        "--with",
        name,
        "must have a name that every system can write for a study",
    )
    monkeypatch.setattr(inputs, "files_in_use", lambda: {"good.py": b"1"})
    assert plugin_files() == {"plugins/good.py": b"1"}


# What differs


@pytest.mark.parametrize(
    ("verdicts", "is_same", "verdict"),
    [
        ([SAME, SAME], True, f"{SAME}: all 2 files"),
        ([SAME, ROUNDING, ROUNDING], False, f"{ROUNDING}: 2 of 3 files"),
        ([ROUNDING, "differs", SAME], False, "not the same: 2 of 3 files differ"),
    ],
)
def test_a_repetition_in_a_sentence(verdicts: list[str], is_same: bool, verdict: str) -> None:
    files = [FileAgain(f"results/{n}", each) for n, each in enumerate(verdicts)]
    found = Repetition("run x", files, {"numpy": ("1", "2")})
    assert (found.is_same, found.verdict) == (is_same, verdict)
    assert found.record() == {
        "command": "run x",
        "is_same": is_same,
        "verdict": verdict,
        "files": {f"results/{n}": each for n, each in enumerate(verdicts)},
        "environment": {"numpy": {"then": "1", "now": "2"}},
    }


HEADER = "name,estimate,standard_error\n"


@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        ("a,1,0.5\n", "a,1,0.5\n", SAME),
        ("a,1,0.5\n", None, "not made again"),
        ("a,1000000000,0.5\n", "a,1000000001,0.5\n", ROUNDING),
        ("a,1,3\n", "a,2,4\n", "differs: 2 numbers, by up to 50 %, 0.2 standard errors"),
        ("a,0,0\n", "a,-0.5,0\n", "differs: 1 number, by up to 1e+02 %"),
        ("a,x,0\n", "a,y,0\n", 'differs: "x" is "y" now, in row 1'),
        ("a,1,0\n", "a,1,0\nb,1,0\n", "differs: other rows"),
        ("a,1,0\n", "a,1\n", "differs: other rows"),
    ],
)
def test_tables_differ_by_numbers_or_by_more(
    was: str, now: str | None, verdict: str, tmp_path: Path
) -> None:
    study, work = tmp_path / "study", tmp_path / "work"
    for folder, text in ((study, was), (work, now)):
        folder.mkdir()
        if text is not None:
            (folder / "a.csv").write_text(HEADER + text)
    recorded = digest_in(study, "a.csv")
    found = repeating._compared(recorded, True, "a.csv", study, work)
    assert found == FileAgain("a.csv", verdict)


def test_files_that_are_no_tables_differ(tmp_path: Path) -> None:
    study, work = tmp_path / "study", tmp_path / "work"
    for folder, text in ((study, b"a\n1\n"), (work, b"b\n1\n")):
        folder.mkdir()
        for name in ("a.csv", "a.svg", "b.csv"):
            (folder / name).write_bytes(text)
    (work / "b.csv").write_bytes(b"a\n\xff\n")

    def verdict(name: str, recorded: str, intact: bool = True) -> str:
        return repeating._compared(recorded, intact, name, study, work).verdict

    assert verdict("a.csv", "") == "differs: other columns"
    assert verdict("a.svg", "") == verdict("b.csv", "") == "differs"
    assert verdict("a.csv", "", intact=False) == CHANGED
    made = digest_in(work, "a.csv")
    also = "; what was made again is as it was"
    assert verdict("a.csv", made, intact=False) == CHANGED + also
    (study / "a.csv").unlink()
    assert verdict("a.csv", made, intact=False) == MISSING_FILE + also


def test_a_command_that_ends_otherwise_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Study("run", {}, [], 1, {}, [])
    monkeypatch.setattr(repeating, "read_study", lambda _: said)
    monkeypatch.setattr(repeating, "environment_since", lambda _: {})

    def files(code: int) -> list[FileAgain]:
        return repeating.run_and_compare(
            tmp_path, tmp_path, lambda *_: code, run_plugins=False
        ).files

    assert files(1) == []
    assert files(3) == [FileAgain("the exit code", "was 1, and is 3 now")]


# What the author answers


def test_answers_are_texts_to_questions_that_are_asked(tmp_path: Path) -> None:
    assert answers_in(tmp_path) == {}
    path = tmp_path / ANSWERS
    path.write_text('purpose = "To see."\n')
    assert answers_in(tmp_path) == {"purpose": "To see."}
    for text, key, allowed in (
        ("purpose = \n", "", "is not TOML: "),
        ("purpose = 3\n", "purpose", "must be a text that answers "),
        ('porpoise = "x"\n', "porpoise", "must be a text that answers "),
    ):
        path.write_text(text)
        with pytest.raises(ScenarioError) as error:
            answers_in(tmp_path)
        assert (error.value.key, error.value.file) == (key, str(path))
        assert error.value.allowed.startswith(allowed)
    path.unlink()
    path.mkdir()
    with pytest.raises(ScenarioError) as error:
        answers_in(tmp_path)
    assert str(error.value) == f"{path}\nit is no plain file"
    assert "purpose" in QUESTIONS


# What a report says


def test_several_scenarios_are_compared_and_one_is_not() -> None:
    one = report_of(study_like("run"), "one-robot")
    assert one["2.3"] == ["Changed beforehand: `a=1`."]
    both = report_of(study_like("run"), "one-robot", "frontier")
    assert both["2.3"][1:] == [
        "The scenarios `one-robot`, `frontier` are compared; their files say what differs."
    ]


@pytest.mark.parametrize(
    ("study", "replications"),
    [
        (study_like("run"), "20 replications"),
        (study_like("run", replications="7"), "7 replications"),
        (study_like("run", precision="0.1"), "20 replications at first"),
        (study_like("sweep", indifference="0.1", replications=1), "1 replication at first"),
        (study_like("optimize", replications="7"), "as many replications as the choice needs"),
    ],
)
def test_the_length_of_a_run_is_told_with_its_replications(study: Study, replications: str) -> None:
    scenario = load("one-robot").with_("run.replications", 20)
    report = Stress(study, [scenario], [], {}, Path(), {}, {"platform": "x"}, 1.0)
    (length, *_) = next(each.said for each in report._experiments() if each.number == "4.2")
    assert length.startswith("`one-robot`: up to ")
    assert length.endswith(f", {replications}.")


def test_how_numbers_are_estimated_follows_from_the_options() -> None:
    always = list(report_of(study_like("run"), "one-robot")["4.3"])
    assert len(always) == 1
    assert "the jackknife's" in always[0]
    for study, more in (
        (
            study_like("run", precision="0.05"),
            "Replications are added until each 95 % half-width is below 0.05 times its estimate.",
        ),
        (
            study_like("run", control_variates=True),
            "The variance of estimates is reduced by quantities of known mean.",
        ),
        (
            study_like("sweep"),
            "All alternatives have the same random numbers, so that differences are paired.",
        ),
    ):
        assert report_of(study, "one-robot")["4.3"] == [*always, more]
    (_, checked) = report_of(study_like("check"), "one-robot")["4.3"]
    assert checked.startswith("A number agrees if the formula lies within what chance")


def test_a_report_without_questions_only_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stress, "_measures", lambda _: [])
    study = study_like("run")
    of = dict.fromkeys(QUESTIONS, "answered")
    for answers in (of, {}):
        report = Stress(study, [load("one-robot")], [], {}, Path(), answers, {"platform": "x"}, 1.0)
        said = (
            f"A report by STRESS-DES (Monks et al., 2019): {report.filled} of its 20 items are "
            "filled in from the scenario, the documents and the run."
        )
        assert (report.opening == said) == bool(answers)
        assert report.opening.startswith(said)
        assert report.filled == 20 - len(report.questions)
        assert (report.questions == []) == bool(answers)
