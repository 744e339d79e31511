# SPDX-License-Identifier: GPL-2.0
# Tests identity.py on a tree of one file, with a stand-in for tools/kernel.sh.
"""Each test fills a queue with patches and says what identity.py finds."""

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.tree.small_tree import sums

HERE = Path(__file__).resolve().parent
MARK = "# --- gated from here ---\n"
SOURCE = (
    "int f(int a)\n{\n\treturn a + 1;\n}\n\n"
    "void __might_sleep(const char *f, int l);\nvoid g(void)\n{\n"
    "\t__might_sleep(__FILE__, __LINE__);\n}\n"
)
KERNEL_SH = """#!/bin/sh -e
# As much of tools/kernel.sh and kbuild as identity.py needs: compile what is newer, note commands
out=$BUILD/out/$1
mkdir -p "$out"
cd "$out"
root=$(dirname "$0")/..
echo "$*" >> "$root/build/fragments"
cat "$KDIR"/*.c >> "$root/build/seen"
for f in "$KDIR"/*.c; do
	o=$(basename "${f%.c}.o")
	[ ! -e "$o" ] || [ "$f" -nt "$o" ] || continue
	command="$CC $KCFLAGS -D__KERNEL__ -O2 -c -o $o $f"
	$command
	echo "savedcmd_$o := $command" > ".$o.cmd"
done
"""


def patch(old: str, new: str) -> str:
    """A patch of unit.c that replaces old by new."""
    lines = (text.splitlines(keepends=True) for text in (SOURCE, SOURCE.replace(old, new, 1)))
    return "".join(difflib.unified_diff(*lines, "a/unit.c", "b/unit.c"))


PREPARATION = patch("\treturn a + 1;\n", "\treturn a + 2;\n")
OFF = patch("void g(void)\n", "#ifdef CONFIG_X\nint x;\n#endif\nvoid g(void)\n")
CALL_OFF = patch("\treturn a + 1;\n", "#ifdef CONFIG_X\n\treturn 0;\n#endif\n\treturn a + 1;\n")
UNUSED = patch("void g(void)\n", "static inline int h(void)\n{\n\treturn 1;\n}\nvoid g(void)\n")
SAME_CODE = patch("\treturn a + 1;\n", "\treturn 1 + a;\n")
NOT_OFF = patch("void g(void)\n", "int added;\nvoid g(void)\n")


@pytest.fixture(name="queue")
def fixture_queue(tmp_path: Path) -> Path:
    """A queue with a base tree and no patch."""
    root = tmp_path / "queue"
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for directory in ("patches", "configs", "build/linux"):
        (root / directory).mkdir(parents=True)
    tree = root / "build/linux"
    (tree / "scripts").mkdir()
    (tree / "scripts/checkpatch.pl").write_text("#\n")
    (tree / "Makefile").write_text("bzImage init/version-timestamp.o:\n\t@:\n")
    (tree / "unit.c").write_text(SOURCE)
    (root / "series").write_text(MARK)
    (root / "patches/series").symlink_to("../series")
    (root / "tools/kernel.sh").write_text(KERNEL_SH)
    (root / "tools/kernel.sh").chmod(0o755)
    return root


def fill(root: Path, ungated: dict[str, str], gated: dict[str, str]) -> None:
    """Write the patches and the series."""
    for name, text in (ungated | gated).items():
        (root / "patches" / name).write_text(text)
    lines = ["# --- group preparations: first ---", *ungated, MARK.strip()]
    lines += ["# --- group gated: then ---", *gated, ""]
    (root / "series").write_text("\n".join(lines))


