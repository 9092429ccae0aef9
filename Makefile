# clawhost. `make` alone lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# The modules of go.work: the host with its plugins, and what authors of plugins import.
MODULES := . ./sdk
PACKAGES := $(MODULES:%=%/...)

TOOLS := $(CURDIR)/.tools
VERSION := $(shell git describe --tags --match 'v*' --always --abbrev=12 --dirty 2>/dev/null || echo dev)

# Binaries carry no symbols, which no stack trace needs; `make build SYMBOLS=1` keeps them for debuggers and profilers.
STRIP := $(if $(SYMBOLS),,-s -w)

# Without the trace pages of grpc, which nobody can open, binaries are smaller and start faster.
TAGS := -tags grpcnotrace

# The race detector needs cgo, hence a C compiler.
ifneq ($(shell command -v "$$(go env CC 2>/dev/null | cut -d' ' -f1)" 2>/dev/null),)
RACE := -race
RACE_ENV := CGO_ENABLED=1 GORACE='$(GORACE) atexit_sleep_ms=50'
RACE_NOTE := race detector: on ($(shell go env CC))
else
RACE :=
RACE_ENV := CGO_ENABLED=0
RACE_NOTE := race detector: off (no C compiler found; install gcc to have it)
endif

# The race detector does not look at what these do: it would take more time than all else together, and they are not ours. They are
# SQLite, regular expressions, the parsers of Go and the arithmetic of keys. What is lost are races on memory that one of them reads or
# writes at the same time as another goroutine; it is given texts that do not change, and keeps its own values to itself.
WITHIN := modernc.org regexp go crypto/internal/fips140/edwards25519 crypto/internal/fips140/nistec
UNSEEN := $(if $(RACE),$(WITHIN:%=-gcflags='%/...=-race=false'))

# It compiles, without linking, what the binaries consist of that tests build: tests that run at the same time would each do so.
COMPILE := GOGC=400 CGO_ENABLED=0 go list -export $(TAGS) $(PACKAGES) >/dev/null

# Tests are built as the binaries are, without symbols and the pages of grpc; `make lint` has the checks of vet. The compiler and the
# linker collect garbage less often; the tests do not, because some measure memory.
TEST := GOGC=400 $(RACE_ENV) go test $(RACE) $(UNSEEN) $(TAGS) -ldflags=-w -vet=off -exec='env -u GOGC'

# The packages with tests that need more than Go, and the folders whose package.json pins what they need of npm's.
E2E := $(sort $(dir $(shell grep -rls --include='*_test.go' '^//go:build e2e' core plugins examples)))
NPM := $(patsubst %/package.json,%,$(wildcard core/e2e/package.json plugins/*/e2e/package.json))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the host, the claude stub and all plugins into bin/
	@list=$$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...); \
	for package in $$list; do \
		case $$package in \
			*/core/cmd/*) name=$${package##*/} ;; \
			*/plugins/*|*/examples/*) name=clawhost-$${package##*/} ;; \
			*) continue ;; \
		esac; \
		rm -f bin/$$name; \
		CGO_ENABLED=0 go build -trimpath $(TAGS) -ldflags '$(STRIP) -X main.version=$(VERSION)' -o bin/$$name $$package; \
		echo "bin/$$name"; \
	done
	@chmod a=x bin/clawhost # what its user cannot read, no process of that user can read while it starts

.PHONY: run
run: build ## build everything and run the host with config.hcl
	@if command -v claude >/dev/null; then \
		exec bin/clawhost -config config.hcl; \
	else \
		echo 'claude is not on your PATH, so this is a demo: a stand-in answers, not Claude.'; \
		echo 'For the real one: npm install -g @anthropic-ai/claude-code, then run "claude" once to log in, then "make run".'; \
		exec bin/clawhost -config config.hcl -demo; \
	fi

# Most tests wait for processes, so more of them run at the same time than there are cores.
.PHONY: test
test: ## run all tests that need Go alone, with short crash and fault tests
	@echo '$(RACE_NOTE)'
	$(COMPILE)
	$(TEST) -parallel 4 -timeout 20m $(PACKAGES)
	@echo 'left to "make test-long": long crash and fault tests, all texts for the parsers'

.PHONY: test-long
test-long: ## run the same in full: hundreds of kill -9 and faults, all texts for the parsers
	@echo '$(RACE_NOTE)'
	$(COMPILE)
	CLAWHOST_LONG=1 $(TEST) -count=1 -timeout 40m $(PACKAGES)

.PHONY: bench
bench: build ## measure the built binaries: the figures of docs/performance.md, for this machine
	go run ./core/bench

