"""The command `fit`: its files load, run, solve and check; what is refused leaves nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scenarios import dumps, load

DAY = np.datetime64("2026-01-05")  # a Monday


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One small trace of each kind."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(20)
    lines = ["page,time"]
    for page, rate in enumerate((0.2, 0.5, 1.0, 2.0)):
        times = np.append(0.0, np.sort(rng.uniform(0, 70, rng.poisson(70 * rate))))
        seconds = (times * 86400).astype("timedelta64[s]")
        lines += [f"page-{page},{time}Z" for time in np.datetime_as_string(DAY + seconds)]
    Path("changes.csv").write_text("\n".join(lines))
    crawls = ["page,time,changed"]
    for page, rate in enumerate((0.1, 0.5, 1.0)):
        found = rng.random(40) < -np.expm1(-rate)
        crawls += [f"{page},{time},{int(each)}" for time, each in enumerate(found)]
    Path("crawls.csv.gz").write_bytes(gzip.compress("\n".join(crawls).encode()))
    times = np.cumsum(rng.exponential(np.where(rng.random(2000) < 0.1, 8.0, 0.5)) + 0.01)
    pages = [f"{start + 1e-6 * n:.9f}" for start in times for n in range(rng.integers(1, 4))]
    Path("deliveries.csv").write_text("\n".join(["time", *pages]))
    sizes = rng.exponential(np.where(rng.random(500) < 0.1, 9e4, 1e4))
    Path("sizes.csv").write_text("\n".join(["bytes", *map(str, sizes)]))
    return tmp_path


KINDS = {
    "changes.csv": (),
    "changes.csv (source)": ("--section", "source", "--pieces", "14"),
    "crawls.csv.gz": (),
    "deliveries.csv": (),
    "sizes.csv": ("--mean", "0.5"),
    "sizes.csv (obsolescence)": ("--section", "obsolescence"),
    "sizes.csv (access_time)": ("--section", "access_time"),
}

FIGURES = {"ch": 3, "cr": 2, "de": 3, "si": 1}


@pytest.mark.by_day(
    besides=(
        "deliveries.csv",
        "sizes.csv",
        "sizes.csv (access_time)",
        "changes.csv",
        "sizes.csv (obsolescence)",
        "crawls.csv.gz",
    )
)
@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize("kind", KINDS)
def test_the_written_scenario_works_everywhere(kind: str, crawlsim: Any) -> None:
    trace = kind.split()[0]
    code, out, err = crawlsim("fit", trace, *KINDS[kind], "--out", "made.toml")
    assert code == 0, err
    assert ("time in" in out) == (not trace.startswith("sizes"))
    assert trace in out
    assert "written: made.toml" in err
    short = ("--replications", "3")
    for command in (("solve", "made.toml"), ("run", "made.toml", *short)):
        assert crawlsim(*command)[0] == 0
    code, out, _ = crawlsim("check", "made.toml", *short, "--json")
    assert code == 0
    assert json.loads(out)[0]["comparisons"]


def test_json_is_one_document_with_everything(traces: Path, crawlsim: Any) -> None:
    path = traces / "changes.csv"
    path.write_text(path.read_text() + "\npage-9,nonsense\npage-9")
    code, out, err = crawlsim("fit", "changes.csv", "--json", "--time-unit", "week")
    found = json.loads(out)
    assert code == 0
    assert (found["kind"], found["section"], found["time_unit"]) == ("changes", "pages", "week")
    assert found["broken"]["count"] == 2
    assert "2 of" in err
    assert "nonsense" in err
    rates = {each["subject"]: each for each in found["parameters"]}
    assert found["changes"]["pages.change_rates"] == [each["estimate"] for each in rates.values()]
    for page, rate in enumerate((0.2, 0.5, 1.0, 2.0)):
        row = rates[f"page-{page}"]
        assert row["low"] < row["estimate"] < row["high"]
        assert row["estimate"] == pytest.approx(7 * rate, rel=0.5)


@pytest.mark.usefixtures("traces")
def test_a_part_of_a_scenario_is_replaced(crawlsim: Any) -> None:
    """And nothing else of it; the trace is read in the time unit of the scenario."""
    base = load("four-robots-one-threshold").with_({"time_unit": "hour"})
    Path("base.toml").write_text(dumps(base))
    for trace, key in (("sizes.csv", "buffer"), ("deliveries.csv", "robots")):
        made = f"{key}.toml"
        assert crawlsim("fit", trace, "--into", "base.toml", "--out", made)[0] == 0
        before = base.as_file()
        after = load(made).as_file()
        changed = {name for name in after if after[name] != before[name]}
        assert changed == {key}
    after = load("robots.toml")
    assert after.robots is not None
    assert after.robots.deliveries is not None
    assert after.robots.deliveries.robots == after.robots.available == 4
    assert after.robots.access_time is None
    source = load("dbworld-uniform").with_("time_unit", "day")
    Path("source.toml").write_text(dumps(source))
    code, out, _ = crawlsim("fit", "changes.csv", "--into", "source.toml", "--json")
    assert code == 0
    assert json.loads(out)["section"] == "source"


@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize("trace", ["changes.csv", "crawls.csv.gz"])
def test_fitted_pages_can_be_optimised_as_written(trace: str, crawlsim: Any) -> None:
    assert crawlsim("fit", trace, "--out", "made.toml")[0] == 0
    code, out, err = crawlsim("optimize", "made.toml", "--target", "frequencies", "--json")
    assert code == 0, err
    assert json.loads(out)


@pytest.mark.usefixtures("traces")
def test_pages_keep_their_names(crawlsim: Any) -> None:
    assert crawlsim("fit", "changes.csv", "--out", "made.toml")[0] == 0
    pages = load("made.toml").pages
    assert pages is not None
    assert pages.names == tuple(f"page-{page}" for page in range(4))
    assert crawlsim("fit", "changes.csv", "--out", "made.toml")[0] == 0  # its own file


@pytest.mark.usefixtures("traces")
def test_shares_that_robots_keep_are_kept(crawlsim: Any) -> None:
    base = load("batches").with_({"time_unit": "hour"})
    Path("base.toml").write_text(dumps(base))
    code, out, err = crawlsim("fit", "deliveries.csv", "--into", "base.toml", "--out", "made.toml")
    assert code == 0, err
    assert f"Replaced in {base.name}: robots.deliveries." in out
    before, after = (
        each.as_file()["robots"]["deliveries"]["thinned"] for each in (base, load("made.toml"))
    )
    assert after["keep"] == before["keep"]
    assert after["process"] != before["process"]


@pytest.mark.thorough
@pytest.mark.usefixtures("traces")
def test_a_report_holds_figures_and_notes(crawlsim: Any) -> None:
    for kind, options in KINDS.items():
        arguments = (kind.split()[0], *options, "--report", "fit.html")
        code, _, err = crawlsim("fit", *arguments)  # its own page may be replaced
        assert code == 0, err
        page = Path("fit.html").read_text()
        without_scales = kind.endswith("(source)")  # ten weeks hold too few of them
        assert page.count("<svg") == FIGURES[kind[:2]] - without_scales
        assert "<script" not in page
    before = page
    assert crawlsim("fit", *arguments)[0] == 0
    assert Path("fit.html").read_text() == before


@pytest.mark.usefixtures("traces")
def test_crawl_logs_show_all_estimators_page_by_page(crawlsim: Any) -> None:
    _, out, _ = crawlsim("fit", "crawls.csv.gz", "--time-unit", "second", "--rates", "likelihood")
    lines = [line.split() for line in out.splitlines()]
    head, *rows = [
        line for line in lines if line[-1:] == ["unit"] or line[-2:] == ["per", "second"]
    ]
    assert head[0] == "page"
    assert "bias-reduced" in head
    assert "naive" in head
    found = {row[0]: [float(each) for each in row[1:-2]] for row in rows[:3]}
    _, out, _ = crawlsim("fit", "crawls.csv.gz", "--rates", "likelihood", "--json")
    for each in json.loads(out)["parameters"]:
        column = {"change_rate": 0, "bias_reduced_rate": 4, "naive_rate": 5}[each["parameter"]]
        assert found[each["subject"]][column] == pytest.approx(each["estimate"], rel=1e-5)


@pytest.mark.usefixtures("traces")
def test_what_is_there_already_is_said_to_be_the_same(crawlsim: Any) -> None:
    _, out, _ = crawlsim("fit", "sizes.csv", "--into", "one-robot", "--out", "made.toml")
    assert "Replaced in one-robot: buffer.service." in out
    _, out, _ = crawlsim("fit", "sizes.csv", "--into", "made.toml")
    assert "Nothing to replace in one-robot: buffer.service is already the same." in out


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        (("changes.csv", "--into", "one-robot", "--section", "pages"), "pages"),
        (("changes.csv", "--into", "one-robot", "--section", "source"), "source"),
        (("sizes.csv", "--into", "dbworld-uniform"), "buffer"),
        (("deliveries.csv", "--into", "dbworld-uniform"), "robots"),
    ],
)
@pytest.mark.usefixtures("traces")
def test_a_scenario_without_the_section_is_refused_with_a_way_out(
    arguments: tuple[str, ...], table: str, crawlsim: Any
) -> None:
    code, _, err = crawlsim("fit", *arguments, "--time-unit", "day")
    assert code == 2
    assert f'--into = "{arguments[2]}"' in err
    assert f"has no [{table}]" in err
    assert f"give one with [{table}]" in err
    assert "leave --into out" in err


@pytest.mark.usefixtures("traces")
def test_the_report_folds_many_pages_the_fastest_first(crawlsim: Any) -> None:
    rng = np.random.default_rng(21)
    rows = [f"p{page},{time}" for page in range(60) for time in rng.uniform(0, 99, 5 + page)]
    Path("many.csv").write_text("\n".join(["page,time", *rows]))
    assert crawlsim("fit", "many.csv", "--time-unit", "day", "--report", "many.html")[0] == 0
    page = Path("many.html").read_text()
    folded = page.index("<summary>Parameters")
    assert page.index("<summary>Scenario file") < folded
    cells = [part.split("</td>")[0] for part in page[folded:].split('<td class="n">')[1::4]]
    values = [float(each) for each in cells]
    assert len(values) == 60
    assert values == sorted(values, reverse=True)
    assert crawlsim("fit", "sizes.csv", "--report", "few.html")[0] == 0
    assert "<summary>Parameters" not in Path("few.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.csv",), "cannot be read"),
        (("changes.csv", "--kind", "pages"), "changes, crawls, deliveries or sizes"),
        (("changes.csv", "--time-unit", "month"), "must be second, minute"),
        (("crawls.csv.gz", "--time-unit", "fortnight"), "must be second, minute"),
        (("changes.csv", "--section", "service"), "must be pages or source"),
        (("changes.csv", "--mean", "2"), "does not go with"),
        (("changes.csv", "--section", "source", "--breaks", "0,x"), "must be numbers"),
        (("changes.csv", "--section", "source", "--breaks", "1,2"), "must begin with 0"),
        (("changes.csv", "--since", "soon"), "must be a date"),
        (("changes.csv", "--kind", "crawls"), "need a column digest or changed"),
        (("changes.csv", "--into", "dbworld-uniform", "--section", "pages"), "several systems"),
        (("sizes.csv", "--rate", "2", "--mean", "1"), "does not go with --rate"),
        (("sizes.csv", "--into", "dbworld-uniform"), "buffer"),
        (("deliveries.csv", "--process", "bmap"), "poisson, renewal, map or mmpp"),
        (("deliveries.csv", "--batch-gap", "1000"), "too few"),
        (("changes.csv", "--report", "page.pdf"), "must end in .html"),
        (("changes.csv", "--out", "changes.csv"), "was not written by crawlsim"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(
    traces: Path, arguments: tuple[str, ...], said: str, crawlsim: Any
) -> None:
    before = {path: path.read_bytes() for path in traces.iterdir()}
    out = () if "--out" in arguments else ("--out", "made.toml")
    code, shown, err = crawlsim("fit", *arguments, *out)
    assert code == 2, err
    assert said in err
    assert shown == ""
    assert len(err.strip().splitlines()) <= 4
    assert {path: path.read_bytes() for path in traces.iterdir()} == before
