#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: [OPTIONAL='PACKAGE...'] setup.sh BUILD [PACKAGE...]
# Installs the Debian packages that are missing (the only step that needs root,
# directly or by sudo) and a Python environment under BUILD/venv. An OPTIONAL
# package that cannot be installed is told of, and is no error.

# shellcheck disable=SC2086 # lists of packages are meant to be split

set -eu
build=$1
shift
here=$(dirname "$0")
fail() { echo "error: $*" >&2; exit 1; }

packages="build-essential bc bison flex libelf-dev git ccache cpio rsync xz-utils
	debian-archive-keyring qemu-system-x86 ndctl daxctl busybox-static python3 python3-venv $*"

command -v dpkg-query >/dev/null ||
	fail "this needs Debian 12 or later; elsewhere install the counterparts of:" $packages
missing_of() {
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || echo "$package"
	done
}
missing=$(missing_of $packages)
optional=$(missing_of ${OPTIONAL-})
if [ -n "$missing$optional" ]; then
	echo "installing packages:" $missing $optional
	sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo=sudo
		command -v sudo >/dev/null || fail "missing packages and no sudo: as root, run apt-get install" $missing $optional
	fi
	$sudo apt-get update -q -o APT::Update::Error-Mode=any ||
		fail "apt-get update failed (see above): is the network up?"
	install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }
	# Together where all can be had.
	if ! install $missing $optional; then
		[ -z "$missing" ] || install $missing || fail "apt-get could not install" $missing "(see above)"
		for package in $optional; do
			install "$package" || echo "warning: apt-get could not install $package: what needs it is skipped" >&2
		done
	fi
fi

# Debian's own Python, whatever another one (pyenv, conda) puts first in PATH.
python=/usr/bin/python3
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
mkdir -p "$build"
stamp="$build/venv/$(sha256sum <"$here/requirements.txt" | cut -c1-12)"
if ! [ -e "$stamp" ]; then
	echo "installing the Python environment in $build/venv"
	rm -rf "$build/venv"
	"$python" -m venv "$build/venv" || fail "$python cannot make a virtual environment"
	"$build/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
		fail "pip could not install what $here/requirements.txt lists (see above): is the network up?"
	touch "$stamp"
fi
