"""The error by which mathematics refuses a system, and a memory for refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

Given = TypeVar("Given")
Answer = TypeVar("Answer")


class NoAnswerError(ValueError):
    """There is no answer for a system, which is no defect; the text is the reason."""


class Remembered(Generic[Given, Answer]):
    """A function of a system that remembers its last answers, and its refusals too.

    Parameters
    ----------
    function : callable
        It may raise a `NoAnswerError`, perhaps after a long search.
    most : int
        Systems that are remembered.
    """

    def __init__(self, function: Callable[[Given], Answer], most: int = 8) -> None:
        self.__doc__ = function.__doc__

        @lru_cache(maxsize=most)
        def outcome(given: Given) -> tuple[Answer] | str:
            try:
                return (function(given),)
            except NoAnswerError as refusal:
                return str(refusal)

        self._outcome = outcome
        self.cache_clear = outcome.cache_clear

    def __call__(self, given: Given) -> Answer:
        """The answer; a refusal is a `NoAnswerError`, however the function raised it."""
        outcome = self._outcome(given)
        if isinstance(outcome, str):
            raise NoAnswerError(outcome)
        return outcome[0]
