# SPDX-License-Identifier: GPL-2.0
"""Run programs in a known environment, end them with us, and report a failure in one line."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.core.errors import UserError

TELLING = re.compile(
    r"error:|fatal:|^[EW]: |ERROR|CRITICAL|WARNING|^DIFFERS|undefined reference|No space left"
    r"|\*\*\* "
)
PATIENCE = 10
# The variables that a program inherits: where things are, and how to reach the network. Variables
# that change what make, a compiler or git does, such as MAKEFLAGS, KCFLAGS or GIT_DIR, are not
# among them.
INHERITED = re.compile(
    r"PATH|HOME|USER|LOGNAME|TERM|TMPDIR|APT_CONFIG|DEBIAN_FRONTEND"
    r"|(?i:\w+_proxy)|SSL_CERT_\w+|CURL_CA_BUNDLE|GIT_SSL_CAINFO"
    r"|PIP_(CERT|CLIENT_CERT|CONFIG_FILE|DEFAULT_TIMEOUT|EXTRA_INDEX_URL|FIND_LINKS|INDEX_URL"
    r"|NO_INDEX|PROXY|RETRIES|TRUSTED_HOST)"
)
# The harness parses the messages of tools, so they must not be translated.
LOCALE = {"LC_ALL": "C.UTF-8"}


def make_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a program: the variables of INHERITED, LOCALE and more."""
    inherited = {name: value for name, value in os.environ.items() if INHERITED.fullmatch(name)}
    return inherited | LOCALE | dict(more or {})


@contextlib.contextmanager
def spawn(
    command: Sequence[str | Path], env: Mapping[str, str] | None = None, **more: object
) -> Iterator[subprocess.Popen[str]]:
    """Start command, and end it and all that it started when the block ends.

    make gets PATIENCE seconds to clean up. If this process dies, the kernel ends command, as
    setpriv asks it to. The output, stdout and stderr together, is a pipe. env adds to the
    environment. Raises UserError when the program is not installed.
    """
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    variables = make_environment(env)
    # A path is that of a program in cwd.
    path = Path(str(more.get("cwd", "."))) / command[0] if "/" in str(command[0]) else command[0]
    for program in ("setpriv", path):
        if not shutil.which(program, path=variables.get("PATH")):
            raise UserError(f"{program} is missing: run 'make tools'")
    child: subprocess.Popen[str] = subprocess.Popen(
        ["setpriv", "--pdeathsig=TERM", *map(str, command)],
        text=True,
        errors="replace",
        start_new_session=True,
        env=variables,
        **streams | more,
    )  # type: ignore[call-overload]
    try:
        yield child
    finally:
        for sig in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(child.pid, sig)
                child.wait(PATIENCE)


def run(
    command: Sequence[str | Path],
    what: str,
    *,
    log: Path | None = None,
    progress: Callable[[str], None] | None = None,
    env: Mapping[str, str] | None = None,
    fine: Sequence[int] = (0,),
    **more: object,
) -> str:
    """Run command and return its output, stdout and stderr together.

    The output also goes to log, if given, and each line of it to progress. env adds to the
    environment. Raises UserError when the command ends with a status that is not in fine. The
    message names what, the most telling line of the output, and the log.
    """
    lines: list[str] = []
    log_file = (log or Path(os.devnull)).open("w", errors="replace")
    with log_file, spawn(command, env, **more) as child:
        assert child.stdout
        for line in child.stdout:
            lines.append(line)
            log_file.write(line)
            if progress:
                progress(line.rstrip())
        status = child.wait()
    if status not in fine:
        telling = [line.strip() for line in lines if TELLING.search(line)]
        telling = telling or [line.strip() for line in lines] or [shlex.join(map(str, command))]
        raise UserError(f"{what} failed: {telling[0]}{f' (full log: {log})' if log else ''}")
    return "".join(lines)


def compile_program(source: Path, output: Path, *flags: str, gcc: str = "gcc") -> Path:
    """Build one of our own programs, which is a single C file, and return it."""
    run([gcc, "-O2", "-Wall", "-Wextra", *flags, "-o", output, source], f"building {source}")
    return output


def git(where: Path, *args: str | Path) -> str:
    """Run git in where, without the settings of user and system; return its output, stripped."""
    plain = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_NAME": "harness",
        "GIT_COMMITTER_EMAIL": "harness@localhost",
        "GIT_AUTHOR_NAME": "harness",
        "GIT_AUTHOR_EMAIL": "harness@localhost",
        "GIT_NO_LAZY_FETCH": "1",
        "TZ": "UTC",
    }
    command = ["git", "-C", where, "-c", f"safe.directory={where}", *args]
    return run(command, f"git {args[0]} in {where}", env=plain).strip()
