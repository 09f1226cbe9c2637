"""What a command writes carries its digest, and nothing else is replaced."""

from __future__ import annotations

import json
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import queue

from crawlsim.cli import main
from crawlsim.own_files import is_own
from scenarios import dumps

LOG = "url,time,digest\n" + "".join(
    f"https://e.example/{page},2024-{month:02}-{day:02}T05:00:00Z,{(page * month) % 3}\n"
    for page in range(4)
    for month in (1, 2, 3)
    for day in (1, 9, 20)
)
CHANGES = "page,time\n" + "".join(f"a,{time}\n" for time in range(1, 30))
SCHEDULE = ("schedule", "log.csv", "--visits", "4/day", "--out")
WRITERS = {
    "new": ("new", "written.toml"),
    "plan": (*SCHEDULE, "written.csv"),
    "seeds": (*SCHEDULE, "written.txt", "--format", "nutch"),
    "topology": (*SCHEDULE, "written.txt", "--format", "stormcrawler"),
    "report of a plan": (*SCHEDULE, "plan.csv", "--report", "written.html"),
    "fitted": ("fit", "changes.csv", "--time-unit", "day", "--out", "written.toml"),
    "report of a fit": ("fit", "changes.csv", "--time-unit", "day", "--report", "written.html"),
    "decided": ("optimize", "costs.toml", "--target", "static", "--out", "written.toml"),
    "svg": ("optimize", "costs.toml", "--target", "static", "--figure", "written.svg"),
    "png": ("optimize", "costs.toml", "--target", "static", "--figure", "written.png"),
    "pdf": ("reproduce", "altman2000", "Figure 1", "--figure", "written.pdf"),
    "trace": ("run", "queue.toml", "--trace", "written.csv"),
    "pages": ("run", "cyclic-constant", "--replications", "2", "--pages", "written.parquet"),
    "frequencies": ("frequencies", "rates.npy", "--accesses", "2", "--out", "written.npy"),
}


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = queue({"run.horizon": 60.0, "run.replications": 2})
    Path("queue.toml").write_text(dumps(small))
    Path("costs.toml").write_text(dumps(small.with_("costs", {"loss": 1.0, "starvation": 1.0})))
    Path("log.csv").write_text(LOG)
    Path("changes.csv").write_text(CHANGES)
    np.save("rates.npy", np.linspace(0.1, 1.0, 9))


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def written() -> Path:
    return next(Path().glob("written.*"))


@pytest.mark.by_day(besides=("svg", "png"))
@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_only_what_a_command_wrote_is_replaced(words: tuple[str, ...], capsys: Any) -> None:
    if "written.parquet" in words:
        pytest.importorskip("pyarrow")
    assert code_of(*words) == 0, capsys.readouterr().err
    file = written()
    first = file.read_bytes()
    assert is_own(file)
    assert code_of(*words) == 0
    changed = first[:20] + bytes([first[20] ^ 1]) + first[21:]
    for foreign in (changed, first + b"\n", b"", b"mine\n"):
        file.write_bytes(foreign)
        before = {path: path.read_bytes() for path in Path().iterdir()}
        capsys.readouterr()
        assert code_of(*words) == 2
        assert "exists and was not written by crawlsim, or has changed" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in Path().iterdir()} == before
    assert code_of(*words, "--force") == 0
    assert is_own(file)


def test_a_plan_of_ours_is_known_by_its_digest_and_not_by_its_looks(capsys: Any) -> None:
    """A list of seeds written by hand looks like one of ours."""
    seeds = Path("seeds.txt")
    seeds.write_text("https://mine.example/\tnutch.fetchInterval.fixed=3600\n# my own seeds\n")
    before = seeds.read_bytes()
    assert code_of(*SCHEDULE, "seeds.txt", "--format", "nutch") == 2
    assert seeds.read_bytes() == before
    Path(".seeds.txt.crawlsim").write_text("a note of mine\n")
    seeds.unlink()
    assert code_of(*SCHEDULE, "seeds.txt", "--format", "nutch") == 2
    assert ".seeds.txt.crawlsim" in capsys.readouterr().err
    assert Path(".seeds.txt.crawlsim").read_text() == "a note of mine\n"


