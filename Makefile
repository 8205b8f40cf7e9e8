# Every target sets itself up: a virtual environment in .venv with Adjoint and its tools.
# Needs make and Python 3.11 or newer; name another interpreter with PYTHON=/path/to/python.

SHELL := bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: help demo test test-all test-oracle test-c test-opencl test-cuda-compile test-wgsl test-clients test-cpus test-arm64 test-gpu test-gpu-sanitizer test-mpi test-sharding test-deps test-interrupts bits golden check check-types check-style fuzz fuzz-gpu bench docs gallery site format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      train a network on digits; show its gradient program, its kernels, its page"
	@echo "make test      the tests ($(WORKERS) workers; WORKERS=auto uses every core)"
	@echo "make check     formatting, lint, types, layers, the site"
	@echo "make test-all  the tests with the slow ones and the fuzzers"
	@echo "make test-sharding  every op in every layout on meshes, and 2,000 random programs"
	@echo "make fuzz      random programs for MINUTES ($(MINUTES)) on every core, and the other fuzzers"
	@echo "make fuzz-gpu  $(PROGRAMS) random programs on an NVIDIA GPU: the bits of the CPU"
	@echo "make test-oracle  ops, layers, losses, optimisers and files against torch's"
	@echo "make test-c       every record's kernels as C, compiled by gcc, cc or clang, against LLVM"
	@echo "make test-opencl  every record's kernels in OpenCL C, run on PoCL, against LLVM"
	@echo "make test-cuda-compile  every record's kernels in CUDA C++, by nvcc or NVRTC; PTX, by ptxas"
	@echo "make test-wgsl    kernels of every record in WGSL, validated by naga (needs node and npm)"
	@echo "make test-gpu     every record and derivative on an NVIDIA GPU: the bits of the CPU"
	@echo "make test-gpu-sanitizer  kernels on an NVIDIA GPU under memcheck, racecheck and synccheck"
	@echo "make test-mpi     many processes: collectives, lost processes, parallel training"
	@echo "make test-clients  suites of SciPy, scikit-learn, einops, autograd with Adjoint's tensors"
	@echo "make test-cpus    every record on every level of x86-64: against the reference, bit for bit"
	@echo "make test-arm64   kernels of the records as aarch64 objects, run by qemu"
	@echo "make test-deps    the oldest and newest NumPy, ml_dtypes and llvmlite; an sdist and a wheel"
	@echo "make test-interrupts  $(INTERRUPTS) processes interrupted at random times"
	@echo "make bits         store the bits that compiled records must have"
	@echo "make golden       store the texts that programs must have at every stage"
	@echo "make bench     building graphs and gradients, overheads, whole computations, against peers"
	@echo "make docs      the methods of Tensor, docs/ops/, tables, texts and pictures of the other pages"
	@echo "make gallery   train every example for the curves of docs/gallery.md"
	@echo "make site      the documentation as web pages, in site/"
	@echo "make format    put the code into shape"
	@echo "make clean     remove what the other targets made"

# The first interpreter that runs and is new enough: one that is on the path may be a broken shim.
$(READY): pyproject.toml
	@set -e; \
	if [ ! -x $(BIN)/python ]; then \
	  for python in $(PYTHON) $(if $(PYTHON),,python3.12 python3.11 python3.13 python3 python); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	        >/dev/null 2>&1; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "Adjoint needs Python 3.11 or newer with the venv module, and found none" \
	      "$(if $(PYTHON),at $(PYTHON),on the path)." >&2; \
	    echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
	    exit 1; \
	  fi; \
	  echo "setting up $(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv $(VENV); \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(BIN)/python -m compileall -q adjoint  # even where Python may not write bytecode itself
	@touch $@

demo: $(READY)
	@$(BIN)/adjoint train demo

# -rs: what was skipped, and why.
QUICK = not mpi and not slow and not fuzz and not oracle and not targets and not cpus and not arm64

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) -rs -m "$(QUICK)"

