"""Who decides success: code over evidence (`verifier`), code over a re-execution in the real world (`replay`), or a
language model that compares answers (`judge:MODEL`)."""

from __future__ import annotations

from agentworld_envs.interface import ConfigError, RewardModel, unknown_name
from agentworld_envs.rewards.replay import ReplayReward
from agentworld_envs.rewards.verifier import VerifierReward

REWARDS: dict[str, type[RewardModel]] = {VerifierReward.name: VerifierReward, ReplayReward.name: ReplayReward}
"""Name -> reward model that needs no configuration."""


def build_reward(reward: str | RewardModel) -> RewardModel:
    """A reward model by name, or the given one.

    Args:
        reward: a name of `REWARDS`, `judge:MODEL` with a model string (see `JudgeReward`), or a reward model.

    Raises:
        ConfigError: no such name, or neither a name nor a `RewardModel`.
    """
    if isinstance(reward, RewardModel):
        return reward
    if not isinstance(reward, str):
        raise ConfigError(f"Expected reward to be a name or a RewardModel, got {type(reward).__name__}.")
    name, _, model = reward.partition(":")
    if name == "judge":
        if not model:
            raise ConfigError("The judge needs a model, e.g. reward='judge:openai:http://127.0.0.1:8000/v1#MODEL'.")
        from agentworld_envs.rewards.judge import JudgeReward  # brings the engines along

        return JudgeReward(model)
    if reward not in REWARDS:
        raise unknown_name("reward", reward, (*REWARDS, "judge:MODEL"))
    return REWARDS[reward]()


__all__ = ["REWARDS", "ReplayReward", "VerifierReward", "build_reward"]
