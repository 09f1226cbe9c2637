"""crawlsim: the robots of web search engines, simulated, solved exactly, and compared.

`import crawlsim` is all that a user needs: `load` a scenario, `run`, `solve` or `check` it,
`optimize` a decision, `sweep` what-ifs, `fit` a log, `schedule` the visits of a crawler, `compare`
one's own formula with a simulation, `compare_designs` two systems, `export` one to another tool,
`use` a plugin of one's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from crawlsim.companions import require

require("scenarios", "sim", "analytic")

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
    from crawlsim.designs import DesignComparison
    from crawlsim.logs.fit import fitted_scenario
    from crawlsim.pictures import Sweep
    from scenarios import Results, Scenario, ScenarioError, load
    from scenarios.plugins import use

_HOMES = {
    "DesignComparison": "crawlsim.designs",
    "Prediction": "analytic",
    "Results": "scenarios",
    "Scenario": "scenarios",
    "ScenarioError": "scenarios",
    "Sweep": "crawlsim.pictures",
    "fitted_scenario": "crawlsim.logs.fit",
    "load": "scenarios",
    "use": "scenarios.plugins",
}
"""Where those names are defined that are not in `crawlsim.api`."""

__all__ = [
    "Check",
    "DesignComparison",
    "Prediction",
    "Ranking",
    "Results",
    "Run",
    "Scenario",
    "ScenarioError",
    "Solution",
    "Sweep",
    "check",
    "compare",
    "compare_designs",
    "export",
    "fit",
    "fitted_scenario",
    "load",
    "optimize",
    "rank",
    "run",
    "schedule",
    "solve",
    "sweep",
    "use",
]


def __getattr__(name: str) -> object:
    """Load a name when it is asked for, so that the command line starts fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "crawlsim.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