# Old versions of npm install a claude for each C library; one of them runs.
.PHONY: e2e
e2e: build $(NPM:%=%/node_modules/.installed) ## run the tests with the real claude CLI and a real browser (needs npm and Chromium)
	@claude=; \
	for binary in $(CURDIR)/core/e2e/node_modules/@anthropic-ai/claude-code-*/claude; do \
		if version=$$("$$binary" --version 2>/dev/null); then claude=$$binary; echo "claude: $$version"; fi; \
	done; \
	if [ -z "$$claude" ]; then echo 'no claude binary that runs here was installed in core/e2e/node_modules'; exit 1; fi; \
	CLAWHOST_CLAUDE="$$claude" CLAWHOST_BIN="$(CURDIR)/bin" go test -tags e2e -count=1 -timeout 20m $(E2E:%=./%)

# The packages are native binaries or plain JavaScript: no install script is needed, so none is run.
%/node_modules/.installed: %/package.json %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: check
check: check-tidy check-generated check-proto check-rules check-format lint list-long ## check all that is no test: go.mod, generated code, protocol, layers, format, linters

.PHONY: check-tidy
check-tidy:
	@for module in $(MODULES); do go -C $$module mod tidy -diff; done
	@echo 'go.mod and go.sum: tidy'

.PHONY: check-generated
check-generated: $(TOOLS)/installed
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	cd proto && PATH="$(TOOLS):$$PATH" buf generate --output "$$fresh"; \
	diff -r ../sdk/pluginv1 "$$fresh/sdk/pluginv1" || { echo 'the generated code is not current: run "make generate"'; exit 1; }; \
	echo 'generated code: current'

.PHONY: check-proto
check-proto: $(TOOLS)/installed
	cd proto && "$(TOOLS)/buf" lint
	@proto/tools/breaking "$(TOOLS)/buf"

.PHONY: check-rules
check-rules:
	go test -count=1 ./core/internal/rules

.PHONY: check-format
check-format: $(TOOLS)/installed
	@list=$$(find . -name '*.go' -not -name '*.pb.go' -not -path './.*' -not -path '*/node_modules/*' | xargs "$(TOOLS)/gofumpt" -l); \
	if [ -n "$$list" ]; then echo 'not formatted, run "make format":'; echo "$$list"; exit 1; fi; \
	echo 'gofumpt: clean'

.PHONY: lint
lint: $(TOOLS)/installed ## run the linters of .golangci.yaml, vet and staticcheck among them
	"$(TOOLS)/golangci-lint" run $(PACKAGES)

# It asks vuln.go.dev what is known today, so it is no part of check, which says the same of a commit at any time.
.PHONY: vulnerabilities
vulnerabilities: $(TOOLS)/installed ## look for known vulnerabilities in what is called (needs the network)
	"$(TOOLS)/govulncheck" -tags e2e $(PACKAGES)

.PHONY: list-long
list-long:
	@find . -name '*.go' -not -name '*.pb.go' -not -path './.*' -not -path '*/node_modules/*' | xargs wc -l \
		| awk '$$2 != "total" && $$1 > 400 { if (!n++) print "over 400 lines (no error, a question):"; print "  " $$0 }'

.PHONY: format
format: $(TOOLS)/installed ## format all Go files
	@find . -name '*.go' -not -name '*.pb.go' -not -path './.*' -not -path '*/node_modules/*' | xargs "$(TOOLS)/gofumpt" -w

.PHONY: generate
generate: $(TOOLS)/installed ## write the Go code of the protocol
	rm -rf sdk/pluginv1
	cd proto && PATH="$(TOOLS):$$PATH" buf generate --output ..

.PHONY: tools
tools: $(TOOLS)/installed ## build the tools of check and generate into .tools/ (some minutes, once)

$(TOOLS)/installed: proto/tools/go.mod proto/tools/go.sum
	CGO_ENABLED=0 GOBIN="$(TOOLS)" GOWORK=off go -C proto/tools install -trimpath tool
	@touch $@

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: release
release: $(TOOLS)/release ## build archives, packages, an SBOM and their sums into dist/, the same bytes for the same commit
	VERSION='$(VERSION)' TOOLS='$(TOOLS)' .release/build dist $(PLATFORMS)

.PHONY: release-check
release-check: $(TOOLS)/release ## build a release of HEAD for this platform twice, compare the two and look into them
	VERSION='$(VERSION)' TOOLS='$(TOOLS)' .release/check

$(TOOLS)/release: .release/go.mod .release/go.sum
	CGO_ENABLED=0 GOBIN="$(TOOLS)" GOWORK=off go -C .release install -trimpath tool
	@touch $@

.PHONY: clean
clean: ## remove what was built and installed
	rm -rf bin dist .tools $(NPM:%=%/node_modules)
