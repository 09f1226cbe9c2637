"""The command `frequencies`: files in, files out, and what it refuses."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from numpy.typing import NDArray

from analytic.machinery import progress
from analytic.page_refresh import best_shares
from crawlsim import best_frequencies, page_files
from crawlsim.page_tables import claim_table
from scenarios import ScenarioError, load
from scenarios.laws import Deterministic

PAGES = 5000
DRAW = np.random.default_rng(7)
RATES = DRAW.lognormal(-2.0, 2.0, PAGES)
WEIGHTS = DRAW.random(PAGES)


def parquet(folder: Path, **columns: NDArray[Any]) -> str:
    """A file of several row groups."""
    table = pyarrow.table(columns or {"change_rate": RATES, "weight": WEIGHTS})
    path = folder / "pages.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=1100)
    return str(path)


def array(folder: Path, numbers: NDArray[Any]) -> str:
    path = folder / "pages.npy"
    np.save(path, numbers)
    return str(path)


def expected(accesses: float, weights: NDArray[Any] = WEIGHTS) -> NDArray[Any]:
    found: NDArray[Any] = best_shares(RATES, weights, Deterministic(value=1.0 / accesses))
    return found


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_frequencies_of_a_file(
    crawlsim: Any, tmp_path: Path, kind: str, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_files, "_IN_A_PART", 700)
    if kind == "parquet":
        words = [parquet(tmp_path), "--weight", "weight"]
    else:
        words = [array(tmp_path, np.column_stack([RATES, WEIGHTS]))]
    out = tmp_path / f"best.{kind}"
    words += ["--accesses", "800", "--out", str(out), "--jobs", jobs, "--json"]
    code, printed, err = crawlsim("frequencies", *words)
    assert code == 0, err
    if kind == "parquet":
        found = pyarrow.parquet.read_table(out)["frequency"].to_numpy()
    else:
        found = np.load(out)
    assert np.abs(found - expected(800.0)).sum() < 1e-12
    record = json.loads(printed)
    assert record["pages"] == PAGES
    assert record["without_accesses"] == np.count_nonzero(found == 0) > 0
    assert abs(record["sum"] - 1.0) < 1e-12
    weight = record["weighted_obsolescence"] / record["share_out_of_date"]
    assert abs(weight / WEIGHTS.sum() - 1.0) < 1e-12
    assert [each.name for each in tmp_path.iterdir() if "unfinished" in each.name] == []


def test_passes_say_which_they_are_and_not_how_long_the_others_take(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many there will be is known about, not before."""
    monkeypatch.setattr(page_files, "_IN_A_PART", 700)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    _, shown, err = crawlsim("frequencies", array(tmp_path, RATES), "--accesses", "800")
    taken = int(shown.partition("read ")[2].split()[0])
    assert "% of the time, by weight; weighted obsolescence: " in shown
    passes, last = err.split("crawlsim: pages: ", 1)
    said = list(dict.fromkeys(re.findall(r"pass (\d+) of about (\d+) over", passes)))
    assert [int(number) for number, _ in said] == list(range(1, taken))
    assert {int(about) for _, about in said} == {max(6, taken)}
    assert " left" not in passes
    assert "s left" in last


def test_one_page_is_not_called_pages(crawlsim: Any, tmp_path: Path) -> None:
    one = array(tmp_path, np.array([[0.0, 1.0], [1.0, 1.0]]))
    _, shown, _ = crawlsim("frequencies", one, "--accesses", "1")
    assert "2 pages, 1 access per unit of time" in shown
    assert "never accessed: 1 page, 50 %" in shown


def test_weights_are_1_where_none_are_given(crawlsim: Any, tmp_path: Path) -> None:
    out = tmp_path / "best.npy"
    path = array(tmp_path, RATES.astype(np.float32))
    code, printed, err = crawlsim("frequencies", path, "--accesses", "50", "--out", str(out))
    assert code == 0, err
    assert "5,000 pages, 50 accesses per unit of time" in printed
    rates = RATES.astype(np.float32).astype(float)
    right = best_shares(rates, np.ones(PAGES), Deterministic(value=0.02))
    assert np.abs(np.load(out) - right).sum() < 1e-12


def test_bad_input_is_named(crawlsim: Any, tmp_path: Path) -> None:
    good = parquet(tmp_path)
    text = parquet_of_texts(tmp_path)
    missing = np.where(np.arange(PAGES) == 4321, np.nan, RATES)
    cases = {
        (good, "--rate", "rate"): "--rate: change_rate or weight",
        (good, "--weight", "w"): "--weight",
        (text, "--rate", "change_rate"): "must be a column of numbers, not string",
        (array(tmp_path, missing),): "change rate: page 4321 (counted from 0)",
        (str(tmp_path / "none.npy"),): "cannot be read: No such file",
        (str(tmp_path / "pages.txt"),): "must end in .parquet",
        (good, "--out", good): "exists and was not written by crawlsim",
        (good, "--out", str(tmp_path / "best.csv")): "must end in .parquet",
        (good, "--cluster", "tcp://127.0.0.1:1", "--jobs", "2"): "does not go with --cluster",
    }
    for words, said in cases.items():
        code, _, err = crawlsim("frequencies", *words, "--accesses", "10")
        assert code == 2, words
        assert said.split(": ")[-1] in err, err
    before = sorted(tmp_path.iterdir())
    out = ("--out", str(tmp_path / "new.npy"))
    path = str(tmp_path / "pages.npy")
    assert crawlsim("frequencies", path, "--accesses", "10", *out)[0] == 2
    assert sorted(tmp_path.iterdir()) == before
    (tmp_path / "empty.npy").touch()
    twice = tmp_path / "twice.parquet"
    columns = pyarrow.table([RATES, RATES], names=["change_rate", "change_rate"])
    pyarrow.parquet.write_table(columns, twice)
    cases = {"empty.npy": "cannot be read", "twice.parquet": "must be one column, not 2"}
    for name, said in cases.items():
        code, _, err = crawlsim("frequencies", str(tmp_path / name), "--accesses", "10")
        assert (code, said in err) == (2, True), err
    damaged = Path(parquet(tmp_path))
    content = bytearray(damaged.read_bytes())
    content[10:2000] = bytes(1990)
    damaged.write_bytes(content)
    code, _, err = crawlsim("frequencies", str(damaged), "--accesses", "10", *out)
    assert (code, "cannot be read" in err) == (2, True), err
    assert not (tmp_path / "new.npy").exists()
    for shape in ((3, 3), (0,), (2, 2, 2)):
        code = crawlsim("frequencies", array(tmp_path, np.ones(shape)), "--accesses", "1")[0]
        assert code == 2


