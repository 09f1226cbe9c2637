"""The name under which the figures of `crawlsim.report` were first published; it is kept."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("crawlsim.report")
