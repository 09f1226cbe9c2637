"""Numbers, measures, comparisons and verdicts as a reader wants them: short, and in sentences."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from analytic.verdicts.crosscheck import RELATIVE_TOLERANCE, Comparison
from analytic.verdicts.law_check import LawComparison
from analytic.verdicts.significance import POWER
from crawlsim.summary import TOO_RARE, alike
from scenarios.files import value_text
from scenarios.measures import MEASURES, Subject

_ENTRIES: dict[str, str] = tomllib.loads(
    files("crawlsim.report").joinpath("entries.toml").read_text("utf-8")
)
_PARAMETERS = {
    "mean": "mean {} ({unit})",
    "value": "{} ({unit})",
    "sd": "standard deviation of the {} ({unit})",
    "rate": "rate of the {} (per {unit})",
    "total": "sum of the {} (per {unit})",
}

_ROUNDING = 1e-12
_SEVERITY = ("disagrees", "inconclusive", "agrees", "not judged")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COUNTED = {
    "disagrees": ("disagrees", "disagree"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "agrees": ("agrees", "agree"),
    "not judged": ("is not judged", "are not judged"),
    "simulated": ("is simulated only", "are simulated only"),
}


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One comparison, and every source that predicts the same value."""

    comparison: Comparison
    sources: tuple[str, ...]


def name_of(measure: str, subject: Subject) -> str:
    """A measure and its subject in words."""
    words = measure.replace("_", " ")
    if subject is None:
        return words
    return (
        f"{words} {subject}" if isinstance(subject, str) else f"{words}\N{NO-BREAK SPACE}{subject}"
    )


def with_unit(measure: str, subject: Subject, time_unit: str) -> str:
    """The label of an axis: a measure and its subject, with its unit."""
    return f"{name_of(measure, subject)} ({MEASURES[measure].unit_in(time_unit)})"


def of_entry(key: str, time_unit: str) -> str:
    """The label of an axis: an entry of a scenario file in words, with its unit if it has one.

    Parameters
    ----------
    key : str
        Dotted, such as ``robots.access_time.exponential.mean``: "mean access time (hours)".
    time_unit : str
    """
    known = max(
        (each for each in _ENTRIES if f"{key}.".startswith(f"{each}.")), key=len, default=""
    )
    section, _, last = key.rpartition(".")
    if key in _ENTRIES:
        words = _ENTRIES[known]
    elif known:
        words = _PARAMETERS.get(last, f"{last} of the {{}}")
    else:
        words = f"{last} ({section})" if section else last
    return words.format(_ENTRIES.get(known, ""), unit=time_unit).replace("_", " ")


