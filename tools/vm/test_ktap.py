# SPDX-License-Identifier: GPL-2.0
"""KTAP is un-nested to single subtests and broken plans are errors. No boots."""
from types import ModuleType

import pytest

from tools import environment
from tools.vm.ktap import Report, load_parser, parse

KUNIT = """\
[    1.399626] KTAP version 1
[    1.399665] 1..2
[    1.401270]     KTAP version 1
[    1.401293]     # Subtest: usercopy
[    1.401675]     1..2
[    1.422963]     ok 1 usercopy_test_valid
[    1.423000] random: crng init done
[    1.424000]     # usercopy_test_invalid: EXPECTATION FAILED at lib/tests/usercopy_kunit.c:99
[    1.424100]     Expected a == b, but
[    1.429002]     not ok 2 usercopy_test_invalid
[    1.695238] # usercopy: pass:1 fail:1 skip:0 total:2
[    1.695373] not ok 1 usercopy
[    1.701270]     KTAP version 1
[    1.701293]     # Subtest: gen
[    1.701675]     1..2
[    1.702270]         KTAP version 1
[    1.702293]         # Subtest: params
[    1.702963]         ok 1 size 8
[    1.702963]         ok 2 size 16 # SKIP too big
[    1.703963]     ok 1 params
[    1.704963]     ok 2 plain # SKIP no hardware
[    1.705963] ok 2 gen
[    1.805963] Run /init as init process"""

KSELFTEST = """\
TAP version 13
1..5
# timeout set to 45
# selftests: demo: harness
# TAP version 13
# 1..3
# # Starting 3 tests from 1 test cases.
# #  RUN           global.one ...
# ok 1 global.one
# ok 2 # SKIP cannot do two
# # harness.c:12:three:Expected 1 (1) == 2 (2)
# not ok 3 global.three
# # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0
not ok 1 selftests: demo: harness # exit=1
# timeout set to 45
# selftests: demo: skips
# TAP version 13
# 1..0 # SKIP not rootok 2 selftests: demo: skips # SKIP
# selftests: demo: last
# KTAP version 1
# ok 1 x
# ok 2 x
# 1..2
ok 3 selftests: demo: last
# selftests: demo: slow
not ok 4 selftests: demo: slow # TIMEOUT 45 seconds
# selftests: demo: prints.sh
# SKIP: needs a second node
ok 5 selftests: demo: prints.sh # SKIP
# Totals: pass:1 fail:2 xfail:0 xpass:0 skip:2 error:0"""

# What is expected of a whole output: id without part/, status, reason
OF_KUNIT = [
    ("usercopy.usercopy_test_valid", "pass", ""),
    ("usercopy.usercopy_test_invalid", "fail",
     "random: crng init done; usercopy_test_invalid: EXPECTATION FAILED at "
     "lib/tests/usercopy_kunit.c:99; Expected a == b, but"),
    ("gen.params.size_8", "pass", ""), ("gen.params.size_16", "skip", "too big"),
    ("gen.plain", "skip", "no hardware")]
OF_KSELFTEST = [
    ("harness.global.one", "pass", ""), ("harness.cannot_do_two", "skip", "cannot do two"),
    ("harness.global.three", "fail", "harness.c:12:three:Expected 1 (1) == 2 (2)"),
    ("skips", "skip", "not root"), ("last.x", "pass", ""), ("last.x", "pass", ""),
    ("slow", "fail", "TIMEOUT 45 seconds"), ("prints.sh", "skip", "SKIP: needs a second node")]


@pytest.fixture(scope="session")
def parser() -> ModuleType:
    return load_parser(environment.tree())


def run(parser: ModuleType, text: str, boot_log: bool = False) -> Report:
    return parse(parser, text.splitlines(), "part", boot_log)


def short(report: Report) -> list[tuple[str, str, str]]:
    assert all(result.id.startswith("part/") for result in report.results)
    return [(result.id[5:], result.status, result.reason) for result in report.results]


def test_kunit(parser: ModuleType) -> None:
    report = run(parser, KUNIT, boot_log=True)
    assert report.errors == [] and short(report) == OF_KUNIT


def test_kunit_with_a_message_before_a_header(parser: ModuleType) -> None:
    """Of another CPU, between the version line of a suite and its name."""
    noise = "[    1.6] tsc: Refined TSC clocksource calibration: 2596.075 MHz"
    lines = KUNIT.splitlines()
    for number in (number for number, line in enumerate(lines, 1) if "KTAP version" in line):
        text = "\n".join([*lines[:number], noise, noise, *lines[number:]])
        report = run(parser, text, boot_log=True)
        assert report.errors == [] and short(report) == OF_KUNIT, lines[number - 1]


def test_kselftest(parser: ModuleType) -> None:
    report = run(parser, KSELFTEST)
    assert report.errors == [] and short(report) == OF_KSELFTEST


def test_program_fails_though_its_subtests_pass(parser: ModuleType) -> None:
    text = """\
TAP version 13
1..1
# selftests: demo: crash
# TAP version 13
# 1..1
# ok 1 a
not ok 1 selftests: demo: crash # exit=139"""
    assert short(run(parser, text)) == [("crash.a", "pass", ""), ("crash", "fail", "exit=139")]


def test_exit_status_2_is_no_pass_by_itself(parser: ModuleType) -> None:
    text = """\
TAP version 13
1..2
# selftests: demo: broken.sh
# broken.sh: 3: Syntax error
ok 1 selftests: demo: broken.sh # XFAIL
# selftests: demo: known
# TAP version 13
# 1..1
# ok 1 # XFAIL known to fail
ok 2 selftests: demo: known # XFAIL"""
    assert short(run(parser, text)) == [
        ("broken.sh", "fail",
         "broken.sh: 3: Syntax error; exit=2 (XFAIL), but no subtest is XFAIL"),
        ("known.known_to_fail", "pass", "")]


@pytest.mark.parametrize("text, error", [
    ("", "no KTAP in the output: no test ran"), ("1..0\n", "empty plan (1..0)"),
    ("1..0 # SKIP not root\n", "empty plan (1..0)"), ("ok 1 a\n", "no plan"),
    ("\n", "no plan and no test"), ("1..3\nok 1 a\nok 2 b\n", "2 of 3 planned results"),
    ("1..1\nok 1 a\nnot ok 2 b\n", "2 results for a plan of 1"),
    ("1..1\n# selftests: d: p\n# TAP version 13\n# 1..2\n# ok 1 a\nok 1 selftests: d: p\n",
     "p: 1 of 2 planned results"),
    ("1..1\n# selftests: d: p\n# ok 1 a\nok 1 selftests: d: p\n", "selftests: d: p: no plan"),
    ("1..1\n# selftests: d: p\n# 1..1\n# ok 1 a\n# ok 2 b\nok 1 selftests: d: p\n",
     "selftests: d: p: 2 results for a plan of 1"),
    ("1..1\n# selftests: d: p\n# 1..2\n# ok 1 a\n# 1..2\n# ok 1 b\nok 1 selftests: d: p\n",
     "selftests: d: p: a second plan")])
def test_broken_plan_is_an_error(parser: ModuleType, text: str, error: str) -> None:
    assert error in run(parser, text and f"TAP version 13\n{text}").errors


def test_kunit_suite_that_died(parser: ModuleType) -> None:
    report = run(parser, "\n".join(KUNIT.splitlines()[:6]), boot_log=True)
    assert "usercopy: 1 of 2 planned results" in report.errors
    assert OF_KUNIT[0] in short(report)
