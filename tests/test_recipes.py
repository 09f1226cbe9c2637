"""The recipes of CONTRIBUTING.md, each performed in a copy of the tree: how little it takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]
COPIED = ("scenarios", "sim", "analytic", "crawlsim", "papers", "docs")

SCENARIO = """
name = "tried"
activation.static = 1
[pages]
change_rates = [0.1, 0.5, 0.2]
[robots]
available = 1
access_time.exponential.mean = 1.0
accessing.policy = "round-robin"
[buffer]
waiting_places = 2
service.exponential.mean = 0.5
[run]
horizon = 8_000.0
warmup = 50.0
replications = 20
seed = 3
"""


class Copy:
    """A copy of the project that a recipe changes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            shutil.copytree(
                ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "pictures")
            )
        self._before = self._lines()
        (root / "tried.toml").write_text(SCENARIO)

    def _lines(self) -> dict[str, list[str]]:
        files = (path for name in COPIED for path in (self.root / name).rglob("*.*"))
        suffixes = (".py", ".md", ".toml")
        return {
            path.relative_to(self.root).as_posix(): path.read_text().splitlines()
            for path in files
            if path.suffix in suffixes
        }

    def add(self, path: str, text: str) -> None:
        """A new file."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(text)

    def insert(self, path: str, beside: str, text: str, *, after: bool = False) -> None:
        """Lines before, or after, the only line that begins so."""
        lines = (self.root / path).read_text().splitlines()
        (place,) = [number for number, line in enumerate(lines) if line.startswith(beside)]
        lines[place + after : place + after] = text.strip("\n").splitlines()
        (self.root / path).write_text("\n".join(lines) + "\n")

    def touched(self) -> dict[str, int]:
        """Lines added to each file of before; 0 for a new one."""
        after = self._lines()
        assert self._before.keys() <= after.keys()
        return {
            path: len(lines) - len(self._before[path]) if path in self._before else 0
            for path, lines in after.items()
            if lines != self._before.get(path)
        }

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What Python does there, with the compiled engine interpreted."""
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(self.root)}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def says(self, script: str) -> list[str]:
        """What a script prints that has loaded the scenario."""
        done = self.python("-c", LOADED + script)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


LOADED = """
import analytic, crawlsim, scenarios
from sim import compiled_engine, simpy_engine

def both_engines(scenario):
    short = scenario.with_({"run.horizon": 300.0})
    tallies = [each.simulate(short, 0, 3) for each in (compiled_engine, simpy_engine)]
    assert repr(tallies[0]) == repr(tallies[1])

def predicted(scenario, measure):
    rows = analytic.predict(scenario)[0]
    return next(row.value for row in rows if row.measure == measure and row.kind == "exact")

def attempt(key, value):
    try:
        tried.with_(key, value)
        print("valid")
    except scenarios.ScenarioError as error:
        print(" ".join(str(error).splitlines()))

tried = scenarios.load("tried.toml")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


POLICY = '''"""All pages in turn, the last one first."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from scenarios.accessing.policy import Indices, Periodic, Shares
from scenarios.base import Count


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("must be odd")
    return number


class Backwards(Periodic):
    """Pages …, 2, 1, 0 in turn, each a number of times."""

    policy: Literal["backwards"]
    times: Annotated[Count, Field(ge=1), AfterValidator(_odd)] = 1

    def cycle_of(self, shares: Shares) -> Indices:
        """One period."""
        return np.repeat(np.arange(len(shares))[::-1], self.times)
'''


def test_a_policy_is_one_file_and_one_line(tree: Copy) -> None:
    tree.add("scenarios/accessing/backwards.py", POLICY)
    tree.insert("scenarios/accessing/__init__.py", '    "crawl-value",', '    "backwards",')
    assert tree.touched() == {
        "scenarios/accessing/backwards.py": 0,
        "scenarios/accessing/__init__.py": 1,
    }
    said = tree.says(
        """
tried = tried.with_({"robots.accessing.policy": "backwards", "buffer": None})
both_engines(tried)
print(predicted(tried, "crawl_rate"))
for times in (3, 2, 0, 1.5, "many"):
    attempt("robots.accessing.times", times)
attempt("robots.accessing.policy", "backward")
"""
    )
    assert float(said[0]) == pytest.approx(1 / 3)
    assert said[1:] == [
        "valid",
        "robots.accessing.times = 2 must be odd",
        "robots.accessing.times = 0 must be >= 1",
        "robots.accessing.times = 1.5 must be a whole number",
        'robots.accessing.times = "many" must be a whole number',
        'robots.accessing.policy = "backward" must be "cyclic", "round-robin", "randomized", '
        '"golden-ratio", "dyadic", "balanced", "billiard", "deadline", "deficit", "whittle", '
        '"backwards", "crawl-value", "on-signal" or "due" (did you mean "backwards"?)',
    ]


DISTRIBUTION = {
    "scenarios/laws/stretched.py": '''"""Stretched exponential times."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scenarios.base import Positive
from scenarios.laws.law import Law


class Stretched(Law):
    """A power of an exponential time."""

    key = "stretched"
    shape: Annotated[Positive, Field(ge=0.1, le=100)]
    scale: Positive
''',
    "sim/laws/stretched.py": '''"""Stretched exponential times."""

from __future__ import annotations

import math
from typing import Any

from scenarios.laws.stretched import Stretched
from sim import rules


def parameters(law: Stretched) -> tuple[float, float]:
    """Shape and scale."""
    return law.shape, law.scale


def draw(stream: Any, shape: float, scale: float) -> float:
    """Such a time."""
    return scale * math.pow(rules.draw_exponential(stream, 1.0), 1.0 / shape)


def draws_and_mean(law: Stretched) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.scale * math.gamma(1.0 + 1.0 / law.shape)
''',
    "analytic/laws/stretched.py": '''"""Stretched exponential times."""

from __future__ import annotations

import math

import numpy as np

from analytic.machinery.phase_type import phases_after
from scenarios.arrays import Array
from scenarios.laws.stretched import Stretched


def _points(law: Stretched) -> tuple[Array, Array]:
    exponential, weights = np.polynomial.laguerre.laggauss(64)
    return law.scale * exponential ** (1.0 / law.shape), weights


def mean(law: Stretched) -> float:
    """The mean."""
    return law.scale * math.gamma(1.0 + 1.0 / law.shape)


def log_transform(law: Stretched, s: Array) -> Array:
    """The exponent of the transform, by quadrature."""
    times, weights = _points(law)
    result: Array = -np.log1p(np.expm1(-s[..., None] * times) @ weights)
    return result


def excess(law: Stretched, s: Array) -> Array:
    """The rest."""
    result: Array = s * mean(law) - log_transform(law, s)
    return result


def matrix_transform(law: Stretched, generator: Array) -> Array:
    """By quadrature."""
    parts = [w * phases_after(generator, t) for t, w in zip(*_points(law), strict=True)]
    return np.sum(parts, axis=0)


def survival(law: Stretched, t: Array) -> Array:
    """The probability that a time is longer than t."""
    result: Array = np.exp(-((t / law.scale) ** law.shape))
    return result
''',
}


def test_a_distribution_is_three_files_of_one_name(tree: Copy) -> None:
    for path, text in DISTRIBUTION.items():
        tree.add(path, text)
    assert tree.touched() == dict.fromkeys(DISTRIBUTION, 0)
    said = tree.says(
        """
