# SPDX-License-Identifier: GPL-2.0
# Tests compare.py on small compiled objects.
"""Each test compiles fixtures/unit.c twice and says what compare.py must find in the pair."""

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
CLEAN_LINE = "identity: 1 objects, 8 functions compared, 0 differ"


def build(directory: Path, *defines: str, name: str = "dir/unit.o",
          flags: tuple[str, ...] = ()) -> Path:
    """Compile the unit with defines into directory; the directory."""
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    macros = [f"-D{d}" for d in defines]
    subprocess.run(["gcc", *FLAGS, *flags, *macros, "-o", target, UNIT], check=True)
    return directory


def identity(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run compare.py."""
    return subprocess.run([sys.executable, HERE / "compare.py", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def compare(tmp_path: Path, *defines: str) -> subprocess.CompletedProcess[str]:
    """compare.py on the reference and the unit with defines."""
    return identity(build(tmp_path / "a"), build(tmp_path / "b", *defines))


def assert_clean(run: subprocess.CompletedProcess[str]) -> None:
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (0, [CLEAN_LINE], "")


def assert_found(run: subprocess.CompletedProcess[str], *beginnings: str) -> None:
    """Exactly these findings, by how their lines begin, and the count of them at the end."""
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


def test_equal_code_in_different_files(tmp_path: Path) -> None:
    """Other bytes, same code: the symbol table alone differs, so this goes through objdump."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b", flags=("-Wa,--keep-locals",))
    assert (a / "dir/unit.o").read_bytes() != (b / "dir/unit.o").read_bytes()
    assert_clean(identity(a, b))


def test_one_instruction_more(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "ONE_MORE"),
                 "dir/unit.o: count: first differing instruction: A: +0x0 ")


def test_constant_in_normal_code(tmp_path: Path) -> None:
    run = compare(tmp_path, "ADDEND=101")
    assert_found(run, "dir/unit.o: add: first differing instruction: ")
    assert "0x64(" in run.stdout and "0x65(" in run.stdout


def test_line_number_of_might_sleep(tmp_path: Path) -> None:
    """A line number counts as any other number: the builds have to fix it."""
    assert_found(compare(tmp_path, "LINE=20"), "dir/unit.o: ")


def test_number_of_another_function(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "NUMBER=20"),
                 "dir/unit.o: number_here: first differing instruction: ")


def test_local_suffix(tmp_path: Path) -> None:
    assert_clean(compare(tmp_path, 'SUFFIX="41"'))


@pytest.mark.parametrize("a, b", [
    ("__UNIQUE_ID_addressable_trap_523.6", "__UNIQUE_ID_addressable_trap_526.4"),
    ("__UNIQUE_ID_addressable_trap_523", "__UNIQUE_ID_addressable_trap_7"),
    ("batch", "batch__imv"),
    ("local.3", "local__imv.12"),
])
def test_names_of_one_thing(a: str, b: str) -> None:
    assert plain_name(a) == plain_name(b)


def test_text_of_a_string(tmp_path: Path) -> None:
    """The instruction is the same, the text it points to is not."""
    run = compare(tmp_path, 'TEXT="other"')
    assert_found(run, "dir/unit.o: number_here: first differing instruction: ")
    assert "b'first'" in run.stdout and "b'other'" in run.stdout


def test_added_function(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "ADDED"), "dir/unit.o: added: A: absent B: present")


def test_removed_function(tmp_path: Path) -> None:
    run = identity(build(tmp_path / "a", "ADDED"), build(tmp_path / "b"))
    assert_found(run, "dir/unit.o: added: A: present B: absent")


def test_moved_to_another_section(tmp_path: Path) -> None:
    run = compare(tmp_path, "LATER")
    assert run.returncode == 1
    assert ("dir/unit.o: count: first differing instruction: "
            "A: section .text B: section .text.later") in run.stdout


def test_size_of_a_structure(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "MORE_STATE"),
                 "dir/unit.o: state: data size: A: 32 (.bss) B: 64 (.bss)",
                 "dir/unit.o: sum: first differing instruction: ")


def test_code_without_symbol(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "REPLACEMENT"),
                 "dir/unit.o: [.altinstr_replacement]: first differing instruction: "
                 "A: +0x0 lfence B: +0x0 sfence")


def test_alternative_feature(tmp_path: Path) -> None:
    none = "0" * 16
    assert_found(compare(tmp_path, "FEATURE=8"),
                 f"dir/unit.o: .altinstructions: A: {none}070000000303 B: {none}080000000303")


def test_exception_table(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "FIXUP"), "dir/unit.o: __ex_table: section size: A: 12 B: 24")


def test_object_on_one_side(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name="dir/new.o")
    assert_found(identity(a, b), "dir/new.o: object: A: absent B: present")


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
    assert_found(run, "dir/7.o: count: ")
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
    assert_refused(identity(a, b), "unit.o is ")


def test_truncated_object(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    path = b / "dir/unit.o"
    path.write_bytes(path.read_bytes()[:-200])
    assert_refused(identity(a, b), "is a damaged ELF object")


def test_no_objdump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBJDUMP", "objdump-that-is-not-there")
    assert_refused(compare(tmp_path, "ONE_MORE"), "objdump-that-is-not-there does not run")
