# SPDX-License-Identifier: GPL-2.0
"""What the repository uses of its machine, against the lists of what it installs.

Programs, headers of C programs, and Python modules have to come from a package of configs/packages
(or one that it depends on), from Debian's minimal system with git and make, or from
configs/requirements.txt.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from selftests.queue.checks_repo import is_text, shell_scripts
from selftests.queue.proc import must

# Programs that run the program named after their options
RUNNERS = "exec command env nice setsid xargs timeout chroot unshare time".split()
CALLS = "run Popen check_output check_call call must which".split()
INCLUDE = re.compile(r"^#include <([\w./-]+)>", re.M)


def listed_packages(root: Path) -> tuple[set[str], set[str]]:
    """Return the package names of configs/packages, and the programs that its cmd probes name."""
    packages, programs = set(), set()
    for line in (root / "configs/packages").read_text().splitlines():
        words = line.split()
        if words and words[0][0] not in "#[":
            packages.add(words[0])
            if words[1] == "cmd":
                programs.add(Path(words[2]).name)
    return packages, programs


def installed_files(listed: set[str]) -> set[str]:
    """Return the files of the listed packages, of what they depend on, and of the minimal system.

    Raises FileNotFoundError where there is no dpkg.
    """
    fields = "${Package}\t${Priority}\t${Essential}\t${Pre-Depends},${Depends}\t${Provides}\n"
    depends: dict[str, set[str]] = {}
    provided: dict[str, set[str]] = {}
    wanted = listed | {"git", "make"}
    for line in must(["dpkg-query", "-W", "-f", fields]).splitlines():
        name, priority, essential, needs, provides = line.split("\t")
        depends[name] = set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", needs))
        for virtual in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]+)", provides):
            provided.setdefault(virtual, set()).add(name)
        if priority == "required" or essential == "yes":
            wanted.add(name)
    todo, known = list(wanted), set(wanted)
    while todo:
        name = todo.pop()
        more = (depends.get(name, set()) | provided.get(name, set())) - known
        known |= more
        todo += more
    return {line for path in Path("/var/lib/dpkg/info").glob("*.list")
            if path.stem.partition(":")[0] in known for line in path.read_text().splitlines()}


def nodes(tree: object) -> Iterator[dict]:
    """Return the dictionaries below a value of JSON."""
    if isinstance(tree, dict):
        yield tree
    if isinstance(tree, (dict, list)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from nodes(item)


def literal(word: dict) -> str:
    """Return the text of a word of shfmt's tree, '' for one with expansions or quotes."""
    (*more, part) = word.get("Parts") or [{}]
    return part.get("Value", "") if not more and part.get("Type") == "Lit" else ""


def shell_words(path: Path) -> tuple[set[str], set[str]]:
    """Return the programs that a shell script calls by name, and the functions that it defines."""
    shfmt = [Path(sys.executable).with_name("shfmt"), "-tojson"]
    called: set[str] = set()
    functions: set[str] = set()
    for node in nodes(json.loads(must(shfmt, stdin=path.read_text()))):
        if node.get("Type") == "FuncDecl":
            functions.add(node["Name"]["Value"])
        if node.get("Type") == "CallExpr" and node.get("Args"):
            words = [literal(word) for word in node["Args"]]
            called.add(words[0])
            while words[0] in RUNNERS:
                words = [word for word in words[1:] if not re.match(r"-|\d|.*=", word)] or [""]
                called.add(words[0])
    return {name for name in called if re.fullmatch(r"[\w.+-]+", name)}, functions


def python_words(path: Path) -> tuple[set[str], set[str]]:
    """Return the programs that a Python file calls by name, and the modules that it imports."""
    called: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and node.args:
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if function != "which":
                first = [*getattr(first, "elts", []), None][0]
            if function in CALLS and isinstance(getattr(first, "value", None), str):
                called.add(first.value)
    return {name for name in called if re.fullmatch(r"[\w.+-]+", name)}, imported


def check_programs(root: Path, files: list[Path], packages: tuple[set[str], set[str]]) -> list[str]:
    """Each program that is called comes from a listed package.

    Args: the repository, its files, the installed files and the names that the probes look for.
    """
    installed, probes = packages
    called: dict[str, str] = {}
    known = set(must(["bash", "-c", "compgen -bk"]).split()) | probes
    shell = shell_scripts(root)
    for path in files:
        words: set[str] = set()
        if path in shell:
            words, functions = shell_words(path)
            known |= {path.name, *functions}
        elif path.suffix == ".py":
            words, _ = python_words(path)
        for word in words:
            called.setdefault(word, str(path.relative_to(root)))
    programs = {Path(name).name for name in installed if "/bin/" in name or "/sbin/" in name}
    # A name that update-alternatives links to one of them
    links = {word for word in called if Path(shutil.which(word) or "").resolve().name in programs}
    return [f"{called[word]}: {word}: no package of configs/packages has this program"
            for word in sorted(called.keys() - known - programs - links)]


def check_headers(root: Path, files: list[Path], packages: tuple[set[str], set[str]],
                  tree: Path) -> list[str]:
    """Each header that a C program includes is of a listed package or the tree's include/uapi.

    Modules are left out: they use the kernel's own headers.
    """
    findings: list[str] = []
    headers = {name for name in packages[0] if name.endswith(".h")}
    for path in files:
        where = path.relative_to(root)
        if path.suffix not in (".c", ".h") or "modules" in path.parts or not is_text(path):
            continue
        for name in INCLUDE.findall(path.read_text()) if where.parts[0] != "patches" else ():
            known = any(header.endswith(f"/{name}") for header in headers)
            if not known and not (tree / "include/uapi" / name).is_file():
                findings.append(f"{where}: <{name}>: "
                                "no package of configs/packages has this header")
    return findings


def check_modules(root: Path, files: list[Path], tree: Path) -> list[str]:
    """Each Python module is of the standard library, the repository, KUnit or a pinned package."""
    kunit = (tree / "tools/testing/kunit").glob("*.py")
    own = {path.stem for path in [*files, *kunit] if path.suffix == ".py"}
    own |= {"selftests", "scripts", *sys.stdlib_module_names}
    lines = (root / "configs/requirements.txt").read_text().splitlines()
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    findings = [f"configs/requirements.txt: {line}: not pinned with ==" for line in lines
                if line and line[0] != "#" and "==" not in line]
    homes = importlib.metadata.packages_distributions()
    for path in files:
        for name in sorted(python_words(path)[1] - own) if path.suffix == ".py" else ():
            if not pins & {home.lower().replace("_", "-") for home in homes.get(name, [])}:
                findings.append(f"{path.relative_to(root)}: {name}: "
                                "no pinned package of configs/requirements.txt has this module")
    return findings
