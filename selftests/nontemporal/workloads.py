# SPDX-License-Identifier: GPL-2.0
"""The model's workloads of buffered writes."""
from tools.model.workload import Workload

WRITERS = "selftests/nontemporal/guest/writers.c"
FILES = {"writers": "4", "record": "4096", "file_kib": "16384", "fs": "ext4",
         "nontemporal": "none", "noreuse": "0", "perturb": "0", "pressure": "0"}
RAM_DISK = ("brd.rd_nr=1", "brd.rd_size=1048576")

WORKLOADS = {
    "bystander": Workload("walk of the bystander", WRITERS,
                          FILES | {"laps": "8", "bystander_kib": "4096"}, cpus=5, append=RAM_DISK,
                          disk=True),
    "writers": Workload("record", WRITERS, FILES, cpus=4, append=RAM_DISK, disk=True),
    "writes": Workload("system call", WRITERS,
                       {"calls": "100", "fs": "ext4", "nontemporal": "none"}, append=RAM_DISK,
                       disk=True, instructions=True),
}
