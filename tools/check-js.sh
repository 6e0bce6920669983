#!/bin/sh
# Checks the JavaScript of this repository: syntax by node, types by tsc, and
# runs its tests.
# Without Node it says so and succeeds, unless in CI.
set -eu
cd "$(dirname "$0")/.."

files=$(git ls-files -co --exclude-standard '*.js' '*.mjs')
if [ -z "$files" ]; then
	exit 0
fi
if ! command -v node >/dev/null 2>&1; then
	if [ -n "${CI:-}" ]; then
		echo "error: Node is not installed, and CI checks the JavaScript" >&2
		exit 1
	fi
	echo "note: JavaScript is not checked here, there is no Node"
	exit 0
fi

for file in $files; do
	node --check "$file"
done
if [ -x tools/node_modules/.bin/tsc ]; then
	tools/node_modules/.bin/tsc --project tools/tsconfig.json
	tools/node_modules/.bin/tsc --project tools/tsconfig.extension.json
elif [ -n "${CI:-}" ]; then
	echo "error: tools/node_modules is missing; run make setup" >&2
	exit 1
fi
node --test --test-reporter=dot extension/test/
echo "JavaScript: $(echo "$files" | wc -l | tr -d ' ') files checked"
