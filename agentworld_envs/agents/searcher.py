"""`Searcher`: a scripted agent that searches, reads and answers by the words on the pages. It has no model."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.agents.searcher_chance import Chance
from agentworld_envs.agents.searcher_investigation import investigate
from agentworld_envs.agents.searcher_question import Question
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ConfigError, classify

Play = Generator[str, str, None]
"""Yields actions, is sent their observations."""

VISITS = 8
"""Most pages that are opened in an episode by default."""


class Searcher(Agent):
    """The extractive baseline of the search domain: queries from the words of the question, a budget of pages, and a
    vote over the candidates of the expected form that stand near those words (LiteResearcher, section on the virtual
    world: the scripted agent that shows whether a corpus forces a search).

    It works from observations alone, over any corpus: it knows neither answers nor how pages were made.
    """

    name = "searcher"

    def __init__(
        self,
        visits: int = VISITS,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        """Args:
            visits: most pages that it opens in an episode (>= 0). With none it guesses from titles and snippets.
            temperature: 0 always does the same; above, it samples queries, pages and answers, which pass@k needs.
            seed: of those samples (>= 0), mixed with the episode's.
            addresses: main pages of names that it knows from before. With them it never searches and opens no others:
                it shows what a corpus gives away to those who know their way about.

        Raises:
            ConfigError: a number out of range.
        """
        if visits < 0:
            raise ConfigError(f"Expected visits to be at least 0, got {visits}.")
        if not temperature >= 0.0:
            raise ConfigError(f"Expected temperature to be at least 0, got {temperature}.")
        if seed < 0:
            raise ConfigError(f"Expected the agent's seed to be at least 0, got {seed}.")
        self.visits, self.temperature, self.addresses = visits, temperature, addresses
        self._seed = seed
        self._plays: dict[int, Play] = {}
        self._started: dict[int, bool] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        chance = Chance(self.temperature, self._seed, episode.seed)
        self._plays[slot] = investigate(Question.all(observation), self.visits, chance, self.addresses)
        self._started[slot] = False

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [self._next(slot, observation) for slot, observation in zip(slots, observations, strict=True)]

    def _next(self, slot: int, observation: str) -> Decision:
        play = self._plays[slot]
        try:
            if self._started[slot]:
                return play.send(observation)
            self._started[slot] = True
            return next(play)
        except Exception as error:  # noqa: BLE001 - a page that breaks the reader is the failure of this slot alone
            return classify(error)
