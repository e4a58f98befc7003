"""What a world model is told."""

from __future__ import annotations

import json
import random
import re

from text_world.support import DOMAIN, varied


def test_the_prompt_describes_the_household_and_not_the_goal() -> None:
    for index in range(60):
        task = DOMAIN.tasks()[index]
        spec = DOMAIN.simulation(task)
        assert spec.first_observation == DOMAIN.world(task).reset()
        assert task.instruction in spec.first_observation
        assert task.instruction.rstrip(".") not in spec.system
        assert task.verifier["goal"] not in spec.system
        assert "exists" not in spec.system
        assert not re.search(r"\{\w+\}", spec.system)
        home = DOMAIN.world(task).state.home
        told = dict(line.split(": ", 1) for line in spec.system.splitlines() if ": " in line)
        for r, name in enumerate(home.receptacles):
            closed = bool(home.openable >> r & 1)
            if home.inside[r]:
                items = ", ".join(home.objects[o] for o in home.inside[r])
                assert told[f"{name} (closed)" if closed else name] == items
            else:
                assert name in told["empty and closed" if closed else "empty"].split(", ")
        # English of this kind has about four characters per token: some 900 tokens at the most.
        assert len(spec.system) < 4000


def test_the_prompt_mentions_what_is_special() -> None:
    task = varied(DOMAIN.tasks()[9], random.Random(1))
    state = json.loads(json.dumps(task.initial_state))
    system = DOMAIN.simulation(task.model_copy(update={"initial_state": state})).system
    assert "stands together with" in system
    assert " (open): " in system
    assert " already: " in system
