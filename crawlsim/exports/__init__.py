"""Programs of other tools for the same system: LINE, Ciw, SimPy.

What a program holds is one station: robots that deliver one page after the other, a buffer, and
indexers. All that a scenario has beyond it is refused by its key.
"""

from crawlsim.exports.program import TARGETS, program_text

__all__ = ["TARGETS", "program_text"]
