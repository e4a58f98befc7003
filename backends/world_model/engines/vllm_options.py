"""`VLLMOptions`: how a model is served by vLLM in this process."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class VLLMOptions(BaseModel):
    """How vLLM is set up. `None` leaves a choice to vLLM."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_model_len: int | None = Field(default=None, ge=1)
    """Context in tokens, prompt and answer together. A shorter one needs less memory."""
    dtype: str = "auto"
    """`bfloat16`, `float16`, `float32`; `auto` is the checkpoint's own."""
    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)
    """Share of each GPU's memory that vLLM takes, for weights and attention states. Without meaning on a CPU."""
    kv_cache_gb: float | None = Field(default=None, gt=0)
    """GiB of attention states instead of that share. On a CPU 2 unless `VLLM_CPU_KVCACHE_SPACE` says otherwise."""
    enforce_eager: bool = False
    """Neither compile nor record the model: slower, but ready sooner."""
    enable_prefix_caching: bool = True
    """Keep the states of earlier prompts, so that a turn reads only what is new in it."""
    tensor_parallel_size: int = Field(default=1, ge=1)
    """GPUs over which the weights are split; more than one runs workers in processes of their own."""
    max_num_seqs: int | None = Field(default=None, ge=1)
    """Sequences in one step of the model at most; more wait their turn."""
    cpu_threads: int | None = Field(default=None, ge=1)
    """Threads of a model on a CPU, for torch in the whole process. 1 is best where others keep the cores busy."""
    seed: int = 0
    """vLLM's own seed. Requests bring theirs, so it decides no answer."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model."""
    adapters: dict[str, str] = Field(default_factory=dict)
    """LoRA adapters that requests may name (`Sampling.adapter`): name -> folder."""
    adapter: str = ""
    """The adapter of requests that name none; part of the revision, and so of every cassette key."""
    chat_template: dict[str, Any] = Field(default_factory=dict)
    """Variables of the chat template, e.g. `{"enable_thinking": false}`; part of the revision."""
    sampling_args: dict[str, Any] = Field(default_factory=dict)
    """Further fields of vLLM's `SamplingParams`, e.g. `{"min_p": 0.05}`; part of the revision."""
    engine_args: dict[str, Any] = Field(default_factory=dict)
    """Further fields of vLLM's `EngineArgs`, e.g. `{"language_model_only": true}`."""

    @model_validator(mode="after")
    def _adapter_is_known(self) -> Self:
        if self.adapter and self.adapter not in self.adapters:
            raise ValueError(f"adapter={self.adapter!r} is not one of adapters: {', '.join(self.adapters) or 'none'}")
        return self
