"""What the server of the live page answers where it cannot answer."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from crawlsim.explore.asking import Refused
from crawlsim.explore.server import _refuse
from scenarios import ScenarioError


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (HTTPException(404, "there is no such picture"), 404, "there is no such picture"),
        (Refused("n must be at least 2"), 400, "n must be at least 2"),
        (Refused("another lesson is open", 409), 409, "another lesson is open"),
        (
            ScenarioError("run.seed", -1, "must be\npositive"),
            400,
            "run.seed = -1 must be positive",
        ),
    ],
)
def test_a_refusal_is_one_sentence_with_its_status(
    error: Exception, status: int, says: str
) -> None:
    response = asyncio.run(_refuse(Request({"type": "http"}), error))
    assert response.status_code == status
    assert bytes(response.body).decode() == says
