# SPDX-License-Identifier: GPL-2.0
# Tests identity.py on small compiled objects, and identity.sh on a tree of a few files.
"""Each test compiles fixtures/unit.c twice and says what identity.py must find in the pair."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.identity import plain_name

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
UNIT = HERE / "fixtures" / "unit.c"
FLAGS = ["-O2", "-c", "-fno-pic", "-mcmodel=kernel", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-fno-inline", "-fno-toplevel-reorder"]
CLEAN_LINE = "identity: 1 objects, 9 functions compared, 0 differ"


def build(directory: Path, *defines: str, name: str = "dir/unit.o", flags: tuple[str, ...] = ()) -> Path:
    """Compile the unit with defines into directory; the directory."""
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    macros = [f"-D{d}" for d in defines]
    subprocess.run(["gcc", *FLAGS, *flags, *macros, "-o", target, UNIT], check=True)
    return directory


def identity(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run identity.py."""
    return subprocess.run([sys.executable, SCRIPTS / "identity.py", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def compare(tmp_path: Path, *defines: str) -> subprocess.CompletedProcess[str]:
    """identity.py on the reference and the unit with defines."""
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
    assert_clean(compare(tmp_path, "LINE=20"))


def test_number_of_another_function(tmp_path: Path) -> None:
    """The same kind of instruction before a function that takes no line."""
    assert_found(compare(tmp_path, "NUMBER=20"),
                 "dir/unit.o: number_here: first differing instruction: ")


def test_line_register_read_before_the_call(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "READ=20"),
                 "dir/unit.o: line_is_read: first differing instruction: ")


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
    assert "dir/unit.o: count: first differing instruction: A: section .text B: section .text.later" in run.stdout


def test_size_of_a_structure(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "MORE_STATE"),
                 "dir/unit.o: state: data size: A: 32 (.bss) B: 64 (.bss)",
                 "dir/unit.o: sum: first differing instruction: ")


def test_code_without_symbol(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "REPLACEMENT"),
                 "dir/unit.o: [.altinstr_replacement]: first differing instruction: A: +0x0 lfence B: +0x0 sfence")


def test_exception_table(tmp_path: Path) -> None:
    assert_found(compare(tmp_path, "FIXUP"), "dir/unit.o: __ex_table: section size: A: 12 B: 24")


