# SPDX-License-Identifier: GPL-2.0
"""Checks that run the kernel's own scripts on the patches."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from selftests.groups import fragment_lines, lost_lines
from selftests.proofs import Proofs, content, key
from selftests.queue.patchqueue import Patch, Queue
from selftests.queue.proc import each, jobs, last_lines, run

MOST_WAIVERS = 10
HELP_LINES = 3
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


def codespell_words() -> list[str]:
    """Return the checkpatch option that names codespell's dictionary.

    checkpatch asks the python3 on the PATH for it, which need not be the one
    codespell is installed for.  Empty when codespell is not installed.
    """
    program = shutil.which("codespell")
    if not program:
        return []
    first = Path(program).read_text(errors="replace").split("\n", 1)[0]
    code = "import codespell_lib; print(codespell_lib.__path__[0])"
    done = run([*first.removeprefix("#!").split(), "-c", code])
    dictionary = Path(done.stdout.strip()) / "data/dictionary.txt"
    return [f"--codespellfile={dictionary}"] if dictionary.is_file() else []


def run_on(
    words: list[str], patch: Patch, kernel: Path, tool: str
) -> tuple[int, str, Callable[[], None]]:
    """Run a script of the kernel on a patch, or take what it printed when the patch passed before.

    Args: the command, the patch, where to run, the script's text (part of the
    key, with the command and the patch).
    Returns the exit status, the output, and what to call when that is a pass.
    """
    proofs = Proofs("script")
    stable = [word for word in words if not word.startswith("--mpath=")]
    name = key(words=stable, patch=patch.name, text=patch.text, tool=tool)
    if known := proofs.lookup(name):
        return known[0], known[1], lambda: None
    # These scripts read settings from the home directory.
    done = run([*words, patch.path], kernel, env={"HOME": str(patch.path.parent)})
    return done.returncode, done.stdout, lambda: proofs.store(name, [done.returncode, done.stdout])


def check_checkpatch(queue: Queue, kernel: Path, waivers: Path) -> list[str]:
    """checkpatch.pl --strict finds nothing but what is waived, and all waivers are used.

    Args: the queue, the kernel tree, the waiver file.
    """
    known, findings = read_waivers(waivers)
    used: set[Waiver] = set()
    words = ["perl", "scripts/checkpatch.pl", "--strict", "--codespell", "--no-signoff"]
    words += ["--terse", "--show-types", "--no-summary", *codespell_words()]
    # The base is a tarball without history: no commit is known to it.
    words += ["--ignore", "UNKNOWN_COMMIT_ID"]
    tool = (kernel / "scripts/checkpatch.pl").read_text(errors="replace")
    tool += "".join(content(Path(word.partition("=")[2])) for word in codespell_words())

    def one(patch: Patch) -> list[str]:
        status, output, passed = run_on(words, patch, kernel, tool)
        found: list[str] = []
        matches = [CHECKPATCH_LINE.match(line) for line in output.splitlines()]
        for match in filter(None, matches):
            cover = [waiver for waiver in known if waiver.covers(patch, match["type"])]
            used.update(cover)
            if not cover:
                found.append(f"{patch.name}: {match['level']}:{match['type']}: {match['text']}")
        if status and not any(matches):
            found.append(f"{patch.name}: checkpatch: {last_lines(output)}")
        if not found:
            passed()
        return found

    findings += each(one, queue.patches)
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
    entries = final / "MAINTAINERS"
    if entries.is_file():
        words.append(f"--mpath={entries}")
    else:
        entries = kernel / "MAINTAINERS"
    # The path of a scratch copy is no part of the key, its text is.
    known = entries.read_text(errors="replace")

    def one(patch: Patch) -> list[str]:
        status, output, passed = run_on(words, patch, kernel, known)
        people = [line for line in output.splitlines() if "@" in line]
        if status == 0 and any(not NOBODY.search(line) for line in people):
            passed()
            return []
        if re.search(r"^Cc: .+ <\S+@\S+>$", patch.body, re.M):
            return []
        return [f"{patch.name}: get_maintainer finds nobody"]

    return each(one, queue.patches)


def doc_warnings(path: str, root: Path, kernel: Path) -> Counter[str]:
    """Return kernel-doc's warnings for a file, without line numbers."""
    if not (root / path).is_file():
        return Counter()
    words = [kernel / "scripts/kernel-doc", "-none", "-Wall", "-Werror", path]
    env = {"srctree": str(kernel), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run(words, root, env=env)
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

    def one(path: str) -> list[str]:
        target = final / path
        if Path(path).suffix not in DOC_SUFFIXES or not target.is_file():
            return []
        if "/**" not in target.read_text(errors="replace"):
            return []
        new = doc_warnings(path, final, kernel) - doc_warnings(path, base, kernel)
        return [f"{path}: {line}" for line in sorted(new)]

    return each(one, queue.paths)


def kconfig_entry(text: str, symbol: str) -> list[str]:
    """Return the lines of `config SYMBOL` up to the next entry."""
    lines = text.splitlines()
    entry: list[str] = []
    for line in lines:
        if re.match(rf"\s*(menu)?config {symbol}\s*$", line):
            entry.append(line)
        elif entry and re.match(
            r"(menu)?config |menu |endmenu|choice|endchoice|if |endif|source ", line
        ):
            break
        elif entry:
            entry.append(line)
    return entry


def check_kconfig_documented(queue: Queue, final: Path) -> list[str]:
    """New options that a user sees have help, and a document names them.

    Symbols without a prompt need neither: nobody is asked about them.
    """
    documents = [final / path for path in queue.paths if path.startswith("Documentation/")]
    documents += [queue.root / "README.md"]
    known = "\n".join(path.read_text(errors="replace") for path in documents if path.is_file())
    findings: list[str] = []
    for patch in queue.patches:
        for diff in patch.files:
            if not Path(diff.path).name.startswith("Kconfig") or not (final / diff.path).is_file():
                continue
            text = (final / diff.path).read_text(errors="replace")
            for symbol in re.findall(r"^\s*(?:menu)?config (\w+)$", "\n".join(diff.added), re.M):
                entry = kconfig_entry(text, symbol)
                where = f"{patch.name}: {diff.path}: {symbol}"
                findings += [f"{where}: {line}" for line in entry_findings(entry, symbol, known)]
    return findings


def entry_findings(entry: list[str], symbol: str, known: str) -> list[str]:
    """Return what one Kconfig entry lacks; known is the text of all documents."""
    prompt = re.compile(r'\s+(?:bool|tristate|int|hex|string|prompt)\s+["\']')
    if not any(prompt.match(line) for line in entry):
        return []
    findings: list[str] = []
    start = next((at for at, line in enumerate(entry) if line.strip() == "help"), len(entry))
    lines = [line for line in entry[start + 1 :] if line.strip()]
    if len(lines) < HELP_LINES:
        findings.append(f"{len(lines)} lines of help, at least {HELP_LINES}")
    if any(re.match(r"\s+default y\b", line) for line in entry):
        findings.append("default y")
    if not re.search(rf"\b(?:CONFIG_)?{symbol}\b", known):
        findings.append("named in no document")
    return findings


def needs_plugins(fragment: Path) -> bool:
    """Whether a fragment switches on something that gcc's plugin headers are needed for."""
    return "CONFIG_GCC_PLUGINS=y" in fragment.read_text().splitlines()


def check_config_fragments(
    small: Path, fragments: list[Path], kernel: Path, scratch: Path
) -> list[str]:
    """Each line of each fragment survives tinyconfig + small.config + olddefconfig.

    Args: small.config, the fragments, the pushed tree, a directory for O=.
    """
    if not small.is_file():
        return [f"{small.name} is missing"]

    def one(fragment: Path) -> list[str]:
        out = scratch / f"{fragment.parent.name}-{fragment.stem}"
        out.mkdir(parents=True)
        text = fragment.read_text()
        make = ["make", "-s", "-C", kernel, f"O={out}"]
        done = run([*make, "tinyconfig"])
        if done.returncode:
            return [f"{fragment.name}: tinyconfig: {last_lines(done.stdout)}"]
        parts = [small] if fragment == small else [small, fragment]
        with (out / ".config").open("a") as config:
            config.writelines(part.read_text().rstrip("\n") + "\n" for part in parts)
        done = run([*make, "olddefconfig"])
        if done.returncode:
            return [f"{fragment.name}: olddefconfig: {last_lines(done.stdout)}"]
        lost = lost_lines(text, (out / ".config").read_text())
        return [f"{fragment.name}: lost: {line}" for line in lost]

    return each(one, fragments)


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
