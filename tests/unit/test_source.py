# SPDX-License-Identifier: GPL-2.0
"""Where the base comes from, and what is no base."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.core import command, errors, options
from harness.kernel import source


def test_linux_is_no_base(toy_options: options.Options, toy: Path) -> None:
    """Where the toy's tag is gone, HEAD decides."""
    command.git(toy, "tag", "-d", "v7.3-rc7")
    (toy / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION =\n")
    command.git(toy, "commit", "-q", "-a", "-m", "other")
    complaint = f"^LINUX={toy} holds kernel 6.1.0, but the series needs v7.3.4: fetch that tag"
    with pytest.raises(errors.UserError, match=complaint):
        source.prepare_source(toy_options)
    assert not [*toy_options.build.iterdir()]


def test_linux_is_a_partial_clone(toy_options: options.Options, toy: Path, tmp_path: Path) -> None:
    """git would fetch the missing files into it, or the base would lack them."""
    command.git(toy, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    command.git(tmp_path, "clone", "-q", "--filter=blob:none", "-n", f"file://{toy}", clone)
    before = sorted(clone.rglob("*"))
    with pytest.raises(errors.UserError, match=f"^LINUX={clone} is a partial clone"):
        source.prepare_source(dataclasses.replace(toy_options, linux=clone))
    assert sorted(clone.rglob("*")) == before


def test_changed_base_is_noticed(toy_options: options.Options) -> None:
    base = source.prepare_source(toy_options) / "base"
    for change in ((base / "mm.c").unlink, lambda: (base / "mm.c").write_text("mine\n")):
        change()
        with pytest.raises(errors.UserError, match="1 changed or missing files, such as mm.c: run"):
            source.prepare_source(toy_options)
    command.git(base, "checkout", "-q", "-f", "base")
    assert source.prepare_source(toy_options) / "base" == base


def test_package_is_what_git_would_add(
    tmp_path: Path, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs, symbolic links, files without an end of line, and no folder that is empty."""
    (toy / "run").write_bytes(b"#!/bin/sh\n\0")
    (toy / "run").chmod(0o755)
    (toy / "link").symlink_to("mm.c")
    (toy / "empty").touch()
    command.git(toy, "add", "-A")
    command.git(toy, "commit", "-q", "-m", "all kinds")
    unpacked = tmp_path / "fetched/usr/src"
    unpacked.mkdir(parents=True)
    (toy / "none").mkdir()
    pack = f"tar -C {tmp_path} --exclude=.git -cJf {unpacked}/linux.tar.xz toy"
    command.run(pack.split(), "tar")

    apt = SimpleNamespace(find_version=lambda *_: "1~é", fetch=lambda *_: tmp_path / "fetched")
    monkeypatch.setattr(source, "Apt", lambda _: apt)
    monkeypatch.setattr(source, "PACKAGE", "linux")
    base = source.prepare_source(options.read_options({"BUILD": str(tmp_path)})) / "base"
    assert command.git(base, "rev-parse", "base^{tree}") == command.git(
        toy, "rev-parse", "HEAD^{tree}"
    )
    assert command.git(base, "log", "--format=%s", "base") == "Debian linux 1~é"
