"""Plugins: what a file or a package adds, what is said of it, and what is refused."""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import analytic
import crawlsim as program
from analytic.index.names import NAMES
from analytic.index.predictions import all_formulas
from scenarios import Scenario, ScenarioError, dumps, plugins, schema
from sim import compiled_engine, simpy_engine
from sim.replicate import engine_for

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
PARTS = ("backwards", "triangular", "turns", "waiting")
SYSTEM = EXAMPLES / "turns.toml"
FEW = {"run.replications": 5}

Use = Callable[..., Path]


def example(*parts: str) -> str:
    """Modules of the example as one file."""
    texts = [(EXAMPLES / "crawlsim_examples" / f"{part}.py").read_text() for part in parts]
    lines = "".join(texts).splitlines(keepends=True)
    left_out = ("from __future__", "from crawlsim_examples")
    return "".join(line for line in lines if not line.startswith(left_out))


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """What makes a file of a plugin and uses it; afterwards nobody knows of it."""
    for package in ("scenarios", "sim"):  # what commands of earlier tests log to is closed
        monkeypatch.setattr(logging.getLogger(package), "handlers", [])
        monkeypatch.setattr(logging.getLogger(package), "propagate", True)

    def used(text: str, name: str = "my_own.py") -> Path:
        path = tmp_path / name
        path.write_text(f"from __future__ import annotations\n{text}")
        program.use(path)
        return path

    yield used
    for each in plugins.files_in_use():
        plugins.forget(each)
    all_formulas()  # forgets what they said of names and symbols


def both_engines(scenario: Scenario) -> None:
    tallies = [each.simulate(scenario, 0, 3) for each in (compiled_engine, simpy_engine)]
    assert repr(tallies[0]) == repr(tallies[1])


def test_a_file_adds_a_policy_a_law_a_formula_and_a_measure(use: Use) -> None:
    before = program.load("one-robot")
    path = use(example(*PARTS))
    tried = program.load(SYSTEM, {"run.horizon": 300.0})
    both_engines(tried)
    rows = analytic.predict(tried)[0]
    (first, *_) = [row for row in rows if row.source == "examples (1)"]
    assert first.value == pytest.approx(1 / 3, rel=1e-15)
    assert tried.with_("robots.access_time.exponential.mean", 1.0).as_file()["robots"][
        "access_time"
    ] == {"exponential": {"mean": 1.0}}
    with pytest.raises(ScenarioError, match=r"times = 0\nmust be >= 1"):
        tried.with_("robots.accessing.times", 0)
    results = program.run(before.with_(FEW), engine="simpy")
    inside, empty = (
        results.find(each).estimate for each in ("mean_in_system", "starvation_probability")
    )
    waiting = results.find("mean_waiting").estimate
    assert waiting == pytest.approx(inside - (1 - empty), abs=1e-12)
    assert results.plugins == plugins.versions()
    assert list(results.plugins) == [path.name]
    written = json.dumps(schema())
    assert '"const": "backwards"' in written
    assert '"triangular"' in written


def test_names_of_formulas_go_with_their_plugin(use: Use) -> None:
    """A file that was changed gives its formula another name; without it there is none."""
    before = dict(NAMES)
    text = example(*PARTS)
    use(text)
    analytic.predict(program.load(SYSTEM, FEW))
    name = NAMES["examples (1)"].name
    use(text.replace(name, "another name"))
    analytic.predict(program.load(SYSTEM, FEW))
    assert NAMES["examples (1)"].name == "another name"
    plugins.forget("my_own.py")
    all_formulas()
    assert before == NAMES


def test_another_process_gets_the_plugin_with_the_scenario(use: Use) -> None:
    """As a worker has it: it knows no plugin, and there is no file."""
    path = use(example("triangular"))
    scenario = program.load("one-robot", {"robots.access_time.triangular": {"longest": 3.0}})
    content, text, versions = pickle.dumps(scenario), dumps(scenario), plugins.versions()
    plugins.forget(path.name)
    path.unlink()
    assert plugins.versions() == {}
    assert dumps(pickle.loads(content)) == text
    assert plugins.versions() == versions