def parquet_of_texts(folder: Path) -> str:
    path = folder / "texts.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"change_rate": ["1", "2"]}), path)
    return str(path)


def test_what_is_missing_in_parquet_is_no_number(crawlsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    table = pyarrow.table({"change_rate": pyarrow.array([1.0, None, 2.0])})
    pyarrow.parquet.write_table(table, path)
    code, _, err = crawlsim("frequencies", str(path), "--accesses", "1")
    assert code == 2
    assert "page 1 (counted from 0)" in err


@pytest.mark.thorough
def test_a_cluster_changes_no_bit(crawlsim: Any, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    path = parquet(tmp_path)
    given = [path, "--weight", "weight", "--accesses", "800", "--out"]
    outs = [tmp_path / "alone.npy", tmp_path / "together.npy"]
    assert crawlsim("frequencies", *given, str(outs[0]))[0] == 0
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        words = [*given, str(outs[1]), "--cluster", cluster.scheduler_address]
        code, _, err = crawlsim("frequencies", *words)
    assert code == 0, err
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_classes_of_pages_are_their_pages(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if each page had its row, however the pages of a class are taken apart."""
    monkeypatch.setattr(page_files, "_IN_A_PART", 700)
    path = tmp_path / "classes.csv"
    rows = ["news,1000,6", "shops,3e3,0.5", "archive,2000,0.01"]
    path.write_text("\n".join(["class,pages,rate", *rows]))
    code, out, err = crawlsim("frequencies", str(path), "--accesses", "4000", "--json")
    assert code == 0, err
    found = json.loads(out)
    rates = np.repeat([6.0, 0.5, 0.01], [1000, 3000, 2000])
    best = 4000 * best_shares(rates, np.ones(6000), Deterministic(value=1 / 4000))
    wanted = [float(best[first]) for first in (0, 1000, 4000)]
    assert [each["class"] for each in found["classes"]] == ["news", "shops", "archive"]
    assert [each["accesses_per_page"] for each in found["classes"]] == pytest.approx(wanted)
    stale = [
        1.0 if not each else 1 - each / rate * -np.expm1(-rate / each)
        for each, rate in zip(wanted, (6.0, 0.5, 0.01), strict=True)
    ]
    assert [each["stale"] for each in found["classes"]] == pytest.approx(stale)
    assert found["stale"] == pytest.approx(np.repeat(stale, [1000, 3000, 2000]).mean())
    assert found["pages"] == 6000
    assert "news: " in crawlsim("frequencies", str(path), "--accesses", "4000")[1]
    for row, said in (
        ("a,1,x", "of class a must be a number, 0 or more"),
        ("a,1.5,1", "of class a must be a whole number"),
        ("a,1", "must be a number"),
    ):
        path.write_text(f"class,pages,rate\n{row}\n")
        code, _, err = crawlsim("frequencies", str(path), "--accesses", "1")
        assert (code, said in err) == (2, True), err
    path.write_text("class,rate\na,1\n")
    assert crawlsim("frequencies", str(path), "--accesses", "1")[0] == 2


@pytest.mark.parametrize("accesses", [0.0, -1.0, 1e-60, 1e60, float("nan")])
def test_accesses_beyond_what_is_reckoned_with_are_refused(accesses: float, tmp_path: Path) -> None:
    path = array(tmp_path, np.ones(3))
    least, most = best_frequencies.LIMITS
    with pytest.raises(ScenarioError) as error:
        best_frequencies.frequencies(path, accesses)
    assert str(error.value) == (
        f"accesses = {accesses}\nmust be a number from {least:g} to {most:g}"
    )
    for some in (least, most):
        assert best_frequencies.frequencies(path, some).accesses == some


def test_parquet_needs_its_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = parquet(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ScenarioError) as error:
        page_files.parts_of(path, "change_rate", None)
    assert str(error.value) == (
        f"{path}\nis Parquet, which needs more packages: pip install 'crawlsim[parquet]'"
    )
    with pytest.raises(ScenarioError) as error:
        claim_table(tmp_path / "x.parquet", load("randomized-constant"))
    assert (error.value.key, error.value.allowed) == (
        "--pages",
        "needs the extra crawlsim[parquet]",
    )
