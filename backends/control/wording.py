"""How a world model is told to fail. No example is given: it would be the agent's own words in an instruction."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_envs.interface.fault import FaultKind

_BLOCKED = "Do not carry out the action: nothing is changed by it, and later turns have to agree with that."
_DONE = "Carry out the action as usual, and keep its effects in later turns; only this one answer is affected."

_WORDS: Mapping[FaultKind, str] = {
    "error": "the environment fails with an internal error. {blocked} Answer with the error message that this kind of "
    "environment prints when it cannot do anything at the moment.",
    "timeout": "the environment does not answer in time. {blocked} Answer with the message that this kind of "
    "environment prints after a time-out, which says that the request timed out.",
    "server_error": "the server behind the environment is down. {blocked} Answer with a server error of the 5xx family "
    "(500, 502 or 503) in the style of this kind of environment.",
    "truncated_data": "the answer is cut off. {done} Write the usual answer, and stop in the middle of it, without any "
    "sign that something is missing.",
    "missing_field": "a part of the answer gets lost. {done} Write the usual answer with one field, line or item left "
    "out, without any sign that it is missing.",
    "stale": "the environment answers from an outdated cache. {done} Repeat the previous observation's data exactly in "
    "place of the new data.",
    "pagination": "the answer comes in pages. {done} Show the first part only, and end it with the line '-- more --'.",
    "partial_failure": "a part of the batch fails. {done} Show about half of the results as usual, and an error "
    "message in place of each of the others.",
}


def told(kind: FaultKind) -> str:
    """The instruction for the turn at which a fault is due."""
    return "In this turn only, " + _WORDS[kind].format(blocked=_BLOCKED, done=_DONE)