def test_formulas_know_a_law_of_a_plugin(use: Use) -> None:
    """Uniform times are the mixture of a triangular law and its mirror image: moments, by hand."""
    use(example("triangular"))
    law = program.load(
        "one-robot", {"robots.access_time.triangular": {"longest": 3.0}}
    ).robots.access_time
    from analytic.machinery.transforms import log_transform, mean_time, moments

    assert mean_time(law) == 1.0
    assert moments(law) == pytest.approx((1.0, 1.5), rel=1e-9)  # E X^2 = longest^2 / 6
    s = 2.0  # E exp(-sX) = 2 (sl - 1 + exp(-sl)) / (sl)^2
    exact = 2 * (s * 3 - 1 + 2.718281828459045 ** (-s * 3)) / (s * 3) ** 2
    assert 2.718281828459045 ** -log_transform(law, [s])[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("factor", "verdict", "code"), [("1.0", "agrees", 0), ("1.1", "disagrees", 1)]
)
def test_a_check_judges_the_formula(
    factor: str, verdict: str, code: int, use: Use, crawlsim: Any
) -> None:
    """Planted: accesses a tenth too frequent."""
    path = use(example(*PARTS).replace("1.0 / (pages", f"{factor} / (pages"))
    asked = ("check", str(SYSTEM), "--engine", "simpy", "--with", str(path), "--json")
    shorter = ("--set", "judged=['crawl_rate']", "--set", "run.horizon=2_000.0")
    ended, said, _ = crawlsim(*asked, *shorter)
    document = json.loads(said)
    (record,) = document if isinstance(document, list) else document["scenarios"]
    rows = [row for row in record["comparisons"] if row["source"] == "examples (1)"]
    assert {row["verdict"] for row in rows} == {verdict}
    assert (ended, record["verdict"]) == (code, verdict)
    assert record["plugins"] == plugins.versions()


SLOW = example("triangular").replace(
    "return longest * (",
    "import datetime\n\n    return float(datetime.timedelta(0).days) + longest * (",
)


def test_a_draw_that_does_not_compile_is_simulated_by_simpy_alone(
    use: Use, caplog: pytest.LogCaptureFixture
) -> None:
    use(SLOW)
    tried = program.load("one-robot", {"robots.access_time.triangular.longest": 3.0})
    with caplog.at_level(logging.INFO, logger="sim.replicate"):
        assert engine_for(tried) == "simpy"
    assert "the draw of the law triangular (crawlsim_with_my_own) does not compile" in caplog.text
    with pytest.raises(ScenarioError, match="simpy does without"):
        engine_for(tried, "compiled")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (example("backwards").replace('"backwards"', '"cyclic"'), "the policy 'cyclic'"),
        (example("triangular").replace('"triangular"', '"gamma"'), "the law 'gamma'"),
        (example("waiting").replace('"mean_waiting"', '"loss_rate"'), "the measure 'loss_rate'"),
    ],
)
def test_names_of_ours_are_refused(text: str, what: str, use: Use) -> None:
    with pytest.raises(ScenarioError) as refusal:
        use(text)
    assert str(refusal.value) == f'plugin = "my_own.py"\nadds {what}, which crawlsim has already'
    assert plugins.versions() == {}


