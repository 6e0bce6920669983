# make demo      what it does, in one minute
# make test      the landing tests, which CI runs; sets up what it needs
# make check     what must hold before a commit
# make help      all targets
#
# Go and make are enough for all of it on a machine with a Chromium or apt.
# JavaScript is checked where Node is, and always in CI.

GO      ?= go
PKGS    ?= ./...
TOOL     = $(GO) tool -modfile=tools/go.mod
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
NPM     := $(shell command -v npm 2>/dev/null)

# The race detector needs a C compiler. CI has one; a machine with Go alone
# still runs the tests.
ifneq ($(CI)$(shell command -v gcc cc clang 2>/dev/null | head -n 1),)
RACE := -race
endif

.DEFAULT_GOAL := help
.PHONY: help setup modules browser node inspector browserless editors build npm release-snapshot store demo demo-panel test test-long test-report test-list mutation fuzz check check-go check-generate check-js check-workflows check-vulns bench generate clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# bin/times.txt has the seconds that setup, check, compiling and the tests took; test prints it.
ifneq ($(if $(filter 0,$(MAKELEVEL)),$(filter setup check test,$(MAKECMDGOALS))),)
$(shell mkdir -p bin && rm -f bin/times.txt && date +%s >bin/started)
endif
TOOK = now=$$(date +%s); echo "$@ $$((now - $$(cat bin/started))) s" >>bin/times.txt; echo "$$now" >bin/started

setup: modules browser node ## get Go modules, a Chromium and, where npm is, the JavaScript tools
	@$(TOOK)

modules:
	@$(GO) mod download

browser:
	@tools/chromium.sh

# Installed again when the lock file changes.
node: $(if $(NPM),tools/node_modules/.package-lock.json)
ifeq ($(NPM),)
	@if [ -n "$$CI" ]; then echo "error: npm is not installed, and CI checks the JavaScript" >&2; exit 1; fi
endif

tools/node_modules/.package-lock.json: tools/package-lock.json
	npm ci --prefix tools --no-audit --no-fund --loglevel=error
	@touch $@

inspector: $(if $(NPM),tools/inspector/node_modules/.package-lock.json) ## get the MCP inspector, 110 MB, for a long test

tools/inspector/node_modules/.package-lock.json: tools/inspector/package-lock.json
	npm ci --prefix tools/inspector --no-audit --no-fund --loglevel=error
	@touch $@

# Its tests run on Linux on x64, for which the packages have Node 24.
browserless: $(if $(and $(NPM),$(findstring Linux x86_64,$(shell uname -sm))),tools/browserless/node_modules/.package-lock.json) ## get browserless, 470 MB, for long tests

tools/browserless/node_modules/.package-lock.json: tools/browserless/package-lock.json
	npm ci --prefix tools/browserless --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

editors: $(if $(NPM),tools/editors/node_modules/.package-lock.json) ## get editors, 490 MB, for a long test

tools/editors/node_modules/.package-lock.json: tools/editors/package-lock.json
	npm ci --prefix tools/editors --legacy-peer-deps --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

build: bin/chrome-mcp ## build bin/chrome-mcp

.PHONY: bin/chrome-mcp
bin/chrome-mcp:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/chrome-mcp

# A version as npm wants it: that of a tag, or one before all others.
NPM_VERSION := $(or $(shell echo "$(VERSION)" | sed -n 's/^v\([0-9]*\.[0-9]*\.[0-9]*\(-[a-z]*\.[0-9]*\)\?\)$$/\1/p'),0.0.0-devel)

npm: modules ## pack the npm packages of all platforms into dist/npm
	node npm/build.mjs $(NPM_VERSION)

release-snapshot: npm ## make the files of a release in dist/release, and publish none
	@tools/release-snapshot.sh

# The images are 1280 by 800 pixels, which the store requires. When the
# extension is published, extension.StoreID must be set to the id that the store gives it.
store: modules browser ## make what the Chrome Web Store wants in dist/store: zip, texts, privacy page, images
	$(GO) run ./extension/store -dir dist/store -privacy docs/privacy.md
	$(GO) test ./extension -count=1 -run '^TestScreenshots$$' -store-images "$(CURDIR)/dist/store"

