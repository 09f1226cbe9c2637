"""Do formulas and simulation agree? Comparisons, their standard errors, and what is significant."""