def test_object_on_one_side(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    build(b, name="dir/new.o")
    assert_found(identity(a, b), "dir/new.o: object: A: absent B: present")


def test_left_out_objects(tmp_path: Path) -> None:
    """Aggregates, host programs and objects made from the configuration do not count."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    for name in ("vmlinux.o", "built-in.o", "x.mod.o", "scripts/host.o", "arch/x86/tools/host.o", "kernel/configs.o"):
        build(b, name=name)
    build(b, name="dir/part.o")
    (b / "dir/.part.o.cmd").write_text("savedcmd_dir/part.o := ld -m elf_x86_64 -r -o dir/part.o @dir/part.mod\n")
    assert_clean(identity(a, b))


def test_object_list(tmp_path: Path) -> None:
    a = build(build(tmp_path / "a"), name="dir/other.o")
    b = build(build(tmp_path / "b"), "ONE_MORE", name="dir/other.o")
    objects = tmp_path / "list"
    objects.write_text("dir/unit.o\n")
    assert_clean(identity(a, b, "--objects", objects))
    objects.write_text("dir/other.o\n")
    assert_found(identity(a, b, "--objects", objects), "dir/other.o: count: ")
    objects.write_text("dir/none.o\n")
    assert_refused(identity(a, b, "--objects", objects), "dir/none.o, which neither side has")


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
    assert run.stdout.endswith("identity: 21 objects, 189 functions compared, 1 differ\n")


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


# identity.sh, with a "kernel" of one file and a stand-in for kernel.sh

MARK = "# --- gated from here ---\n"
SOURCE = "int f(int a)\n{\n\treturn a + 1;\n}\n\nvoid __might_sleep(const char *f, int l);\nvoid g(void)\n{\n" \
         "\t__might_sleep(__FILE__, __LINE__);\n}\n"
KERNEL_SH = """#!/bin/sh -e
# Stands in for scripts/kernel.sh: compiles each C file of CF_TREE into CF_BUILD/out/NAME
mkdir -p "$CF_BUILD/out/$1"
echo "$*" >> "$CF_BUILD/fragments"
cat "$CF_TREE"/*.c >> "$CF_BUILD/seen"
cd "$CF_TREE"
for f in *.c; do ${CC:-gcc} $KCFLAGS -O2 -c -o "$CF_BUILD/out/$1/${f%.c}.o" "$f"; done
"""


def patch(old: str, new: str) -> str:
    """A patch of unit.c that replaces the line old by new."""
    before = SOURCE.splitlines(keepends=True)
    at = before.index(old)
    body = "".join(f" {line}" for line in before[max(at - 3, 0):at])
    added = "".join(f"+{line}" for line in new.splitlines(keepends=True))
    after = before[at + 1:at + 4]
    body += f"-{old}{added}" + "".join(f" {line}" for line in after)
    first, context = max(at - 3, 0), min(at, 3) + len(after)
    return (f"--- a/unit.c\n+++ b/unit.c\n@@ -{first + 1},{context + 1} "
            f"+{first + 1},{context + added.count(chr(10))} @@\n{body}")


PREPARATION = patch("\treturn a + 1;\n", "\treturn a + 2;\n")
OFF = patch("void g(void)\n", "#ifdef CONFIG_X\nint x;\n#endif\nvoid g(void)\n")
NOT_OFF = patch("void g(void)\n", "int added;\nvoid g(void)\n")


@pytest.fixture(name="queue")
def fixture_queue(tmp_path: Path) -> Path:
    """A queue with a base tree and no patch."""
    root = tmp_path / "queue"
    for directory in ("patches", "scripts", "configs", "build/linux"):
        (root / directory).mkdir(parents=True)
    (root / "build/linux/unit.c").write_text(SOURCE)
    (root / "patches/series").write_text(MARK)
    (root / "scripts/identity.py").symlink_to(SCRIPTS / "identity.py")
    (root / "scripts/kernel.sh").write_text(KERNEL_SH)
    (root / "scripts/kernel.sh").chmod(0o755)
    return root


def fill(root: Path, ungated: dict[str, str], gated: dict[str, str]) -> None:
    """Write the patches and the series."""
    for name, text in (ungated | gated).items():
        (root / "patches" / name).write_text(text)
    lines = [*ungated, MARK.strip(), *gated]
    (root / "patches/series").write_text("".join(f"{line}\n" for line in lines))


def run_script(root: Path) -> subprocess.CompletedProcess[str]:
    """Run identity.sh on a queue."""
    unwanted = ("BUILD", "KDIR", "QUEUE", "PIN", "CC", "KCFLAGS", "CF_TREE")
    env = {k: v for k, v in os.environ.items() if not k.startswith("QUILT") and k not in unwanted}
    env |= {"CF_ROOT": str(root), "CF_BUILD": str(root / "build")}
    return subprocess.run([SCRIPTS / "identity.sh"], env=env, capture_output=True, text=True, check=False)


def snapshot(tree: Path) -> dict[str, bytes]:
    """All files below tree with their content."""
    return {str(p.relative_to(tree)): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}


def test_script_no_gated_patches(queue: Path) -> None:
    fill(queue, {"preparation.patch": PREPARATION}, {})
    run = run_script(queue)
    assert (run.returncode, run.stdout) == (0, "identity: no gated patches in the series, nothing to compare\n")
    assert not (queue / "build/fragments").exists()


def test_script_off_means_off(queue: Path) -> None:
    """An ungated change of code is on both sides, a gated one that only moves lines is none."""
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    before = snapshot(queue / "build/linux")
    run = run_script(queue)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("identity: 1 objects, 2 functions compared, 0 differ\n")
    assert (queue / "build/fragments").read_text() == "identity vm all-off\n" * 2
    seen = (queue / "build/seen").read_text()
    assert (seen.count("return a + 2;"), seen.count("CONFIG_X")) == (2, 1)
    assert snapshot(queue / "build/linux") == before


def test_script_off_is_not_off(queue: Path) -> None:
    fill(queue, {"preparation.patch": PREPARATION}, {"not-off.patch": NOT_OFF})
    run = run_script(queue)
    assert run.returncode == 1
    assert "unit.o: added: data size: A: absent B: 4 (.bss)\n" in run.stdout


def test_script_leaves_a_pushed_tree_alone(queue: Path) -> None:
    """The tree stands fully pushed, as make apply leaves it: same result, nothing changed, not even .pc."""
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    tree = queue / "build/linux"
    env = {**os.environ, "QUILT_PATCHES": str(queue / "patches"), "QUILTRC": "-"}
    subprocess.run(["quilt", "push", "-a"], cwd=tree, env=env, check=True, capture_output=True)
    before, times = snapshot(tree), (tree / "unit.c").stat().st_mtime_ns
    run = run_script(queue)
    assert run.returncode == 0, run.stdout + run.stderr
    seen = (queue / "build/seen").read_text()
    assert (seen.count("return a + 2;"), seen.count("CONFIG_X")) == (2, 1)
    assert snapshot(tree) == before and (tree / "unit.c").stat().st_mtime_ns == times


def test_script_builds_once(queue: Path) -> None:
    """What was built is built no more until something that goes into it changes."""
    def builds() -> int:
        run = run_script(queue)
        assert run.returncode == 0, run.stdout + run.stderr
        return len((queue / "build/fragments").read_text().splitlines())

    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    assert [builds(), builds()] == [2, 2]
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF.replace("int x", "int y")})
    assert builds() == 3
    fill(queue, {"preparation.patch": PREPARATION.replace("a + 2", "a + 3")},
         {"off.patch": OFF.replace("int x", "int y")})
    assert builds() == 5
    (queue / "build/linux/unit.c").write_text(SOURCE.replace("__LINE__", "0"))
    fill(queue, {}, {"off.patch": OFF.replace("\t__might_sleep(__FILE__, __LINE__);", "\t__might_sleep(__FILE__, 0);")})
    assert builds() == 7
    (queue / "configs/all-off.config").write_text("# CONFIG_X is not set\n")
    assert [builds(), builds()] == [9, 9]


def test_script_failed_build(queue: Path) -> None:
    """A build that fails is no success, and the objects of an earlier run are not compared instead."""
    fill(queue, {}, {"off.patch": OFF})
    assert run_script(queue).returncode == 0
    (queue / "scripts/kernel.sh").write_text("#!/bin/sh\nexit 1\n")
    run = run_script(queue)
    assert run.returncode == 1 and "the build of ungated failed" in run.stderr


def test_script_patch_that_does_not_apply(queue: Path) -> None:
    fill(queue, {}, {"off.patch": OFF.replace("void g(void)", "void h(void)")})
    run = run_script(queue)
    assert run.returncode == 1 and "quilt push failed" in run.stderr


def test_script_no_mark(queue: Path) -> None:
    (queue / "patches/series").write_text("off.patch\n")
    run = run_script(queue)
    assert run.returncode == 1 and "the series has no line" in run.stderr
