# SPDX-License-Identifier: GPL-2.0
# Tests compare.py on small compiled objects.
"""Each test compiles fixtures/unit.c twice and says what compare.py must find in the pair."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from selftests.identity.compare import plain_name

HERE = Path(__file__).resolve().parent
UNIT = HERE / "fixtures" / "unit.c"
FLAGS = ["-O2", "-c", "-fno-pic", "-mcmodel=kernel", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-fno-inline", "-fno-toplevel-reorder"]
VALUES = {"ADDEND": "100", "FEATURE": "7", "LINE": "10", "TEXT": '"first"', "NUMBER": "10",
          "SUFFIX": '"3"', "VALUE": "1", "ALIGNMENT": "4", "PERMISSION": "0444", "LICENSE": '""',
          "WARN_FLAGS": "1", "EX_TYPE": "3", "FIXUP": '"662b"', "ANONYMOUS": "5"}
CLEAN_LINE = "identity: 1 objects, 8 functions compared, 0 differ"
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


def identity(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run compare.py."""
    return subprocess.run([sys.executable, HERE / "compare.py", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def compare(tmp_path: Path, *defines: str) -> subprocess.CompletedProcess[str]:
    """Run compare.py on the reference and the unit with defines."""
    return identity(build(tmp_path / "a"), build(tmp_path / "b", *defines))


def assert_clean(run: subprocess.CompletedProcess[str]) -> None:
    """Nothing differs."""
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (0, [CLEAN_LINE], "")


def assert_finds(run: subprocess.CompletedProcess[str], *beginnings: str) -> None:
    """Exactly these lines are there, by how they begin, and the count of them at the end."""
    lines = run.stdout.splitlines()
    assert run.returncode == 1, run.stdout + run.stderr
    assert len(lines) == len(beginnings) + 1, run.stdout
    for line, beginning in zip(lines, beginnings):
        assert line.startswith(beginning), run.stdout
    assert lines[-1].endswith(f", {len(beginnings)} differ")


def assert_refused(run: subprocess.CompletedProcess[str], message: str) -> None:
    """Exit 2 and one clear line."""
    assert run.returncode == 2, run.stdout + run.stderr
    assert run.stdout == ""
    lines = run.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("identity: error: ") and message in lines[0]


def test_equal_bytes(tmp_path: Path) -> None:
    assert_clean(compare(tmp_path))


def test_local_suffix(tmp_path: Path) -> None:
    """Other bytes, same code: only the names are numbered otherwise."""
    run = compare(tmp_path, 'SUFFIX="41"')
    a, b = (tmp_path / side / "dir/unit.o" for side in "ab")
    assert a.read_bytes() != b.read_bytes()
    assert_clean(run)


@pytest.mark.parametrize("a, b", [
    ("__UNIQUE_ID_addressable_trap_523.6", "__UNIQUE_ID_addressable_trap_526.4"),
    ("__UNIQUE_ID_addressable_trap_523", "__UNIQUE_ID_addressable_trap_7"),
    ("batch", "batch__imv"),
    ("local.3", "local__imv.12"),
])
def test_names_of_one_thing(a: str, b: str) -> None:
    assert plain_name(a) == plain_name(b)


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
    assert_finds(compare(tmp_path, define), f"dir/unit.o: {PLANTED[define]}")


def test_added_and_removed_function(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b", "ADDED")
    line = "dir/unit.o: added: symbol, size 0x6 in .text (g F): only in "
    assert_finds(identity(a, b), f"{line}B")
    assert_finds(identity(b, a), f"{line}A")


def test_moved_to_another_section(tmp_path: Path) -> None:
    run = compare(tmp_path, "LATER")
    assert run.returncode == 1
    for place in (".text (g F): only in A\n", ".text.later (g F): only in B\n"):
        assert place in run.stdout and "dir/unit.o: count: symbol, size " in run.stdout


def reordered(tmp_path: Path, *defines: str,
              objtool: Path = OBJTOOL) -> subprocess.CompletedProcess[str]:
    """Run compare.py on the reference and a unit with its functions in another order."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b", "REORDERED", *defines)
    return identity(a, b, "--objtool", objtool)


def with_klp() -> None:
    """Skip the test where objtool has no klp."""
    if not OBJTOOL.exists():
        pytest.skip("no kernel is built, so there is no objtool")
    done = subprocess.run([OBJTOOL, "klp"], capture_output=True, text=True, check=False)
    if "not implemented" in done.stderr:
        pytest.skip("objtool was built without libxxhash-dev")


def test_reordered(tmp_path: Path) -> None:
    """gcc may emit the same functions in another order."""
    with_klp()
    run = reordered(tmp_path, 'SUFFIX="41"')
    note = "identity: dir/unit.o: in another order, and the same by objtool's checksums"
    assert (run.returncode, run.stdout.splitlines()) == (0, [note, CLEAN_LINE]), run.stderr


@pytest.mark.parametrize("define", [define for define in PLANTED if define[:5] != "FIXUP"])
def test_planted_reordered(tmp_path: Path, define: str) -> None:
    """All but a fixup to an equal instruction are seen there, too, some at another place."""
    with_klp()
    run = reordered(tmp_path, define)
    elsewhere = {"MORE_STATE": "state", "REPLACEMENT": "patched", "ALIGNMENT=16": ".data"}
    place = elsewhere.get(define, PLANTED[define].split(":")[0])
    assert_finds(run, *[f"dir/unit.o: {place}: "] * (len(run.stdout.splitlines()) - 1))


@pytest.mark.parametrize("script", [None, "echo 'error: objtool: klp not implemented' >&2; exit 1"])
def test_no_klp(tmp_path: Path, script: str | None) -> None:
    """Without objtool's checksums nothing is known of such an object."""
    objtool = tmp_path / "objtool"
    if script:
        objtool.write_text(f"#!/bin/sh\n{script}\n")
        objtool.chmod(0o755)
    assert_refused(reordered(tmp_path, objtool=objtool), "apt-get install libxxhash-dev")


@pytest.mark.parametrize("option, first_line", [("-m64", ""), ("-m32", '.file "unit.c"\n')])
def test_reordered_as_bytes(tmp_path: Path, option: str, first_line: str) -> None:
    """Assembly and 32-bit code are compared as bytes only, whatever objtool says."""
    names = ("one", "other")
    for side, order in zip("ab", (names, names[::-1])):
        (tmp_path / side).mkdir()
        text = first_line + "".join(f".type {n}, @function\n{n}: ret\n" for n in order)
        subprocess.run(["gcc", option, "-c", "-x", "assembler", "-o", tmp_path / side / "unit.o",
                        "-"], input=text.encode(), check=True)
    run = identity(tmp_path / "a", tmp_path / "b", "--objtool", "/bin/true")
    assert_finds(run, "unit.o: .text: A: 00000000")


def test_object_on_one_side(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name="dir/new.o")
    assert_finds(identity(a, b), "dir/new.o: object: only in B")


def test_left_out_objects(tmp_path: Path) -> None:
    """Aggregates, host programs and objects made from the configuration do not count."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    for name in ("vmlinux.o", "built-in.o", "x.mod.o", "scripts/host.o", "arch/x86/tools/host.o",
                 "kernel/configs.o"):
        build(b, name=name)
    build(b, name="dir/part.o")
    (b / "dir/.part.o.cmd").write_text(
        "savedcmd_dir/part.o := ld -m elf_x86_64 -r -o dir/part.o @dir/part.mod\n")
    assert_clean(identity(a, b))


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_objects(tmp_path: Path, jobs: int) -> None:
    """The one that differs is found among many, whatever the number of processes."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    for i in range(20):
        for side in (a, b):
            shutil.copy(side / "dir/unit.o", side / f"dir/{i}.o")
    build(b, "ONE_MORE", name="dir/7.o")
    run = identity(a, b, "--jobs", jobs)
    assert_finds(run, "dir/7.o: count: ")
    assert run.stdout.endswith("identity: 21 objects, 168 functions compared, 1 differ\n")


def test_empty_directories(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
    assert_refused(identity(tmp_path / "a", tmp_path / "b"), "no object in ")


def test_one_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    assert_refused(identity(build(tmp_path / "a"), tmp_path / "b"), "no object in ")


def test_missing_directory(tmp_path: Path) -> None:
    assert_refused(identity(build(tmp_path / "a"), tmp_path / "none"), "is not a directory")


def test_no_function_at_all(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        subprocess.run(["gcc", "-c", "-x", "c", "-o", tmp_path / side / "data.o", "-"],
                       input=b"int data = 1;", check=True)
    assert_refused(identity(tmp_path / "a", tmp_path / "b"), "no function in ")


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\2\1\1" + bytes(100)])
def test_not_an_object(tmp_path: Path, content: bytes) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    (b / "dir/unit.o").write_bytes(content)
    assert_refused(identity(a, b), "dir/unit.o")


def test_truncated_object(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    path = b / "dir/unit.o"
    path.write_bytes(path.read_bytes()[:-200])
    assert_refused(identity(a, b), "dir/unit.o")


def test_no_objdump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBJDUMP", "objdump-that-is-not-there")
    assert_refused(compare(tmp_path, "ONE_MORE"), "objdump-that-is-not-there does not run")
