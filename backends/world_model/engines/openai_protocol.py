"""The chat-completions protocol as OpenAI, vLLM, SGLang and llama.cpp speak it: bodies, answers, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agentworld_envs.backends.world_model.engines.base import Completion, GenerationRequest
from agentworld_envs.interface import (
    AgentWorldError,
    ContextOverflow,
    ProviderError,
    ProviderOverloaded,
    ProviderRejected,
    Usage,
)

RETRIED: Final = frozenset({408, 409, 425, 429})
"""Client-error statuses after which the same request may well succeed."""

EXTENSIONS: Final = ("top_k", "continue_final_message", "add_generation_prompt")
"""Fields of a request that vLLM and SGLang have added to the protocol."""

MAX_STOPS: Final = 4
"""Stop strings in one request at most, for OpenAI and for vLLM. Further ones are looked for in the answer."""

_CONTEXT: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|max(imum)? model len(gth)?|context length"
    r"|context (window|size)|max_model_len|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_SHOWN: Final = 300


def request_body(
    request: GenerationRequest, model: str, *, extensions: bool, max_tokens_field: str, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON to post.

    Args:
        request: what is asked. model: the served model's name.
        extensions: send `top_k` and the fields that continue a prefill, which OpenAI's own hosts refuse.
        max_tokens_field: `max_tokens`, or `max_completion_tokens` for OpenAI's reasoning models.
        extra: fields added as they are, last.
    """
    sampling = request.sampling
    body: dict[str, Any] = {
        # A server's adapters have names of their own among its models.
        "model": sampling.adapter or model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        max_tokens_field: sampling.max_tokens,
        "seed": request.seed,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop[:MAX_STOPS])
    if sampling.prefill:
        body["messages"].append({"role": "assistant", "content": sampling.prefill})
    if extensions:
        # vLLM takes -1 for "all", and so do SGLang and llama.cpp's non-positive values.
        body["top_k"] = sampling.top_k or -1
        if sampling.prefill:
            body |= {"continue_final_message": True, "add_generation_prompt": False}
    return body | dict(extra)


def read_completion(raw: bytes, *, prefilled: bool = False) -> Completion:
    """The completion in a response body.

    Args:
        raw: the body. prefilled: the answer was begun for the model, so that it does not think. Servers with a
            reasoning parser then look for the end of a thinking that there is not, and take all of it for one.

    Raises:
        ProviderError: the body is not a chat completion, or the server has given up in the middle of it.
    """
    try:
        answer = json.loads(raw)
        choice = answer["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        # vLLM and SGLang say `reasoning_content`; newer vLLM and OpenRouter say `reasoning`.
        reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
        finish_reason = str(choice.get("finish_reason") or "unknown")
        usage = _usage(answer.get("usage"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ProviderError(
            f"The server's answer is not a chat completion ({type(error).__name__}): {_shown(raw)}. Expected JSON with "
            "choices[0].message.content; check that the URL ends with the API's root, often /v1."
        ) from error
    if finish_reason in ("abort", "error"):
        raise ProviderError(f"The server ended the answer with finish_reason {finish_reason!r}.")
    if prefilled and not text:
        text, reasoning = reasoning, ""
    return Completion(text, reasoning, finish_reason, usage)


def cut(completion: Completion, stops: Sequence[str]) -> Completion:
    """The answer up to the first of `stops`, as the server would have ended it."""
    found = [place for stop in stops if (place := completion.text.find(stop)) >= 0]
    return replace(completion, text=completion.text[: min(found)], finish_reason="stop") if found else completion


def refusal(status: int, raw: bytes, url: str) -> AgentWorldError:
    """The typed error behind a status other than 200.

    Args:
        status: HTTP status. raw: the response's body. url: what was posted to, without credentials.
    """
    said = _shown(raw)
    if status in RETRIED or status >= 500:
        return ProviderOverloaded(f"The server answered {status} until the retries were spent: {said}.")
    if status in (400, 413, 422) and _CONTEXT.search(raw.decode("utf-8", "replace")):
        return ContextOverflow(
            f"The server says that prompt and answer do not fit in its context: {said}. Lower sampling.max_tokens, "
            "serve the model with a longer context, or set context_tokens with context_policy='drop_oldest'."
        )
    hint = {
        401: " Set OPENAI_API_KEY (or the variable named by api_key_env) to a valid key.",
        404: f" Check the URL {url}, the model's name after '#', and the adapter's if there is one.",
    }.get(status, "")
    if any(name in said for name in EXTENSIONS):
        hint = " The server does not know vLLM's fields: use WorldModelConfig(engine_options={'extensions': False})."
    return ProviderRejected(f"The server refused the request with status {status}: {said}.{hint}")


def _text(value: Any) -> str:
    """Message content: a string, nothing, or a list of parts of which the texts count."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if part.get("type") in ("text", "output_text"))
    raise TypeError(f"content is a {type(value).__name__}")


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    details = value.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else value.get("reasoning_tokens")
    prompt_details = value.get("prompt_tokens_details")
    cached = prompt_details.get("cached_tokens") if isinstance(prompt_details, dict) else None
    cost = value.get("cost")
    return Usage(
        prompt_tokens=_count(value.get("prompt_tokens")),
        completion_tokens=_count(value.get("completion_tokens")),
        reasoning_tokens=_count(reasoning),
        cost=float(cost) if isinstance(cost, int | float) and cost > 0 else 0.0,
        cached_tokens=_count(cached),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _shown(raw: bytes) -> str:
    """What the server said, short: its error message if there is one."""
    text = raw.decode("utf-8", "replace").strip()
    try:
        error = json.loads(text)
        error = error.get("error", error)
        text = str(error["message"]) if isinstance(error, dict) and "message" in error else text
    except (ValueError, AttributeError, RecursionError):
        pass  # Not JSON, or not an object: the text itself is what the server said.
    text = " ".join(text.split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...") if text else "nothing"
