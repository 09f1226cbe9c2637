"""The index: formulas with their conditions and symbols, statements, targets of optimisation."""
