# SPDX-License-Identifier: GPL-2.0
"""What every stage shares: faults, progress, child processes, the lock on build/."""

import contextlib
import ctypes
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
STARTED = time.monotonic()
PR_SET_PDEATHSIG = 1
TELLING = re.compile(r"error:|fatal:|^[EW]: |ERROR|WARNING|undefined reference|No space left|\*\*\* ")
PATIENCE = 10
STEP = "starting"


# A kernel's or a selftest's make must not take the options of the make that started us for its own.
for inherited in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
    os.environ.pop(inherited, None)


class Fault(Exception):
    """A failure that the user can act on: its text is one line that says how; shown are lines to print before it."""

    def __init__(self, text: str, shown: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.shown = shown


def say(text: str) -> None:
    """Print one line of progress behind the minutes and seconds since the start."""
    minutes, seconds = divmod(int(time.monotonic() - STARTED), 60)
    print(f"[{minutes:3d}:{seconds:02d}] {text}", flush=True)


def step(text: str) -> None:
    """Announce the next step; an interruption names the step it fell into."""
    global STEP
    STEP = text
    say(text)


def digest(*parts: str | bytes) -> str:
    """Return twelve hex digits that stand for all of parts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:12]


def need_disk(where: Path, gib: float, what: str) -> None:
    """Raise Fault unless the file system of where has gib GiB free."""
    free = shutil.disk_usage(where).free / 2**30
    if free < gib:
        raise Fault(
            f"{what} needs {gib:g} GiB under {where}, {free:.1f} GiB are free: make room, or set BUILD= to a folder on another disk"
        )


def die_with_parent(sig: int) -> Callable[[], None]:
    """Return a preexec_fn with which a child gets sig when this process dies."""
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, sig)


def spawn(command: Sequence[str | Path], **more: object) -> subprocess.Popen[str]:
    """Start command in a group of its own, to be ended by end()."""
    try:
        child: subprocess.Popen[str] = subprocess.Popen(
            [str(word) for word in command],
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
            **more,
        )  # type: ignore[call-overload]
        return child
    except FileNotFoundError as error:
        raise Fault(f"{error.filename} is missing: run 'make setup'") from None


def end(child: subprocess.Popen[str]) -> None:
    """End a child of spawn() and everything it started; make gets the time to delete what it was writing."""
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
    **more: object,
) -> str:
    """Run command and return its output, which log keeps if given.

    progress is called with each line. Raises Fault with what, the most telling
    line of output and the log when the command fails.
    """
    lines: list[str] = []
    with contextlib.ExitStack() as stack:
        keep = stack.enter_context(log.open("w")) if log else None
        child = spawn(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
        stack.callback(end, child)
        assert child.stdout
        for line in child.stdout:
            lines.append(line)
            if keep:
                keep.write(line)
            if progress:
                progress(line.rstrip())
        status = child.wait()
    if status:
        told = [line.strip() for line in lines if TELLING.search(line)] or [line.strip() for line in lines]
        raise Fault(
            f"{what} failed: {told[0] if told else shlex.join(map(str, command))}{f' (all of it: {log})' if log else ''}"
        )
    return "".join(lines)


def git(where: Path, *words: str | Path) -> str:
    """Run git in where, blind to the user's and the system's git configuration, and return its output, stripped."""
    plain = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_NAME": "harness",
        "GIT_COMMITTER_EMAIL": "harness@localhost",
        "GIT_AUTHOR_NAME": "harness",
        "GIT_AUTHOR_EMAIL": "harness@localhost",
        "TZ": "UTC",
        "LC_ALL": "C",
    }
    command = ["git", "-C", where, "-c", f"safe.directory={where}", *words]
    return run(command, f"git {words[0]} in {where}", env=os.environ | plain).strip()


@contextlib.contextmanager
def locked(build: Path) -> Iterator[None]:
    """Hold build/ for this process; Raises Fault, naming the holder, when another one has it."""
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Fault(
                f"another run (process {lock.read().strip() or 'unknown'}) is using {build}: wait for it, or set BUILD= to another folder"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def interrupt(number: int, frame: FrameType | None) -> None:
    """Signal handler: unwind as Ctrl-C does."""
    raise KeyboardInterrupt


def main(stage: Callable[[], None]) -> None:
    """Run a stage as a program: a fault is one line and status 1, an interruption status 130; what nohup ignores stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        stage()
    except Fault as fault:
        sys.exit("\n".join([*(f"    {line}" for line in fault.shown), f"error: {fault}"]))
    except OSError as error:
        sys.exit(f"error: {STEP}: {error}")
    except KeyboardInterrupt:
        print(f"error: interrupted ({STEP}); nothing half-made was kept, run it again", file=sys.stderr)
        sys.exit(130)
