# SPDX-License-Identifier: GPL-2.0
"""What the repository uses of its machine, against the lists of what it installs.

Programs that shell scripts and Python call, headers that C programs include, and Python modules have to come from a
package of configs/packages (or one that it depends on), from Debian's minimal system with git and make, or from
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
from pathlib import Path

from selftests.queue.checks_repo import is_text, shell_scripts
from selftests.queue.proc import must

# Programs that run the program named after their options
RUNNERS = {"exec", "command", "env", "nice", "setsid", "xargs", "timeout", "chroot", "unshare", "time"}
CALLS = {"run", "Popen", "check_output", "check_call", "call", "must", "which"}
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
        for other in depends.get(name, set()) | provided.get(name, set()):
            if other not in known:
                known.add(other)
                todo.append(other)
    files: set[str] = set()
    for path in Path("/var/lib/dpkg/info").glob("*.list"):
        if path.stem.partition(":")[0] in known:
            files.update(path.read_text().splitlines())
    return files


def shell_words(path: Path) -> tuple[set[str], set[str]]:
    """Return the programs that a shell script calls by name, and the functions that it defines."""
    shfmt = Path(sys.executable).with_name("shfmt")
    done = subprocess.run([shfmt, "-tojson"], input=path.read_bytes(), stdout=subprocess.PIPE, check=True)
    called: set[str] = set()
    functions: set[str] = set()

    def literal(word: dict) -> str:
        parts = word.get("Parts", [])
        return parts[0].get("Value", "") if len(parts) == 1 and parts[0]["Type"] == "Lit" else ""

    def walk(node: object) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item)
        if not isinstance(node, dict):
            return
        if node.get("Type") == "FuncDecl":
            functions.add(node["Name"]["Value"])
        if node.get("Type") == "CallExpr" and node.get("Args"):
            words = [literal(word) for word in node["Args"]]
            called.add(words[0])
            while words[0] in RUNNERS:
                words = [word for word in words[1:] if not re.match(r"-|\d|.*=", word)] or [""]
                called.add(words[0])
        for value in node.values():
            walk(value)

    walk(json.loads(done.stdout))
    return {name for name in called if re.fullmatch(r"[\w.+-]+", name)}, functions


def python_words(path: Path) -> tuple[set[str], set[str]]:
    """Return the programs that a Python file calls by a name without a path, and the modules that it imports."""
    called: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and node.args:
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
                first = first.elts[0]
            elif function != "which":
                continue
            if function in CALLS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                called.add(first.value)
    return {name for name in called if re.fullmatch(r"[\w.+-]+", name)}, imported


def check_programs(root: Path, files: list[Path], installed: set[str], probes: set[str]) -> list[str]:
    """Each program that is called comes from a listed package."""
    builtin = set(subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split())
    called: dict[str, str] = {}
    functions: set[str] = set()
    shell = shell_scripts(root)
    for path in files:
        if path in shell:
            words, own = shell_words(path)
            functions |= own
        elif path.suffix == ".py":
            words, _ = python_words(path)
        else:
            continue
        for word in words:
            called.setdefault(word, str(path.relative_to(root)))
    programs = {Path(name).name for name in installed if "/bin/" in name or "/sbin/" in name}
    # A name that update-alternatives links to one of them
    programs |= {word for word in called if Path(shutil.which(word) or "").resolve().name in programs}
    known = builtin | functions | probes | programs | {Path(path).name for path in shell}
    return [
        f"{where}: {word}: no package of configs/packages has this program"
        for word, where in sorted(called.items())
        if word not in known
    ]


def check_headers(root: Path, files: list[Path], installed: set[str], kernel: Path) -> list[str]:
    """Each header that a C program includes comes from a listed package or the kernel's include/uapi.

    Modules are left out: they use the kernel's own headers.
    """
    findings: list[str] = []
    headers = {name for name in installed if name.endswith(".h")}
    for path in files:
        if path.suffix not in (".c", ".h") or "modules" in path.parts or not is_text(path):
            continue
        if path.relative_to(root).parts[0] == "patches":
            continue
        for name in INCLUDE.findall(path.read_text()):
            if not any(header.endswith(f"/{name}") for header in headers) and not (kernel / "include/uapi" / name).is_file():
                findings.append(f"{path.relative_to(root)}: <{name}>: no package of configs/packages has this header")
    return findings


def check_modules(root: Path, files: list[Path], elsewhere: set[str]) -> list[str]:
    """Each Python module is of the standard library, of the repository or of a pinned distribution.

    Args: the repository, its files, names of modules that come from the kernel tree.
    """
    lines = (root / "configs/requirements.txt").read_text().splitlines()
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    findings = [
        f"configs/requirements.txt: {line}: not pinned with ==" for line in lines if line and line[0] != "#" and "==" not in line
    ]
    own = {path.stem for path in files if path.suffix == ".py"} | {"selftests", "scripts"}
    homes = importlib.metadata.packages_distributions()
    for path in files:
        if path.suffix != ".py":
            continue
        for name in sorted(python_words(path)[1] - own - elsewhere - sys.stdlib_module_names):
            if not pins & {home.lower().replace("_", "-") for home in homes.get(name, [])}:
                findings.append(f"{path.relative_to(root)}: {name}: no pinned package of configs/requirements.txt has this module")
    return findings
