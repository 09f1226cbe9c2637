"""How a formula refuses a system: one kind of error, whose text is the reason."""


class NoAnswerError(ValueError):
    """There is no answer for a system, and that is no defect; the text is the reason."""
