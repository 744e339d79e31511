# SPDX-License-Identifier: GPL-2.0
"""Checks that run the kernel's own scripts on the patches."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tools.groups import fragment_lines, options
from tools.proofs import Proofs, key
from tools.queue.proc import each, jobs, last_lines, run
from tools.series import Patch, Queue

MOST_WAIVERS = 10
CHECKPATCH_LINE = re.compile(
    r"^(?:\S+?:\d+: |)(?P<level>ERROR|WARNING|CHECK):(?P<type>[A-Z0-9_]+): (?P<text>.*)$"
)
NOBODY = re.compile(r"THE REST|\(open list\)$")
DOC_SUFFIXES = {".c", ".h", ".S"}


@dataclass(frozen=True)
class Waiver:
    """A checkpatch finding that stands, with the reason."""

    patch: str
    type: str
    reason: str

    def covers(self, patch: Patch, kind: str) -> bool:
        """Whether it waives this type in this patch."""
        return self.type == kind and self.patch in ("*", patch.path.name)


def read_waivers(path: Path) -> tuple[list[Waiver], list[str]]:
    """Read lines `patch-or-* TYPE reason`; returns waivers and findings."""
    waivers: list[Waiver] = []
    findings: list[str] = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3:
            findings.append(f"{path.name}: no reason: '{line}'")
        else:
            waivers.append(Waiver(*words))
    if len(waivers) > MOST_WAIVERS:
        findings.append(f"{path.name}: {len(waivers)} waivers, at most {MOST_WAIVERS}")
    return waivers, findings


def run_on(words: list[str], patches: Sequence[Patch], kernel: Path, tool: str
           ) -> list[tuple[Patch, str, Callable[[], None]]]:
    """Run a script of the kernel once on patches, or take what it printed of those that passed.

    Args: the command, the patches, where to run, the script's text (part of the key, with the
    command and the patch).
    Returns for each patch the output, of several patches the lines that begin with its path, and
    what to call if it is a pass. Raises RuntimeError when the script fails without a word.
    """
    proofs = Proofs("output")
    stable = [word for word in words if not word.startswith("--mpath=")]
    keys = [key(words=stable, patch=patch.name, text=patch.text, tool=tool) for patch in patches]
    output = {patch.name: proofs.lookup(name) for patch, name in zip(patches, keys)}
    if new := [patch for patch in patches if output[patch.name] is None]:
        # These scripts read settings from the home directory.
        done = run([*words, *(patch.path for patch in new)], kernel,
                   env={"HOME": str(new[0].path.parent)})
        if done.returncode > 1 or done.returncode and not done.stdout:
            raise RuntimeError(f"{words[1]}: exit status {done.returncode}: "
                               f"{last_lines(done.stdout)}")
        lines = done.stdout.splitlines(keepends=True)
        for patch in new:
            output[patch.name] = "".join(line for line in lines if len(new) == 1
                                         or line.startswith(f"{patch.path}:"))
    return [(patch, output[patch.name], partial(proofs.store, name, output[patch.name]))
            for patch, name in zip(patches, keys)]


def check_checkpatch(queue: Queue, kernel: Path, waivers: Path) -> list[str]:
    """checkpatch.pl --strict finds nothing but what is waived, and all waivers are used.

    Most of its time, it asks get_maintainer.pl for each file; a run with many patches asks once.
    Args: the queue, the kernel tree, the waiver file.
    """
    known, findings = read_waivers(waivers)
    used: set[Waiver] = set()
    words = ["perl", "scripts/checkpatch.pl", "--strict", "--no-signoff"]
    words += ["--terse", "--show-types", "--no-summary"]
    # The base is a tarball without history: no commit is known to it.
    words += ["--ignore", "UNKNOWN_COMMIT_ID"]
    tool = (kernel / "scripts/checkpatch.pl").read_text(errors="replace")

    def judge(patch: Patch, output: str, passed: Callable[[], None]) -> list[str]:
        found: list[str] = []
        for match in filter(None, map(CHECKPATCH_LINE.match, output.splitlines())):
            cover = [waiver for waiver in known if waiver.covers(patch, match["type"])]
            used.update(cover)
            if not cover:
                found.append(f"{patch.name}: {match['level']}:{match['type']}: {match['text']}")
        if not found:
            passed()
        return found

    # Patches that follow each other change the same files
    ends = [len(queue.patches) * part // jobs() for part in range(jobs() + 1)]
    parts = [queue.patches[start:end] for start, end in zip(ends, ends[1:])]
    findings += each(lambda part: [line for one in run_on(words, part, kernel, tool)
                                   for line in judge(*one)], parts)
    for waiver in known:
        if waiver not in used:
            findings.append(f"{waivers.name}: unused: {waiver.patch} {waiver.type}")
    return findings


def check_get_maintainer(queue: Queue, kernel: Path, final: Path) -> list[str]:
    """get_maintainer.pl finds someone, besides the lists that get everything.

    Files that MAINTAINERS gives to nobody (include/linux/uaccess.h is one)
    need a Cc: in the patch.

    Args: the queue, the kernel tree, the touched files after the series (for
    MAINTAINERS).
    """
    words = ["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--roles"]
    words += ["--no-keywords"]
    entries = final / "MAINTAINERS"
    if entries.is_file():
        words.append(f"--mpath={entries}")
    else:
        entries = kernel / "MAINTAINERS"
    # The path of a scratch copy is no part of the key, its text is.
    known = entries.read_text(errors="replace")

    def one(patch: Patch) -> list[str]:
        # The answer depends on the files alone: another changelog gets the one that was stored
        files = replace(patch, text=" ".join(diff.path for diff in patch.files))
        ((_, output, passed),) = run_on(words, [files], kernel, known)
        people = [line for line in output.splitlines() if "@" in line]
        if any(not NOBODY.search(line) for line in people):
            passed()
            return []
        if re.search(r"^Cc: .+ <\S+@\S+>$", patch.body, re.M):
            return []
        return [f"{patch.name}: get_maintainer finds nobody"]

    return each(one, queue.patches)


def doc_warnings(paths: list[str], root: Path, kernel: Path) -> Counter[str]:
    """Return kernel-doc's warnings for those of the files that are there, without line numbers."""
    there = [path for path in paths if (root / path).is_file()]
    words = [kernel / "scripts/kernel-doc", "-none", "-Wall", "-Werror", *there]
    env = {"srctree": str(kernel), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run(words, root, env=env) if there else run(["true"])
    lines = [line for line in done.stdout.splitlines() if "arning" in line or "rror:" in line]
    if done.returncode and not lines:
        lines = [f"kernel-doc: {last_lines(done.stdout)}"]
    return Counter(
        re.sub(r":\d+", "", line.replace(f"{root}/", "")).strip()
        for line in lines
        if "treated as errors" not in line and "warnings as errors" not in line.lower()
    )


def check_kernel_doc(queue: Queue, kernel: Path, base: Path, final: Path) -> list[str]:
    """kernel-doc has no warning for the final files that it had not before.

    Args: the queue, the kernel tree, the touched files before and after.
    """
    paths = [path for path in queue.paths
             if Path(path).suffix in DOC_SUFFIXES and (final / path).is_file()
             and "/**" in (final / path).read_text(errors="replace")]
    return sorted(doc_warnings(paths, final, kernel) - doc_warnings(paths, base, kernel))


def check_kconfig_documented(queue: Queue, final: Path) -> list[str]:
    """A document names each new option that has a prompt, and none is on by default.

    checkpatch looks at the help. Args: the queue, the touched files after the series.
    """
    documents = [final / path for path in queue.paths if path.startswith("Documentation/")]
    documents += [queue.root / "README.md", *(queue.root / "Documentation").glob("*.rst")]
    known = "\n".join(path.read_text(errors="replace") for path in documents if path.is_file())
    findings = [f"{symbol}: named in no document" for symbol in options(queue.patches)
                if not re.search(rf"\b(?:CONFIG_)?{symbol}\b", known)]
    return findings + [f"{patch.name}: {diff.path}: default y" for patch in queue.patches
                       for diff in patch.files if Path(diff.path).name.startswith("Kconfig")
                       and re.search(r"^\s+default y\b", "\n".join(diff.added), re.M)]


def check_base_config(fragment: str, debian: str) -> list[str]:
    """Each setting of base.config is a line of Debian's configuration. Args: their texts."""
    return sorted(set(fragment_lines(fragment)) - set(debian.splitlines()))


def compiler(config: str) -> list[str]:
    """Return make's words for the compiler that a .config was made with.

    CC in the environment decides when it is set.
    """
    match = re.search(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', config, re.M)
    text = match[1] if match else ""
    clang = re.search(r"clang version (\d+)", text)
    if clang:
        suffix = f"-{clang[1]}" if shutil.which(f"clang-{clang[1]}") else "1"
        return [f"LLVM={suffix}"]
    if os.environ.get("CC"):
        return [f"CC={os.environ['CC']}"]
    name = text.split(" ", 1)[0]
    return [f"CC={name}"] if name and shutil.which(name) else []


def parallel() -> str:
    """Return make's -j option."""
    return f"-j{jobs()}"
