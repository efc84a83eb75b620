"""Errors raised by the engine."""


class PagelmError(Exception):
    """Base class of the errors below."""


class CapacityError(PagelmError):
    """The block pool has too few blocks for what was asked."""


class GraphError(PagelmError):
    """A captured step was used in a way that replay cannot honour."""
