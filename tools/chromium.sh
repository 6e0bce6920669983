#!/bin/sh
# Makes sure that there is a Chromium to drive: looks for one, installs one
# where there is apt, else says in one sentence how to get one.
set -eu

found() {
	if [ -n "${CHROME_MCP_BROWSER:-}" ]; then
		return 0
	fi
	for name in google-chrome google-chrome-stable chromium chromium-browser \
		brave-browser microsoft-edge microsoft-edge-stable; do
		if command -v "$name" >/dev/null 2>&1; then
			return 0
		fi
	done
	for app in "Google Chrome" Chromium "Brave Browser" "Microsoft Edge"; do
		for folder in /Applications "$HOME/Applications"; do
			if [ -x "$folder/$app.app/Contents/MacOS/$app" ]; then
				return 0
			fi
		done
	done
	return 1
}

install() {
	sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo=sudo
	fi
	command -v apt-get >/dev/null 2>&1 || return 0
	[ -z "$sudo" ] || command -v sudo >/dev/null 2>&1 || return 0
	echo "installing $*: ${sudo:+sudo }apt-get install $*" >&2
	export DEBIAN_FRONTEND=noninteractive
	{ $sudo apt-get update -q && $sudo apt-get install -y -q --no-install-recommends "$@"; } >&2 || true
}

if ! found; then
	echo "no Chromium found" >&2
	install chromium
fi

# Tests that need no user interface of a browser run in a headless shell if there is one, which takes half
# of the CPU time. Debian has one of the same version.
if [ -n "${CI:-}" ] && [ -z "${CHROME_MCP_BROWSER:-}" ] && command -v chromium >/dev/null 2>&1 &&
	! command -v chromium-headless-shell >/dev/null 2>&1; then
	install chromium-headless-shell
fi

found && exit 0
echo "error: no Chromium found" >&2
echo "hint: install Google Chrome from https://www.google.com/chrome/, or set CHROME_MCP_BROWSER to the path of a Chromium, and run this again" >&2
exit 1