def run_script(root: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run identity.py on a queue, with a cache of its own."""
    unwanted = ("BUILD", "KDIR", "QUEUE", "PIN", "CC", "KCFLAGS", "FRESH", "GROUP")
    env = {k: v for k, v in os.environ.items() if not k.startswith("QUILT") and k not in unwanted}
    env |= {"CACHE": str(root / "cache")} | variables
    return subprocess.run([root / "tools/run", "tools.identity.identity", *options], env=env,
                          capture_output=True, text=True, check=False)


def push(root: Path, action: str = "push") -> Path:
    """Push all patches onto the tree, or pop them; returns the tree."""
    env = {**os.environ, "QUILT_PATCHES": str(root / "patches"), "QUILTRC": "-"}
    tree = root / "build/linux"
    subprocess.run(["quilt", action, "-a"], cwd=tree, env=env, check=True, capture_output=True)
    return tree


def assert_ends(run: subprocess.CompletedProcess[str], by_text: int, functions: int) -> None:
    """The run found no difference in one object."""
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith(
        f"identity: 1 objects, {by_text} the same by their text, "
        f"{functions} functions of the others compared, 0 differ\n"
    )


def test_script_no_gated_patches(queue: Path) -> None:
    fill(queue, {"preparation.patch": PREPARATION}, {})
    run = run_script(queue)
    assert run.returncode == 0
    assert run.stdout == "identity: no gated patches in the series, nothing to compare\n"
    assert not (queue / "build/fragments").exists()


def test_script_off_means_off(queue: Path) -> None:
    """An ungated change of code is on both sides, a gated one that only moves lines is none."""
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    before = sums(queue / "build/linux", ())
    assert_ends(run_script(queue), 1, 0)
    assert (queue / "build/fragments").read_text() == "identity small all-off\n" * 2
    seen = (queue / "build/seen").read_text()
    assert (seen.count("return a + 2;"), seen.count("CONFIG_X")) == (2, 1)
    assert sums(queue / "build/linux", ()) == before


def test_script_off_is_not_off(queue: Path) -> None:
    fill(queue, {"preparation.patch": PREPARATION}, {"not-off.patch": NOT_OFF})
    run = run_script(queue)
    assert run.returncode == 1
    assert "unit.o: added: symbol, size 0x4 in .bss (g O): only in B\n" in run.stdout


def test_script_same_code(queue: Path) -> None:
    """Texts that differ are compiled, and their code is compared; --all compiles the others."""
    fill(queue, {}, {"same-code.patch": SAME_CODE})
    assert_ends(run_script(queue), 0, 2)
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    assert_ends(run_script(queue, "--all"), 0, 2)


def test_script_unused_declaration(queue: Path) -> None:
    """What nothing uses makes no code; it is in an object that is compiled all the same."""
    fill(queue, {}, {"unused.patch": UNUSED})
    run = run_script(queue)
    assert "identity: compiling 1 objects of whole\n" in run.stdout
    assert_ends(run, 0, 2)


def test_script_included_file(queue: Path) -> None:
    """A file that the assembler includes is in no text: such an object is compiled."""
    data = queue / "data"
    data.write_text("data")
    include = patch("void g(void)\n", f'asm(".incbin \\"{data}\\"");\nvoid g(void)\n')
    fill(queue, {"include.patch": include}, {"off.patch": CALL_OFF})
    run = run_script(queue)
    assert "identity: compiling 1 objects of whole\n" in run.stdout, run.stdout + run.stderr


def test_script_old_pushed_tree(queue: Path) -> None:
    """The files of a pushed tree are older than any object, and still count; none is changed."""
    fill(queue, {"preparation.patch": PREPARATION}, {"not-off.patch": NOT_OFF})
    tree = push(queue)
    for path in tree.rglob("*"):
        os.utime(path, (1, 1))
    before = sums(tree, ())
    run = run_script(queue)
    assert run.returncode == 1, run.stdout + run.stderr
    assert sums(tree, ()) == before
    # Nor does a file of the tree that changes and is older count less
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    push(queue, "pop")
    (tree / "other.c").write_text("int other(void)\n{\n\treturn 1;\n}\n")
    assert run_script(queue).stdout.startswith("identity: preprocessing ungated\n")
    (tree / "other.c").write_text("int other(void) { syntax error }\n")
    os.utime(tree / "other.c", (1, 1))
    assert run_script(queue, "--all").returncode == 1


def test_script_builds_once(queue: Path) -> None:
    """What was proven is proven no more until something that it depends on changes."""

    def builds(**variables: str) -> int:
        run = run_script(queue, **variables)
        assert run.returncode == 0, run.stdout + run.stderr
        return len((queue / "build/fragments").read_text().splitlines())

    off = {"off.patch": OFF}
    fill(queue, {"preparation.patch": PREPARATION}, off)
    assert [builds(), builds(), builds(FRESH="1")] == [2, 2, 2]
    assert run_script(queue).stdout.endswith("0 differ (cached)\n")
    # Another text above the diff is the same diff
    fill(queue, {"preparation.patch": "Another changelog.\n" + PREPARATION}, off)
    assert builds() == 2
    # The state that a change does not reach is not built again
    off = {"off.patch": OFF.replace("int x", "int y")}
    fill(queue, {"preparation.patch": PREPARATION}, off)
    assert builds() == 3
    fill(queue, {"preparation.patch": PREPARATION.replace("a + 2", "a + 3")}, off)
    assert builds() == 5
    (queue / "build/linux/other.c").write_text("int other;\n")
    assert builds() == 7
    (queue / "configs/all-off.config").write_text("# CONFIG_X is not set\n")
    assert [builds(), builds()] == [9, 9]
    assert builds(KCFLAGS="-DANY") == 11


def test_script_cut_off(queue: Path) -> None:
    """A run that was killed while a state was at its place for the build is no harm to the next."""
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": OFF})
    assert run_script(queue).returncode == 0
    work = queue / "cache/identity"
    (work / "whole").rename(work / "state")
    fill(queue, {"preparation.patch": PREPARATION}, {"off.patch": NOT_OFF})
    assert run_script(queue).returncode == 1


def test_script_failure_is_not_kept(queue: Path) -> None:
    fill(queue, {}, {"not-off.patch": NOT_OFF})
    assert [run_script(queue).returncode, run_script(queue).returncode] == [1, 1]
    assert not list(queue.glob("cache/verdicts/identity/*.json"))


def test_script_failed_build(queue: Path) -> None:
    """A build that fails is no success; objects of an earlier run are not compared instead."""
    fill(queue, {}, {"off.patch": OFF})
    assert run_script(queue).returncode == 0
    (queue / "tools/kernel.sh").write_text("#!/bin/sh\nexit 1\n")
    run = run_script(queue, FRESH="1")
    assert run.returncode == 1 and "the build of ungated failed" in run.stderr


@pytest.mark.full
def test_every_object() -> None:
    """The rule about texts hides nothing: with every object compiled, none differs."""
    env = {name: value for name, value in os.environ.items() if name != "GROUP"}
    done = subprocess.run([ROOT / "tools/run", "tools.identity.identity", "--all"], env=env,
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " 0 differ" in done.stdout and " 0 the same by their text" in done.stdout, (
        done.stdout[-500:]
    )
