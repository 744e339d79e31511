# SPDX-License-Identifier: GPL-2.0
"""The KUnit tests of user copies find mistakes in what they test: each mutant is killed.

A mutant is the module of a test with one change in a header of the tree, of this group, movsb or
smallcopies. It is built for the kernel vm and loaded there, in a boot of its own; a mutant that
ends the kernel is killed as well. Those of the functions in assembly are in test_variants.py.
"""
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools import environment
from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job

pytestmark = pytest.mark.full

HEADER = "include/linux/uaccess.h"
SITE = "arch/x86/include/asm/uaccess_64.h"
FAULTS, SITES = "lib/tests/usercopy_faults_kunit.c", "arch/x86/lib/usercopy_kunit.c"
SMALL = "lib/tests/unsafe_copy_kunit.c"
# The test of the site reads the command line of the kernel, which modules cannot
PROLOGUE = {FAULTS: "", SMALL: "", SITES: ("#include <linux/init.h>\n#include <asm/cmdline.h>\n"
                                "#define cmdline_find_option(...) 0\n"
                                "#define saved_command_line NULL\n")}
ZEN4 = {"cpu": "family=25,model=17",
        "append": "kunit.filter_glob=none setcpuid=fsrm mitigations=off"}
# The tests that are built in do not run, those of the module do
LOAD = "printf '*' > /sys/module/kunit/parameters/filter_glob; insmod"


@dataclass
class Mutant:
    """A change of one header. killers: tests that find it, or Oops; times: it stands there."""

    path: str
    right: str
    wrong: str
    killers: str
    times: int = 1
    test: str = FAULTS


MUTANTS = {
    "none": Mutant(HEADER, "(n) >= 64", "(n) >= 64", "", test=SMALL),
    "last_word": Mutant(HEADER, "(n) - 8, u64", "(n) - 7, u64", "Oops", times=2, test=SMALL),
    "word_tail": Mutant(HEADER, "(n) > 8 && (n) % 8 > 4", "(n) > 8 && (n) % 8 > 5", "const_sizes",
                        test=SMALL),
    "third_byte": Mutant(HEADER, "(n) == 1 || (n) == 3", "(n) == 1", "const_sizes", test=SMALL),
    "four_bytes": Mutant(HEADER, "(n) >= 4 && (n) < 8", "(n) > 4 && (n) < 8", "const_sizes",
                         test=SMALL),
    "half_word": Mutant(HEADER, "move(dst, src, 24, u64", "move(dst, src, 24, u32", "const_sizes",
                        test=SMALL),
    "loop_step": Mutant(HEADER, "__ucu_at += 8", "__ucu_at += 16", "any_sizes", test=SMALL),
    "loop_word": Mutant(HEADER, "__ucu_at, u64", "__ucu_at, u32", "any_sizes", test=SMALL),
    "user_as_kernel": Mutant(HEADER, "*(const type *)((src) + (at))",
                             "*(const type *)((dst) + (at))", "Oops", test=SMALL),
    "const_none": Mutant(HEADER, "(n) == 8))", "(n) == 8))", ""),
    "const_width": Mutant(HEADER, "get_user(*(u32 *)to, (const u32 __user *)from)",
                          "get_user(*(u16 *)to, (const u16 __user *)from)", "const_copies"),
    "from_not_again": Mutant(HEADER, "if (likely(!get_user_const(to, from, n)))\n\t\t\treturn 0",
                             "return get_user_const(to, from, n) ? n : 0", "const_faults"),
    "to_not_again": Mutant(HEADER, "if (likely(!put_user_const(to, from, n)))\n\t\t\treturn 0",
                           "return put_user_const(to, from, n) ? n : 0", "const_faults"),
    "no_zeroes": Mutant(HEADER, "memset(to, 0, n);\n\t\t\treturn n", "return n",
                        "injected_failures"),
    "no_failure": Mutant(HEADER, "if (should_fail_usercopy()) {", "if (0) {", "injected_failures"),
    "larger_structure": Mutant(HEADER, "else if (usize > ksize)", "else if (0)", "struct_copies"),
    "site_none": Mutant(SITE, "jb 402f", "jb 402f", "", test=SITES),
    "site_entry": Mutant(SITE, "_ASM_EXTABLE_UA(1b + COPY_USER_MOVSB_AT, 2b)", "", "Oops",
                         test=SITES),
    "site_word": Mutant(SITE, "402:	rep movsb", "402:	rep movsw", "residues", test=SITES),
    # As many bytes, which .org counts
    "site_count": Mutant(SITE, "	call rep_movs_alternative\\n", "	decl %%ecx; nopl (%%rax)\\n",
                         "residues", test=SITES),
}


def built(tree: Path, kernel: Path, where: Path, mutant: Mutant) -> Path:
    """Build the module of a mutant for a kernel, in an empty directory, and return it."""
    text = (tree / mutant.path).read_text(encoding="utf-8")
    assert text.count(mutant.right) == mutant.times, f"{text.count(mutant.right)} in {mutant.path}"
    header = where / "include" / re.sub(r"^.*?\binclude/", "", mutant.path)
    header.parent.mkdir(parents=True)
    header.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    (where / "Kbuild").write_text(
        f"obj-m := mutant.o\n# In front of the kernel's own\nNOSTDINC_FLAGS += -I{where}/include\n")
    (where / "mutant.c").write_text(
        f'#include <linux/module.h>\n{PROLOGUE[mutant.test]}#include "{tree / mutant.test}"\n'
        'MODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("A test with a mistake in what it tests");\n')
    done = subprocess.run(["make", "-s", "-C", tree, f"O={kernel}", f"M={where}", "modules"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return where / "mutant.ko"


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant(name: str) -> None:
    """A mutant is killed by the tests that are named, and the module without a change by none."""
    mutant = MUTANTS[name]
    tree, kernel = environment.tree(), environment.kernel()
    where = environment.build() / "mutants" / name  # the guest has a /tmp of its own
    shutil.rmtree(where, ignore_errors=True)
    module = built(tree, kernel, where, mutant)
    results, logs = boot_single(
        f"mutant-{name}", kernel, Job("cmd", f"{LOAD} {module}", "mutant"), time_limit=300,
        **(ZEN4 if mutant.test == SITES else {"append": "kunit.filter_glob=none"}))
    console = (logs / "console.log").read_text(errors="replace")
    assert re.search("# Subtest: (usercopy|unsafe_copy)", console), failures(results)
    killers = set(re.findall(r"^\s*(?:\[[^]]*\]\s*)?not ok \d+ (\w+)", console, re.M))
    if re.search(r"\b(Oops|BUG): ", console):
        killers.add("Oops")
    print(f"mutant {name}: killed by {' '.join(sorted(killers)) or 'none'}")
    assert set(mutant.killers.split()) <= killers, killers
    assert mutant.killers or not killers - {"instructions", "usercopy_x86"}, killers
