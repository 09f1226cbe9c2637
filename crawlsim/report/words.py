"""Numbers and verdicts as a reader wants them: short, and in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analytic.crosscheck import FLOOR, RELATIVE_TOLERANCE, Comparison
from analytic.law_check import LawComparison
from analytic.significance import POWER
from crawlsim.report.rows import Row, name_of

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COUNTED = {
    "disagrees": ("disagrees", "disagree"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "agrees": ("agrees", "agree"),
    "not judged": ("is not judged", "are not judged"),
    "simulated": ("is simulated only", "are simulated only"),
}


def number(value: float | None, digits: int = 5) -> str:
    """A number for people; a dash where it is undefined."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == round(value) and abs(value) < 1e15:
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


def meaning_of(verdict: str, rows: Sequence[Row], replications: int) -> str:
    """What the verdict on a scenario means, in a sentence or two."""
    judged = [row.comparison for row in rows if row.comparison.verdict != "not judged"]
    if not rows:
        return "Simulated only. crawlsim check compares the estimates with the formulas."
    if not judged:
        return "No exact formula and no bound covers what was simulated: nothing was judged."
    found = [row for row in judged if row.verdict == verdict]
    share = f"{len(found)} of {len(judged)} judged numbers"
    if len(judged) == 1:
        share = "The judged number"
    if verdict == "agrees":
        return (
            f"{_all(len(judged))}: no significant difference, and a difference of "
            f"{100 * RELATIVE_TOLERANCE:g} % (of {FLOOR:g} for small probabilities) would have "
            f"been seen with probability {POWER:g}."
        )
    if verdict == "disagrees":
        differ = "differs" if len(found) == 1 else "differ"
        return (
            f"{share} {differ} from the prediction, significantly and by an amount that matters. "
            "Of a thousand correct systems, one is reported so."
        )
    return f"{share} could not be settled by this run. {_remedy(found, replications)}"


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


def _remedy(rows: Sequence[Comparison], replications: int) -> str:
    """What would settle the inconclusive rows."""
    missing = [row for row in rows if math.isnan(row.predicted)]
    if missing:
        names = ", ".join(dict.fromkeys(name_of(row.measure, row.subject) for row in missing))
        return f"No formula predicts {names} here."
    if any(row.warmup_too_short for row in rows):
        return "The warm-up is too short for the system to forget its start."
    if any(row.window_too_short for row in rows):
        return "The window is too short: its two ends alone can make such differences."
    needed = [row.replications_needed for row in rows if row.replications_needed]
    if len(needed) == len(rows):
        them = "it" if len(rows) == 1 else "all of them"
        return f"{max(needed)} replications (now {replications}) would settle {them}."
    return "More replications are needed to know how precise it is."
