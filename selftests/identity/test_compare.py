# SPDX-License-Identifier: GPL-2.0
# Tests compare.py on small compiled objects.
"""Each test compiles fixtures/unit.c twice and says what compare.py must find in the pair."""

import os
import subprocess
from pathlib import Path

import pytest

from selftests.identity import compare
from selftests.identity.compare import BadInput

HERE = Path(__file__).resolve().parent
UNIT = HERE / "fixtures" / "unit.c"
FLAGS = ["-O2", "-c", "-fno-pic", "-mcmodel=kernel", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-fno-inline", "-fno-toplevel-reorder"]
VALUES = {"ADDEND": "100", "FEATURE": "7", "LINE": "10", "TEXT": '"first"', "NUMBER": "10",
          "SUFFIX": '"3"', "VALUE": "1", "ALIGNMENT": "4", "PERMISSION": "0444", "LICENSE": '""',
          "WARN_FLAGS": "1", "EX_TYPE": "3", "FIXUP": '"662b"', "ANONYMOUS": "5"}
CLEAN = ("1 objects, 8 functions", [])
# Of the kernel that make builds; klp is in it where libxxhash-dev is installed
OBJTOOL = Path(os.environ.get("CF_OUT") or "none") / "tools/objtool/objtool"


def build(directory: Path, *defines: str, name: str = "dir/unit.o") -> Path:
    """Compile the unit with defines into directory, and return the directory."""
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    macros = VALUES | {key: value for key, _, value in (d.partition("=") for d in defines)}
    subprocess.run(["gcc", *FLAGS, *(f"-D{key}={value}" for key, value in macros.items()),
                    "-o", target, UNIT], check=True)
    return directory


Found = tuple[str, list[str]]


def compared(a: Path, b: Path, objtool: Path = OBJTOOL) -> Found:
    """Return what two directories have, in words, and how they differ."""
    in_a, in_b = compare.find_objects(a), compare.find_objects(b)
    pairs = [(name, a / name, b / name) for name in sorted(in_a & in_b)]
    functions, differences = compare.compare_pairs(pairs, 2, objtool)
    return (f"{len(in_a | in_b)} objects, {functions} functions",
            sorted(differences + compare.on_one_side(in_a, in_b)))


def changed(tmp_path: Path, *defines: str) -> Found:
    """Compare the reference and the unit with defines."""
    return compared(build(tmp_path / "a"), build(tmp_path / "b", *defines))


def assert_finds(found: Found, *beginnings: str) -> None:
    """Exactly these lines are there, by how they begin."""
    assert len(found[1]) == len(beginnings), found
    for line, beginning in zip(found[1], beginnings):
        assert line.startswith(beginning), found


def test_equal_bytes(tmp_path: Path) -> None:
    assert changed(tmp_path) == CLEAN


def test_local_suffix(tmp_path: Path) -> None:
    """Other bytes, same code: only the names are numbered otherwise."""
    found = changed(tmp_path, 'SUFFIX="41"')
    a, b = (tmp_path / side / "dir/unit.o" for side in "ab")
    assert a.read_bytes() != b.read_bytes()
    assert found == CLEAN


# What is planted, and where it must be seen first
PLANTED = {
    "ONE_MORE": "count: A: 30: call 35 <count+0x5> B: 30: pause",
    "ADDEND=101": "add: A: 0: lea 0x64(%rdi),%eax B: 0: lea 0x65(%rdi),%eax",
    # A line number is a number like any other: the builds have to fix it
    "LINE=20": "sleep_here: A: ",
    "NUMBER=20": "number_here: A: ",
    # The instruction is the same, the text that it points to is not
    'TEXT="other"': ".rodata.str1.1: A: ",
    "MORE_STATE": "sum: A: ",
    # No symbol is there
    "REPLACEMENT": ".altinstr_replacement: A: 0: lfence B: 0: sfence",
    "FEATURE=8": ".altinstructions: A: ",
    "SECOND_FIXUP": "__ex_table: A: ",
    "EX_TYPE=4": "__ex_table: A: ",
    'FIXUP="663b"': "__ex_table: A: ",
    "WARN_FLAGS=3": "__bug_table: A: ",
    "ANONYMOUS=6": ".rodata: A: ",
    "VALUE=2": ".data: A: ",
    "PERMISSION=0644": "__param: A: ",
    'LICENSE="GPL"': ".export_symbol: A: ",
    "ALIGNMENT=16": "objdump -h: A: ",
}


@pytest.mark.parametrize("define", PLANTED)
def test_planted(tmp_path: Path, define: str) -> None:
    assert_finds(changed(tmp_path, define), f"dir/unit.o: {PLANTED[define]}")


def test_added_and_removed_function(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b", "ADDED")
    line = "dir/unit.o: added: symbol, size 0x6 in .text (g F): only in "
    assert_finds(compared(a, b), f"{line}B")
    assert_finds(compared(b, a), f"{line}A")


def test_moved_to_another_section(tmp_path: Path) -> None:
    lines = "\n".join(changed(tmp_path, "LATER")[1])
    assert "dir/unit.o: count: symbol, size " in lines
    for place in (".text (g F): only in A", ".text.later (g F): only in B"):
        assert place in lines


def reordered(tmp_path: Path, *defines: str, objtool: Path = OBJTOOL) -> Found:
    """Compare the reference and a unit with its functions in another order."""
    return compared(build(tmp_path / "a"), build(tmp_path / "b", "REORDERED", *defines), objtool)


def with_klp() -> None:
    """Skip the test where objtool has no klp."""
    if not OBJTOOL.exists():
        pytest.skip("no kernel is built, so there is no objtool")
    done = subprocess.run([OBJTOOL, "klp"], capture_output=True, text=True, check=False)
    if "not implemented" in done.stderr:
        pytest.skip("objtool was built without libxxhash-dev")


def test_reordered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """gcc may emit the same functions in another order."""
    with_klp()
    assert reordered(tmp_path, 'SUFFIX="41"') == CLEAN
    assert capsys.readouterr().out == (
        "identity: dir/unit.o: in another order, and the same by objtool's checksums\n")


@pytest.mark.parametrize("define", [define for define in PLANTED if define[:5] != "FIXUP"])
def test_planted_reordered(tmp_path: Path, define: str) -> None:
    """All but a fixup to an equal instruction are seen there, too, some at another place."""
    with_klp()
    found = reordered(tmp_path, define)
    elsewhere = {"MORE_STATE": "state", "REPLACEMENT": "patched", "ALIGNMENT=16": ".data"}
    place = elsewhere.get(define, PLANTED[define].split(":")[0])
    assert found[1]
    assert_finds(found, *[f"dir/unit.o: {place}: "] * len(found[1]))


@pytest.mark.parametrize("script", [None, "echo 'error: objtool: klp not implemented' >&2; exit 1"])
def test_no_klp(tmp_path: Path, script: str | None) -> None:
    """Without objtool's checksums nothing is known of such an object."""
    objtool = tmp_path / "objtool"
    if script:
        objtool.write_text(f"#!/bin/sh\n{script}\n")
        objtool.chmod(0o755)
    with pytest.raises(BadInput, match="apt-get install libxxhash-dev"):
        reordered(tmp_path, objtool=objtool)


@pytest.mark.parametrize("option, first_line", [("-m64", ""), ("-m32", '.file "unit.c"\n')])
def test_reordered_as_bytes(tmp_path: Path, option: str, first_line: str) -> None:
    """Assembly and 32-bit code are compared as bytes only, whatever objtool says."""
    names = ("one", "other")
    for side, order in zip("ab", (names, names[::-1])):
        (tmp_path / side).mkdir()
        text = first_line + "".join(f".type {n}, @function\n{n}: ret\n" for n in order)
        subprocess.run(["gcc", option, "-c", "-x", "assembler", "-o", tmp_path / side / "unit.o",
                        "-"], input=text.encode(), check=True)
    found = compared(tmp_path / "a", tmp_path / "b", Path("/bin/true"))
    assert_finds(found, "unit.o: .text: A: 00000000")


def test_object_on_one_side(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name="dir/new.o")
    assert_finds(compared(a, b), "dir/new.o: object: only in B")


def test_left_out_objects(tmp_path: Path) -> None:
    """Aggregates, host programs and objects made from the configuration do not count."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    for name in ("vmlinux.o", "built-in.o", "x.mod.o", "scripts/host.o", "arch/x86/tools/host.o",
                 "kernel/configs.o"):
        build(b, name=name)
    build(b, name="dir/part.o")
    (b / "dir/.part.o.cmd").write_text(
        "savedcmd_dir/part.o := ld -m elf_x86_64 -r -o dir/part.o @dir/part.mod\n")
    assert compared(a, b) == CLEAN


def test_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInput, match="no object in "):
        compared(build(tmp_path / "a"), tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\2\1\1" + bytes(100), None])
def test_not_an_object(tmp_path: Path, content: bytes | None) -> None:
    """None: one that is cut short."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    path = b / "dir/unit.o"
    path.write_bytes(path.read_bytes()[:-200] if content is None else content)
    with pytest.raises(BadInput, match="dir/unit.o"):
        compared(a, b)
