# SPDX-License-Identifier: GPL-2.0
"""The kernel that runs: its options and switches of the series, and what else changes its time."""
import gzip
import platform
import re
from pathlib import Path

from tools.groups import features, switches
from tools.series import Patch

VULNERABILITIES = Path("/sys/devices/system/cpu/vulnerabilities")


def configuration(release: str) -> dict[str, str]:
    """Return the settings of a kernel that is installed or says them itself; {} if neither."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{release}"),
                 Path(f"/lib/modules/{release}/build/.config")):
        if path.is_file():
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
            return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text.decode(errors="replace"), re.M))
    return {}


def running(patches: list[Patch]) -> dict[str, object]:
    """Return release, options of the series (of a kernel without its configuration, none), boot
    parameters and sysctls of the series, microcode and mitigations of the kernel that runs."""
    release = platform.release()
    settings = configuration(release)
    parameters = Path("/proc/cmdline").read_text(encoding="utf-8").split()
    given: dict[str, str] = {}
    for name in switches(patches):
        sysctl = Path("/proc/sys") / name.replace(".", "/")
        if name.endswith("="):
            given |= dict(word.split("=", 1) for word in parameters if word.startswith(name))
        elif sysctl.is_file():
            given[name] = sysctl.read_text(encoding="utf-8").strip()
    microcode = re.search(r"^microcode\s*: (.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.M)
    return {
        "release": release, "switches": given,
        "options": {name: settings.get(name, "n") for name in features(patches) if settings},
        "microcode": microcode[1] if microcode else "unknown",
        "mitigations": {path.name: path.read_text(encoding="utf-8").strip()
                        for path in sorted(VULNERABILITIES.glob("*"))}}