def test_a_file_that_appears_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import crawlsim.api

    made = crawlsim.api.schedule

    def slow(*logs: Any, **how: Any) -> Any:
        Path("plan.csv").write_text("mine")
        return made(*logs, **how)

    monkeypatch.setattr(crawlsim.api, "schedule", slow)
    assert code_of(*SCHEDULE, "plan.csv") == 2
    assert Path("plan.csv").read_text() == "mine"


def test_links_stay_and_what_they_lead_to_is_replaced() -> None:
    Path("plans").mkdir()
    Path("plan.csv").symlink_to("plans/today.csv")
    for _ in range(2):
        assert code_of(*SCHEDULE, "plan.csv") == 0
        assert Path("plan.csv").is_symlink()
        assert is_own(Path("plans/today.csv"))
    Path("away.csv").symlink_to("nowhere/plan.csv")
    assert code_of(*SCHEDULE, "away.csv") == 2
    assert Path("away.csv").is_symlink()


@pytest.mark.thorough
def test_a_folder_of_results_is_replaced_by_force(capsys: Any) -> None:
    check = ("run", "queue.toml", "--out", "out")
    assert code_of(*check) == 0
    Path("out/report.html").write_text("my remarks")
    assert code_of(*check) == 2
    assert "or --force" in capsys.readouterr().err
    assert Path("out/report.html").read_text() == "my remarks"
    assert code_of(*check, "--force") == 0
    assert "my remarks" not in Path("out/report.html").read_text()
    Path("out/report.html").write_text("my remarks")
    Path("out/queue.toml").write_text("mine")
    assert code_of(*check, "--set", "name=other", "--force") == 0
    assert Path("out/queue.toml").read_text() == "mine", "what is not replaced stays"


def test_who_may_read_a_plan_stays_as_it_was() -> None:
    for words in ((*SCHEDULE, "plan.csv"), ("new", "mine.toml")):
        assert code_of(*words) == 0
        Path(words[-1]).chmod(0o600)
        assert code_of(*words) == 0
        assert stat.S_IMODE(Path(words[-1]).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["plan.csv", "new.toml"])
def test_a_name_that_leaves_no_room_for_the_digest_is_refused(name: str, capsys: Any) -> None:
    words = SCHEDULE if name.endswith(".csv") else ("new",)
    before = sorted(Path().iterdir())
    assert code_of(*words, "x" * (255 - len(name)) + name) == 2
    assert "File name too long" in capsys.readouterr().err
    assert sorted(Path().iterdir()) == before


@pytest.mark.by_day("list")
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"replaced": {"a": 5}}, 0),
        ({"replaced": {"a": None}}, 0),
        ({"files": {"a\0b": "digest"}}, 0),
        ({"files": {"\ud800": "digest"}}, 0),
        ({"files": {"a": {}, "../queue.toml": "digest"}}, 0),
        ({"files": [], "replaced": {}}, 2),
    ],
    ids=["number", "null", "zero byte", "lone surrogate", "no digest", "list"],
)
def test_a_provenance_that_somebody_edited_is_believed_or_not_but_no_bug(
    more: dict[str, Any], expected: int, capsys: Any
) -> None:
    words = ("run", "queue.toml", "--out", "out")
    assert code_of(*words) == 0
    document = json.loads(Path("out/provenance.json").read_text())
    if more.get("files"):
        more["files"] |= document["files"]
    Path("out/provenance.json").write_text(json.dumps(document | more))
    assert code_of(*words) == expected, capsys.readouterr().err
    assert Path("queue.toml").exists()


def test_a_digest_beside_a_file_is_believed_only_as_we_write_it(tmp_path: Path) -> None:
    """A link, a line of somebody else, or what is no text."""
    file, beside = tmp_path / "a.csv", tmp_path / ".a.csv.crawlsim"
    file.write_bytes(b"rows\n")
    said = (
        f"Written by crawlsim; SHA-256 of the rest: {sha256(b'rows' + bytes([10])).hexdigest()}\n"
    )
    assert not is_own(file)
    beside.write_text(said)
    assert is_own(file)
    beside.write_text(said.replace(":", ": " + "0" * 64 + "\n" + said.partition(":")[0] + ":", 1))
    assert is_own(file)
    for other in (b"mine\n" + said.encode(), said.encode() + b"\xff\n", said[:-1].encode(), b""):
        beside.write_bytes(other)
        assert not is_own(file)
    beside.unlink()
    (tmp_path / "said").write_text(said)
    beside.symlink_to("said")
    assert not is_own(file)