def test_names_of_other_plugins_are_refused_and_a_file_that_changed_comes_anew(use: Use) -> None:
    use(example("backwards"))
    with pytest.raises(ScenarioError, match=r"'backwards', which the plugin my_own\.py has"):
        use(example("backwards"), "another.py")
    with pytest.raises(ScenarioError, match=r"in use already, .*my_own\.py"):
        use(example("waiting"), "my-own.py")
    use(example("backwards").replace("le=1000", "le=2"))
    with pytest.raises(ScenarioError, match="must be <= 2"):
        program.load(
            SYSTEM,
            {
                "robots.access_time": {"exponential": {"mean": 1.0}},
                "robots.accessing.times": 3,
            },
        )
    use(
        example("backwards", "turns")
        .replace('number="(1)"', 'number="(9)"')
        .replace('paper="examples"', 'paper="talim2001"')
    )
    with pytest.raises(ScenarioError, match=r"'talim2001 \(9\)', which crawlsim has already"):
        analytic.predict(program.load("one-robot"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "adds nothing: no policy, no law, no FORMULAS, no MEASURES"),
        ("raise SystemExit(0)\n", "cannot be loaded: SystemExit: 0 (my_own.py, line 2)"),
        ("x = (\n", "cannot be loaded: SyntaxError: '(' was never closed"),
        (
            "raise OSError('\\x1b[2J')\n",
            r"cannot be loaded: OSError: \u001b[2J (my_own.py, line 2)",
        ),
        (example("waiting").replace("mean_waiting", "Mean waiting"), "adds 'Mean waiting'; a name"),
        ("MEASURES = 3\n", "cannot be loaded: TypeError: MEASURES must be a tuple"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_a_line(
    text: str, said: str, tmp_path: Path, crawlsim: Any
) -> None:
    path = tmp_path / "my_own.py"
    path.write_text(f"from __future__ import annotations\n{text}")
    code, _, errors = crawlsim("scenarios", "--with", str(path))
    assert (code, plugins.versions()) == (2, {})
    assert said in errors
    assert "\x1b" not in errors
    assert "my_own.py" in errors


@pytest.mark.parametrize(
    ("part", "right", "wrong", "said"),
    [
        ("backwards", "return np", "return 7 + np", "gave page 9; the last of 3 is 2"),
        ("backwards", "return np", "return {}[3] + np",
         "the plugin my_own.py failed: KeyError: 3 (my_own.py, line "),
        ("triangular", "return longest * (", "return -longest * (", "draws -"),
        ("turns", '("crawl_rate"', '("crawl_rat"', "the plugin my_own.py failed: ValueError: "),
        ("waiting", "b.level_shares @ (", "b.levels * (",
         "the plugin my_own.py failed: ValueError: mean_waiting must have a row"),
        ("waiting", "b.levels - 1.0", "b.nothing - 1.0",
         "the plugin my_own.py failed: AttributeError: "),
    ],
)  # fmt: skip
def test_what_a_plugin_does_wrong_names_it(
    part: str, right: str, wrong: str, said: str, use: Use, crawlsim: Any
) -> None:
    path = use(example(*PARTS).replace(right, wrong))
    system = "one-robot" if part == "waiting" else str(SYSTEM)
    command = ("solve",) if part == "turns" else ("run", "--engine", "simpy", "--replications", "2")
    code, _, errors = crawlsim(*command, system, "--with", str(path))
    assert code == 2
    assert said in errors
    assert "my_own" in errors
    assert "Traceback" not in errors


def test_a_sweep_goes_on_with_the_same_plugins_only(
    use: Use, tmp_path: Path, crawlsim: Any
) -> None:
    path = use(example(*PARTS))
    sweep = ["sweep", str(SYSTEM), "--vary", "robots.accessing.times=1,2", "--engine", "simpy"]
    sweep += ["--replications", "2", "--set", "run.horizon=100.0", "--out", str(tmp_path / "out")]
    assert crawlsim(*sweep, "--with", str(path))[0] == 0
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert provenance["packages"][path.name] == plugins.versions()[path.name]
    assert "2 of 2 cells are already there" in crawlsim(*sweep, "--with", str(path))[2]
    path.write_text(path.read_text() + "# another digest\n")
    code, _, errors = crawlsim(*sweep, "--with", str(path))
    assert code == 2
    assert "holds another sweep: my_own.py was sha256:" in errors


def test_a_study_holds_its_plugin_which_runs_only_where_it_is_allowed(
    use: Use, tmp_path: Path, crawlsim: Any
) -> None:
    ran = tmp_path / "ran"
    path = use(example(*PARTS) + f"\nopen({str(ran)!r}, 'a').write('once ')\n")
    study = tmp_path / "study"
    words = ["--set", "run.replications=2", "--engine", "simpy"]
    code, _, said = crawlsim("run", str(SYSTEM), "--with", str(path), "--study", str(study), *words)
    assert code == 0, said
    assert (study / "plugins/my_own.py").read_bytes() == path.read_bytes()
    assert "crawlsim repeat . --run-plugins" in (study / "README.md").read_text()
    plugins.forget(path.name)

    with pytest.raises(ScenarioError, match=r"plugins/my_own\.py: read it, and give --run-plugins"):
        program.repeat(study, engine="simpy")
    assert ran.read_text() == "once "
    again = program.repeat(study, engine="simpy", run_plugins=True)
    assert again.is_same
    assert again.environment == {}
    assert ran.read_text() == "once once "
    assert plugins.files_in_use() == {}

    (study / "plugins/my_own.py").write_text("MEASURES = ()")
    code, _, said = crawlsim("repeat", str(study), "--run-plugins")
    assert code == 2
    assert "changed since the study was written" in said


def test_a_new_file_says_how_to_use_the_plugin(use: Use, tmp_path: Path, crawlsim: Any) -> None:
    path = use(example("backwards"))
    file = str(tmp_path / "my.toml")
    code, _, said = crawlsim("new", file, "--with", str(path), "--with", "pages,buffer")
    assert (code, said.splitlines()[-1]) == (
        0,
        f"written: {file}; next: crawlsim check {file} --with {path}",
    )
    assert "[pages]" in Path(file).read_text()


def test_the_lists_have_what_plugins_add(use: Use, crawlsim: Any) -> None:
    path = use(example(*PARTS))
    (row,) = json.loads(crawlsim("formulas", "pages in turn", "--json", "--with", str(path))[1])
    assert (row["paper"], row["number"], row["function"]) == (
        "examples",
        "(1)",
        "crawlsim_with_my_own.turns",
    )
    assert row["symbols"] == {
        r"\nu_i": "accesses of page i per unit time",
        "K": "number of pages",
        r"\mathbb{E}X": "mean access time",
    }
    assert '"const": "backwards"' in crawlsim("schema", "--with", str(path))[1]


def test_what_the_page_shows_stands_in_the_example() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "plugins.md").read_text()
    package = EXAMPLES / "crawlsim_examples"
    texts = [each.read_text() for each in (*package.glob("*.py"), EXAMPLES / "pyproject.toml")]
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", page, flags=re.DOTALL)
    assert len(shown) == 6
    assert all(any(each in text for text in texts) for each in shown)


def python(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(
        filter(None, [environment.pop("PYTHONPATH", ""), str(EXAMPLES.parents[1])])
    )
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_another_process_gets_the_file_with_the_scenario(use: Use, tmp_path: Path) -> None:
    """Workers of a run and of a cluster, and what compiles in the background."""
    path = use(example(*PARTS))
    (tmp_path / "scenario").write_bytes(pickle.dumps(program.load(SYSTEM)))
    path.unlink()
    script = (
        "import pickle; s = pickle.load(open('scenario', 'rb'))\n"
        "from scenarios import plugins\n"
        "print(s.with_('robots.accessing.times', 2).robots.accessing, *plugins.versions())"
    )
    done = python("-c", script, folder=tmp_path)
    assert (done.stdout, done.stderr) == ("policy='backwards' times=2 my_own.py\n", "")


@pytest.mark.thorough
def test_processes_of_a_run_know_the_file(use: Use, tmp_path: Path) -> None:
    path = use(SLOW + example("backwards"))
    words = ["run", str(SYSTEM), "--with", str(path), "--json", "--replications", "4"]
    said = [
        python("-m", "crawlsim", *words, *jobs, folder=tmp_path) for jobs in ([], ["--jobs", "2"])
    ]
    assert [each.returncode for each in said] == [0, 0], said
    assert said[0].stdout == said[1].stdout
    assert "does not compile" in said[0].stderr


LAW = {
    "scenarios": "class Triangular(",
    "sim": "def parameters(",
    "analytic": "def mean(",
}


@pytest.mark.thorough
@pytest.mark.parametrize(("factor", "agrees"), [("1.0", True), ("1.02", False)])
def test_a_law_of_three_files_is_a_package(factor: str, agrees: bool, tmp_path: Path) -> None:
    """The files of a law of ours, in folders of the same names; planted: times 2 % too long."""
    text = example("triangular").replace("return longest * (", f"return {factor} * longest * (")
    head = "from __future__ import annotations\n" + text[: text.index("class Triangular")]
    places = [text.index(start) for start in LAW.values()] + [len(text)]
    for side, begin, end in zip(LAW, places, places[1:], strict=False):
        folder = tmp_path / "mine" / side / "laws"
        folder.mkdir(parents=True)
        law = "from mine.scenarios.laws.triangular import Triangular\n"
        own = law if side != "scenarios" else ""
        (folder / "triangular.py").write_text(head + own + text[begin:end])
    about = tmp_path / "mine-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 2.1\n")
    entry = "[crawlsim.laws]\ntriangular = mine.scenarios.laws.triangular\n"
    (about / "entry_points.txt").write_text(entry)
    script = (
        "import crawlsim, analytic\n"
        "s = crawlsim.load('one-robot', {'robots.access_time.triangular.longest': 3.0, "
        "'run.replications': 20})\n"
        "r = crawlsim.check(s, engine='simpy')\n"
        "print(max(abs(row.z) for row in r.comparisons if row.z == row.z), "
        "*r.results.plugins.values())\n"
    )
    done = python("-c", script, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    largest, version, digest = done.stdout.split()
    assert (float(largest) < 4) == agrees, largest  # with the seed of the file
    assert version == "2.1"
    assert digest.startswith("sha256:")


@pytest.mark.thorough
def test_the_example_is_built_installed_used_from_elsewhere_and_removed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(EXAMPLES, source)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, *build, str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("crawlsim_examples-*.whl")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(SYSTEM, elsewhere)
    shutil.rmtree(source)

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return python("-m", "crawlsim", *words, folder=elsewhere, PYTHONPATH=str(site))

    install = ["--python", str(venv / "bin" / "python"), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, *install, str(wheel)], check=True)
    checked = said("check", "turns.toml", "--json")
    assert checked.returncode == 0, checked.stderr
    assert '"source": "examples (1)"' in checked.stdout
    assert '"crawlsim-examples": "1.0 sha256:' in checked.stdout
    ran = said("run", "one-robot", "--engine", "simpy", "--replications", "2", "--json")
    assert '"mean_waiting"' in ran.stdout
    assert said("busy", "one-robot").stdout == "59.0%\n"
    remove = ["--python", str(venv / "bin" / "python"), "uninstall", "--yes", "crawlsim-examples"]
    subprocess.run([*pip, *remove], check=True)
    refused = said("check", "turns.toml")
    assert refused.returncode == 2
    assert "unknown key" in refused.stderr
    assert said("busy", "one-robot").returncode == 2


@pytest.mark.thorough
def test_an_installed_plugin_that_is_broken_is_named_whenever_it_would_count(
    tmp_path: Path,
) -> None:
    (tmp_path / "broken.py").write_text("raise OSError('of its making')\n")
    about = tmp_path / "broken-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text("[crawlsim.measures]\nany = broken\n")
    done = [
        python("-m", "crawlsim", *words, folder=tmp_path, PYTHONPATH=str(tmp_path))
        for words in (["--help"], ["scenarios"], ["solve", "one-robot"])
    ]
    assert [each.returncode for each in done] == [0, 0, 2]
    assert done[-1].stderr == (
        'crawlsim: plugin = "broken"\n'
        "cannot be loaded: OSError: of its making (broken.py, line 1)\n"
    )