# The seed of random programs is the day; one for all workers, even if they start around midnight.
test-all: $(READY)
	ADJOINT_FUZZ_SEED=$${ADJOINT_FUZZ_SEED:-$$(date -u +%Y%m%d)} ADJOINT_TEST_DEVICE=CPU $(BIN)/python -m pytest -n $(WORKERS)

MINUTES ?= 10

# Random programs on an NVIDIA GPU against the CPU, bit for bit.
PROGRAMS ?= 2000

test-sharding: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) tests/sharding
	$(BIN)/python -m tests.fuzz --seed 1 --programs 2000 --modes "mesh,mesh jit,mesh grad"

fuzz-gpu: $(READY)
	$(BIN)/python -m tests.fuzz --on GPU --programs $(PROGRAMS)

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)
	$(BIN)/python -m pytest -n $(WORKERS) -m fuzz

# Torch gets an environment of its own; Adjoint's never sees it.
ORACLE := .oracle
TORCH ?= torch==2.13.0

$(ORACLE)/.ready: $(READY)
	@echo "setting up $(ORACLE) with $(TORCH)"
	@$(BIN)/python -m venv $(ORACLE)/venv
	@$(ORACLE)/venv/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) numpy expecttest
	@touch $@

$(ORACLE)/samples/samples.json: $(ORACLE)/.ready $(wildcard tests/oracle/*.py)
	$(ORACLE)/venv/bin/python -m tests.oracle.make_samples $(ORACLE)/samples

$(ORACLE)/samples/nn.npz: $(ORACLE)/.ready $(wildcard tests/oracle/nn_*.py)
	$(ORACLE)/venv/bin/python -m tests.oracle.nn_make $(ORACLE)/samples

test-oracle: $(READY) $(ORACLE)/samples/samples.json $(ORACLE)/samples/nn.npz
	$(BIN)/python -m pytest -n $(WORKERS) -m oracle tests/oracle tests/nn/state

# Every record on every level of x86-64, against the reference and bit for bit.
test-cpus: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) -rs -m cpus tests/agreement

# Kernels of the records as aarch64 objects, run by qemu (Debian: qemu-user, gcc-aarch64-linux-gnu).
test-arm64: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) -rs -m arm64 tests/codegen/llvm

# Every record, derivative and larger programs on an NVIDIA GPU, against the CPU; and the driver.
test-gpu: $(READY)
	$(BIN)/python -m tests.backends.cuda.agreement --workers 8 --summary .adjoint_cache/gpu_bits.json
	$(BIN)/python -m pytest -rs -m gpu tests/backends/cuda --deselect \
	  tests/backends/cuda/test_gpu.py::test_every_record_and_program_has_the_bits_of_the_cpu

# Needs compute-sanitizer of the CUDA toolkit on the path.
test-gpu-sanitizer: $(READY)
	$(BIN)/python -m tests.backends.cuda.sanitised --workers 8

# Programs of two to five processes; in make test they are two.
test-mpi: $(READY)
	$(BIN)/python -m pytest -rs -m mpi tests

# Environments of their own, in .deps: see tests/deps.py.
test-deps: $(READY)
	$(BIN)/python -m tests.deps

INTERRUPTS ?= 500

test-interrupts: $(READY)
	$(BIN)/python -m tests.runtime.interrupted $(INTERRUPTS)

# The bits that compiled records must have, after a change that is meant to change them.
bits: $(READY)
	$(BIN)/python -m tests.agreement.bits --update >/dev/null

# The texts of tests/golden, after a change that is meant to change them: read git diff tests.
golden: $(READY)
	$(BIN)/python -m pytest --update-golden tests/golden tests/codegen/c/test_golden.py

TARGETS = $(BIN)/python -m pytest -n $(WORKERS) -rs -m targets

test-c: $(READY)
	$(TARGETS) tests/codegen/c/test_records_c.py

# OpenCL gets an environment of its own, too: PoCL brings another LLVM.
OPENCL := .opencl
POCL ?= pyopencl pocl-binary-distribution==3.0 numpy

$(OPENCL)/.ready: $(READY)
	@echo "setting up $(OPENCL) with $(POCL)"
	@$(BIN)/python -m venv $(OPENCL)/venv
	@$(OPENCL)/venv/bin/python -m pip install --quiet --disable-pip-version-check $(POCL) \
	  || echo "PoCL cannot be installed here; the tests will say so"
	@touch $@

test-opencl: $(READY) $(OPENCL)/.ready
	$(TARGETS) tests/codegen/c/test_opencl.py

test-cuda-compile: $(READY)
	$(TARGETS) tests/codegen/c/test_cuda.py tests/codegen/nvptx

NAGA := .naga
NAGA_WASM ?= naga-wasm@30.1.0

$(NAGA)/.ready:
	@mkdir -p $(NAGA)
	@npm install --silent --prefix $(NAGA) $(NAGA_WASM) >/dev/null 2>&1 \
	  || echo "naga cannot be installed here (npm is needed); the tests will say so"
	@touch $@

test-wgsl: $(READY) $(NAGA)/.ready
	$(TARGETS) tests/codegen/c/test_wgsl.py

# Suites of other libraries get an environment of their own; tests/clients/README.md says how.
CLIENTS := .clients
SUITES ?= array-api-extra==0.11.5 einops==0.8.2 scipy==1.17.1 scikit-learn==1.9.1 autograd==1.9.1

$(CLIENTS)/.ready: $(READY)
	@echo "setting up $(CLIENTS) with $(SUITES)"
	@$(BIN)/python -m venv $(CLIENTS)/venv
	@$(CLIENTS)/venv/bin/python -m pip install --quiet --disable-pip-version-check -e . $(SUITES) \
	  array-api-compat array-api-strict hypothesis mpmath pandas pytest pytest-timeout \
	  typing_extensions
	@$(CLIENTS)/venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
	  --no-binary autograd --dest $(CLIENTS) $(filter autograd%,$(SUITES))
	@mkdir -p $(CLIENTS)/autograd
	@tar xzf $(CLIENTS)/autograd-*.tar.gz -C $(CLIENTS)/autograd --strip-components 1 --wildcards '*/tests'
	@touch $@

test-clients: $(READY) $(CLIENTS)/.ready
	$(CLIENTS)/venv/bin/python -m tests.clients.run

# As a module, so that hooks find docs/; the theme would announce its successor at every build.
MKDOCS = NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs

# The site and the types take as long as one another.
check: $(READY)
	@$(MAKE) --no-print-directory -j 2 -O check-types check-style site

check-types:
	$(BIN)/mypy

check-style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Warnings are errors; so are pages that lead nowhere.
site: $(READY)
	$(MKDOCS) build --strict --quiet --site-dir site

bench: $(READY)
	$(BIN)/python bench/graph.py
	$(BIN)/python bench/autodiff.py
	$(BIN)/python bench/first_call.py
	$(BIN)/python bench/overhead.py
	$(BIN)/python bench/overhead_steps.py
	$(BIN)/python bench/path.py
	$(BIN)/python bench/reductions.py
	$(BIN)/python bench/cpu.py
	$(BIN)/python bench/cpu.py --group own_choice
	$(BIN)/python bench/memory.py
	$(BIN)/python bench/core.py
	$(BIN)/python bench/models.py
	$(BIN)/python bench/install.py
	$(BIN)/python -m bench.view

clean:
	rm -rf $(VENV) .deps $(ORACLE) $(OPENCL) $(NAGA) $(CLIENTS) site build dist *.egg-info bench/.peers
	rm -rf .adjoint_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find adjoint tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +

docs: $(READY)
	$(BIN)/python -m docs.build_methods
	$(BIN)/python -m docs.build_ops
	$(BIN)/python -m docs.build_core
	$(BIN)/python -m docs.build_tour
	$(BIN)/python -m docs.guide_pictures

# Trains every example for the curves of docs/gallery.md, and measures this machine: minutes.
gallery: $(READY)
	$(BIN)/python -m docs.build_gallery
	$(BIN)/python -m docs.guide_pictures --measure
