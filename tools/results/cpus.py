# SPDX-License-Identifier: GPL-2.0
"""Names of the CPU models that tables were timed on: their guests have one model name for all."""
from __future__ import annotations

from tools.results.machine import Machine

# By cpuinfo's family and model. Guests on the one with AMX hide it: 167 has none, and a smaller L2
NAMES = {("25", "1"): "Zen 3", ("25", "17"): "Zen 4", ("26", "2"): "Zen 5",
         ("6", "167"): "Intel with AMX", ("6", "85"): "Cascade Lake"}


def cpu_name(of: Machine) -> str:
    """Return the name of a machine's CPU model, or its family and model if it has no name here."""
    family, model = str(of.get("cpu family")), str(of.get("model"))
    return NAMES.get((family, model), f"family {family}, model {model}")