stretched = {"shape": 2.0, "scale": 1.0}
for key in ("robots.access_time", "buffer.service", "buffer.obsolescence"):
    both_engines(tried.with_({f"{key}.stretched": stretched}))
tried = tried.with_("buffer", None)
print(predicted(tried, "obsolescence_rate"))
tried = tried.with_("robots.access_time.stretched", {"shape": 1.0, "scale": 1.0})
print(predicted(tried, "obsolescence_rate"))
tried = tried.with_("robots.access_time.stretched.shape", 2.0)
both_engines(tried)
rows = crawlsim.check(tried, engine="simpy").comparisons
print(max(abs(row.z) for row in rows if row.measure == "obsolescence_rate"))
print(*tried.as_file()["robots"]["access_time"])
attempt("robots.access_time.stretched.shape", 0.0)
"""
    )
    exponential, same, deviation, key, refused = said
    assert float(same) == pytest.approx(float(exponential), rel=1e-12)
    assert float(deviation) < 4
    assert key == "stretched"
    assert refused == "robots.access_time.stretched.shape = 0.0 must be >= 0.1"


FORMULA = '''
def turns_of(pages: int, mean: float) -> float:
    """Accesses per unit time of each page, where all take turns."""
    return 1.0 / (pages * mean)


'''

ROW = r"""
    Formula(
        paper="coffman1998",
        number="tried",
        quantity="accesses per unit time of each page, where all take turns",
        latex=r"\nu_i=\frac{1}{K\,\mathbb{E}X}",
        function=turns_of,
        kind="exact",
        origin="own",
        conditions=(*_SCHEDULED, conditions.periodic_policy, conditions.one_robot),
        evaluate=lambda scenario: [("crawl_rate", 0, turns_of(3, 1.0))],
    ),
"""


def test_a_formula_is_one_function_and_one_row(tree: Copy) -> None:
    home = "analytic/page_refresh/formulas.py"
    tree.insert(home, "FORMULAS: ", FORMULA)
    tree.insert(home, "FORMULAS: ", ROW, after=True)
    assert set(tree.touched()) == {home}
    said = tree.says(
        """
tried = tried.with_("buffer", None)
both_engines(tried)
results = crawlsim.run(tried, engine="simpy")
rows = [row for row in analytic.predict(tried)[0] if row.source == "coffman1998 tried"]
print(*(row.verdict for row in analytic.compare(rows, results)))
"""
    )
    assert said == ["agrees"]


def test_a_measure_is_one_row_and_its_documentation(tree: Copy) -> None:
    row = """
    _row(
        "mean_waiting",
        "time average of the pages that wait",
        unit="pages",
        buffer=lambda b: b.level_shares @ (b.levels - 1.0).clip(0.0),
    ),
"""
    documented = "| `mean_waiting` |  | pages | time average of the pages that wait |"
    tree.insert("scenarios/measures.py", "_ALL = (", row, after=True)
    tree.insert("docs/measures.md", "| `mean_in_system`", documented)
    assert tree.touched().keys() == {"scenarios/measures.py", "docs/measures.md"}
    said = tree.says(
        """
results = crawlsim.run(tried, engine="simpy")
values = {(row.measure, row.subject): row for row in results.estimates}
inside, waiting = (values[name, None].estimate for name in ("mean_in_system", "mean_waiting"))
empty = values["starvation_probability", None].estimate
print(waiting - (inside - (1.0 - empty)), values["mean_waiting", None].standard_error > 0)
"""
    )
    difference, has_error = said[0].split()
    assert float(difference) == pytest.approx(0.0, abs=1e-12)
    assert has_error == "True"
