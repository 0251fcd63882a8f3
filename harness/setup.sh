#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: setup.sh WHAT, in the checkout. Runs harness/setup.py by the system's own Python, whatever
# another one (pyenv, conda) puts first in PATH. A bare Debian has none: then this installs it.

python=/usr/bin/python3
fail() { echo "error: $*" >&2; exit 1; }

if ! [ -x "$python" ]; then
	root=
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get -q update || echo "warning: apt-get update failed (see above)" >&2
	$root apt-get -q -y --no-install-recommends install python3
fi
[ -x "$python" ] || fail "$python is missing: as root, run 'apt-get install python3', then this again"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
exec "$python" -B -m harness.setup "$@"
