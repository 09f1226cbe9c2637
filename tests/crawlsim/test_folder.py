"""The folder of ``--out``: a file that this program did not write is never replaced or removed."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from systems import queue

import sim.replicate
from crawlsim.cli import main
from crawlsim.cli.files import write_files
from scenarios import ScenarioError, dumps

Commands = Any
SWEEP = ["--vary", "buffer.waiting_places=1,2"]


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"run.horizon": 60.0, "run.replications": 2})))
    return str(path)


@pytest.fixture
def crawlsim(capsys: pytest.CaptureFixture[str]) -> Commands:
    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        return int(stop.value.code or 0), capsys.readouterr().err

    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def no_simulation(*_arguments: Any, **_options: Any) -> None:
    raise AssertionError("it was simulated")


@pytest.mark.parametrize("command", [["run"], ["check"], ["sweep", *SWEEP]])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("queue.toml", None),
        ("provenance.json", '{"files": ["thesis.tex"]}'),
        ("provenance.json", "[" * 9999),
        ("provenance.json", '{"program": "crawlsim", "files": {"thesis.tex": "0"}}'),
    ],
)
def test_a_foreign_file_is_a_refusal_before_any_simulation(
    crawlsim: Commands,
    scenario_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    name: str,
    text: str | None,
) -> None:
    monkeypatch.setattr(sim.replicate, "run", no_simulation)
    (tmp_path / "thesis.tex").write_text("all my work")
    if text is not None:
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    if text is not None:
        (tmp_path / "queue.toml").rename(tmp_path / "mine.toml")
        before["mine.toml"] = before.pop("queue.toml")
        scenario_file = str(tmp_path / "mine.toml")
    flags = ["--set", "run.horizon=70", "--out", str(tmp_path)]
    code, err = crawlsim(command[0], scenario_file, *command[1:], *flags)
    assert code == 2
    assert "there was not written by crawlsim" in err or "thesis.tex there has changed" in err
    assert contents(tmp_path) == before


def test_the_advice_names_the_file(crawlsim: Commands, scenario_file: str) -> None:
    folder = str(Path(scenario_file).parent)
    _, err = crawlsim("run", scenario_file, "--out", folder)
    assert "queue.toml there was not written by crawlsim; give another folder" in err


@pytest.mark.thorough
def test_the_provenance_says_who_wrote_what(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    for command in (["check"], ["sweep", *SWEEP]):
        out = tmp_path / command[0]
        code, _ = crawlsim(command[0], scenario_file, *command[1:], "--out", str(out))
        files = contents(out)
        text = files.pop("provenance.json").decode()
        document = json.loads(text)
        assert text == json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        assert (code, document["program"]) == (0, "crawlsim")
        assert document["files"] == {
            name: sha256(content).hexdigest() for name, content in files.items()
        }
        assert {run["seed"] for run in document["runs"]} == {1}
    assert [run["buffer.waiting_places"] for run in document["runs"]] == [1, 2]
    assert document["options"]["vary"] == ["buffer.waiting_places=1,2"]


@pytest.mark.thorough
def test_a_later_command_replaces_what_is_ours_and_nothing_else(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    commands = (["run"], ["check"], ["check"], ["sweep", *SWEEP], ["run"])
    for command in commands:
        code, _ = crawlsim(command[0], scenario_file, *command[1:], "--out", str(out))
        assert code == 0
        (out / "notes.txt").write_text("mine")
    assert set(contents(out)) == {
        "estimates.csv",
        "replications.csv",
        "queue.toml",
        "report.html",
        "provenance.json",
        "notes.txt",
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["report.html", "comparisons.csv"])
def test_a_file_that_was_changed_since_is_kept(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, name: str
) -> None:
    """Whether the new run would replace it or only clear it away."""
    out = tmp_path / "out"
    crawlsim("check", scenario_file, "--out", str(out))
    (out / name).write_text("my remarks")
    before = contents(out)
    code, err = crawlsim("run", scenario_file, "--out", str(out))
    assert code == 2
    assert f"{name} there has changed since crawlsim wrote it" in err
    assert contents(out) == before


def test_a_link_or_a_folder_in_the_place_of_a_file_is_kept(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    mine = tmp_path / "mine.html"
    crawlsim("run", scenario_file, "--out", str(out))
    (out / "report.html").rename(mine)
    (out / "report.html").symlink_to(mine)
    assert crawlsim("run", scenario_file, "--out", str(out))[0] == 2
    assert (out / "report.html").is_symlink()
    (out / "report.html").unlink()
    (out / "report.html").mkdir()
    assert crawlsim("run", scenario_file, "--out", str(out))[0] == 2


def test_a_file_that_appears_while_it_is_simulated_is_kept(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run = sim.replicate.run

    def slow(*arguments: Any, **options: Any) -> Any:
        out.mkdir()
        (out / "report.html").write_text("mine")
        return run(*arguments, **options)

    monkeypatch.setattr(sim.replicate, "run", slow)
    assert crawlsim("run", scenario_file, "--out", str(out))[0] == 2
    assert contents(out) == {"report.html": b"mine"}


@pytest.mark.parametrize("name", ["", "x" * 300, "new/" + "x" * 300, "x/" * 3000, "dangling"])
def test_a_folder_that_cannot_be_is_refused_before_any_simulation(
    crawlsim: Commands,
    scenario_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(sim.replicate, "run", no_simulation)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling").symlink_to("nowhere")
    before = sorted(tmp_path.iterdir())
    for command in (["run"], ["sweep", *SWEEP]):
        code, err = crawlsim(command[0], scenario_file, *command[1:], "--out", name)
        assert code == 2
        assert err.startswith("crawlsim: --out")
    assert sorted(tmp_path.iterdir()) == before


def test_a_name_too_long_for_a_file_is_refused_before_any_simulation(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim.replicate, "run", no_simulation)
    flags = ["--set", f"name={'x' * 300}", "--out", str(tmp_path / "out")]
    code, err = crawlsim("run", scenario_file, *flags)
    assert code == 2
    assert "--out" in err


def test_a_way_through_a_folder_that_is_not_there_leads_to_the_same_refusal(
    crawlsim: Commands, tmp_path: Path, scenario_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    own.mkdir()
    before = Path(scenario_file).rename(own / "queue.toml").read_bytes()
    code, err = crawlsim("run", "own/queue.toml", "--out", "nothere/../own")
    assert code == 2
    assert "was not written by crawlsim" in err
    assert contents(own) == {"queue.toml": before}
    assert not (tmp_path / "nothere").exists()


def test_a_log_takes_the_place_of_its_own_only(
    crawlsim: Commands, tmp_path: Path, scenario_file: str
) -> None:
    log = tmp_path / "log.csv"
    before = Path(scenario_file).read_bytes()
    code, err = crawlsim("run", scenario_file, "--trace", scenario_file)
    assert code == 2
    assert "was not written by crawlsim" in err
    assert Path(scenario_file).read_bytes() == before
    for _ in range(2):
        assert crawlsim("run", scenario_file, "--trace", str(log))[0] == 0
    assert log.read_text().startswith("replication,time,event")


def test_a_file_that_cannot_be_looked_at_is_a_refusal_before_anything_is_written(
    tmp_path: Path,
) -> None:
    """No file can have a name of 300 letters."""
    name = 300 * "a"
    with pytest.raises(ScenarioError, match=f"{name} there cannot be replaced: File name too long"):
        write_files(tmp_path, {name: "text"}, lambda _: "{}")
    assert not contents(tmp_path)
