# SPDX-License-Identifier: GPL-2.0
"""All workloads: the calibration, and those of the groups, in selftests/GROUP/workloads.py.
Documentation/cachemodel.rst describes them."""
import importlib

from tools.environment import ROOT
from tools.model.workload import Workload

CALIBRATE = Workload(
    "", "tools/model/guest/calibrate.c", {}, cpus=2, append=("maxcpus=1",),
    geometry={"l1d": "32K:8", "l2": "256K:8", "llc": "1M:16"})

WORKLOADS: dict[str, Workload] = {"calibrate": CALIBRATE}
for _path in sorted(ROOT.glob("selftests/*/workloads.py")):
    WORKLOADS |= importlib.import_module(f"selftests.{_path.parent.name}.workloads").WORKLOADS
