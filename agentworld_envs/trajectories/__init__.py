"""Recorded episodes: append-only JSONL, one schema for all backends."""

from agentworld_envs.trajectories.index import Located, scan_trajectories
from agentworld_envs.trajectories.reader import Trajectory, read_trajectories
from agentworld_envs.trajectories.schema import SCHEMA_VERSION, CloseLine, ForkLine, ResetLine, StepLine
from agentworld_envs.trajectories.writer import TrajectoryWriter

__all__ = [
    "SCHEMA_VERSION",
    "CloseLine",
    "ForkLine",
    "Located",
    "ResetLine",
    "StepLine",
    "Trajectory",
    "TrajectoryWriter",
    "read_trajectories",
    "scan_trajectories",
]
