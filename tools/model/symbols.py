# SPDX-License-Identifier: GPL-2.0
"""Names of functions for addresses of the guest: the kernel's from System.map,
modules' from /proc/kallsyms of the guest, the program's from nm."""
from __future__ import annotations

import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import Iterable

from tools.model.workload import ModelError

USER_END = 1 << 47
BOUNDS = ("__start_rodata", "_end", "__init_begin", "__init_end")
KERNEL_MAP = 0xFFFFFFFF80000000  # __START_KERNEL_map: where physical address 0 is


def _functions(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Return (address, name) of the functions in lines of nm's format, without the padding in
    front of them."""
    found = (line.split() for line in lines)
    return [(int(fields[0], 16), " ".join(fields[2:4])) for fields in found
            if len(fields) > 2 and fields[1] in "tTwW" and not fields[2].startswith("__pfx_")]


class Variables:
    """Static variables of a kernel by address, but those of init code, whose memory is freed.

    vmlinux: the file. Raises ModelError.
    """

    def __init__(self, vmlinux: Path) -> None:
        try:
            nm = subprocess.run(["nm", "-nS", vmlinux], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ModelError(f"nm {vmlinux}: {error}") from None
        fields = [line.split() for line in nm.stdout.splitlines()]
        found = {words[-1]: int(words[0], 16) for words in fields if words[-1] in BOUNDS}
        if len(found) < len(BOUNDS):
            raise ModelError(f"{vmlinux} has not all of {' '.join(BOUNDS)}")
        self._start, self._end, freed, freed_end = (found[name] for name in BOUNDS)
        self._sorted = [
            (at, int(words[1], 16), words[3]) for words in fields if len(words) == 4
            and words[2] in "bBdDrRvV" and not freed <= (at := int(words[0], 16)) < freed_end]
        self._starts = [start for start, *_ in self._sorted]

    def physical(self) -> tuple[int, int]:
        """Return where all of them are in memory, without KASLR: start, end."""
        return self._start - KERNEL_MAP, self._end - KERNEL_MAP

    def at(self, physical: int) -> tuple[str, int]:
        """Return the name and the size in bytes of what has a byte of this word, or no name."""
        address = physical + KERNEL_MAP
        position = bisect_right(self._starts, address + 7) - 1
        start, size, name = self._sorted[position] if position >= 0 else (0, 0, "")
        return (name, size) if start + size > address else ("", 0)


class Symbols:
    """Functions by address. system_map, program: files; modules: lines "ADDRESS TYPE NAME
    [MODULE]". Raises ModelError."""

    def __init__(self, system_map: Path, program: Path, modules: Iterable[str] = ()) -> None:
        try:
            kernel = _functions(system_map.read_text().splitlines())
            loaded = _functions(modules)
        except (OSError, ValueError) as error:
            raise ModelError(f"{system_map} cannot be read as a System.map: {error}") from None
        try:
            nm = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ModelError(f"nm {program}: {error}") from None
        user = [(at, f"{name} [user]") for at, name in _functions(nm.stdout.splitlines())]
        for path, functions in ((system_map, kernel), (program, user)):
            if not functions:
                raise ModelError(f"{path} names no function")
        self._kernel = kernel
        self._sorted = sorted({*kernel, *loaded, *user})
        self._starts = [address for address, _ in self._sorted]
        self._user_end = max(address for address, _ in user) + 4096

    def span(self, name: str) -> tuple[int, int]:
        """Return where a function of the kernel is and where the next one begins; raises
        ModelError."""
        starts = [address for address, known in self._kernel if known == name]
        if len(starts) != 1:
            raise ModelError(f"{len(starts) or 'no'} function{'s' * (len(starts) > 1)} {name} "
                              "in System.map")
        following = bisect_right(self._starts, starts[0])
        if following == len(self._starts):
            raise ModelError(f"{name} is the last function in System.map")
        return starts[0], self._starts[following]

    def name(self, address: int) -> str:
        """Return the function that an instruction is in."""
        position = bisect_right(self._starts, address) - 1
        if position < 0 or self._user_end < address < USER_END:
            return "other code [user]"
        return self._sorted[position][1]
