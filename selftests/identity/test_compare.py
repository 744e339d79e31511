# SPDX-License-Identifier: GPL-2.0
"""Each test compiles fixtures/unit.c twice and says what compare.py must find in the pair."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
UNIT = HERE / "fixtures/unit.c"
FLAGS = ["-O2", "-c", "-fno-pic", "-mcmodel=kernel", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-fno-inline", "-fno-toplevel-reorder"]
CLEAN_LINE = "identity: 1 objects, 8 functions compared, 0 differ"
Run = subprocess.CompletedProcess[str]


def build(directory: Path, *flags: str, name: str = "dir/unit.o") -> Path:
    """Compile the unit into directory, with more flags; returns the directory."""
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", *FLAGS, *flags, "-o", target, UNIT], check=True)
    return directory


def assemble(directory: Path, text: str) -> Path:
    """Assemble a text into directory; returns the directory."""
    directory.mkdir()
    command = ["gcc", "-c", "-x", "assembler", "-o", directory / "unit.o", "-"]
    subprocess.run(command, input=text, text=True, check=True)
    return directory


@pytest.fixture(name="pair")
def fixture_pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two builds of the same."""
    return build(tmp_path / "a"), build(tmp_path / "b")


def identity(*arguments: object) -> Run:
    """Run compare.py."""
    return subprocess.run([sys.executable, HERE / "compare.py", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def assert_clean(run: Run, line: str = CLEAN_LINE) -> None:
    """No finding."""
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (0, [line], "")


def assert_found(run: Run, *parts: str) -> None:
    """A finding with each of these parts, and the count of findings at the end."""
    assert run.returncode == 1, run.stdout + run.stderr
    *lines, last = run.stdout.splitlines()
    assert last.endswith(f", {len(lines)} differ")
    for part in parts:
        assert any(part in line for line in lines), run.stdout


def assert_refused(run: Run, message: str) -> None:
    """Exit 2 and one clear line."""
    assert (run.returncode, run.stdout) == (2, ""), run.stdout + run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("identity: error: ") and message in line


def test_equal_bytes(pair: tuple[Path, Path]) -> None:
    assert_clean(identity(*pair))


def test_equal_code_in_different_files(pair: tuple[Path, Path]) -> None:
    """Sections that are not loaded do not count, nor do labels of the compiler."""
    a, b = pair
    build(b, "-g", "-Wa,--keep-locals")
    assert (a / "dir/unit.o").read_bytes() != (b / "dir/unit.o").read_bytes()
    assert_clean(identity(a, b))


def found_by(flag: str, *parts: str) -> Callable[[tuple[Path, Path]], None]:
    """Return a test: the unit compiled with one more flag, and parts of what is found then."""

    def test(pair: tuple[Path, Path]) -> None:
        build(pair[1], flag)
        assert_found(identity(*pair), *parts)

    return test


test_one_instruction_more = found_by("-DONE_MORE", "dir/unit.o: .text count+0x", "f390")
test_constant_in_normal_code = found_by("-DADDEND=101", ".text add+0x2: A: 64", " B: 65")
# A line number counts as any other number: the builds have to fix it
test_line_number_of_might_sleep = found_by("-DLINE=20", ".text sleep_here+0x")
test_number_of_another_function = found_by("-DNUMBER=20", ".text number_here+0x1: A: 0a", " B: 14")
# The instruction is the same, the text it points to is not
test_text_of_a_string = found_by("-DTEXT=\"other\"", "b'first", "b'other")
test_added_function = found_by("-DADDED", ".text", " B: ", "added ")
test_moved_to_another_section = found_by(
    "-DLATER", ".text count+0x0: A: ", "unit.o: .text.later: A: absent B: "
)
test_size_of_a_structure = found_by(
    "-DMORE_STATE", ".bss state+0x0: A: ", " O size 0x20 ", " O size 0x40 ", ".text sum+0x"
)
test_code_without_symbol = found_by(
    "-DREPLACEMENT", "dir/unit.o: .altinstr_replacement: A: e8", " B: f8"
)
test_exception_table = found_by("-DFIXUP", "dir/unit.o: __ex_table", "size 0xc ", "size 0x18 ")


def test_removed_function(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a", "-DADDED"), build(tmp_path / "b")
    assert_found(identity(a, b), ".text", "added g     F ")


def test_local_suffix(pair: tuple[Path, Path]) -> None:
    build(pair[1], '-DSUFFIX="41"')
    assert_clean(identity(*pair))


@pytest.mark.parametrize("a, b, same", [
    ("__UNIQUE_ID_addressable_trap_523.6", "__UNIQUE_ID_addressable_trap_526.4", True),
    ("__UNIQUE_ID_addressable_trap_523", "__UNIQUE_ID_addressable_trap_7", True),
    ("__initcall__kmod_unit__12_345_start6", "__initcall__kmod_unit__1_6_start6", True),
    ("__BTF_ID__struct__task_struct__3", "__BTF_ID__struct__task_struct__45", True),
    ("batch", "batch__imv", True),
    ("local.3", "local__imv.12", True),
    ("local.3", "another.3", False),
    ("copy_4", "copy_8", False),
])
def test_names_of_one_thing(tmp_path: Path, a: str, b: str, same: bool) -> None:
    """Numbers that are handed out in order are none of the name's; two names stay two."""
    text = ".type f, @function\nf: mov x.5, %eax\n.data\n.globl {0}\n{0}: .long {0}\nx.5: .long 1"
    run = identity(*(assemble(tmp_path / name, text.format(name)) for name in (a, b)))
    assert run.returncode == (0 if same else 1), run.stdout + run.stderr


def test_object_on_one_side(pair: tuple[Path, Path]) -> None:
    build(pair[1], name="dir/new.o")
    assert_found(identity(*pair), "dir/new.o: object: A: absent B: present")


def test_left_out_objects(pair: tuple[Path, Path]) -> None:
    """Aggregates, host programs and objects made from the configuration do not count."""
    for name in ("vmlinux.o", "built-in.o", "x.mod.o", "scripts/host.o", "arch/x86/tools/host.o",
                 "kernel/configs.o", "dir/part.o"):
        build(pair[1], name=name)
    (pair[1] / "dir/.part.o.cmd").write_text(
        "savedcmd_dir/part.o := ld -m elf_x86_64 -r -o dir/part.o @dir/part.mod\n"
    )
    assert_clean(identity(*pair))


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_objects(pair: tuple[Path, Path], jobs: int) -> None:
    """The one that differs is found among many, whatever the number of processes."""
    for side in pair:
        for i in range(20):
            shutil.copy(side / "dir/unit.o", side / f"dir/{i}.o")
    build(pair[1], "-DADDEND=101", name="dir/7.o")
    run = identity(*pair, "--jobs", jobs)
    assert_found(run, "dir/7.o: .text add+0x")
    assert run.stdout.endswith("identity: 21 objects, 168 functions compared, 1 differ\n")


def test_empty_directories(tmp_path: Path) -> None:
    assert_refused(identity(tmp_path, tmp_path), "no object in ")


def test_one_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    assert_refused(identity(build(tmp_path / "a"), tmp_path / "b"), "no object in ")


def test_missing_directory(tmp_path: Path) -> None:
    assert_refused(identity(build(tmp_path / "a"), tmp_path / "none"), "is not a directory")


def test_no_function_at_all(tmp_path: Path) -> None:
    data = assemble(tmp_path / "a", ".data\n.long 1")
    assert_refused(identity(data, data), "no function in ")


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\2\1\1" + bytes(100)])
def test_not_an_object(pair: tuple[Path, Path], content: bytes) -> None:
    (pair[1] / "dir/unit.o").write_bytes(content)
    assert_refused(identity(*pair), "unit.o")


@pytest.mark.parametrize("size", [200, 2000])
def test_truncated_object(pair: tuple[Path, Path], size: int) -> None:
    path = pair[1] / "dir/unit.o"
    path.write_bytes(path.read_bytes()[:-size])
    assert_refused(identity(*pair), "objdump cannot read ")


def test_no_objdump(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBJDUMP", "objdump-that-is-not-there")
    assert_refused(identity(*pair), "objdump-that-is-not-there does not run")
