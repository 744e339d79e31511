# SPDX-License-Identifier: GPL-2.0
# Tests compare.py on small compiled objects.
"""Each test compiles fixtures/unit.c twice and says what compare.py must find in the pair."""

import subprocess
from pathlib import Path

import pytest

from tools import environment
from tools.identity import compare
from tools.identity.compare import BadInput

HERE = Path(__file__).resolve().parent
UNIT = HERE / "fixtures" / "unit.c"
FLAGS = ["-O2", "-c", "-fno-pic", "-mcmodel=kernel", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-fno-inline", "-fno-toplevel-reorder"]
VALUES = {"ADDEND": "100", "SUFFIX": '"3"', "VALUE": "1", "ALIGNMENT": "4"}
CLEAN = ("1 objects, 5 functions", [])
# Of the kernel that make builds; klp is in it where libxxhash-dev is installed
OBJTOOL = environment.kernel() / "tools/objtool/objtool"


def build(directory: Path, *defines: str, name: str = "dir/unit.o") -> Path:
    """Compile the unit with defines into directory, and return the directory."""
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    macros = VALUES | {key: value for key, _, value in (d.partition("=") for d in defines)}
    subprocess.run(["gcc", *FLAGS, *(f"-D{key}={value}" for key, value in macros.items()),
                    "-o", target, UNIT], check=True)
    note_command(target)
    return directory


def note_command(target: Path, command: str = "gcc -D__KERNEL__ -c") -> None:
    """Write kbuild's note of the command that made an object."""
    target.with_name(f".{target.name}.cmd").write_text(f"savedcmd_{target.name} := {command}\n")


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


# What is planted, where bytes show it first, and where it is seen without order
PLANTED = {
    "ADDEND=101": ("add: A: 0: lea 0x64(%rdi),%eax B: 0: lea 0x65(%rdi),%eax", "add: checksum "),
    "VALUE=2": (".data: A: ", ".data: hash of its sorted bytes, "),
    "ALIGNMENT=16": ("objdump -h: A: ", ".data: section, size "),
    # No symbol is there
    "REPLACEMENT": (".altinstr_replacement: A: 0: lfence B: 0: sfence", "patched: checksum "),
}


@pytest.mark.parametrize("define", PLANTED)
def test_planted(tmp_path: Path, define: str) -> None:
    assert_finds(changed(tmp_path, define), f"dir/unit.o: {PLANTED[define][0]}")


def test_added_function(tmp_path: Path) -> None:
    assert_finds(changed(tmp_path, "ADDED"),
                 "dir/unit.o: added: symbol, size 0x6 in .text (g F): only in B")


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


@pytest.mark.parametrize("define", PLANTED)
def test_planted_reordered(tmp_path: Path, define: str) -> None:
    with_klp()
    found = reordered(tmp_path, define)
    assert found[1]
    assert_finds(found, *[f"dir/unit.o: {PLANTED[define][1]}"] * len(found[1]))


def test_no_klp(tmp_path: Path) -> None:
    """Without objtool's checksums nothing is known of such an object."""
    objtool = tmp_path / "objtool"
    objtool.write_text("#!/bin/sh\necho 'error: objtool: klp not implemented' >&2; exit 1\n")
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
        note_command(tmp_path / side / "unit.o")
    found = compared(tmp_path / "a", tmp_path / "b", Path("/bin/true"))
    assert_finds(found, "unit.o: .text: A: 00000000")


def test_object_on_one_side(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name="dir/new.o")
    assert_finds(compared(a, b), "dir/new.o: object: only in B")


@pytest.mark.parametrize("name, command", [
    ("vmlinux.o", "ld -m elf_x86_64 -r -o vmlinux.o"), ("x.mod.o", "gcc -D__KERNEL__ -c"),
    ("scripts/host.o", "gcc -c"), ("kernel/configs.o", "gcc -D__KERNEL__ -c")])
def test_left_out_objects(tmp_path: Path, name: str, command: str) -> None:
    """Aggregates, host programs and objects made from the configuration do not count."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name=name)
    note_command(b / name, command)
    assert compared(a, b) == CLEAN


def test_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInput, match="no object in "):
        compared(build(tmp_path / "a"), tmp_path / "b")
