# SPDX-License-Identifier: GPL-2.0
"""The step builds, on kernels of a few files."""

from pathlib import Path

import pytest

from tools.checks import each_step_builds, sparse_w1, steps as checks
from tools.checks.findings import none, some
from tools.series import Series
from tools.tree.small_series import Builder

# As much of kbuild as the steps use: O=, olddefconfig, objects, its messages.
KBUILD = """VERSION = 7
PATCHLEVEL = 3
SUBLEVEL = 4
KCONFIG_CONFIG ?= $(O)/.config
olddefconfig: ; @grep -q . $(KCONFIG_CONFIG) && ! grep -q broken Kconfig
%.o: ;
	@mkdir -p $(O)/$(dir $@)
	@if [ ! $(O)/$@ -nt $*.c ]; then echo '  CC      $@'; rm -f $(O)/$@; \\
	  gcc -Wall -c -o $(O)/$@ $(CURDIR)/$*.c; fi
.PHONY: FORCE
"""
GOOD = "int one(void)\n{\n\treturn 1;\n}\n"
UNUSED = "int one(void)\n{\n\tint unused;\n\treturn 1;\n}\n"
BROKEN = "int one(void)\n{\n\treturn one two;\n}\n"


@pytest.fixture(autouse=True)
def fixture_cache(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own for each test of a tiny kernel."""
    if "steps" not in request.fixturenames:
        monkeypatch.setenv("CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("FRESH", raising=False)


class Small(Builder):
    """A builder over a tiny kernel that is built."""

    def __init__(self, root: Path, one: str = GOOD) -> None:
        files = {"Makefile": KBUILD, "Kconfig": "# none\n", "lib/one.c": one, "lib/two.c": GOOD,
                 "lib/one.h": "extern int header;\n", "scripts/checkpatch.pl": "#\n"}
        super().__init__(root, files)
        self.config = root / "vm/.config"
        (root / "vm/lib").mkdir(parents=True)
        for name in ("vmlinux", "lib/one.o", "lib/two.o", "lib/three.o"):
            (root / "vm" / name).touch()
        self.config.write_text("CONFIG_A=y\n")

    def run(self, series: Series | None = None, build: str = "build") -> tuple[list, bool]:
        """Return what run_steps() finds of the series as it is or another one."""
        build = self.root / build
        return checks.run_steps(series or self.write(), self.sources, self.config, build)


@pytest.mark.static
def test_selftest_steps(tmp_path: Path) -> None:
    small = Small(tmp_path, UNUSED)
    for subject, name, text in (
        ("lib: Move it", "one", "\n\n" + UNUSED),
        ("lib: Clean it", "one", GOOD),
        ("lib: Add three", "three", UNUSED.replace("one", "three")),
        ("lib: Break it", "one", BROKEN),
        ("lib: Mend it", "one", UNUSED),
    ):
        small.edit(subject, {f"lib/{name}.c": text})
    left_out = {"lib/two.c": BROKEN, "lib/Makefile": "obj-$(CONFIG_NO) += one.o two.o\n"}
    small.edit("lib: Leave two out", left_out)
    for _ in range(2):  # a failure is not kept
        steps, cached = small.run()
        (broken,) = each_step_builds.check(steps)
        assert broken.startswith("lib-break-it.patch: lib/one.o does not build") and not cached
    warned = [step.patch for step in steps if step.warnings]
    # A moved warning is not new; one in a new file or a mended one is
    assert warned == ["lib-add-three.patch", "lib-mend-it.patch"]
    some(sparse_w1.check(steps), "lib-add-three.patch: new: lib/three.c: warning")
    assert (small.base / "lib/one.c").read_text() == UNUSED, "the source tree was written to"
    assert not (small.base / "lib/three.c").exists()


@pytest.fixture(name="builds")
def fixture_builds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """The states that are gone to, with the objects that are built there."""
    builds: list[tuple[int, list[str]]] = []
    go, build = checks.Stepper.go, checks.Stepper.build

    def watch_go(stepper: checks.Stepper, number: int) -> str:
        builds.append((number, []))
        return go(stepper, number)

    def watch_build(stepper: checks.Stepper, objects: list[str]) -> tuple[dict, dict]:
        builds[-1][1].extend(objects)
        return build(stepper, objects)

    monkeypatch.setattr(checks.Stepper, "go", watch_go)
    monkeypatch.setattr(checks.Stepper, "build", watch_build)
    return builds


@pytest.mark.static
def test_selftest_steps_cache(tmp_path: Path, builds: list,
                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Built are the objects of each state whose files are not as they ever were."""
    small = Small(tmp_path)
    small.edit("lib: One", {"lib/one.c": GOOD + "\n"})
    small.edit("lib: Two", {"lib/two.c": GOOD + "\n"})
    small.edit("lib: One again", {"lib/one.c": GOOD + "\n\n"})

    def built(*where: object) -> list[tuple[int, list[str]]]:
        builds.clear()
        steps, cached = small.run(*where)
        none(sparse_w1.check(steps) + each_step_builds.check(steps))
        assert cached == (not builds)
        return list(builds)

    one, two = "lib/one.o", "lib/two.o"
    everything = [(0, [one]), (1, [one, two]), (2, [one, two]), (3, [one])]
    assert built() == everything
    assert built() == []
    assert built(None, "another") == [], "another clone finds what is known"
    changed = small.alter("lib: Two", "+\n", "+/* two */\n")
    assert built(changed) == everything[2:], "a step in the middle, and those after it"
    monkeypatch.setenv("FRESH", "1")
    assert built(changed) == everything
    monkeypatch.delenv("FRESH")
    small.config.write_text("CONFIG_B=y\n")
    assert built(changed) == everything
    (small.base / "lib/other.h").write_text("/* the tree */\n")
    assert built(changed) == everything


@pytest.mark.static
def test_selftest_steps_config(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.edit("lib: Break Kconfig", {"Kconfig": "broken\n"})
    steps, _ = small.run()
    some(each_step_builds.check(steps), "lib-break-kconfig.patch: olddefconfig")
    small.config = tmp_path / "none/.config"
    with pytest.raises(FileNotFoundError, match="run `make`"):
        small.run()


@pytest.mark.static
def test_selftest_steps_objects(builder: Builder) -> None:
    files = {"lib/x.c": "x\n", "arch/x86/lib/y.S": "y\n", "tools/z.c": "z\n",
             "Documentation/a.rst": "a\n"}
    builder.edit("lib: Add", files).edit("lib: Head", {"include/linux/x.h": "x\n"})
    first, second = builder.write().patches
    assert checks.touched_objects(first) == ["arch/x86/lib/y.o", "lib/x.o"]
    assert checks.touched_objects(second) == list(checks.HEADER_OBJECTS)
