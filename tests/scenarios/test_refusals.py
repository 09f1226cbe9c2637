"""Refusals help and harm nobody: what was meant, nothing of foreign files, nothing too long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarios import ScenarioError, columns, load
from scenarios.activation import ByName
from scenarios.base import most_like
from scenarios.errors import brief

CRAWL = """name = "crawl"
pages.change_rates = {rates}
robots.available = 1
robots.access_time = {{ exponential = {{ mean = 1.0 }} }}
robots.accessing.policy = "round-robin"
"""
QUEUE = """name = "queue"
robots.available = 1
robots.access_time = {{ exponential = {{ mean = 1.0 }} }}
buffer.waiting_places = 1
buffer.service.empirical.file = "{file}"
"""
SECRET = "root:x:0:0\nsecret;password\nkey\t-1.5\n"
HUGE = 3_000_000


def refusal(folder: Path, text: str) -> str:
    path = folder / "bad.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    return str(caught.value).replace(str(folder), "")


# Data files


@pytest.mark.parametrize("text", ["CRAWL", "QUEUE"])
def test_nothing_of_a_file_without_the_column_is_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    wanted = '{ file = "secret", column = "rate" }'
    said = refusal(
        tmp_path,
        CRAWL.format(rates=wanted) if text == "CRAWL" else QUEUE.format(file="secret"),
    )
    assert not any(word in said.replace("/secret", "") for word in ("x:0", "password", "key"))
    assert ("must be a column of secret" in said) == (text == "CRAWL")
    assert ("row 2: must be a finite number" in said) == (text == "QUEUE")


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_data_file_is_a_plain_file(kind: str, tmp_path: Path) -> None:
    """A device never ends, and a pipe waits for somebody who writes."""
    if kind == "pipe":
        os.mkfifo(tmp_path / "data")
    else:
        (tmp_path / "data").symlink_to("/dev/zero")
    assert "must be a plain file" in refusal(tmp_path, QUEUE.format(file="data"))
    wanted = '{ file = "data", column = "rate" }'
    assert "must be a plain file" in refusal(tmp_path, CRAWL.format(rates=wanted))


def test_a_data_file_may_be_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "data").open("wb") as stream:
        stream.truncate(columns.LARGEST_FILE + 1)  # a hole, which takes no place
    assert "has 200 MB; at most 200 are read" in refusal(tmp_path, QUEUE.format(file="data"))
    (tmp_path / "data").write_text("1\n" * 4)
    monkeypatch.setattr(columns, "MOST_NUMBERS", 3)
    assert "holds more than 3 numbers" in refusal(tmp_path, QUEUE.format(file="data"))


@pytest.mark.parametrize(
    ("separator", "words"),
    [(";", "a semicolon"), ("\t", "a tab"), ("|", "a vertical bar")],
    ids=["semicolon", "tab", "bar"],
)
def test_another_separator_than_the_comma_is_named(
    separator: str, words: str, tmp_path: Path, crawlsim: Any
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("page,rate\na,1\nb,2\n".replace(",", separator))
    wanted = '{ file = "data.csv", column = "rate" }'
    said = refusal(tmp_path, CRAWL.format(rates=wanted))
    assert f"must be a column of data.csv, whose separator is {words}" in said
    path.write_text(f"1{separator}2\n3{separator}4\n")
    said = refusal(tmp_path, QUEUE.format(file="data.csv"))
    assert f"the separator must be a comma, not {words}" in said
    path.write_text("page,time\na,1\nb,2\n".replace(",", separator))
    for kind in ([], ["--kind", "changes"]):
        code, _, err = crawlsim("fit", str(path), *kind)
        assert code == 2
        assert f"its separator is {words}, and must be a comma" in err


@pytest.mark.by_day(besides=("fit",))
@pytest.mark.parametrize("command", ["run", "fit"])
def test_a_device_without_end_is_refused(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crawlsim", command, "/dev/zero"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = {"run": "is too large for a scenario file", "fit": "line 1 has no end"}[command]
    assert done.returncode == 2
    assert said in done.stderr


def test_a_scenario_may_come_through_a_pipe() -> None:
    program = [sys.executable, "-m", "crawlsim"]
    text = subprocess.run([*program, "scenarios", "one-robot"], capture_output=True, check=True)
    done = subprocess.run(
        [*program, "solve", "/dev/stdin"], input=text.stdout, capture_output=True, check=True
    )
    assert b"starvation_probability" in done.stdout


# Length


@pytest.mark.by_day(besides=("quoted key", "column", "title", "name", "key twice", "policy"))
@pytest.mark.parametrize(
    "text",
    [
        f"{'k' * HUGE} = 1\n{CRAWL.format(rates='[1.0]')}",
        f'"{"k " * HUGE}" = 1\n{CRAWL.format(rates="[1.0]")}',
        CRAWL.format(rates=f'"{"v" * HUGE}"'),
        CRAWL.format(rates=f"{{ {'k' * HUGE} = 1 }}"),
        CRAWL.format(rates=f'{{ file = "data.csv", column = "{"c" * HUGE}" }}'),
        CRAWL.format(rates='{ file = "data.csv", column = "rate" }'),
        f'title = "{"t" * HUGE}"\n{CRAWL.format(rates="[1.0]")}',
        CRAWL.format(rates="[1.0]").replace("crawl", "n" * HUGE),
        f"a.{'k' * HUGE} = 1\na.{'k' * HUGE} = 2\n",
        CRAWL.format(rates="[1.0]").replace("round-robin", "r" * HUGE),
        f"run.seed = 0x{'f' * 10_000}\n{CRAWL.format(rates='[1.0]')}",
        f'judged = ["{"m" * HUGE}"]\n{CRAWL.format(rates="[1.0]")}',
    ],
    ids=[
        *("key", "quoted key", "value", "key of a table", "column", "entry of a file", "title"),
        *("name", "key twice", "policy", "number", "measure"),
    ],
)
def test_a_refusal_is_short(text: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"rate\n{'x' * 100_000}\n")
    said = refusal(tmp_path, text)
    assert len(said) < 2000
    assert said.count("\n") <= 2


def test_a_long_argument_is_shortened(crawlsim: Any) -> None:
    long = "x" * 100_000
    for arguments in (
        ["run", long],
        ["run", "one-robot", "--set", f"{long}=1"],
        ["run", "one-robot", f"--{long}"],
        ["run", "one-robot", "--seed", long],
        [long],
        ["formulas", long],
        ["scenarios", long],
        ["fit", long],
        ["fit", "trace.csv", "--kind", long],
        ["optimize", "one-robot", "--target", long],
    ):
        code, out, err = crawlsim(*arguments)
        assert (code, out) == (2, "")
        assert len(err) < 5000


def test_a_long_entry_of_a_trace_is_shortened(crawlsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    long = "p" * 100_000
    rows = [f"{name}{long},{n}\n{long},{'t' * 9999}\n" for n in range(9) for name in "ab"]
    path.write_text("".join(["page,time\n", *rows]))
    code, out, err = crawlsim("fit", str(path))
    assert code == 0
    assert len(out) + len(err) < 5000


# What was meant


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("run four-robot", "four-robots-one-threshold"),
        ("scenarios four-robot", "four-robots-one-threshold"),
        ("formulas talin2001", "talim2001"),
        ("optimize one-robot --target statik", "static"),
        ("check one-robot --precision .1 --measure loss_probabilty", "loss_probability"),
        ("sweep one-robot --vary run.seed=1,2 --minimise los_rate", "loss_rate"),
        ("run one-robot --engine simpi", "simpy"),
        ("fit trace.csv --kind crawl", "crawls"),
        ("fit trace.csv --time-unit days", "day"),
        ("run pipeline-light --set robots.accessing.policy=wittle", '"whittle"'),
        ("run pipeline-light --set robots.accessing.policy=WHITTLE", '"whittle"'),
        ("run pipeline-light --set robots.accessing.frequencies=unifrm", '"uniform"'),
        ("run pipeline-light --set pages.weights=chang-rate", '"change-rate"'),
        ("run one-robot --set activation.optimal=statik", '"static"'),
        ("run one-robot --set buffer.discipline=fif", '"fifo"'),
        ("run one-robot --set buffer.when_full=pushout", '"push-out"'),
        ("run one-robot --set buffer.admission=partil", '"partial"'),
        ("run dbworld-uniform --set probing.policy=unifrm", '"uniform"'),
        ('run one-robot --set judged=["los_rate"]', "loss_rate"),
        ("run routing-two-servers --set servers.discipline=preemtive", '"preemptive"'),
        ("run routing-two-servers --set servers.routing=optimum", '"optimal"'),
    ],
    ids=lambda text: text.replace("--", "").replace('"', ""),
)
def test_a_misspelt_value_gets_the_one_that_was_meant(
    crawlsim: Any, arguments: str, meant: str
) -> None:
    code, _, err = crawlsim(*arguments.split())
    assert code == 2
    assert f"did you mean {meant}?" in err


def test_what_looks_like_nothing_known_gets_no_hint() -> None:
    assert most_like("xyz", ["whittle", "uniform"]) is None
    assert most_like(["whittle"], ["whittle"]) is None
    assert most_like("w" * 1_000_000, ["whittle"]) is None
    assert most_like("whi", ["whittle", "white-noise"]) == "whittle"


def test_numbers_by_class_are_shown_as_the_file_has_them() -> None:
    assert brief([ByName({"near": 1, "far": 9})]) == "[{ near = 1, far = 9 }]"


# What was meant


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"buffer.service": 0.4}, "buffer.service", "write { exponential = { mean = 0.4 } }; "),
        ({"buffer.service": "gamma"}, "buffer.service", "gamma = { mean = …, shape = … } }; "),
        ({"buffer.service": {"exponential": 0.4}}, "exponential", ", such as { mean = 0.4 }"),
        ({"robots.failure": 0.05}, "robots.failure", "such as { probability = 0.05 }"),
        ({"robots.accessing": {"due": {"intervals": 1}}}, "due", "write policy = { due = { … } }"),
        ({"robots.accessing": {"whittle": True}}, "whittle", 'write policy = "whittle"'),
        ({"robots.accessing": "due"}, "accessing", 'write { policy = "due" }'),
        ({"robots.failure.probability": 5}, "probability", "must be < 1; 5 % is 0.05"),
        ({"robots.failure.probability": 1}, "probability", "must be < 1"),
        ({"buffer.sojourn_quantiles": [95.0]}, "quantiles[0]", "must be < 1; 95 % is 0.95"),
        ({"buffer.service": {"gamma": {"mean": 1, "sd": 0}}}, "sd", "write deterministic = {"),
        ({"buffer.indexers": 3}, "buffer.indexers", "did you mean servers in [buffer]?"),
        ({"buffer.patience": 3}, "buffer.patience", "did you mean obsolescence in [buffer]?"),
        ({"buffer.service": {"uniform": 1}}, "uniform", ", such as { low = 1, high = … }"),
        ({"buffer.K": 3}, "buffer.K", "those in service are not counted there"),
        (
            {"buffer.capacity": 3},
            "buffer.capacity",
            "did you mean waiting_places in [buffer]? those in service are not counted there",
        ),
        (
            {"buffer.quantiles": [0.5]},
            "buffer.quantiles",
            "did you mean sojourn_quantiles in [buffer]?",
        ),
        (
            {"buffer.service": {"mixture": {"weights": [0.5, 0.5], "of": []}}},
            "mixture.weights",
            "did you mean probabilities in [buffer.service.mixture]?",
        ),
        (
            {"buffer.service": {"pareto": {"mean": 3.0, "scale": 2.0}}},
            "pareto.scale",
            "write pareto = { mean = 3, shape = 3 }",
        ),
        ({"activation": "static"}, "activation", "must be a table with exactly one of the keys"),
    ],
)
def test_a_refusal_says_what_to_write_instead(
    changes: dict[str, object], key: str, says: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        load("one-robot", changes)
    assert caught.value.key.endswith(key)
    assert says in caught.value.allowed
    assert caught.value.allowed.endswith(says) or says.endswith(("; ", "{", "keys"))


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"robots.available": 10}, "robots.available", 10),
        ({"activation.static": {"fast": 2, "slow": 9}}, "activation.static.slow", 9),
        ({"activation.static": [3, 1]}, "activation.static[0]", 3),
        ({"robots.classes.1.name": "fast"}, "robots.classes[1].name", "fast"),
    ],
)
def test_what_is_wrong_with_classes_is_named(
    changes: dict[str, object], key: str, value: object
) -> None:
    with pytest.raises(ScenarioError) as caught:
        load("fast-and-slow-robots", changes)
    assert (caught.value.key, caught.value.value) == (key, value)


def test_classes_are_changed_by_number_and_take_the_place_of_a_number_of_robots() -> None:
    changed = load("fast-and-slow-robots", {"robots.classes.1.available": 6})
    assert changed.robots is not None
    assert changed.robots.available == 8
    alike = {"available": 3, "access_time": {"exponential": {"mean": 1.0}}}
    replaced = load("one-robot", {"robots.classes": [alike]})
    assert replaced.robots is not None
    assert replaced.robots.available == 3