demo: modules browser build ## fill in and submit a form in a real browser over MCP, step by step
	$(GO) run ./examples/demo -server bin/chrome-mcp -screenshot bin/demo.png

# It needs Xvfb: the test that it runs clicks on a screen of its own.
demo-panel: modules browser ## chat with the example agent in the side panel of a real Chrome, and save bin/demo-panel.png
	@mkdir -p bin
	$(GO) test ./cmd/chrome-mcp -count=1 -v -run '^TestSidePanel$$' -panel-screenshot "$(CURDIR)/bin/demo-panel.png"

# What passed only when it was run again is in bin/flaky.txt, and fails nothing.
test: modules node ## run the landing tests; a failed test is run again at most twice
	@tools/chromium.sh || [ -z "$$CI" ]
	@$(GO) run ./internal/landing $(PKGS); failed=$$?; echo; cat bin/times.txt; exit $$failed

# Variables of the deep tests: SHARD=i/n runs a part, LIMIT=90m ends the run, ONLY=pattern selects units,
# AGAIN=1 also runs what has a result that counts. FUZZTIME is a number of executions: at the end of a
# duration, Go before 1.27 can report "context deadline exceeded" as a failure of the target
# (https://go.dev/issue/75804).
SHARD    ?= 1/1
LIMIT    ?= 0
FUZZTIME ?= 50000x
DEEP      = $(GO) run ./internal/deeptest -shard $(SHARD) -limit $(LIMIT) -fuzztime $(FUZZTIME) $(if $(RACE),,-race=false) \
	$(if $(ONLY),-only '$(ONLY)') $(if $(AGAIN),-again) $(if $(REPORT),-report)

test-long: $(if $(REPORT),,modules browser node inspector browserless editors) ## run the deep tests; continues where the last run ended; REPORT=1 only prints its results
	@$(DEEP)

test-report: ## print which results of the deep tests count, and which are missing; fails if some are
	@$(DEEP) -report

test-list: ## list all tests with tier, package and last duration
	@$(DEEP) -list

# The deep tests run for those that the landing tests do not detect. INTACT=1 runs their tests on unchanged code.
mutation: modules browser node ## remove each protection that SECURITY.md promises and check that its tests then fail
	@$(DEEP) $(if $(INTACT),-intact,-mutations)

fuzz: ## run each fuzz target
	@$(DEEP) -only '^fuzz/$(ONLY)'

# The checks run beside each other, once nothing writes generated files any more.
check: check-generate ## formatting, vet, staticcheck, generated files, imports, words, JavaScript, workflows, known vulnerabilities if vuln.go.dev can be reached
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) check-go check-js check-workflows check-vulns
	@$(TOOK)

check-go: modules
	@files=$$(gofmt -l $$(ls $$(git ls-files -co --exclude-standard '*.go') 2>/dev/null)) || exit 1; \
		if [ -n "$$files" ]; then echo "gofmt -w these files:" >&2; echo "$$files" >&2; exit 1; fi
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) test ./internal/archtest

# In a clean clone this is: go generate ./... && git diff --exit-code. In a
# working tree it asks only that generating changes nothing.
check-generate: modules
	@state() { git status --porcelain; git diff; }; \
		before=$$(state | git hash-object --stdin); \
		$(GO) generate ./... && \
		if [ "$$(state | git hash-object --stdin)" != "$$before" ]; then \
			echo "go generate changed these files; commit them:" >&2; git status --short >&2; exit 1; fi

check-js: node
	@tools/check-js.sh

check-workflows: modules
	$(TOOL) actionlint .github/workflows/*.yml

check-vulns: modules
	@GO=$(GO) tools/check-vulns.sh

bench: modules ## benchmarks, against the raw protocol in the same run
	@tools/chromium.sh
	$(GO) test -run '^$$' -bench . -benchmem -p 1 -timeout 30m $(PKGS)

generate: modules ## write the generated files
	$(GO) generate ./...

clean: ## remove what was built
	rm -rf bin dist tools/node_modules tools/inspector/node_modules tools/browserless/node_modules tools/editors/node_modules
