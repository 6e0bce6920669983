#!/bin/sh
# Makes what a release consists of, by .goreleaser.yaml, and publishes nothing.
# What cannot be made on this machine is left out, and named.
set -eu
cd "$(dirname "$0")/.."

if ! command -v goreleaser >/dev/null 2>&1; then
	echo "error: goreleaser is not installed" >&2
	echo "hint: install v2.15 or later from https://goreleaser.com/install; the workflow release.yml has it" >&2
	exit 1
fi
skip=
if ! docker info >/dev/null 2>&1; then
	echo "note: the container image is NOT built: no Docker engine answers"
	skip=docker
fi
if ! command -v syft >/dev/null 2>&1; then
	echo "note: the SBOMs are NOT made: syft is not installed"
	skip=${skip:+$skip,}sbom
fi
exec goreleaser release --snapshot --clean ${skip:+--skip="$skip"}
