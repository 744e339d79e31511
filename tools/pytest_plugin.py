# SPDX-License-Identifier: GPL-2.0
"""Settings, markers, stable test ids and result files of every run of pytest.

A function test_x in selftests/<part>/ or tools/<part>/ has the id <part>/x, which does not change.
KUnit and kselftest subtests are named by suite and case, without numbers, unless the table ids of
selftests/GROUP/group.toml gives them another beginning.  Parametrised runs of one function share
its id: one failure fails it, and it counts as skipped only when every run was skipped.  The results
of a session go to RESULTS/parts/PART.json, PART of --part. --stage=NAME runs the tests of a stage
of make test: each test has one, by its markers, else by its folder.
"""

from pathlib import Path

import pytest

from tools import environment
from tools.environment import ROOT
from tools.results import Result, merge_result, write_results

MARKERS = (
    "static: needs no kernel build; `make lint` runs these",
    "late: takes many minutes; `make test` runs these in the time that is left",
    "debug: boots the debug kernel, late as well",
    "full: too long for every run; `make test-full` runs these",
    "robust: interruptions and bad input, on small trees of their own",
)
# Of folders below tools/, where no marker says another
STAGES = {"checks": "series", "tree": "series", "send": "series", "model": "model"}
NO_REASON = ("", "Skipped", "unconditional skip")

RESULTS = pytest.StashKey[dict[str, Result]]()
SETUP = pytest.StashKey[float]()


def part_of(path: Path) -> str:
    """Return the part that a file of tests belongs to: the folder below selftests/ or tools/."""
    return path.resolve().relative_to(ROOT).parts[-2]


def stable_id(item: pytest.Item) -> str:
    """Return <part>/<name> of a test; parameters are not part of it."""
    name = getattr(item, "originalname", None) or item.name
    return f"{part_of(item.path)}/{name.removeprefix('test_')}"


def stage_of(item: pytest.Item) -> str:
    """Return the stage of make test that runs a test; those of "full" are run by slow jobs."""
    for marker in ("full", "debug", "late", "robust"):
        if item.get_closest_marker(marker):
            return marker
    if item.name.startswith("test_selftest"):
        return "checks"
    if item.get_closest_marker("static"):
        return "lint"
    if item.path.is_relative_to(ROOT / "selftests"):
        return "groups"
    part = part_of(item.path)
    return STAGES.get(part, "tools")


def one_line(report: pytest.TestReport) -> str:
    """Return the reason of a failure or skip as one line."""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        text = str(longrepr[2]).removeprefix("Skipped:")
    elif hasattr(report, "wasxfail"):
        text = f"expected failure: {report.wasxfail.removeprefix('reason: ')}"
    elif hasattr(longrepr, "reprcrash") and longrepr.reprcrash:
        text = longrepr.reprcrash.message
    else:
        text = str(longrepr or "")
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --stage and --part."""
    parser.addoption("--stage", default="", help="the tests of a stage of make test")
    parser.addoption("--part", default="pytest", help="the file of the results")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, begin to record results."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.stash[RESULTS] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse two functions that would share an id; leave the tests of the stage."""
    owner: dict[str, str] = {}
    for item in items:
        name = item.nodeid.split("[", 1)[0]
        other = owner.setdefault(stable_id(item), name)
        if other != name:
            raise pytest.UsageError(f"{name} and {other} have one id")
    if stage := config.option.stage:
        config.hook.pytest_deselected(items=[item for item in items if stage_of(item) != stage])
        items[:] = [item for item in items if stage_of(item) == stage]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Turn skips without a reason into failures, and record the outcome."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and one_line(report) in NO_REASON:
        report.outcome = "failed"
        report.longrepr = "skipped without a reason"
    results, name = item.config.stash[RESULTS], stable_id(item)
    if not report.passed:
        status = "fail" if report.failed else "skip"
        merge_result(results, Result(name, status, one_line(report), report.duration))
    elif report.when == "call":
        seconds = report.duration + item.stash.get(SETUP, 0.0)
        cached = dict(item.user_properties).get("cached", False)
        merge_result(results, Result(name, "pass", "", seconds, cached))
    elif report.when == "setup":
        item.stash[SETUP] = report.duration
    elif name in results:
        results[name].seconds += report.duration


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the results; a session without tests leaves a failure in them, but for a stage."""
    results = session.config.stash[RESULTS]
    name = session.config.option.part
    if session.config.option.collectonly:
        return
    if (not results and session.config.option.stage
            and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.OK  # GROUP= may have none
    elif not results:
        reason = "no tests were collected"
        if exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED:
            reason = f"pytest ended with status {int(exitstatus)} before any test"
        results[""] = Result(f"{name}/collected", "fail", reason)
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    write_results(environment.results() / f"parts/{name}.json", results.values())
