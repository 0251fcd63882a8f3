# SPDX-License-Identifier: GPL-2.0
"""The host's CPU, described precisely enough to tell two CPUs apart."""

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


def name_cpu(vendor: str, family: str, model: str, stepping: str, name: str, amx: int) -> str:
    """Return the CPU's name, family, model, stepping and, if it is known, microarchitecture.

    A hypervisor can mask the model. AMX then still shows that it is Sapphire Rapids or later.
    """
    model_name = f"{name.strip()}, family {family} model {model} stepping {stepping or 'unknown'}"
    known = KNOWN.get((vendor, int(family), int(model)), "")
    if not known and amx:
        known = "Sapphire Rapids or later, its model masked"
    return f"{model_name} ({known})" if known else model_name


def describe_cpu(cpuinfo: str = "") -> str:
    """Return the same of this machine's CPU, or of the text of a /proc/cpuinfo."""
    text = cpuinfo or Path("/proc/cpuinfo").read_text()
    fields: dict[str, str] = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", text.split("\n\n")[0], re.M))
    keys = ("vendor_id", "cpu family", "model", "stepping", "model name")
    vendor, family, model, stepping, name = (fields.get(key, "") for key in keys)
    return name_cpu(
        vendor, family, model, stepping, name, "amx_tile" in fields.get("flags", "").split()
    )
