# SPDX-License-Identifier: GPL-2.0
"""The model in the guest: its counts against arithmetic, and its honesty."""
import re
from pathlib import Path
from typing import Any

import pytest

from tools.model.expected import compare, expected
from tools.model.result import LEVELS, misses

Result = dict[str, Any]
# Those of workload ioctl that are no ioctls
SYSCALLS = ("sigprocmask", "clock_getres", "epoll_ctl", "sigaltstack", "sigaction")


def test_calibration(calibrate: Result, larger: Result, full: Result) -> None:
    """Each pattern counts what arithmetic says for the geometry, no label more or less; with that
    of another geometry the comparison fails."""
    for result in (calibrate, larger, full):
        patterns = expected(result["geometry"])
        assert set(result["labels"]) == set(patterns)
        compare(result, patterns)
    for other in (larger, full):
        with pytest.raises(AssertionError, match="by arithmetic"):
            compare(calibrate, expected(other["geometry"]))


@pytest.mark.usefixtures("ring_1", "ring_2", "writers_1", "writers_2")
def test_repeat_identical(run_options: list[str]) -> None:
    """The same run again gives the same bytes, instruction for instruction, with
    one CPU and with four."""
    for workload in ("ring", "writers"):
        first, second = ((Path(run_options[-1]) / f"{workload}_{run}.raw.json").read_bytes()
                         for run in "12")
        assert len(first) > 10000
        assert first == second


def test_perturb(ring_1: Result, ring_perturbed: Result) -> None:
    """Memory laid out in another way gives other misses of the same switches: a
    repeat that is identical is so because nothing changed."""
    stacks = [result["labels"]["ring"]["kinds"]["kernel stack"]
              for result in (ring_1, ring_perturbed)]
    assert abs(stacks[0]["lines"] - stacks[1]["lines"]) < 100
    assert stacks[0]["l2"] != stacks[1]["l2"]


def test_kinds(ring_1: Result, writers_1: Result) -> None:
    """Misses are told by kind of data, and none is lost between the kinds."""
    for result, kinds in ((ring_1, {"task_struct", "kernel stack", "other"}),
                          (writers_1, {"page cache", "user buffer", "other"})):
        label = result["labels"][result["workload"]]
        assert kinds <= set(label["kinds"])
        for level in LEVELS:
            assert misses(label, level) == sum(kind[level] for kind in label["kinds"].values())


def test_lines_per_switch(ring_1: Result) -> None:
    """The lines of task_structs and of what they have are told by where they are in them."""
    label = ring_1["labels"]["ring"]
    task = label["objects"]["task_struct"]
    assert {"task_struct", "signal_struct", "files_struct", "mm_struct"} == set(label["objects"])
    # The state of each task of the ring is on the first line; most lines are those of others
    assert 64 <= task["objects"] < 64 + 8 and task["touched"][0] >= 64
    assert sum(task["touched"]) <= label["kinds"]["task_struct"]["lines"]
    assert 64 * 10 < sum(task["touched"]) < 64 * len(task["touched"]) * 0.75
    shares = {name: (loaded, stored) for name, _, _, loaded, stored in label["fields"]}
    assert min(shares["__state"]) > 0.9 and shares["stack"][0] > 0.9 > shares["stack"][1]
    assert min(shares["se.vruntime"]) > 0.9 and "comm" not in shares


RINGS = [f"{kind}_{tasks}" for kind in ("pipe", "futex", "threads") for tasks in (4, 16)]


def test_rings(rings: Result) -> None:
    """One boot runs several rings, each with a label, its own tasks and switches."""
    assert list(rings["labels"]) == RINGS
    for name, label in rings["labels"].items():
        tasks = int(name.split("_")[1])
        assert 192 <= label["units"] < 600, name
        assert label["kinds"]["kernel stack"]["lines"] > 8 * tasks, name
        assert label["kinds"]["task_struct"]["lines"] > 8 * tasks, name
        functions = {function["name"] for function in label["functions"]}
        futex = any("futex" in function for function in functions)
        assert futex != name.startswith("pipe"), name


def test_nothing_else(ring_1: Result, writers_1: Result) -> None:
    """No console and no end of the boot is in a region."""
    for result in (ring_1, writers_1):
        strangers = [function["name"] for function in
                     result["labels"][result["workload"]]["functions"]
                     if re.search("serial8250|uart|tty_|printk", function["name"])]
        assert not strangers


