# SPDX-License-Identifier: GPL-2.0
"""Where the base comes from, and the message when it cannot be fetched."""

from pathlib import Path

import pytest
from support import Stage, read_error

from harness.core import command, debian, errors, folders, options
from harness.kernel import source, topics


def test_linux_is_no_repository(stage: Stage, tmp_path: Path) -> None:
    assert "is not a readable git repository" in read_error(
        stage("harness.kernel.source", LINUX=str(tmp_path / "nothing"))
    )


def test_linux_is_no_kernel(stage: Stage, toy: Path) -> None:
    command.git(toy, "tag", "-d", "v7.3-rc7")
    command.git(toy, "rm", "-q", "Makefile")
    command.git(toy, "commit", "-q", "-m", "no kernel")
    assert "holds no kernel, but the series needs v7.3-rc7" in read_error(
        stage("harness.kernel.source", LINUX=str(toy))
    )


def test_linux_is_another_version(stage: Stage, toy: Path, tmp_path: Path) -> None:
    command.git(toy, "tag", "-d", "v7.3-rc7")
    (toy / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION =\n")
    command.git(toy, "commit", "-q", "-a", "-m", "older")
    assert "holds kernel 6.1.0, but the series needs v7.3-rc7: fetch that tag" in read_error(
        stage("harness.kernel.source", LINUX=str(toy))
    )
    assert {path.name for path in (tmp_path / "build").iterdir()} == {"lock", folders.MARKER}


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "list_archives", lambda: ["http://127.0.0.1:9/debian"])
    monkeypatch.setattr(source, "SUITES", ("sid",))
    with pytest.raises(
        errors.UserError,
        match=r"cannot look for linux-source-7.3 in Debian: check the network \(.*onnect.*LINUX=",
    ):
        source.prepare_source(options.read_options({"BUILD": str(tmp_path)}))
    assert not list(tmp_path.glob("source-*"))


def test_linux_is_a_partial_clone(stage: Stage, toy: Path, tmp_path: Path) -> None:
    """git would fetch the missing files into it, or the base would lack them."""
    command.git(toy, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    command.git(tmp_path, "clone", "-q", "--filter=blob:none", "-n", f"file://{toy}", clone)
    before = sorted(path for path in clone.rglob("*"))
    done = stage("harness.kernel.source", LINUX=str(clone))
    assert f"LINUX={clone} is a partial clone" in read_error(done)
    assert sorted(path for path in clone.rglob("*")) == before


def test_changed_base_is_noticed(toy_options: options.Options) -> None:
    base = source.prepare_source(toy_options) / "base"
    for change in ((base / "mm.c").unlink, lambda: (base / "mm.c").write_text("mine\n")):
        change()
        with pytest.raises(errors.UserError, match="1 changed or missing files, such as mm.c: run"):
            source.prepare_source(toy_options)
    command.git(base, "checkout", "-q", "-f", "base")
    assert source.prepare_source(toy_options) / "base" == base


def test_tag_is_fetched_where_debian_has_no_package(
    toy: Path, toy_series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise debian.NotOffered("apt's sources list no Debian archive")

    monkeypatch.setattr(debian, "list_archives", gone)
    monkeypatch.setattr(source, "UPSTREAM", f"file://{toy}")
    chosen = options.read_options({"BUILD": str(tmp_path)})
    base = source.prepare_source(chosen, toy_series) / "base"
    assert command.git(base, "rev-parse", "base") == command.git(toy, "rev-parse", "v7.3-rc7^{}")
    assert command.git(base, "rev-list", "--count", "base") == "1"
    assert (base / "mm.c").exists()


def test_fetched_tag_is_not_what_the_patches_were_made_from(
    toy: Path, toy_series: Path, tmp_path: Path
) -> None:
    blobs = topics.read_blobs(topics.list_topics(toy_series))
    assert blobs == {"mm.c": command.git(toy, "rev-parse", "v7.3-rc7:mm.c")[:12]}
    command.git(toy, "tag", "-f", "v7.3-rc7", "HEAD")
    with pytest.raises(
        errors.UserError, match=r"were not made from the mm.c in v7.3-rc7 of file://"
    ):
        source.fetch_tag(tmp_path / "base", blobs, f"file://{toy}")


def test_nothing_can_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise debian.NotOffered("apt's sources list no Debian archive")

    monkeypatch.setattr(debian, "list_archives", gone)
    monkeypatch.setattr(source, "UPSTREAM", f"file://{tmp_path}/nowhere")
    with pytest.raises(errors.UserError, match=r"no Debian archive, and .*nowhere.* set LINUX="):
        source.prepare_source(options.read_options({"BUILD": str(tmp_path)}))
    assert not list(tmp_path.glob("source-*"))
