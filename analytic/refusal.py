"""The error by which mathematics refuses a system."""


class NoAnswerError(ValueError):
    """There is no answer for a system, which is no defect; the text is the reason."""
