# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of user copies, for the group's page, and README's rows of gains."""
from __future__ import annotations

from selftests.model import tables
from selftests.model.published import literal
from selftests.results.cpus import cpu_name
from selftests.results.figures import Row, cells, evidence, per_unit, timed
from selftests.results.store import Table

SIZES = (1, 8, 16, 32, 48, 64, 128, 256, 512, 4096)
# Heads of the columns by the name of the copy
COPIES = {"fsrm": "rep movsb (mainline)", "unrolled": "unrolled",
          "const": "inline"}
STAC_CLAC = 20    # cycles that README adds to a copy for the two, stated and not measured


def pair(cpu: str, cell: str, copy: str) -> str:
    """Return the cycles of mainline's copy and of another one."""
    before, after = (timed("usercopy/bench", cpu, cell, name) for name in ("fsrm", copy))
    return f"{before:.1f} to {after:.1f}"


def const_gains() -> list[Row]:
    """Return the rows of small sizes inline."""
    def speedup(cpu: str) -> str:
        before, after = (STAC_CLAC + timed("usercopy/bench", cpu, "hot/8", copy)
                         for copy in ("fsrm", "const"))
        return f"{before / after:.2f}"

    def instructions(call: str) -> str:
        before, after = (per_unit("usercopy/model", f"ioctl-{run}/{call}", "instructions")
                         for run in ("calls", "inline"))
        return f"{before:.0f} to {after:.0f}"
    text, whole = cells("usercopy/text", "X86_USERCOPY_CONST")[0]["instructions"]
    return [
        Row("X86_USERCOPY_CONST", "copies of small constant sizes",
            f"8 bytes, hot: {speedup('Zen 4')} times as fast on Zen 4, {speedup('Zen 5')} on Zen 5",
            f"slower: 64 bytes just written, {pair('Zen 4', 'written/64', 'const')} cycles on "
            f"Zen 4; random size, {pair('Zen 5', 'random64/64', 'words')} on Zen 5; no gain if cold",
            evidence("usercopy/bench", "Zen 4", "Zen 5")),
        Row("X86_USERCOPY_CONST", "system calls, on a CPU without FSRM",
            f"rt_sigprocmask(): {instructions('sigprocmask')} instructions; "
            f"DRM ioctl GEM_FLINK: {instructions('gem_flink')}",
            f"text +{text} bytes ({100 * text / whole:.2f} %), with more sizes inline than today",
            f"{evidence('usercopy/model')}; text {evidence('usercopy/text')}")]


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    return [
        *const_gains(),
        Row("x86_usercopy=unrolled", "copies of medium size",
            f"128 bytes, hot: {pair('Zen 5', 'hot/128', 'unrolled')} cycles on Zen 5",
            f"slower on Zen 4: 128 bytes {pair('Zen 4', 'hot/128', 'unrolled')} cycles, 4 KiB "
            f"{pair('Zen 4', 'hot/4096', 'unrolled')}",
            evidence("usercopy/bench", "Zen 4", "Zen 5"))]


def bench(table: Table) -> str:
    """Return the hot copies of some sizes, a table for each CPU model."""
    parts = []
    for block in table["blocks"]:
        rows = [["bytes", *COPIES.values()]]
        for size in SIZES:
            copies = block["cells"][f"hot/{size}"]
            rows.append([str(size), *("{:.1f} ({:.1f}..{:.1f})".format(*copies[name][:3])
                                      if name in copies else "-" for name in COPIES)])
        parts.append(literal(
            f"{cpu_name(block['machine'])}, {block['date']}, series {block['series']}\n"
            f"cycles of the time-stamp counter for a hot copy, median (quartiles)\n\n"
            f"{tables.columns(rows)}"))
    return "\n".join(parts)
