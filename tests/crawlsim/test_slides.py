"""The files of ``--figures``: slides of what was run, checked, swept and optimised."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from systems import queue

from crawlsim.cli import main
from crawlsim.report.drawing import as_slide, axes_for, dress
from scenarios import dumps

SHORT = ["--set", "run.horizon=60.0", "--set", "run.warmup=5.0", "--replications", "2"]


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue()))
    return str(path)


@pytest.fixture
def crawlsim(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        return int(stop.value.code or 0), capsys.readouterr().err

    return call


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.parametrize("size", [(4.4, 2.8), (8.8, 3.0), (4.4, 9.0)])
def test_a_slide_is_16_to_9_with_nothing_below_12_points(size: tuple[float, float]) -> None:
    ax = axes_for(None)
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.set_size_inches(size)
    dress(ax, "time (day)", "share")
    ax.inset_axes((0.2, 0.2, 0.3, 0.3)).plot([1.0, 2.0])
    ax.annotate("a page", (0.5, 0.5), fontsize=6)
    as_slide(figure)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert width / height == pytest.approx(16 / 9)
    assert width >= max(8.0, size[0])
    assert height >= max(4.5, size[1])
    written = [text for text in figure.findobj(Text) if text.get_text()]
    assert {"time (day)", "a page"} <= {text.get_text() for text in written}
    assert min(text.get_fontsize() for text in written) == 12.0


@pytest.mark.thorough
def test_a_check_draws_each_of_its_figures(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    slides = tmp_path / "slides"
    code, said = crawlsim("check", scenario_file, *SHORT, "--figures", str(slides))
    assert code in (0, 1)
    assert names_in(slides) == {"queue-differences.svg", "queue-levels.svg", "provenance.json"}
    assert "queue-levels.svg: How many pages are in the system." in said
    width, height = map(
        float,
        re.search(r'viewBox="0 0 (\S+) (\S+)"', (slides / "queue-levels.svg").read_text()).groups(),
    )
    assert width / height == pytest.approx(16 / 9)
    record = json.loads((slides / "provenance.json").read_text())
    assert record["runs"][0]["replications"] == 2
    before = {name: (slides / name).read_bytes() for name in names_in(slides) if "svg" in name}
    crawlsim("check", scenario_file, *SHORT, "--figures", str(slides))
    assert all((slides / name).read_bytes() == content for name, content in before.items())


@pytest.mark.thorough
def test_many_differences_are_no_smaller_on_a_slide(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    slides = tmp_path / "slides"
    crawlsim("check", scenario_file, *SHORT, "--figures", str(slides))
    text = (slides / "queue-differences.svg").read_text()
    (shown,) = re.findall(r"10 largest of (\d+)", text)
    assert int(shown) > 10
    width = re.search(r'viewBox="0 0 (\S+) ', text).group(1)
    assert float(width) <= 1.1 * 8 * 72


def test_a_sweep_draws_each_measure_by_itself(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    slides = tmp_path / "slides"
    vary = ["--vary", "buffer.waiting_places=1,2", "--vary", "run.seed=1,2"]
    asked = ["--figures", str(slides), "--format", "png", "--measure", "loss_probability"]
    assert crawlsim("sweep", scenario_file, *SHORT, *vary, *asked)[0] == 0
    drawn = {"queue-loss-probability-lines.png", "queue-loss-probability-heat.png"}
    assert names_in(slides) == drawn | {"provenance.json"}
    size = Image.open(slides / "queue-loss-probability-lines.png").size
    assert np.divide(*size) == pytest.approx(16 / 9, rel=0.01)


def test_optimize_draws_a_slide_and_writes_a_report(crawlsim: Any, tmp_path: Path) -> None:
    page = tmp_path / "best.html"
    asked = ["--figures", str(tmp_path / "slides"), "--format", "pdf", "--report", str(page)]
    assert crawlsim("optimize", "optimal-thresholds", "--target", "threshold", *asked)[0] == 0
    drawn = (tmp_path / "slides/optimal-thresholds-threshold.pdf").read_bytes()
    assert drawn.startswith(b"%PDF")
    text = page.read_text()
    assert "<h1>Best threshold: robots = [4, 3, 1], at = [1, 3]</h1>" in text
    assert '<tr class="best"><td>4, 3, 1</td><td>1, 3</td><td>87.2725</td>' in text
    assert "threshold (pages in the system)" in text
    assert "<script" not in text
    assert crawlsim("optimize", "optimal-thresholds", "--target", "threshold", *asked)[0] == 0
    assert page.read_text() == text


@pytest.mark.parametrize("command", ["run", "check", "sweep"])
def test_a_foreign_picture_and_the_folder_of_out_are_refused_before_any_work(
    crawlsim: Any, scenario_file: str, tmp_path: Path, command: str
) -> None:
    vary = ["--vary", "run.seed=1,2"] if command == "sweep" else []
    slides = tmp_path / "slides"
    slides.mkdir()
    (slides / "holiday.svg").write_text("<svg/>")
    code, said = crawlsim(command, scenario_file, *vary, "--figures", str(slides))
    assert (code, "holiday.svg there was not written by crawlsim" in said) == (2, True)
    assert said.startswith("crawlsim: --figures = ")
    code, said = crawlsim(command, scenario_file, *vary, "--format", "png")
    assert (code, "--format" in said, "needs --figures" in said) == (2, True, True)
    both = ["--out", str(tmp_path / "x"), "--figures", str(tmp_path / "y/../x")]
    code, said = crawlsim(command, scenario_file, *vary, *both)
    assert (code, "is the folder of --out" in said) == (2, True)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--report", "best.pdf"], "must end in .html"),
        (["--report", "a.html", "--out", "a.html"], "is the file of --out"),
        (["--figures", "slides", "--format", "gif"], "--format"),
    ],
)
def test_what_optimize_cannot_write_is_refused(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = crawlsim("optimize", "optimal-thresholds", "--target", "threshold", *asked)
    assert (code, said in text) == (2, True)
    assert not [*tmp_path.iterdir()]


def test_names_that_differ_in_a_dash_have_files_of_their_own(crawlsim: Any, tmp_path: Path) -> None:
    files = []
    for name in ("my_queue", "my-queue"):
        files.append(str(tmp_path / f"{name}.toml"))
        Path(files[-1]).write_text(dumps(queue({"name": name})))
    slides = tmp_path / "slides"
    assert crawlsim("run", *files, *SHORT, "--figures", str(slides))[0] == 0
    drawn = {"my_queue-levels.svg", "my-queue-levels.svg"}
    assert names_in(slides) == drawn | {"provenance.json"}
