# SPDX-License-Identifier: GPL-2.0
"""Each step of the queue builds without new warnings, and the checks of that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from selftests.queue import checks_steps as checks
from selftests.queue.fixtures import Builder
from selftests.queue.patchqueue import Queue
from selftests.queue.scratch import Sources
from selftests.queue.verdict import none, some

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
	@{ echo 'source_$@ := $(CURDIR)/$*.c'; echo 'deps_$@ := \\'; \\
	  echo '  $$(wildcard include/config/A) \\'; \\
	  printf '  %s \\\\\\n' $(CURDIR)/lib/*.h; } > $(O)/$(dir $@).$(notdir $@).cmd
.PHONY: FORCE
"""
GOOD = "int one(void)\n{\n\treturn 1;\n}\n"
UNUSED = "int one(void)\n{\n\tint unused;\n\treturn 1;\n}\n"
MOVED = "\n\n" + UNUSED
BROKEN = "int one(void)\n{\n\treturn one two;\n}\n"


@pytest.fixture(scope="module", name="built")
def fixture_built(queue: Queue, sources: Sources, kernel: Path) -> tuple[list[checks.Step], bool]:
    """The steps of the queue, and whether nothing had to be built."""
    config = Path(os.environ["CF_OUT"]) / ".config"
    try:
        return checks.run_steps(queue, sources, config, checks.build_directory())
    except (FileNotFoundError, RuntimeError) as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(name="steps")
def fixture_steps(built: tuple[list[checks.Step], bool], record_property) -> list[checks.Step]:
    """The steps of the queue; the result says if they were known."""
    record_property("cached", built[1])
    return built[0]


