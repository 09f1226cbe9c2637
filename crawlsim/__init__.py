"""crawlsim: the robots of web search engines, simulated, solved exactly, and compared.

`import crawlsim` is all that a user needs: `load` a scenario, `run`, `solve` or `check` it,
`optimize` a decision, `sweep` what-ifs, `fit` a log, `schedule` the visits of a crawler, `compare`
one's own formula with a simulation, `compare_designs` two systems, `export` one to another tool,
`use` a plugin of one's own, `repeat` a study. What there is say `library`, `formulas`, `papers` and
`schema`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from crawlsim.companions import require

require("scenarios", "sim", "analytic")

__version__: str
"""Of the package that is installed."""

if TYPE_CHECKING:
    from analytic import Prediction
    from crawlsim.api import (
        Check,
        Ranking,
        Run,
        Solution,
        check,
        compare,
        compare_designs,
        export,
        fit,
        optimize,
        rank,
        run,
        schedule,
        solve,
        sweep,
    )
    from crawlsim.best_frequencies import PageFrequencies, frequencies
    from crawlsim.cli.study import repeat
    from crawlsim.designs import DesignComparison
    from crawlsim.lists import formulas, library, paper, papers, reproduce, schema
    from crawlsim.logs.fit import fitted_scenario
    from crawlsim.new_file import new
    from crawlsim.pictures import Sweep
    from crawlsim.study.repeating import Repetition
    from scenarios import Results, Scenario, ScenarioError, load
    from scenarios.plugins import use
    from sim import Precision, RareLosses, rare_losses

_HOMES = {
    "DesignComparison": "crawlsim.designs",
    "PageFrequencies": "crawlsim.best_frequencies",
    "Precision": "sim",
    "Prediction": "analytic",
    "RareLosses": "sim",
    "Repetition": "crawlsim.study.repeating",
    "Results": "scenarios",
    "Scenario": "scenarios",
    "ScenarioError": "scenarios",
    "Sweep": "crawlsim.pictures",
    "fitted_scenario": "crawlsim.logs.fit",
    "formulas": "crawlsim.lists",
    "frequencies": "crawlsim.best_frequencies",
    "library": "crawlsim.lists",
    "load": "scenarios",
    "new": "crawlsim.new_file",
    "paper": "crawlsim.lists",
    "papers": "crawlsim.lists",
    "rare_losses": "sim",
    "repeat": "crawlsim.cli.study",
    "reproduce": "crawlsim.lists",
    "schema": "crawlsim.lists",
    "use": "scenarios.plugins",
}
"""Where those names are defined that are not in `crawlsim.api`."""

__all__ = [
    "Check",
    "DesignComparison",
    "PageFrequencies",
    "Precision",
    "Prediction",
    "Ranking",
    "RareLosses",
    "Repetition",
    "Results",
    "Run",
    "Scenario",
    "ScenarioError",
    "Solution",
    "Sweep",
    "__version__",
    "check",
    "compare",
    "compare_designs",
    "export",
    "fit",
    "fitted_scenario",
    "formulas",
    "frequencies",
    "library",
    "load",
    "new",
    "optimize",
    "paper",
    "papers",
    "rank",
    "rare_losses",
    "repeat",
    "reproduce",
    "run",
    "schedule",
    "schema",
    "solve",
    "sweep",
    "use",
]


def __getattr__(name: str) -> object:
    """Load a name when it is asked for, so that the command line starts fast."""
    if name == "__version__":
        from importlib.metadata import version

        return version("crawlsim")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "crawlsim.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
