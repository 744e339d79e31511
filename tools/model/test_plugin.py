# SPDX-License-Identifier: GPL-2.0
"""The rules of the caches that the calibration does not reach, without QEMU (plugin/tracer.c), and
the decoder of non-temporal stores against an assembler."""
import ctypes
import subprocess
from pathlib import Path

import pytest

Trace = list[tuple[int, str, int]]
CACHES = ("l1d", "l2", "llc")


def traced(built: Path, geometry: list[str], trace: Trace, cpus: int) -> list[tuple[int, int]]:
    """Return for each access (levels missed, lines written to memory)."""
    tracer = ctypes.CDLL(str(built / "tracer.so"))
    tracer.tracer_begin.restype = ctypes.c_char_p
    settings = [f"{name}={cache}" for name, cache in zip(CACHES, geometry)]
    words = (ctypes.c_char_p * (len(settings) + 1))(*(word.encode() for word in settings))
    assert not tracer.tracer_begin(cpus, words)
    found = [tracer.tracer_access(cpu, "rwn".index(op), line) for cpu, op, line in trace]
    assert all(bits & 0xffff in (0, 1, 3, 7) for bits in found)
    return [((bits & 7).bit_length(), bits >> 16) for bits in found]


@pytest.mark.parametrize("trace, found", [
    # Reads share; a write invalidates in all others; what was written reaches memory once
    ([(0, "w", 5), (1, "r", 5), (0, "r", 5), (1, "w", 5), (0, "r", 5), (2, "n", 5), (0, "r", 5)],
     [(3, 0), (2, 0), (0, 0), (0, 0), (2, 0), (0, 1), (3, 0)]),
    # A line that was read and then written is dirty
    ([(0, "r", 5), (0, "w", 5), (1, "n", 5)], [(3, 0), (0, 0), (0, 1)]),
    # A line that the LLC has no more comes from the other CPU, and a write keeps it out of the LLC
    ([(0, "r", 5), *((1, "r", 5 + 32 * way) for way in range(1, 9)), (1, "w", 5), (2, "r", 37)],
     [*[(3, 0)] * 9, (2, 0), (2, 0)]),
    # The write of a dirty victim is no use of the line in the next level
    ([(0, "w", 0), *((0, "r", line) for line in (16, 8, 32, 48, 64, 0))], [*[(3, 0)] * 6, (2, 0)]),
    # The line that goes is the one that was not used for longest
    ([(0, "r", line) for line in (0, 8, 0, 16, 0)], [(3, 0), (3, 0), (0, 0), (3, 0), (0, 0)]),
    # The way of an invalidated line is filled first
    ([(0, "r", 5), (0, "r", 13), (1, "w", 13), (0, "r", 21), (0, "r", 5)],
     [(3, 0), (3, 0), (2, 0), (3, 0), (0, 0)]),
], ids=("sharing", "dirty", "from_other_cpu", "no_use", "lru", "free_way"))
def test_rules(built: Path, trace: Trace, found: list[tuple[int, int]]) -> None:
    """Each access misses in so many levels and writes so many lines to memory."""
    assert traced(built, ["1024:2", "4096:4", "16384:8"], trace, cpus=3) == found


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
