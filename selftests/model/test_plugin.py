# SPDX-License-Identifier: GPL-2.0
"""The caches without QEMU (plugin/tracer.c) against a second, plain model, and
the decoder of non-temporal stores against an assembler."""
from __future__ import annotations

import ctypes
import random
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest

Trace = list[tuple[int, str, int]]
CACHES = ("l1d", "l2", "llc")


def traced(built: Path, geometry: list[str], trace: Trace, cpus: int = 1, policy: str = "lru",
           nt: str = "evict") -> list[tuple[int, int]]:
    """Return for each access (levels missed, lines written to memory)."""
    tracer = ctypes.CDLL(str(built / "tracer.so"))
    tracer.tracer_begin.restype = ctypes.c_char_p
    settings = [*(f"{name}={cache}" for name, cache in zip(CACHES, geometry)),
                f"policy={policy}", f"nt={nt}"]
    words = (ctypes.c_char_p * (len(settings) + 1))(*(word.encode() for word in settings))
    assert not tracer.tracer_begin(cpus, words)
    found = [tracer.tracer_access(cpu, "rwn".index(op), line) for cpu, op, line in trace]
    assert all(bits & 0xffff in (0, 1, 3, 7) for bits in found)
    return [((bits & 7).bit_length(), bits >> 16) for bits in found]


