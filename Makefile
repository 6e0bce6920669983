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

# The packages whose tests start a browser, and those of them whose tests keep two cores busy.
BROWSERS = /(cmd/chrome-mcp|examples/.*|executor/chromium|executor/extension|internal/outline|internal/page|policy)$$
BUSY     = /executor/(chromium|extension)$$

.DEFAULT_GOAL := help
.PHONY: help setup modules browser node inspector browserless build npm release-snapshot store demo demo-panel test test-long test-full mutation fuzz check check-go check-generate check-js check-vulns bench generate clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# bin/times.txt has the seconds that setup, check, compiling and the tests took; test prints it.
ifeq ($(MAKELEVEL),0)
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

# The packages that only compute and start no goroutine. The race detector would find nothing in
# them, and make their tests several times slower. Package readable serves concurrent calls, so
# test-long runs its fast tests with the race detector too.
SERIAL = /internal/(archtest|mutation|obstacle|readable|webp)$$

# What passed only when it was run again is in bin/flaky.txt, and fails nothing.
test: modules node ## run the landing tests; a failed test is run again at most twice
	@tools/chromium.sh || [ -z "$$CI" ]
	@$(GO) run ./internal/landing $(PKGS); failed=$$?; echo; cat bin/times.txt; exit $$failed

# deep_test runs the tests of all packages with the flags $(1).
define deep_test
	@tools/chromium.sh || [ -z "$$CI" ]
	@$(GO) list -export -test $(filter -race,$(1)) $(PKGS) >/dev/null # compiles them all at once
	@$(GO) list $(PKGS) | grep -E '$(SERIAL)' | xargs -r $(GO) test -p 2 $(filter-out -race,$(1))
	@$(GO) list $(PKGS) | grep -Ev '$(SERIAL)|$(BROWSERS)' | xargs -r $(GO) test -p 2 $(1)
	@$(GO) list $(PKGS) | grep -E '$(BUSY)' | xargs -r $(GO) test -p 1 $(1)
	@$(GO) list $(PKGS) | grep -E '$(BROWSERS)' | grep -Ev '$(BUSY)' | xargs -r $(GO) test -p 2 $(1)
endef

# PART=i/n runs a part of the cases of the longest tests. The long tests of leaks include all quick
# ones.
PART        ?= 1/1
QUICK_LEAKS  = $(if $(filter 1/1,$(PART)),-skip '^TestExtensionLeaks$$|^TestLeaks$$/^(chromium|attached)$$')

test-long: export TEST_LONG = $(PART)
test-long: modules node inspector browserless ## run the tests with the race detector, the long ones too, and each fuzz target for a while
	$(call deep_test,$(RACE) -timeout 60m $(QUICK_LEAKS))
	@$(GO) test $(RACE) -short ./internal/readable
	@$(MAKE) --no-print-directory fuzz

test-full: export TEST_LONG = all
test-full: modules ## run the exhaustive tests: minutes each, on an idle machine
	@tools/chromium.sh
	$(GO) test $(RACE) -p 1 -v -timeout 90m -run '^(TestExtensionDetailCases|TestExecutorInPool|TestPoolLeaks|TestLongLeaks|TestLongCDPClientLeaks|TestPolicyEnforcementOverhead|TestSessionHeap)$$' ./executor/extension ./executor/chromium ./cmd/chrome-mcp
	$(GO) test $(RACE) -p 1 -v -timeout 90m -run '^(TestExecutor|TestExtension|TestLongExtension)$$/./^denied_(input|pointer|pixels)$$' ./executor/extension ./executor/chromium
	$(GO) test $(RACE) -v -timeout 90m -run '^TestLongHostile$$' ./cmd/chrome-mcp -hostile-calls 1000

# SHARD=i/n runs a part of the mutations.
SHARD ?= 1/1

mutation: modules ## remove each protection that SECURITY.md promises and check that its tests then fail
	@tools/chromium.sh
	$(GO) run ./internal/mutation/run -shard $(SHARD)

# A number of executions: at the end of a duration, Go before 1.27 can report "context deadline
# exceeded" as a failure of the target (https://go.dev/issue/75804).
FUZZTIME ?= 50000x

fuzz: ## run each fuzz target for FUZZTIME
	@set -e; for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | cut -c 6-); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

check: check-go check-generate check-js check-vulns ## formatting, vet, staticcheck, generated files, imports, words, JavaScript, known vulnerabilities
	@$(TOOK)

check-go: modules
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
		if [ -n "$$files" ]; then echo "gofmt -w these files:" >&2; echo "$$files" >&2; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
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

check-vulns: modules
	@GO=$(GO) tools/check-vulns.sh

bench: modules ## benchmarks, against the raw protocol in the same run
	@tools/chromium.sh
	$(GO) test -run '^$$' -bench . -benchmem -p 1 -timeout 30m $(PKGS)

generate: modules ## write the generated files
	$(GO) generate ./...

clean: ## remove what was built
	rm -rf bin dist tools/node_modules tools/inspector/node_modules tools/browserless/node_modules
