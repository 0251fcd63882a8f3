#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: setup.sh WHAT, in the checkout. Runs harness/setup.py by Debian's own Python, whatever
# another one (pyenv, conda) puts first in PATH. A bare Debian has none: then this installs it.

python=/usr/bin/python3
fail() { echo "error: $*" >&2; exit 1; }

if ! [ -x "$python" ]; then
	case ${BUILD-}$PWD in *[[:space:]:]*)
		fail "the path of BUILD or of the checkout has a space or a colon in it: use another folder" ;;
	esac
	command -v apt-get >/dev/null || fail "$python is missing: install Python 3.11 or later"
	sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo=sudo
		command -v sudo >/dev/null || fail "no $python and no sudo: as root, run 'apt-get install python3'"
	fi
	$sudo apt-get update -q || echo "warning: apt-get update failed (see above)" >&2
	$sudo apt-get install -q -y --no-install-recommends python3 ||
		fail "apt-get could not install python3 (see above)"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
exec "$python" -B -m harness.setup "$@"
