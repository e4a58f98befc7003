"""What holds for all tests."""

from __future__ import annotations

import signal
from importlib.util import find_spec

# A shell that runs the tests in the background has them ignore Ctrl-C, and all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

if find_spec("hypothesis"):  # the conformance tests do without
    from hypothesis import HealthCheck, settings

    # Whether an example is slow says something of the machine, not of the code.
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")
