"""What `agentworld doctor` looks at: installed packages, devices, a model server."""

from __future__ import annotations

import http.client
import importlib.metadata
import importlib.util
import json
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, field

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?\s*([^;]*?)\s*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_MINIMUM = re.compile(r">=\s*([0-9.]+)")
TIMEOUT_S = 5.0
"""Seconds that a model server has to answer."""
MAX_ANSWER = 2**20
"""Bytes of a server's list of models that are read."""


@dataclass(slots=True)
class Extra:
    """One optional group of packages."""

    name: str
    installed: list[str] = field(default_factory=list)
    """`package version`."""
    problems: list[str] = field(default_factory=list)
    """`package` is missing, or too old."""


def extras(distribution: str = "agentworld-envs") -> list[Extra]:
    """The extras of an installed distribution, as its own metadata lists them."""
    found: dict[str, Extra] = {}
    for requirement in importlib.metadata.requires(distribution) or []:
        match = _REQUIREMENT.match(requirement)
        if match is None or match[1] == distribution:  # an extra that only adds up others
            continue
        package, constraint, name = match[1], match[3], match[4]
        extra = found.setdefault(name, Extra(name))
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            extra.problems.append(f"{package} is not installed")
            continue
        minimum = _MINIMUM.search(constraint)
        if minimum is not None and _numbers(version) < _numbers(minimum[1]):
            extra.problems.append(f"{package} {version} is older than {minimum[1]}")
        else:
            extra.installed.append(f"{package} {version}")
    return list(found.values())


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]


def torch_devices() -> tuple[str | None, str]:
    """Version of torch, `None` when it is not installed, and its CUDA devices in words."""
    if importlib.util.find_spec("torch") is None:
        return None, ""
    import torch

    names = (
        [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    )
    return str(torch.__version__), ", ".join(names)


def reach(model: str) -> tuple[bool, str]:
    """Ask the server of `openai:URL#MODEL` for its models.

    Returns:
        Whether there is a problem, and what was found, in words.
    """
    url, _, name = model.strip().removeprefix("openai:").partition("#")
    request = urllib.request.Request(f"{url.rstrip('/')}/models")
    request.add_header("Authorization", f"Bearer {os.environ.get('OPENAI_API_KEY', 'EMPTY')}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            data = json.loads(answer.read(MAX_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            return (
                True,
                f"{url} answers {error.code} {error.reason}; check the URL (it ends in /v1) and the API key",
            )
    except (OSError, http.client.HTTPException) as error:
        return (
            True,
            f"{url} is not reachable: {getattr(error, 'reason', error)}; start it: agentworld serve-model {name}",
        )
    except ValueError:
        return True, f"{url}/models does not answer with JSON; check the URL (it ends in /v1)"
    listed = data.get("data") if isinstance(data, dict) else None
    served = [str(m.get("id")) for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    if served and name not in served:
        return True, f"{url} is reachable but serves {', '.join(served[:5])}, not {name}"
    return False, f"{url} is reachable"
