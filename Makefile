# Two commands are enough: `make demo` to try it, `make test` to check it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The tests start hundreds of processes: where nothing compiled is kept, each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test again check quick agents audit proof bench bench-peers crash soak lock image-rehearsal clean

# The lock is also its own constraint (-c): pip before 23.3 does not hold `psycopg[pool]` to what `psycopg` is pinned to.
install: $(VENV)/.installed
$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Signoff needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python .ci/install.py "what Signoff needs" --require-hashes -r requirements.lock -c requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@$(BIN)/python .ci/install.py "what the tests need" --require-hashes -r requirements-dev.lock -c requirements-dev.lock
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/signoff demo $(ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Stories wait for processes, and these compute: one more at once than there are cores; with twice as many, patience ends.
JOBS ?= $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN))))
test: check
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# What failed, once more and alone; the first that fails again ends it, and nothing that failed is no success.
again: $(VENV)/.installed-dev
	$(BIN)/pytest -v --last-failed --last-failed-no-failures none --maxfail 1

# What another version of Python could break, in a minute: nothing that needs a server or a browser.
QUICK := tests/storage tests/workers/commands tests/workers/engine tests/workers/kit \
	tests/bot/cli tests/bot/planner/model tests/bot/planner/runbooks tests/bot/policy tests/bot/times
quick: $(VENV)/.installed-dev
	$(BIN)/pytest -q -p no:cacheprovider -n auto --dist loadfile -m "not postgres and not browser and not k8s and not crash" $(QUICK)

# The second driver of coding agents, whose client weighs 370 MB: installed, and the tests that need it run with it.
agents: $(VENV)/.installed-dev
	@$(BIN)/python .ci/install.py "the agents' SDK" --require-hashes -r requirements-agents.lock -c requirements-agents.lock
	$(BIN)/pytest -q -m "fleet or machines" tests/workers tests/stories/machines/test_agents.py

# Known weaknesses of what the lock files name.
audit: $(VENV)/.installed-dev
	$(BIN)/python .ci/audit.py requirements.lock requirements-agents.lock requirements-dev.lock

# The full counts behind the short forms in the tests. Needs what .ci/run installs, and KUBEBUILDER_ASSETS.
proof: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.proof.parts.report \
	  "$(BIN)/python -m tests.proof.redaction" \
	  "$(BIN)/python -m tests.proof.audit" \
	  "$(BIN)/python -m tests.proof.gate" \
	  "$(BIN)/python -m tests.proof.ladder" \
	  "$(BIN)/python -m tests.proof.hostile" \
	  "$(BIN)/python -m tests.proof.matrix" \
	  "$(BIN)/python -m tests.proof.model" \
	  "$(BIN)/python -m tests.proof.mutation" \
	  "$(BIN)/python -m tests.proof.fleet --agents 30 --minutes 2" \
	  "$(BIN)/python -m tests.proof.fleet.queue --changes 20" \
	  "$(BIN)/python -m tests.proof.fleet.mutants" \
	  "FUZZ=20 $(BIN)/pytest -q --timeout 1800 tests/invariants/test_fuzz.py" \
	  "$(BIN)/python -m tests.proof.process" \
	  "$(BIN)/python -m tests.proof.zones" \
	  "$(BIN)/python -m tests.proof.language" \
	  "$(BIN)/python -m tests.proof.clicks 200" \
	  "$(BIN)/python -m tests.proof.deliveries 10000 60" \
	  "$(BIN)/python -m tests.proof.backup --kills 100" \
	  "$(BIN)/python -m tests.proof.deploy --rounds 20" \
	  "$(BIN)/python -m tests.proof.cluster 5" \
	  "$(BIN)/python -m tests.crash.gitops" \
	  "$(BIN)/python -m tests.proof.first"

# SIGKILL at every commit and outside call that there is, and then at random: make crash N=2000
crash: $(VENV)/.installed-dev
	$(BIN)/python -m tests.crash --kills $(or $(N),2000) --database sqlite
	$(BIN)/python -m tests.crash --kills $(or $(N),2000) --database postgres

# Half an hour of everything at once, and the carriers under their torture. Needs PostgreSQL.
soak: $(VENV)/.installed-dev
	$(BIN)/python -m tests.proof.carriers
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),30) --wishes $(or $(WISHES),1000)

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.engine
	$(BIN)/python -m tests.bench.processes --minutes $(or $(MINUTES),1)
	$(BIN)/python -m tests.bench.growth
	$(BIN)/python -m tests.bench.weight.million --plans $(or $(PLANS),100000)
	$(BIN)/python -m tests.bench.product
	$(BIN)/python -m tests.bench.hot
	$(BIN)/python -m tests.bench.thinking
	$(BIN)/python -m tests.bench.share
	$(BIN)/python -m tests.bench.weight.bytes
	$(BIN)/python -m tests.bench.backup
	$(BIN)/python -m tests.bench.ack
	$(BIN)/python -m tests.bench.weight.storm
	$(BIN)/python -m tests.bench.language
	$(BIN)/python -m tests.bench.light

# Signoff beside DBOS, LangGraph, Procrastinate and APScheduler, in one run; their own environment is made first.
bench-peers: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.peers --rounds $(or $(ROUNDS),5) $(ARGS)

# What the Dockerfile does, without a container: locked dependencies, the built wheel, the commands.
image-rehearsal: $(VENV)/.installed-dev
	rm -rf dist && $(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	$(BIN)/python tests/proof/image_rehearsal.py dist/*.whl

# Needs uv (pip install uv). Names, versions and hashes only; no addresses.
lock:
	uv pip compile pyproject.toml --extra kubernetes --extra data --extra factors --extra cluster --extra demo --extra mcp --extra zones --group install --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" -q -o requirements.lock
	uv pip compile pyproject.toml --extra agents -c requirements.lock --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" -q -o requirements-agents.lock
	uv pip compile pyproject.toml --group dev -c requirements.lock --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" -q -o requirements-dev.lock

clean:
	rm -rf .venv .venv-* .signoff dist
