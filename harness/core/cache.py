# SPDX-License-Identifier: GPL-2.0
"""Files that appear whole or not at all, and a cache of results by a digest of their inputs."""

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

KEY_DIGITS = 12


def digest(*parts: str | bytes) -> str:
    """Return a digest of all parts, in twelve hex digits."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:KEY_DIGITS]


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def replace(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to path when the block succeeds.

    The block makes a file or a folder there. If the block fails, path stays as it was.
    """
    new = path.with_name(f"{path.name}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    remove(new)
    try:
        yield new
        if path.is_dir():
            remove(path)
        new.rename(path)
    finally:
        remove(new)


@contextlib.contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Yield path as an empty folder, and remove it when the block ends."""
    remove(path)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        remove(path)


def keep(
    folder: Path,
    name: str,
    parts: Iterable[str | bytes],
    make: Callable[[Path], object],
    files: Iterable[str] = (),
) -> Path:
    """Return folder/NAME-KEY, KEY a digest of parts; make() it if it or one of files is missing."""
    kept = folder / f"{name}-{digest(*parts)}"
    if not kept.exists() or not all((kept / file).exists() for file in files):
        with replace(kept) as new:
            make(new)
    return kept


def drop_others(kept: Path) -> None:
    name = kept.name[:-KEY_DIGITS]
    for other in kept.parent.glob(f"{name}{'[0-9a-f]' * KEY_DIGITS}"):
        if other != kept:
            remove(other)
