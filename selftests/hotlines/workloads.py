# SPDX-License-Identifier: GPL-2.0
"""The model's workloads of tasks that switch: rings, and a leader of threads."""
from tools.model.workload import Workload

RING, LEADER = (f"selftests/hotlines/guest/{name}.c" for name in ("ring", "leader"))
SWITCH = "__switch_to_asm"
RINGS = {"kinds": "pipe:futex:threads", "tasks": "4:8:12:16:32:64:128:256:512", "switches": "2000",
         "warm": "4", "perturb": "0"}

WORKLOADS = {
    "crossing": Workload("context switch", RING, RINGS | {"tasks": "2:4:8:16:32"}, SWITCH, cpus=2,
                         labels=True),
    "leader": Workload("round", LEADER, {"rounds": "500", "warm": "50", "perturb": "0"}, cpus=5),
    "ring": Workload("context switch", RING, {"kind": "pipe", "tasks": "64", "rounds": "50",
                                              "warm": "5", "perturb": "0"}, SWITCH),
    "rings": Workload("context switch", RING, RINGS, SWITCH, labels=True),
}