def random_trace(seed: int, length: int, lines: int, ops: str, cpus: int = 1) -> Trace:
    """Return accesses, half of them to the eighth that is used most."""
    chance = random.Random(seed)
    return [(chance.randrange(cpus), chance.choice(ops),
             chance.randrange(lines if chance.random() < .5 else lines // 8))
            for _ in range(length)]


class Plain:
    """One cache: an ordered dictionary of line to dirty for each set."""

    def __init__(self, geometry: str, policy: str = "lru") -> None:
        size, ways = geometry.replace("full", "0").split(":")
        self.ways, self.policy = int(ways) or int(size) // 64, policy
        self.sets = [OrderedDict() for _ in range(int(size) // 64 // self.ways)]

    def set_of(self, line: int) -> OrderedDict[int, bool]:
        """Return the set that a line belongs to."""
        return self.sets[line % len(self.sets)]

    def use(self, line: int) -> None:
        """A line that is there is used."""
        if self.policy == "lru":
            self.set_of(line).move_to_end(line)

    def insert(self, line: int, dirty: bool) -> tuple[int, bool] | None:
        """Put a line in; return the one that had to go."""
        entries = self.set_of(line)
        gone = entries.popitem(last=False) if len(entries) == self.ways else None
        entries[line] = dirty
        return gone


class PlainMachine:
    """CPUs with two caches each and one for all, as model.h describes them."""

    def __init__(self, geometry: list[str], cpus: int, nt: str, policy: str = "lru") -> None:
        llc = Plain(geometry[2], policy)
        self.caches = [[*(Plain(text, policy) for text in geometry[:2]), llc] for _ in range(cpus)]
        self.nt, self.written = nt, 0

    def give_down(self, cpu: int, level: int, line: int) -> None:
        """A dirty line leaves a level for the next one, or for memory."""
        if level == 3:
            self.written += 1
            return
        entries = self.caches[cpu][level].set_of(line)
        if line in entries:
            entries[line] = True
        else:
            self.put(cpu, level, line, True)

    def put(self, cpu: int, level: int, line: int, dirty: bool) -> None:
        """Put a line into a level."""
        gone = self.caches[cpu][level].insert(line, dirty)
        if gone and gone[1]:
            self.give_down(cpu, level + 1, gone[0])

    def holders(self, cpu: int, line: int) -> list[OrderedDict[int, bool]]:
        """Return the sets of other CPUs that hold a line."""
        return [cache.set_of(line) for other, caches in enumerate(self.caches)
                if other != cpu for cache in caches[:2] if line in cache.set_of(line)]

    def store_nt(self, cpu: int, line: int) -> None:
        """A store past the caches."""
        taken = self.holders(cpu, line)
        if self.nt == "evict":
            taken += [cache.set_of(line) for cache in self.caches[cpu]]
        self.written = int(any([entries.pop(line, False) for entries in taken]))

    def access(self, cpu: int, op: str, line: int) -> tuple[int, int]:
        """Return (levels missed, lines written to memory)."""
        self.written, others = 0, self.holders(cpu, line)
        if op == "n":
            self.store_nt(cpu, line)
            return 0, self.written
        if op == "w":
            for entries in others:
                del entries[line]
        found = next((level for level, cache in enumerate(self.caches[cpu][:2])
                      if line in cache.set_of(line)), 2)
        if found < 2:
            self.caches[cpu][found].use(line)
        else:
            if op == "r" and any([entries[line] for entries in others]):
                for entries in others:
                    entries[line] = False
                self.give_down(cpu, 2, line)
            if line in self.caches[cpu][2].set_of(line):
                self.caches[cpu][2].use(line)
            else:
                if not (others and op == "w"):
                    self.put(cpu, 2, line, False)
                found = 2 if others else 3
            self.put(cpu, 1, line, False)
        if found:
            self.put(cpu, 0, line, op == "w")
        else:
            self.caches[cpu][0].set_of(line)[line] |= op == "w"
        return found, self.written


SMALL = ["1024:2", "4096:4", "16384:8"]


@pytest.mark.parametrize("cpus", [1, 2, 4])
@pytest.mark.parametrize("nt", ["evict", "keep"])
@pytest.mark.parametrize("ops", ["r", "rw", "rrwn"])
def test_plain_model(built: Path, cpus: int, nt: str, ops: str) -> None:
    """Random accesses miss where the plain model says, and write as often."""
    trace = random_trace(cpus, 20000, 1000, ops, cpus)
    plain = PlainMachine(SMALL, cpus, nt)
    wanted = [plain.access(*access) for access in trace]
    assert traced(built, SMALL, trace, cpus=cpus, nt=nt) == wanted


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize("cpus", [1, 3])
def test_full_is_one_set(built: Path, policy: str, cpus: int) -> None:
    """Fully associative is the same as one set of all ways, and as the plain model's one set."""
    trace = random_trace(7, 30000, 800, "rrwwn", cpus)
    one_set = ["1024:16", "4096:64", "16384:256"]
    full = ["1024:full", "4096:full", "16384:full"]
    plain = PlainMachine(full, cpus, "evict", policy)
    wanted = [plain.access(*access) for access in trace]
    for geometry in (one_set, full):
        assert traced(built, geometry, trace, cpus=cpus, policy=policy) == wanted


def test_fifo_differs(built: Path) -> None:
    """FIFO forgets a line that is used all the time; LRU keeps it."""
    trace = [(0, "r", line) for new in range(16, 1600, 16) for line in (0, new)]
    geometry = ["1024:2", "4096:64", "16384:256"]
    lru, fifo = (traced(built, geometry, trace, policy=policy)[2::2] for policy in ("lru", "fifo"))
    assert not any(missed for missed, _ in lru)
    assert any(missed for missed, _ in fifo)


def test_sharing_rules(built: Path) -> None:
    """Reads share; a write invalidates in all others; what was written reaches memory once."""
    trace = [(0, "w", 5), (1, "r", 5), (0, "r", 5), (1, "w", 5), (0, "r", 5),
             (2, "n", 5), (0, "r", 5)]
    assert traced(built, SMALL, trace, cpus=3) == [
        (3, 0), (2, 0), (0, 0), (0, 0), (2, 0), (0, 1), (3, 0)]


NON_TEMPORAL = (
    "movnti %eax, (%rdi)", "movnti %rax, 64(%r8)", "movnti %r9, (%rdi,%rcx,8)",
    "movntps %xmm1, (%rdi)", "movntpd %xmm9, 16(%r10)", "movntdq %xmm0, (%rdi)",
    "movntq %mm0, (%rdi)", "movntss %xmm0, (%rdi)", "movntsd %xmm0, (%rdi)",
    "maskmovq %mm1, %mm0", "maskmovdqu %xmm1, %xmm0", "movntdq %xmm0, %fs:(%rdi)",
    "vmovntdq %ymm0, (%rdi)", "vmovntps %ymm8, (%r8)", "vmovntpd %xmm1, (%rdi)",
    "vmaskmovdqu %xmm1, %xmm0", "movnti %eax, (%edi)")
CACHED = (
    "movq %rax, (%rdi)", "movdqa %xmm0, (%rdi)", "movaps %xmm0, (%rdi)",
    "movups %xmm0, 0x2b(%rdi)", "movl $0xe7, (%rdi)", "rep movsb", "rep stosq",
    "lock cmpxchg %rdx, (%rdi)", "cvttpd2dq (%rdi), %xmm0", "cvtdq2pd (%rdi), %xmm0",
    "pmulhw (%rdi), %xmm0", "movntdqa (%rdi), %xmm0", "xchg %rax, (%rdi)",
    "push %rax", "vmovdqa %ymm0, (%rdi)", "vmovups %ymm0, 0xe7(%rdi)", "nop",
    "fxsave (%rdi)", "xsave (%rdi)", "movb $0x2b, 0xc3(%rdi)", "sfence",
    "prefetchnta (%rdi)", "clflush (%rdi)", "vpermd (%rdi), %ymm1, %ymm2")


@pytest.mark.parametrize("instructions, expected", [(NON_TEMPORAL, True), (CACHED, False)])
def test_nt_decoder(built: Path, tmp_path: Path, instructions: tuple[str, ...],
                    expected: bool) -> None:
    """The decoder knows each form that the assembler makes, and no other."""
    source, image = tmp_path / "all.s", tmp_path / "all.o"
    source.write_text("".join(f".byte 2f-1f\n1: {instruction}\n2: .balign 32\n"
                              for instruction in instructions))
    subprocess.run(["as", "-o", str(image), str(source)], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", str(image)], check=True)
    code = image.read_bytes()
    decode = ctypes.CDLL(str(built / "tracer.so")).is_nt_store
    decode.restype, decode.argtypes = ctypes.c_bool, [ctypes.c_char_p, ctypes.c_size_t]
    for number, instruction in enumerate(instructions):
        slot = code[32 * number:32 * number + 32]
        assert decode(slot[1:], slot[0]) == expected, instruction
