"""Plain tables: limits of formats, numbers as text, and files that hold nothing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from crawlsim.logs.plan.tables import read_host_visits
from crawlsim.logs.plan.writing import limits_in
from crawlsim.logs.read.times import in_digits
from scenarios import ScenarioError

DAY = 86400.0


@pytest.mark.parametrize(
    ("form", "shortest", "longest", "limits"),
    [
        ("csv", 0.5, 100.25, (0.5, 100.25)),
        ("csv", 0.5, None, (0.5, math.inf)),
        ("nutch", 0.0, None, (1.0, 90 * DAY)),
        ("nutch", 1.5, 2.5, (2.0, 2.0)),
        ("nutch", 2.0, 2.0**40, (2.0, 2.0**31 - 1)),
        ("stormcrawler", 0.0, 200.0, (60.0, 180.0)),
        ("stormcrawler", 90.0, 120.0, (120.0, 120.0)),
        ("stormcrawler", 60.0, None, (60.0, 60.0 * (2.0**31 - 1))),
    ],
)
def test_intervals_that_a_format_can_say(
    form: str, shortest: float, longest: float | None, limits: tuple[float, float]
) -> None:
    """In whole seconds or minutes, rounded inwards, up to 31 bits."""
    assert limits_in(form, shortest, longest) == limits


@pytest.mark.parametrize(
    ("number", "text"),
    [(np.nan, ""), (3.0, "3"), (20170730223850.0, "20170730223850"), (0.5, "0.5"), (-2.0, "-2")],
)
def test_numbers_as_text(number: float, text: str) -> None:
    assert in_digits(number) == text


def test_a_file_of_hosts_holds_some(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("host,visits\nexample.org,5/day\n")
    assert read_host_visits(str(path)) == {"example.org": "5/day"}
    path.write_text("host,visits\n")
    with pytest.raises(ScenarioError, match="holds no host"):
        read_host_visits(str(path))
