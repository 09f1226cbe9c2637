"""The options ``--fail-if`` and ``--junit``: what alarms say, the exit code, a file for a CI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import click

from crawlsim.alarms import OPTION, Ruling, Verdict, alarms_of, exit_code, require_measures
from crawlsim.bounds import WrittenBound
from crawlsim.cli.options import option
from crawlsim.own_files import IN_MARKUP, claim, signed, write
from scenarios import Scenario, ScenarioError
from scenarios.text import visible

_JUNIT = "--junit"
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
"""What no XML may hold, besides what `visible` shows."""

ALARMS = (
    option(
        f"{OPTION} BOUND",
        "Exit with 1 where this holds by the 95 % interval, e.g. 'loss_probability > 0.01', with 3 "
        "where that cannot be told. Repeatable.",
        "fail_if",
        multiple=True,
    ),
    option(f"{_JUNIT} FILE", "Write what failed as JUnit XML, for a CI."),
)


class Case(NamedTuple):
    """A test case of JUnit.

    Attributes
    ----------
    where, name : str
        The scenario, or the cell of a sweep; what is asked of it.
    problem : str
        "failure", "error" or "skipped"; empty where it passed.
    sentence : str
        What came out.
    """

    where: str
    name: str
    problem: str
    sentence: str


@dataclass(frozen=True)
class Alarms:
    """What the two options ask for.

    Attributes
    ----------
    bounds : sequence of WrittenBound
    junit : Path or None
        A file that was claimed.
    force : bool
        Whether the file of somebody else may be replaced.
    """

    bounds: Sequence[WrittenBound]
    junit: Path | None
    force: bool

    def require(self, scenario: Scenario) -> None:
        """Refuse a scenario without one of the measures, before it is simulated."""
        require_measures(self.bounds, scenario)

    def concluded(
        self,
        command: str,
        rulings: Sequence[Ruling],
        further: Sequence[Case] = (),
        *,
        quiet: bool,
    ) -> int:
        """Say what failed and write the file; the exit code.

        Parameters
        ----------
        command : str
        rulings : sequence of Ruling
        further : sequence of Case
            What the command itself judges; a failure among them counts as one.
        quiet : bool
            Whether stdout is to hold one document.
        """
        for each in rulings:
            if each.verdict != "passes":
                click.echo(each.sentence, err=quiet)
        if rulings:
            counts = Counter(each.verdict for each in rulings)
            said = f"passed {counts['passes']}, failed {counts['fails']}"
            click.echo(f"{OPTION}: {said}, cannot tell {counts['cannot tell']}", err=quiet)
        if self.junit is not None:
            text = _junit(command, [*further, *map(_case, rulings)])
            write(_JUNIT, self.junit, signed(text, IN_MARKUP), force=self.force)
            click.echo(f"written: {self.junit}", err=True)
        return exit_code(rulings, any(each.problem == "failure" for each in further))


_PROBLEMS: dict[Verdict, str] = {"passes": "", "fails": "failure", "cannot tell": "error"}
"""Verdicts, and what JUnit calls them."""


def alarms_asked(
    fail_if: Sequence[str], junit: str | None, *, force: bool, beside: str | None = None
) -> Alarms:
    """What the options ask for, with the place of the file.

    Parameters
    ----------
    fail_if : sequence of str
    junit : str or None
    force : bool
    beside : str, optional
        Another file that the command writes.

    Raises
    ------
    ScenarioError
        If a bound is none, or the file cannot be written.
    """
    bounds = alarms_of(fail_if)
    if junit is None:
        return Alarms(bounds, None, force)
    if not junit.endswith(".xml"):
        raise ScenarioError(_JUNIT, junit, "must end in .xml")
    place = claim(_JUNIT, junit, force=force)
    if beside is not None and place.resolve() == Path(beside).resolve():
        raise ScenarioError(_JUNIT, junit, "is the file of another option; give another name")
    return Alarms(bounds, place, force)


def require_something(alarms: Alarms, judged: bool, others: str) -> None:
    """Refuse a file of test cases that would hold none.

    Parameters
    ----------
    alarms : Alarms
    judged : bool
        Whether the command judges something by itself.
    others : str
        The options that would make a case.
    """
    if alarms.junit is not None and not alarms.bounds and not judged:
        raise ScenarioError(_JUNIT, str(alarms.junit), f"needs {others}: there is no test case")


def alarm_record(rulings: Sequence[Ruling]) -> dict[str, Any]:
    """The alarms for JSON, where there are any."""
    return {"fail_if": [each.record() for each in rulings]} if rulings else {}


def _case(ruling: Ruling) -> Case:
    problem = _PROBLEMS[ruling.verdict]
    return Case(ruling.where, f"fail if {ruling.alarm}", problem, ruling.sentence)


def _junit(command: str, cases: Sequence[Case]) -> str:
    """The document, one suite for the command."""
    problems = Counter(case.problem for case in cases)
    counts = {
        "tests": str(len(cases)),
        "failures": str(problems["failure"]),
        "errors": str(problems["error"]),
        "skipped": str(problems["skipped"]),
    }
    root = Element("testsuites", {"name": "crawlsim"})
    suite = SubElement(root, "testsuite", {"name": f"crawlsim {command}", **counts})
    for case in cases:
        names = {"classname": _text(case.where), "name": _text(case.name)}
        element = SubElement(suite, "testcase", names)
        if case.problem:
            said = {"message": _text(case.sentence), "type": "bound"}
            SubElement(element, case.problem, said)
        else:
            SubElement(element, "system-out").text = _text(case.sentence)
    indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + tostring(root, encoding="unicode") + "\n"


def _text(text: str) -> str:
    """With what XML may not hold as its code."""
    return _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))
