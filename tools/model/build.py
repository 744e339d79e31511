# SPDX-License-Identifier: GPL-2.0
"""Where the model is built, and how: tools/model/Makefile makes the plugin and the guest's
program, and the guest's modules for one kernel."""
import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from tools import environment
from tools.model.workload import ModelError

HERE = Path(__file__).resolve().parent
BUILD = environment.build()
BUILT = BUILD / "cachemodel"
RESULTS = BUILD / "results/model"
KERNEL = environment.kernel()


def kernel_of(text: str) -> Path:
    """Return a kernel's O= directory. text: its path, or its name beside the virtual machine's."""
    return (Path(text) if "/" in text else KERNEL.with_name(text)).resolve()


def modules_of(kernel: Path) -> Path:
    """Return where the modules for a kernel are: they belong to that one O= directory."""
    return BUILT / f"modules-{hashlib.sha256(str(kernel).encode()).hexdigest()[:12]}"


def build(kernel: Path) -> None:
    """Build what has changed, one at a time. kernel: O= directory. Raises ModelError, OSError."""
    for part, why in (("arch/x86/boot/bzImage", "no kernel"),
                      ("Module.symvers", "no Module.symvers (make modules)")):
        if not (kernel / part).is_file():
            raise ModelError(f"{why} in {kernel}: run make kernel, or name another with --kernel")
    source, log = kernel / "source", BUILT / "build.log"
    if not source.is_dir():
        source = environment.tree()
    BUILT.mkdir(parents=True, exist_ok=True)
    command = ["make", "-C", str(HERE), f"OUT={BUILT}", f"TREE={source}", f"KERNEL={kernel}",
               f"MODULES={modules_of(kernel)}",
               *(f"{name}={os.environ[name]}" for name in ("CC", "LLVM") if os.environ.get(name))]
    # The job server of make is among the open files
    with (BUILT / ".lock").open("w") as lock, log.open("wb") as out:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              close_fds=False, check=False)
    lines = log.read_text(errors="replace").splitlines()
    if done.returncode:
        error = next((line for line in lines if re.search("[eE]rror", line)), "make failed")
        raise ModelError(f"the cache model does not build: {error}; see {log}")
    for line in lines:
        if "warning" in line.lower():
            print(line, file=sys.stderr)
