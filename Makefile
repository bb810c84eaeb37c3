# SPDX-License-Identifier: Apache-2.0
# make run   build everything and start spawnd, printing the address to open
# make test  install what the tests need and run every test
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X spawn/internal/version.Version=$(VERSION)
GOFLAGS_BUILD := -trimpath -ldflags '$(LDFLAGS)'
export CGO_ENABLED ?= 0

.PHONY: build run test unsaid test-go test-web test-e2e web web-deps gen lint bench fuzz chaos seeded-bugs clean tools cross

build:
	go build $(GOFLAGS_BUILD) -o bin/ ./cmd/...

run: build
	./bin/spawnd serve $(ARGS)

tools:
	./scripts/ensure-tools.sh

# What a test left out, since the clone or the system lacks what it needs, is said at the end.
UNTESTED := $(CURDIR)/test-output/untested
test: export SPAWN_UNTESTED := $(UNTESTED)
test: unsaid tools web-deps test-go cross test-web test-e2e
	@echo "every test passed"
	@if [ -s "$(UNTESTED)" ]; then echo "but what could not be tested here:"; sort -u "$(UNTESTED)"; fi

unsaid:
	@mkdir -p test-output && rm -f "$(UNTESTED)"

# The race detector needs cgo. Packages run one after another on a small machine: the tests measure
# real processes, and a starved machine would only measure itself.
# Tests that search memory cannot run under the detector and are built without it; their packages run once more so.
WITHOUT_RACE = $(shell grep -rl --include='*_test.go' '^//go:build !race$$' internal | xargs grep -l '^func Test' | xargs -n1 dirname | sort -u | sed 's|^|./|')
test-go: build
	CGO_ENABLED=1 go vet ./...
	CGO_ENABLED=1 go test -race -p 2 -timeout 20m ./...
	test -n "$(WITHOUT_RACE)" && go test $(WITHOUT_RACE)
	go run ./tools/seeded -turn 3

web-deps: web/node_modules/.package-lock.json
web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

# The committed page must be what its sources build, byte for byte.
test-web: web-deps
	cd web && npm run typecheck && npm run lint && npm test
	mkdir -p test-output && rm -rf test-output/dist && cp -r web/dist test-output/dist
	cd web && npm run build
	diff -r test-output/dist web/dist || { echo "web/dist is stale: run make web and commit it" >&2; exit 1; }

test-e2e: build web-deps
	cd web && SPAWND_BIN=$(CURDIR)/bin/spawnd npm run e2e

web: web-deps
	cd web && npm run build

gen: web-deps
	go generate ./...

lint: web-deps
	test -z "$$(gofmt -l cmd internal tools web/*.go *.go)" || { gofmt -l cmd internal tools web/*.go *.go; exit 1; }
	go vet ./... && go vet -tags failpoints ./...
	cd web && npm run lint && npm run typecheck
	for program in spawnd spawn-worker; do test "$$(go build -ldflags=-dumpdep -o /dev/null ./cmd/$$program 2>&1 | grep -c '<ReflectMethod>')" = 0; done

# The other systems are not run on, but what is written for them must go on compiling.
cross:
	GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/spawnd && GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/spawn-worker
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/spawnd && GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/spawn-worker

bench: tools
	go run ./tools/bench $(ARGS)

FUZZTIME ?= 30s
fuzz:
	./scripts/fuzz.sh $(FUZZTIME)

# One line for each class of faults. SIZE=gate|long sets how many runs; SEED= replays a run; RUN= picks tests.
chaos:
	CGO_ENABLED=1 SIZE=$(or $(SIZE),long) SEED=$(SEED) RUN='$(RUN)' ./scripts/chaos.sh

# Puts each known bug into a copy of the tree and wants its tests to fail. BUG= picks some. `make test` tries three of them,
# others with each commit.
seeded-bugs:
	./scripts/seeded-bugs.sh $(BUG)

clean:
	rm -rf bin test-output
