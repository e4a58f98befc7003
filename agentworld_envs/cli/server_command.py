"""`ServerCommand`: how a model is served, as a command line."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from agentworld_envs.interface import ConfigError, unknown_name

ServerKind = Literal["vllm", "sglang"]

MODULES: Final[dict[str, str]] = {"vllm": "vllm.entrypoints.openai.api_server", "sglang": "sglang.launch_server"}
"""What Python runs. Not the `vllm` script: the CPU build of vLLM has a name of its own, and its script fails."""
PACKAGES: Final[dict[str, str]] = {"vllm": "vllm", "sglang": "sglang"}
AGENTWORLD_CONTEXT: Final = 262_144
"""Context of Qwen-AgentWorld in tokens (its model card)."""
AGENTWORLD_GPUS: Final = 4
"""GPUs over which its authors split Qwen-AgentWorld-35B-A3B at full context."""
CPU_CACHE_GB: Final = 2


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A server of one model."""

    model: str
    """Hub id or path."""
    engine: ServerKind = "vllm"
    host: str = "127.0.0.1"
    port: int = 8000
    gpus: int | None = None
    """GPUs over which the weights are split; `None`: what the model needs."""
    context: int | None = None
    """Longest prompt and answer together; `None`: what the model can."""
    loras: dict[str, str] = field(default_factory=dict)
    """Adapters: name -> folder."""
    cpu: bool = False
    python: str = ""
    """Interpreter in which the server is installed; this one if it is here, else `python`."""
    extra: tuple[str, ...] = ()
    """Further arguments, added last."""

    @classmethod
    def of(cls, model: str, engine: str, loras: Sequence[str], **fields: object) -> ServerCommand:
        """Check what a user typed.

        Args:
            model: hub id or path. engine: `vllm` or `sglang`. loras: `NAME=PATH` each. fields: the others.

        Raises:
            ConfigError: no such engine, or an adapter that is not `NAME=PATH`.
        """
        if engine not in MODULES:
            raise unknown_name("server", engine, MODULES)
        if ":" in model or not model.strip():
            raise ConfigError(f"Expected a hub id or a path, got {model!r}; the engine is chosen with --engine.")
        adapters = {}
        for text in loras:
            name, sign, path = text.partition("=")
            if not (name and sign and path):
                raise ConfigError(f"Malformed --lora {text!r}: expected NAME=PATH.")
            adapters[name] = path
        return cls(model=model, engine=engine, loras=adapters, **fields)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """Under which name the model is served: the hub id, or the folder's own name."""
        path = Path(self.model).expanduser()
        return path.resolve().name if path.exists() else self.model

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def model_string(self) -> str:
        """What `model=` takes."""
        return f"openai:{self.url}/v1#{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the server needs."""
        return {"VLLM_CPU_KVCACHE_SPACE": str(CPU_CACHE_GB)} if self.cpu and self.engine == "vllm" else {}

    @property
    def interpreter(self) -> str:
        if self.python:
            return self.python
        return sys.executable if importlib.util.find_spec(PACKAGES[self.engine]) is not None else "python"

    @property
    def arguments(self) -> list[str]:
        """The whole command."""
        specific = self._vllm() if self.engine == "vllm" else self._sglang()
        return [self.interpreter, "-m", MODULES[self.engine], *specific, *self.extra]

    def __str__(self) -> str:
        """For a shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*variables, shlex.join(self.arguments)])

    def _vllm(self) -> list[str]:
        options = ["--model", self.model, "--served-model-name", self.name]
        options += ["--host", self.host, "--port", str(self.port)]
        options += ["--tensor-parallel-size", str(self._split())]
        options += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
        if self._context() is not None:
            options += ["--max-model-len", str(self._context())]
        if self._thinks():
            options += ["--reasoning-parser", "qwen3"]
        if self._is_agentworld():
            options += ["--language-model-only"]
        if self.loras:
            options += ["--enable-lora", "--max-lora-rank", str(self._rank())]
            options += ["--lora-modules", *(f"{name}={path}" for name, path in self.loras.items())]
            if self.cpu:
                # vLLM's code for CPUs gives requests without an adapter whatever is in the last place: keep it empty.
                options += ["--max-loras", str(len(self.loras) + 1)]
        if self.cpu:
            # Its code for CPUs breaks down on a prompt with a seed that is read in parts (seen in 0.32).
            options += ["--enforce-eager", "--no-enable-chunked-prefill"]
        return options

    def _sglang(self) -> list[str]:
        options = ["--model-path", self.model, "--served-model-name", self.name]
        options += ["--host", self.host, "--port", str(self.port)]
        options += ["--tensor-parallel-size", str(self._split()), "--enable-cache-report"]
        if self._context() is not None:
            options += ["--context-length", str(self._context())]
        if self._thinks():
            options += ["--reasoning-parser", "qwen3"]
        if self.loras:
            options += ["--enable-lora", "--lora-paths", *(f"{name}={path}" for name, path in self.loras.items())]
        if self.cpu:
            options += ["--device", "cpu"]
        return options

    def _is_agentworld(self) -> bool:
        return "agentworld" in self.name.lower()

    def _thinks(self) -> bool:
        name = self.name.lower()
        # Qwen3 models without thinking say so in their names.
        return self._is_agentworld() or ("qwen3" in name and "instruct" not in name and "coder" not in name)

    def _context(self) -> int | None:
        return AGENTWORLD_CONTEXT if self.context is None and self._is_agentworld() else self.context

    def _split(self) -> int:
        if self.gpus is not None:
            return self.gpus
        return AGENTWORLD_GPUS if self._is_agentworld() and not self.cpu else 1

    def _rank(self) -> int:
        from agentworld_envs.backends.world_model.engines.vllm_loading import RANKS, adapter_rank

        rank = max(adapter_rank(name, path) for name, path in self.loras.items())
        return next(known for known in RANKS if known >= rank)
