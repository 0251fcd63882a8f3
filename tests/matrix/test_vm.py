# SPDX-License-Identifier: GPL-2.0
"""Both kernels build, boot and rebind in the VM with clean consoles. The times do not matter.

Of the VM's cells, those of the base run in make test-all only.
"""

import dataclasses
import os
import re
import select
import subprocess
from pathlib import Path

import pytest

from harness.core import command, errors
from harness.kernel.configs import LIKE_DEBIAN
from harness.link.disassembly import find_undrained
from harness.vm import accel, guest, initramfs, shell
from harness.vm.devices import DEVICES
from support import Builder, choose, need_machine

# In the configuration of the VM, the compiler does not inline it.
STREAMS = "memmap_init_device_range"


@pytest.mark.parametrize("name", choose(("base", "series"), ("series",)))
def test_boot_and_rebind(builder: Builder, name: str) -> None:
    """Kernel and selftest have to tell of each rebind of each device."""
    builder.rebind(name, builder.options)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_arm64(builder: Builder, name: str) -> None:
    """Cross-compiled, and always emulated."""
    need_machine("arm64")
    builder.rebind(name, dataclasses.replace(builder.options, arch="arm64", accel="tcg"))


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_like_debian(builder: Builder, name: str) -> None:
    """With what Debian switches on: new memory is zeroed, and a jiffy is 4 ms."""
    times, console = builder.rebind(name, builder.options, LIKE_DEBIAN)
    assert "heap alloc:on" in console
    assert {ms % 4 for one in times.values() for ms in (one.first, *one.memmap)} == {0}


def test_shell(builder: Builder) -> None:
    """Commands are typed, each when the shell asks for one, and Ctrl-D ends the guest.

    daxctl looks for the module kmem, which is built in.
    """
    kernel = builder.kernel("series")
    image = initramfs.make_initramfs(builder.options, builder.trees.series, "shell")
    accelerator = accel.choose_accel(builder.options, kernel, image)
    words = shell.make_guest(kernel, image, accelerator, 2).command()
    todo = ["uname -r\n", "make_namespace 2 devdax mem 2M\n"]
    todo += (
        f"daxctl reconfigure-device -f -m {mode} dax2.0\n" for mode in ("system-ram", "devdax")
    )
    todo += ["rebind 1\n", "\4"]
    text, typed = "", 0
    with command.spawn(words, stdin=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        while select.select([child.stdout], [], [], 300)[0]:
            if not (chunk := os.read(child.stdout.fileno(), 4096)):
                break
            text += chunk.decode(errors="replace")
            # An answer to each prompt.
            if text.count(f"{kernel.release}# ") > typed:
                print(todo[typed], end="", file=child.stdin, flush=True)
                typed += 1
    lines = text.replace("\r", "").split("\n")
    assert kernel.release in lines
    assert {'  "dev":"namespace2.0",', '  "map":"mem",'} <= set(lines)
    assert lines.count("reconfigured 1 device") == 2
    assert f"# Totals: pass:{len(DEVICES)} fail:0 xfail:0 xpass:0 skip:0 error:0" in lines
    assert "reboot: Power down" in text


def test_real_panic_is_seen(builder: Builder, tmp_path: Path) -> None:
    empty = tmp_path / "empty.cpio"
    empty.write_bytes(initramfs.pack_archive({}, {}))
    with pytest.raises(errors.UserError, match="complains: .*Kernel panic - not syncing"):
        machine = guest.Guest(builder.kernel("series"), empty, "tcg")
        guest.boot_guest(machine, tmp_path / "log", lambda _: None, 120)


def test_copy_is_inline(builder: Builder) -> None:
    """Eight MOVNTI without a call or a jump between them copy a struct page of 64 bytes."""
    mm_init = builder.kernel("series").image.parent / "mm_init.o"
    code = command.run(["objdump", "-d", "--no-show-raw-insn", mm_init], "objdump")
    function = re.search(r"<memmap_fill>:\n(.*?)\n\n", code + "\n\n", re.S)
    assert function
    stretches = re.split(r"\t(?:call|j\w+|rep|ret)\b", function[1])
    assert max(stretch.count("\tmovnti") for stretch in stretches) == 8
    assert "rep movs" not in function[1]


def test_copies_are_drained(builder: Builder) -> None:
    """The kernel that boots drains its copies; test_memmap.py checks those that are raced."""
    assert not find_undrained(builder.kernel("series").image.parent / "mm_init.o", STREAMS)
