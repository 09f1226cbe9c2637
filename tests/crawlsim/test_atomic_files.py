"""Two writers at the same instant, and what a killed one leaves behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from crawlsim.cli.files import PROVENANCE, own_folder, write_files
from crawlsim.own_files import IN_TOML, claim, signed, write
from scenarios import ScenarioError
from sim.atomic_files import PREFIX, alone_in, staging

TIMES = 60
"""Without a lock two writers mixed their files once in 150 times or more often."""

WRITER = """
import sys, time
from functools import partial
from pathlib import Path
from crawlsim.cli.files import write_files
import json

def provenance(name, digests):
    return json.dumps({"program": "crawlsim", "files": digests, "written by": name})

name, folder, times, start = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
files = {f"{letter}.csv": [name, "\\n"] * 200 for letter in "abcdefgh"} | {f"{name}.toml": name}
while time.time() < start:
    pass
for turn in range(times):
    write_files(folder / str(turn), files, partial(provenance, name))
"""

HOLDER = """
import sys, time
from pathlib import Path
from sim.atomic_files import staging

with staging(Path(sys.argv[1])) as place:
    (place / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def is_of_one_writer(folder: Path) -> bool:
    """Whether all files are those that the provenance names, and all of them its writer's."""
    document = json.loads((folder / PROVENANCE).read_text())
    name = document["written by"]
    digests = document["files"]
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != PROVENANCE}
    of_one = all(content.startswith(name.encode()) for content in found.values())
    as_said = {file: sha256(content).hexdigest() for file, content in found.items()} == digests
    return of_one and as_said


def test_two_writers_at_the_same_instant_do_not_mix_their_files(tmp_path: Path) -> None:
    start = str(time.time() + 2)
    arguments = [str(tmp_path), str(TIMES), start]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, *arguments])
        for name in ("one", "other")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    folders = sorted(tmp_path.iterdir())
    assert len(folders) == TIMES
    assert [folder.name for folder in folders if not is_of_one_writer(folder)] == []


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """A process in the middle of its writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def unfinished(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(PREFIX)]


def test_only_what_a_dead_process_left_is_removed(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with staging(tmp_path) as place:
        assert place.is_dir()
        assert len(unfinished(tmp_path)) == 2, "the other one is at work"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert len(unfinished(tmp_path)) == 1
    own_folder(str(tmp_path), [])
    assert unfinished(tmp_path) == []


def test_every_writer_removes_what_is_left(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    write("--out", tmp_path / "file.toml", signed("text", IN_TOML))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.toml"]


def test_a_link_in_place_of_what_is_left_is_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    folder = tmp_path / "out"
    mine.mkdir()
    (mine / "thesis.tex").write_text("all my work")
    folder.mkdir()
    (folder / f"{PREFIX}link").symlink_to(mine)
    with staging(folder):
        pass
    assert (mine / "thesis.tex").read_text() == "all my work"


def test_a_folder_without_locks_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.atomic_files.fcntl", None)
    (tmp_path / f"{PREFIX}other").mkdir()
    write_files(tmp_path, {"a.csv": "1"}, lambda digests: json.dumps({"files": dict(digests)}))
    assert (tmp_path / "a.csv").read_text() == "1"
    assert unfinished(tmp_path) == [f"{PREFIX}other"], "it may be at work"


def test_whoever_is_alone_keeps_others_waiting(tmp_path: Path) -> None:
    writer = "import sys; from pathlib import Path; from sim.atomic_files import alone_in\n"
    writer += "with alone_in(Path(sys.argv[1])): print('in', flush=True)"
    with alone_in(tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-c", writer, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
    assert process.communicate(timeout=60) == ("in\n", None)


@pytest.mark.parametrize("name", [PROVENANCE, "cells/sweep.json"])
def test_a_pipe_in_place_of_a_record_is_refused(name: str, tmp_path: Path) -> None:
    """It would never answer."""
    (tmp_path / "cells").mkdir()
    os.mkfifo(tmp_path / name)
    sweep = "sweep one-robot --vary buffer.waiting_places=1,2"
    done = subprocess.run(
        [sys.executable, "-m", "crawlsim", *sweep.split(), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "was not written by crawlsim" in done.stderr


def test_no_empty_folder_stays_where_nothing_could_be_written(tmp_path: Path) -> None:
    def full() -> Iterator[str]:
        yield "1"
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "new" / "out", tmp_path / "there"):
        with pytest.raises(ScenarioError, match="No space left on device"):
            write_files(folder, {"a.csv": full()}, lambda _: "{}")
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    for force in (False, True):
        with pytest.raises(ScenarioError, match="exists but is not a file"):
            claim("--trace", tmp_path / "log", force=force)
