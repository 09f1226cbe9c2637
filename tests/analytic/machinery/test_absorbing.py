"""Chains that come to an end, against laws that are known and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import gammainc, gammaincinv

from analytic.machinery import absorbing
from analytic.machinery.absorbing import AbsorbingChain, DenseStages, ends_by_stage
from analytic.machinery.refusal import NoAnswerError

RATE = 2.0
SHARES = np.array([0.75, 0.25])


def erlang(phases: int, pages: float = 1.0) -> AbsorbingChain:
    """So many phases one after the other; at the last one three in four end in the first way."""
    moves = csr_matrix(np.diag([RATE] * (phases - 1), 1))
    ends = np.zeros((phases, 2))
    ends[-1] = RATE * SHARES
    return AbsorbingChain(pages * np.eye(phases)[0], moves, ends)


@pytest.mark.parametrize("phases", [1, 2, 7])
def test_moments_are_those_of_the_erlang_law(phases: int) -> None:
    rising = [math.prod(range(phases, phases + order)) / RATE**order for order in range(4)]
    found = erlang(phases, pages=3.0).moments(3)
    assert found == pytest.approx(3.0 * np.outer(rising, SHARES), rel=1e-13)
    mean = erlang(phases).total(np.ones(phases))
    assert mean == pytest.approx(phases / RATE, rel=1e-14)


@pytest.mark.parametrize("phases", [1, 2, 7])
def test_what_has_ended_and_when(phases: int) -> None:
    times = np.array([[0.0, 0.1], [2.0, 30.0]])
    expected = np.multiply.outer(gammainc(phases, RATE * times), SHARES)
    assert erlang(phases).ended(times) == pytest.approx(expected, rel=1e-13, abs=1e-300)
    quantiles = erlang(phases).quantiles(
        lambda ended: {"all": ended.sum(), "late": 0.5 + ended.sum() / 2}, (0.3, 0.9)
    )
    assert quantiles["all"] == pytest.approx(gammaincinv(phases, [0.3, 0.9]) / RATE, rel=1e-11)
    assert quantiles["late"] == pytest.approx([0.0, gammaincinv(phases, 0.8) / RATE], rel=1e-11)


def test_too_many_jumps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="2e\\+03 jumps are expected up to time 1000; must be"):
        erlang(1).ended(np.array([1000.0]), most=1000)
    monkeypatch.setattr(absorbing, "MOST_JUMPS", 3)
    with pytest.raises(NoAnswerError, match="more than 3 jumps"):
        erlang(7).quantiles(lambda ended: {"all": ended.sum()}, (0.5,))


def test_stages_are_the_chain_of_all_their_states() -> None:
    rng = np.random.default_rng(1)
    stages, size = 4, 3
    within, closer = rng.random((stages, size, size)), rng.random((stages, size, size))
    ends = rng.random((stages, size, 2))
    entries = rng.random((stages, size))
    closer[0] = 0.0
    moves = np.zeros((stages * size, stages * size))
    for stage in range(stages):
        here = slice(stage * size, (stage + 1) * size)
        moves[here, here] = within[stage] - np.diag(np.diag(within[stage]))
        if stage:
            moves[here, (stage - 1) * size : stage * size] = closer[stage]
    chain = AbsorbingChain(entries.ravel(), csr_matrix(moves), ends.reshape(-1, 2))

    def times(stage: int) -> np.ndarray:
        here = slice((stage - 1) * size, stage * size)
        return np.linalg.inv(np.diag(chain.out[here]) - moves[here, here])

    found = ends_by_stage(
        DenseStages(lambda stage: closer[stage], times),
        lambda stage, spent: tuple(spent @ ends[stage - 1]),
        list(entries),
        3,
    )
    assert found * [[1.0], [1.0], [2.0]] == pytest.approx(chain.moments(2), rel=1e-12)
