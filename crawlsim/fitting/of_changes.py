"""A fit of change times: rates of pages, or the periodic rate of all of them as one source."""

from __future__ import annotations

from crawlsim.fitting.fit import Fit, Options
from crawlsim.fitting.of_pages import fit_pages
from crawlsim.fitting.of_source import fit_source
from crawlsim.fitting.trace import Trace
from crawlsim.fitting.words import counted
from scenarios import ScenarioError


def fit_changes(trace: Trace, options: Options) -> Fit:
    """Change rates of the pages, or the periodic rate of all together as one source.

    Raises
    ------
    ScenarioError
        If the window holds nothing, or an option does not fit.
    """
    section = options.section or ("pages" if len(trace.pages) > 1 else "source")
    try:
        return (fit_pages if section == "pages" else fit_source)(trace, options)
    except ScenarioError:
        raise
    except ValueError as error:
        said = counted(trace.rows, "row") + " of changes"
        raise ScenarioError("trace", said, str(error)) from None
