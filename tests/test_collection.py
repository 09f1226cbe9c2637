"""Which tests there are depends on nothing but the files of the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def collected(hash_seed: str) -> list[str]:
    """The ids of all tests, as a worker with this hash seed finds them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests"]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    found = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return [line for line in found.stdout.splitlines() if "::" in line]


@pytest.mark.thorough
def test_two_workers_find_the_same_tests_under_ids_that_can_be_read() -> None:
    """Two seconds apart and with other hash seeds: neither a clock nor a set may name a test."""
    start = time.monotonic()
    first = collected("1")
    time.sleep(max(0.0, 2.0 - (time.monotonic() - start)))
    assert collected("2") == first
    assert len(set(first)) == len(first) > 1000
    assert [name for name in first if re.search(r"\\x[01]|0x[0-9a-f]{6}", name)] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("ci", "outcome"), [("true", "ERROR"), ("", "SKIPPED")])
def test_without_a_browser_its_tests_say_how_to_get_one_and_fail_in_ci(
    ci: str, outcome: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "thorough", "-rsE"]
    done = subprocess.run(
        [*command, "tests/crawlsim/explore/test_page.py", "-k", "telephone"],
        cwd=ROOT,
        env=os.environ | {"CI": ci, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    (said,) = (line for line in done.stdout.splitlines() if line.startswith(outcome))
    assert said.endswith("needs a browser: apt install chromium chromium-driver")
    assert done.returncode == (1 if ci else 0)
