#!/bin/sh
# Looks for known vulnerabilities that this code, built with this Go, can
# reach. Where the database (vuln.go.dev, or GOVULNDB) cannot be reached it says
# so and succeeds.
set -eu
cd "$(dirname "$0")/.."

# Without the database nothing needs to be built.
db=${GOVULNDB:-https://vuln.go.dev}
case $db in
http://* | https://*)
	if command -v curl >/dev/null 2>&1 && ! curl -fsS --max-time 20 -o /dev/null "$db/index/modules.json.gz" 2>/dev/null; then
		echo "note: known vulnerabilities were NOT looked for: $db cannot be reached"
		exit 0
	fi
	;;
esac

status=0
out=$(${GO:-go} tool -modfile=tools/go.mod govulncheck ./... 2>&1) || status=$?
case $out in
*"fetching vulnerabilities:"*)
	echo "note: known vulnerabilities were NOT looked for: $db cannot be reached"
	exit 0
	;;
esac
echo "$out"
exit "$status"