@pytest.fixture(autouse=True)
def fixture_cache(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own for each test of a tiny kernel."""
    if "steps" not in request.fixturenames:
        monkeypatch.setenv("CF_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("FRESH", raising=False)


@pytest.mark.slow
def test_each_step_builds(steps: list[checks.Step]) -> None:
    none(checks.check_each_step_builds(steps))


@pytest.mark.slow
def test_sparse_w1(steps: list[checks.Step]) -> None:
    if not checks.checker():
        pytest.fail("no working sparse: install it", pytrace=False)
    none(checks.check_sparse_w1(steps))


def small(tmp_path: Path, one: str = GOOD) -> tuple[Builder, Sources, Path]:
    """Return a builder over a tiny kernel, its sources and a built .config."""
    files = {"Makefile": KBUILD, "Kconfig": "# none\n", "lib/one.c": one, "lib/two.c": GOOD,
             "lib/one.h": "extern int header;\n"}
    builder = Builder(tmp_path, {**files, "scripts/checkpatch.pl": "#\n"})
    out = tmp_path / "vm"
    (out / "lib").mkdir(parents=True)
    for name in ("vmlinux", "lib/one.o", "lib/two.o", "lib/three.o"):
        (out / name).write_text("")
    (out / ".config").write_text("CONFIG_A=y\n")
    return builder, builder.sources, out / ".config"


@pytest.mark.static
def test_selftest_steps(tmp_path: Path) -> None:
    builder, sources, config = small(tmp_path, UNUSED)
    builder.edit("lib: Move it", {"lib/one.c": MOVED})
    builder.edit("lib: Clean it", {"lib/one.c": GOOD})
    builder.edit("lib: Add three", {"lib/three.c": UNUSED.replace("one", "three")})
    builder.edit("lib: Break it", {"lib/one.c": BROKEN})
    builder.edit("lib: Mend it", {"lib/one.c": UNUSED})
    steps, _ = checks.run_steps(builder.write(), sources, config, tmp_path / "build")
    broken = checks.check_each_step_builds(steps)
    assert len(broken) == 1 and broken[0].startswith("lib-break-it.patch: lib/one.o does not build")
    warned = [step.patch for step in steps if step.warnings]
    # A moved warning is not new; one in a new file or a mended one is.
    assert warned == ["lib-add-three.patch", "lib-mend-it.patch"]
    some(checks.check_sparse_w1(steps), "lib-add-three.patch: new: lib/three.c: warning")
    assert (builder.base / "lib/one.c").read_text() == UNUSED, "the source tree was written to"
    assert not (builder.base / "lib/three.c").exists()


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
def test_selftest_steps_cache(
    tmp_path: Path, builds: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which objects are built at which state: those whose files are not as they ever were."""
    builder, sources, config = small(tmp_path)
    builder.edit("lib: One", {"lib/one.c": GOOD + "\n"})
    builder.edit("lib: Two", {"lib/two.c": GOOD + "\n"})
    builder.edit("lib: One again", {"lib/one.c": GOOD + "\n\n"})

    def run(queue: Queue, directory: str = "build") -> list[tuple[int, list[str]]]:
        builds.clear()
        steps, cached = checks.run_steps(queue, sources, config, tmp_path / directory)
        none(checks.check_sparse_w1(steps))
        none(checks.check_each_step_builds(steps))
        assert cached == (not builds)
        return list(builds)

    one, two = "lib/one.o", "lib/two.o"
    everything = [(0, [one]), (1, [one, two]), (2, [two]), (3, [one])]
    assert run(builder.write()) == everything
    assert run(builder.write()) == []
    assert run(builder.write(), "another") == [], "another clone finds what is known"
    changed = builder.alter("lib: Two", "+\n", "+/* two */\n")
    assert run(changed) == [(2, ["lib/two.o"])], "a step in the middle, and no later one"
    monkeypatch.setenv("FRESH", "1")
    assert run(changed) == everything
    monkeypatch.delenv("FRESH")
    config.write_text("CONFIG_B=y\n")
    assert run(changed) == everything
    (builder.base / "lib/other.h").write_text("/* the tree */\n")
    assert run(changed) == everything


@pytest.mark.static
def test_selftest_steps_header(tmp_path: Path, builds: list) -> None:
    """An object is built again when a header that it reads changes, at the steps that have it."""
    builder, sources, config = small(tmp_path, '#include "one.h"\n' + GOOD)
    builder.edit("lib: One", {"lib/one.c": '#include "one.h"\n' + GOOD + "\n"})
    builder.edit("lib: Header", {"lib/one.h": "extern int changed;\n"})
    builder.edit("lib: One again", {"lib/one.c": '#include "one.h"\n' + GOOD + "\n\n"})
    checks.run_steps(builder.write(), sources, config, tmp_path / "build")
    assert builds == [(state, ["lib/one.o"]) for state in (0, 1, 2, 3)]
    builds.clear()
    queue = builder.alter("lib: Header", "int changed", "int altered")
    checks.run_steps(queue, sources, config, tmp_path / "build")
    assert builds == [(2, ["lib/one.o"]), (3, ["lib/one.o"])]


@pytest.mark.static
def test_selftest_steps_failure_is_not_kept(tmp_path: Path) -> None:
    builder, sources, config = small(tmp_path)
    builder.edit("lib: Break it", {"lib/one.c": BROKEN})
    for _ in range(2):
        steps, cached = checks.run_steps(builder.write(), sources, config, tmp_path / "build")
        assert not cached
        some(checks.check_each_step_builds(steps), "lib-break-it.patch: lib/one.o does not build")


@pytest.mark.static
def test_selftest_steps_config(tmp_path: Path) -> None:
    builder, sources, config = small(tmp_path)
    builder.edit("lib: Break Kconfig", {"Kconfig": "broken\n"})
    steps, _ = checks.run_steps(builder.write(), sources, config, tmp_path / "build")
    some(checks.check_each_step_builds(steps), "lib-break-kconfig.patch: olddefconfig")
    with pytest.raises(FileNotFoundError, match="run `make`"):
        checks.run_steps(builder.write(), sources, tmp_path / "none/.config", tmp_path / "build")


@pytest.mark.static
def test_selftest_steps_objects(builder: Builder) -> None:
    files = {"lib/x.c": "x\n", "arch/x86/lib/y.S": "y\n", "tools/z.c": "z\n", "Documentation/a.rst": "a\n"}
    queue = builder.edit("lib: Add", files).edit("lib: Head", {"include/linux/x.h": "x\n"}).write()
    assert checks.touched_objects(queue.patches[0]) == ["arch/x86/lib/y.o", "lib/x.o"]
    assert checks.touched_objects(queue.patches[1]) == list(checks.HEADER_OBJECTS)


@pytest.mark.static
def test_selftest_steps_sparse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "sparse"
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    # A release that lacks the keyword, one that has it, one that never works.
    for body, expected in (
        ('case "$*" in *-D*) ;; *) echo error: x ;; esac', "sparse -D__typeof_unqual__=__typeof__"),
        (":", "sparse"),
        ("echo error: x", ""),
    ):
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)
        assert checks.checker() == expected


@pytest.mark.static
def test_sparse_and_module_macros(tmp_path: Path) -> None:
    """What sparse says of MODULE_LICENSE() in any file is left out, of a line beside it not."""
    (tmp_path / "a.c").write_text('int a;\nMODULE_LICENSE("GPL");\nmodule_param(a, int, 0);\n')
    error = "error: bad constant expression"
    places = [f"{tmp_path}/a.c:1:5", f"{tmp_path}/a.c:2:1", f"{tmp_path}/a.c:3:1", "a.c:2:1", "a.c:9:1"]
    text = "  CC      a.o\n" + "".join(f"{place}: {error}\n" for place in places)
    lines = checks.split_output(text, [tmp_path])["a.o"]
    assert lines == [f"a.c: {error}"]
    assert checks.split_output(text.replace("a.c:1:5", "a.c:2:5").replace("a.c:9:1", "a.c:2:9"), [tmp_path]) == {"a.o": []}


def test_selftest_steps_output() -> None:
    text = (
        "  CC      lib/a.o\n/t/lib/a.c:3:4: warning: odd line 3\n  CHECK   /t/lib/a.c\n"
        "/t/lib/a.c:9:1: warning: odder\n  AS      lib/b.o\n  LD      c\n"
    )
    found = checks.split_output(text, [Path("/t")])
    assert found == {"lib/a.o": ["lib/a.c: warning: odd line", "lib/a.c: warning: odder"], "lib/b.o": []}