def value_in_words(value: Any) -> str:
    """A law or a policy by its name and parameters; anything else as a scenario file has it."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping) and "policy" in value:
        value = {value["policy"]: {key: value[key] for key in value if key != "policy"}}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, inside),) = value.items()
        if isinstance(inside, Mapping):
            named = (f"{key} {value_in_words(inside[key])}" for key in sorted(inside))
            parameters = ", ".join(named)
            return f"{name} ({parameters})" if parameters else str(name)
        return f"{name} {value_text(inside)}"
    return value_text(value)


def rows_of(comparisons: Iterable[Comparison]) -> list[ComparisonRow]:
    """One row per distinct prediction: disagreements first, what is not judged last."""
    groups = alike(comparisons, _about, lambda each: each.predicted)
    rows = [ComparisonRow(group[0], tuple(each.source for each in group)) for group in groups]
    return sorted(rows, key=lambda row: _SEVERITY.index(row.comparison.verdict))


def _about(row: Comparison) -> tuple[object, ...]:
    return row.measure, row.subject, row.kind, row.verdict


def number(value: float | None, digits: int = 5) -> str:
    """A number for people; a dash where it is undefined.

    Below a million no power of ten: values of one table stand beside one another.
    """
    if value is None or not math.isfinite(value):
        return "–"
    is_whole = math.isclose(value, round(value), rel_tol=_ROUNDING)
    whole = abs(value) < 1e15 if is_whole else 10.0**digits <= abs(value) < 1e6
    if whole:
        return f"{value + 0.0:,.0f}".replace("-", "−").replace(",", "\N{NARROW NO-BREAK SPACE}")
    mantissa, sign, exponent = f"{value:#.{digits}g}".partition("e")
    power = f" · 10{str(int(exponent)).translate(_RAISED)}" if sign else ""
    return (mantissa.rstrip(".") + power).replace("-", "−")


def percent(value: float | None) -> str:
    """A share in per cent, two digits; a dash where it is undefined."""
    return "–" if value is None else f"{number(100 * value, 2)} %"


def summary_of(verdicts: Sequence[str]) -> str:
    """How many scenarios came to which verdict."""
    counts = {name: verdicts.count(name) for name in _COUNTED}
    words = [f"{count} {_COUNTED[name][count > 1]}" for name, count in counts.items() if count]
    head = f"{len(verdicts)} scenario{'' if len(verdicts) == 1 else 's'}"
    return f"{head}: {', '.join(words)}" if len(verdicts) > 1 else f"1 scenario {words[0][2:]}"


def meaning_of(verdict: str, rows: Sequence[ComparisonRow], replications: int) -> str:
    """What the verdict on a scenario means, in a sentence or two."""
    judged = [row.comparison for row in rows if row.comparison.verdict != "not judged"]
    if not rows:
        return "Simulated only. crawlsim check compares the estimates with the formulas."
    if not judged:
        return "No exact formula and no bound covers what was simulated: nothing was judged."
    those = [row for row in judged if row.verdict == verdict]
    share = f"{len(those)} of {len(judged)} judged numbers"
    if len(judged) == 1:
        share = "The judged number"
    if verdict == "agrees":
        return (
            f"{_all(len(judged))}: no significant difference, and a difference of "
            f"{_seen_in(judged)} would have been seen with probability {POWER:g}."
        )
    if verdict == "disagrees":
        differ = "differs" if len(those) == 1 else "differ"
        return (
            f"{share} {differ} from the prediction, significantly and by an amount that matters. "
            "Of a thousand correct systems, one is reported so."
        )
    return f"{share} could not be settled by this run. {_remedy(those, replications)}"


def meaning_of_laws(laws: Sequence[LawComparison]) -> str:
    """What came of the comparison of distributions, in a sentence; nothing where there was none."""
    judged = [row for row in laws if row.verdict != "not judged"]
    if not laws:
        return ""
    if not judged:
        return "No exact distribution covers what was simulated."
    verdicts = [row.verdict for row in judged]
    counts = {name: verdicts.count(name) for name in ("disagrees", "inconclusive", "agrees")}
    words = [f"{count} {_COUNTED[name][count > 1]}" for name, count in counts.items() if count]
    head = f"Of {len(judged)} distributions" if len(judged) > 1 else "Of the one distribution"
    return f"{head}, {', '.join(words)}."


def _all(count: int) -> str:
    return f"All {count} judged numbers agree" if count > 1 else "The judged number agrees"


def _seen_in(rows: Sequence[Comparison]) -> str:
    """The difference that every row would have shown, in words."""
    exact = [row for row in rows if row.kind == "exact" and row.detectable is not None]
    least = max(exact, key=lambda row: row.detectable or 0.0, default=None)
    tolerance = f"{100 * RELATIVE_TOLERANCE:g} %"
    if least is None or not least.detectable or least.detectable <= RELATIVE_TOLERANCE:
        return tolerance
    larger = sum((row.detectable or 0.0) > RELATIVE_TOLERANCE for row in exact)
    size = percent(least.detectable) if least.detectable <= 1.0 else "more than 100 %"
    name = name_of(least.measure, least.subject)
    said = f"{size} for {name}"
    return f"{tolerance} ({said if larger == 1 else f'more for {larger} of them, up to {said}'})"


def _remedy(rows: Sequence[Comparison], replications: int) -> str:
    """What would settle the inconclusive rows."""
    missing = [row for row in rows if math.isnan(row.predicted)]
    if missing:
        names = ", ".join(dict.fromkeys(name_of(row.measure, row.subject) for row in missing))
        return f"No formula predicts {names} here."
    if reason := next((row.reason for row in rows if row.reason), ""):
        return f"{reason[0].upper()}{reason[1:]}."
    if any(row.warmup_too_short for row in rows):
        return "The warm-up is too short for the system to forget its start."
    if any(row.window_too_short for row in rows):
        return "The window is too short: its two ends alone can make such differences."
    if any(row.too_rare for row in rows):
        return f"To settle it takes {TOO_RARE}."
    needed = [row.replications_needed for row in rows if row.replications_needed]
    if len(needed) == len(rows):
        them = "it" if len(rows) == 1 else "all of them"
        return f"{max(needed)} replications (now {replications}) would settle {them}."
    return "More replications are needed to know how precise it is."
