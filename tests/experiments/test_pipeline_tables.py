"""The tables of docs/pipeline.md are what its two scripts compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import pipeline_examples, pipeline_tables

ROOT = Path(__file__).parents[2]
WRONG = {
    "exact": (0.246992, 0.586987, 0.944613),
    "index refreshed at delivery": (0.167465, 0.334475, 0.626352),
    "… at the start of service": (0.231932, 0.545686, 0.916920),
    "content taken at the start of service": (0.183753, 0.394798, 0.750636),
    "losses ignored": (0.177928, 0.504390, 0.920023),
    "decomposition": (0.247430, 0.588082, 0.945287),
    "no buffer at all": (0.090909, 0.200000, 0.454545),
}
STOPPED = {8: (0.4179, 0.4409), 10: (0.3986, 0.5217), 16: (0.3743, 0.6391)}
STOPPED |= {30: (0.3537, 0.6508), 100: (0.3352, 0.6544)}


def test_what_wrong_models_give() -> None:
    found = pipeline_tables.wrong_models()
    assert list(found) == list(WRONG)
    for name, values in WRONG.items():
        assert found[name] == pytest.approx(values, abs=5e-7), name


@pytest.mark.parametrize("robots", STOPPED)
def test_fetching_when_the_buffer_is_short(robots: int) -> None:
    """To the printed digits, and no other level is better."""
    best = pipeline_tables.BEST_LEVELS[robots]
    stopped, always = STOPPED[robots]
    assert pipeline_tables.up_to(robots, best) == pytest.approx(stopped, abs=5e-5)
    assert pipeline_tables.example(robots) == pytest.approx(always, abs=5e-5)
    others = [
        pipeline_tables.up_to(robots, level) for level in (0, 1, 2, 3, 4, 6, 20) if level != best
    ]
    assert min(others) > stopped
    assert (max(others) == others[-1]) == (robots > 8)


@pytest.mark.thorough
def test_the_document_has_these_tables() -> None:
    """Every number that the script prints is in the document, in its rows."""
    page = (ROOT / "docs/pipeline.md").read_text().replace("*", "")
    rows = [line.split(" | ", 1)[1] for line in pipeline_tables.lines() if "0." in line]
    shown = [row for row in rows if "level" not in row and "never" not in row]
    assert len(shown) == 16
    for row in shown[:7] + shown[-4:]:
        assert row.replace("0.", ".") in page, row
    for robots, values in STOPPED.items():
        for value in values:
            assert f"{value:.4f}"[1:] in page, robots


@pytest.mark.nightly
def test_the_document_has_the_examples() -> None:
    """Every row of robots, buffers, frequencies, loads, weights and full buffers."""
    page = (ROOT / "docs/pipeline.md").read_text().replace("*", "")
    rows = [line for line in pipeline_examples.lines() if "K" not in line]
    assert len(rows) == 1 + 3 + 1 + 4 + 2 + 5 + 5 + 5
    for row in rows:
        assert row.removesuffix(" |").replace(" 0.", " .") in page, row
