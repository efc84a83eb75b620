"""Processes that talk to each other: rendezvous, collectives, traffic counters."""

from tandem.comm.group import CollectiveMismatch, ProcessGroup, init_process_group
from tandem.comm.stats import Traffic

__all__ = ["CollectiveMismatch", "ProcessGroup", "Traffic", "init_process_group"]
