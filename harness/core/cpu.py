# SPDX-License-Identifier: GPL-2.0
"""The host's CPU, described precisely enough to tell two CPUs apart, and the time it had."""

import re
from pathlib import Path

# Microarchitectures by vendor, family and model, from arch/x86/include/asm/intel-family.h and
# AMD's revision guides.
KNOWN = {
    ("GenuineIntel", 6, 85): "Skylake-SP, Cascade Lake or Cooper Lake",
    ("GenuineIntel", 6, 106): "Ice Lake-SP",
    ("GenuineIntel", 6, 143): "Sapphire Rapids",
    ("GenuineIntel", 6, 173): "Granite Rapids",
    ("GenuineIntel", 6, 207): "Emerald Rapids",
    ("AuthenticAMD", 23, 49): "Zen 2",
    ("AuthenticAMD", 25, 1): "Zen 3",
    ("AuthenticAMD", 25, 17): "Zen 4",
    ("AuthenticAMD", 25, 160): "Zen 4c",
    ("AuthenticAMD", 26, 2): "Zen 5",
}


def describe_cpu(cpuinfo: str = "") -> str:
    """Return the CPU's name, family, model, stepping and, if it is known, microarchitecture.

    A hypervisor can mask the model. AMX then still shows that it is Sapphire Rapids or later.
    """
    text = cpuinfo or Path("/proc/cpuinfo").read_text()
    fields: dict[str, str] = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", text.split("\n\n")[0], re.M))
    family, model = int(fields["cpu family"]), int(fields["model"])
    told = f"{fields['model name'].strip()}, family {family} model {model}"
    told += f" stepping {fields.get('stepping', 'unknown')}"
    known = KNOWN.get((fields.get("vendor_id", ""), family, model), "")
    if not known and "amx_tile" in fields.get("flags", "").split():
        known = "Sapphire Rapids or later, its model masked"
    return f"{told} ({known})" if known else told


def read_cpu_times() -> tuple[int, int]:
    """Return the time that the hypervisor took from this host, and all CPU time, in 10 ms."""
    times = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[-1], sum(times)
