# SPDX-License-Identifier: GPL-2.0
"""Names of functions for addresses of the guest: the kernel's from System.map,
modules' from what the guest told of /proc/kallsyms, the program's from nm."""
from __future__ import annotations

import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import Iterable

USER_END = 1 << 47


class SymbolError(RuntimeError):
    """A source of symbols is missing or holds none."""


def _functions(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Return (address, name) of the functions in lines of nm's format."""
    found = []
    for line in lines:
        fields = line.split()
        # In front of a function there may be padding for a call to it
        if len(fields) < 3 or fields[1] not in "tTwW" or \
                fields[2].startswith("__pfx_"):
            continue
        name = fields[2] + (f" {fields[3]}" if len(fields) > 3 else "")
        found.append((int(fields[0], 16), name))
    return found


class Symbols:
    """Functions by address. system_map, program: files; modules: lines "ADDRESS TYPE NAME
    [MODULE]". Raises SymbolError."""

    def __init__(self, system_map: Path, program: Path, modules: Iterable[str] = ()) -> None:
        try:
            kernel = _functions(system_map.read_text().splitlines())
            loaded = _functions(modules)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise SymbolError(f"{system_map} cannot be read as a System.map: "
                              f"{error}") from None
        if not kernel:
            raise SymbolError(f"{system_map} names no function")
        self._kernel: dict[str, list[int]] = {}
        for address, name in kernel:
            self._kernel.setdefault(name, []).append(address)
        try:
            nm = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SymbolError(f"nm {program}: {error}") from None
        user = [(address, f"{name} [user]") for address, name in _functions(nm.stdout.splitlines())]
        if not user:
            raise SymbolError(f"{program} names no function")
        self._sorted = sorted({*kernel, *loaded, *user})
        self._starts = [address for address, _ in self._sorted]
        self._user_end = max(address for address, _ in user) + 4096

    def address(self, name: str) -> int:
        """Return where a function of the kernel is; raises SymbolError."""
        addresses = self._kernel.get(name, [])
        if len(addresses) != 1:
            raise SymbolError(f"{len(addresses) or 'no'} function{'s' * (len(addresses) > 1)} "
                              f"{name} in System.map")
        return addresses[0]

    def end(self, name: str) -> int:
        """Return where the next function begins; raises SymbolError."""
        start = self.address(name)
        following = bisect_right(self._starts, start)
        if following == len(self._starts):
            raise SymbolError(f"{name} is the last function in System.map")
        return self._starts[following]

    def name(self, address: int) -> str:
        """Return the function that an instruction is in."""
        position = bisect_right(self._starts, address) - 1
        if position < 0 or self._user_end < address < USER_END:
            return "other code [user]"
        return self._sorted[position][1]