def test_writers_page_cache(writers_1: Result) -> None:
    """Each line of the page cache that was written is brought in once by the copy,
    twice where an interrupt evicts it in the middle; the records are counted."""
    label, copy = (writers_1["labels"][name] for name in ("writers", "rep_movs_alternative"))
    lines = 2 * 1024 * 1024 // 64
    assert label["units"] == 2 * 256
    assert label["kinds"]["page cache"]["lines"] == lines
    for level in LEVELS:
        assert lines <= copy["kinds"]["page cache"][level] <= lines + lines // 1000
    assert copy["stores"] >= 2 * 1024 * 1024


def test_reads_immediates(reads: Result) -> None:
    """Immediate values are read without one access to data; loads cost one each,
    and a miss each where the lines were pushed out."""
    labels = reads["labels"]
    for width in ("u32", "u64"):
        for number in (32, 128, 4096):
            names = [f"{what}_{width}_{number}" for what in ("loads", "immediates")]
            loads, immediates = (next(
                function for function in labels[name]["functions"]
                if function["name"] == f"{name} [test_imv_reads]") for name in names)
            calls = labels[names[0]]["units"]
            assert calls == labels[names[1]]["units"] == 5
            # The return address, in each, and five words each way of an interrupt that arrives
            # there
            assert {loads["stores"], immediates["stores"]} <= {0, 5}
            assert immediates["loads"] - immediates["stores"] == calls
            assert loads["loads"] - loads["stores"] == (number + 1) * calls
            assert misses(loads, "l1d") >= 0.9 * number * calls
            assert misses(immediates, "l1d") <= calls


def test_immediate_symbols(calls: Result) -> None:
    """Static variables are told by name, and their misses are some of a call's."""
    labels = calls["labels"].values()
    assert all(0 < sum(variable["l1d"] for variable in label["variables"]) <= misses(label, "l1d")
               for label in labels)
    names = {variable["name"] for label in labels for variable in label["variables"]}
    assert {"init_user_ns", "max_files", "sysctl_max_map_count", "vm_committed_as"} <= names


def test_ioctl_inline(ioctl: Result) -> None:
    """System calls and ioctls with small structures execute no copy function, and fewer
    instructions and accesses than those that do."""
    labels = ioctl["labels"]
    copies = {"_copy_from_user", "_copy_to_user", "rep_movs_alternative"}
    inline = ("constant", "set_winsize", "get_winsize", "gem_flink", "get_cap", *SYSCALLS)
    for name in (*inline, "called"):
        functions = {function["name"] for function in labels[name]["functions"]}
        assert functions & copies == (copies if name == "called" else set()), name
    cost = {name: (label["executed"]["instructions"] / label["units"],
                   (label["loads"] + label["stores"]) / label["units"])
            for name, label in labels.items()}
    for at in range(2):
        assert cost["nothing"][at] < cost["constant"][at] < cost["called"][at]


def test_movsb_window(pread_zen4: Result, pread_zen3: Result, pread_zen5: Result,
                      pread_intel: Result) -> None:
    """Zen 3 and Zen 4 move the copies that their rep movsb is slow for by words, those of users by
    rep_movs_alternative() and others in memcpy(), and no other copy; other CPUs none. KUnit's
    instructions_* know both ends exactly."""
    def moved(result: Result) -> set[str]:
        labels = result["labels"].items()
        assert len(labels) == 12 and all(label["units"] == 5 for _, label in labels)
        return {name for name, label in labels
                if "rep_movs_alternative" in {function["name"] for function in label["functions"]}}

    def moved_by_memcpy(result: Result) -> set[str]:
        """The labels whose 2000 bytes memcpy() moves by words: rep movsb loads each byte."""
        loads = {name: sum(function["loads"] for function in label["functions"]
                           if function["name"] in ("memcpy", "__memcpy"))
                 for name, label in result["labels"].items() if name.startswith("splice")}
        assert all(count >= 5 * 2000 / 8 for count in loads.values())
        return {name for name, count in loads.items() if count < 5 * 2000}

    assert moved_by_memcpy(pread_zen4) == {"splice_8"}
    assert moved_by_memcpy(pread_zen3) == {"splice_8", "splice_16"}
    assert not any(map(moved_by_memcpy, (pread_zen5, pread_intel)))
    assert moved(pread_zen4) == {"pread_1", "pread_8", "pread_15", "pwrite_8"}
    assert moved(pread_zen3) == moved(pread_zen4) | {"pread_16", "pwrite_16"}
    assert not any(map(moved, (pread_zen5, pread_intel)))
