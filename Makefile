# Two commands matter: `make demo` and `make test`. Each sets up all that it needs first.
.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-command test-spark test-lab test-hadoop test-versions fuzz docs wheel dist format lint clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: ## Prepare this checkout: JDK, Maven, Python environment, the jar; then use .venv/bin/hearth
	@tools/setup.sh

demo: ## Show this machine, plan for it, run Spark jobs bound to it, prove the placement
	@tools/setup.sh
	@.venv/bin/hearth lab demo

check: ## Run the linters and the quick tests: what to run while you work
	@tools/setup.sh
	@tools/test.sh check

test: ## Run all tests, formatters' checks and linters of both languages
	@tools/setup.sh test
	@tools/test.sh all

test-command: ## Run the tests of the command that start no Spark
	@tools/setup.sh
	@tools/test.sh command

test-spark: ## Run the tests that start a real Spark
	@tools/setup.sh test
	@tools/test.sh spark

test-lab: ## Run every case in emulated NUMA machines (the better part of an hour)
	@tools/setup.sh test
	@HEARTH_NUMALAB=all tools/test.sh lab

test-hadoop: ## Run Hadoop's own tests of its RPC over hearth's wire (three minutes)
	@tools/setup.sh test
	@HEARTH_HADOOP_TESTS=all tools/test.sh hadoop

test-versions: ## Run a core set on the newest Spark 4.0, 4.1 and 4.2, on Java 21 and 25, and on two machines
	@tools/setup.sh test
	@tools/test.sh versions

fuzz: ## Damage files and generate machines by a new seed, many times (ten minutes); prints the seed
	@tools/setup.sh test
	@tools/test.sh fuzz

docs: ## Build the documentation as a static site in build/site; a broken link ends it
	@tools/setup.sh
	@.venv/bin/python tools/site.py

wheel: ## Build the wheel alone, in dist: what pip installs anywhere
	@tools/setup.sh
	@tools/dist.sh wheel

dist: ## Build what a release publishes: the wheel, and a Maven repository with sources and docs
	@tools/setup.sh
	@tools/dist.sh all

format: ## Format the sources of both languages
	@tools/setup.sh
	@.venv/bin/ruff check --fix --quiet .
	@.venv/bin/ruff format .
	@mvn -B -q -Dstyle.color=never -f jvm spotless:apply

lint: ## Check formatting, style and import directions only
	@tools/setup.sh
	@tools/lint.sh

clean: ## Remove what was built; keeps the Python environment and the download caches
	@rm -rf jvm/target jvm/*/target src/hearth/jars build dist .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	@find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
