# SPDX-License-Identifier: GPL-2.0
"""Count the cache misses of a workload in the booted kernel, by a model.

The kernel runs under QEMU's TCG, each access goes through the modelled caches (plugin/), and the
same run gives the same counts to the last one. They are printed, and kept in build/results/model.
`make model ARGS="..."` builds what has changed and runs this program with these arguments.

Exit status: 0 done, 1 the run failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import argparse
import datetime
import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tools.model import emulator, tables
from tools.model.build import BUILT, KERNEL, RESULTS, build, kernel_of, modules_of
from tools.model.fields import INSIDE, expanded, touched
from tools.model.image import make_initramfs
from tools.model.result import check_console, label_results, module_symbols
from tools.model.symbols import Symbols, Variables
from tools.model.workload import GEOMETRY, ModelError
from tools.model.workloads import WORKLOADS
from tools.figures.store import digest, write_whole

QEMU = "qemu-system-x86_64"
MEMORY = "1G"  # of the guest; the plugin models 2 GiB at most
SECTIONS = (".text", "__ex_table", ".altinstructions", ".altinstr_replacement")
FIRST_RANGE = 48  # labels from here on are those of --range, as tags.h says
MAX_RANGES = 16


def pairs(words: list[str], known: dict[str, str], what: str) -> dict[str, str]:
    """Return the known settings with NAME=VALUE words put over them.

    Raises ValueError for a name that is not known, or a word that is no pair.
    """
    settings = dict(known)
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in known:
            raise ValueError(f"{what} {word}: known are "
                             + (" ".join(f"{n}={v}" for n, v in known.items()) or "none"))
        if not re.fullmatch(r"[\w.:-]+", value):
            raise ValueError(f"{what} {word}: not a value")
        settings[name] = value
    return settings


def about_kernel(kernel: Path) -> dict[str, Any]:
    """Return the version, compiler, hash of the series (as tools/kernel.sh noted it) and of the
    image, the bytes of SECTIONS and the configuration of an O= directory. Raises OSError."""
    series = kernel / ".series"
    compiler = re.search(r'LINUX_COMPILER\s+"([^"]*)"',
                         (kernel / "include/generated/compile.h").read_text())
    sizes = subprocess.run(["size", "-A", "-d", kernel / "vmlinux"], capture_output=True, text=True,
                           check=False).stdout
    return {"release": (kernel / "include/config/kernel.release").read_text().strip(),
            "compiler": compiler[1] if compiler else "unknown",
            "series": series.read_text().strip() if series.exists() else "unknown",
            "image": digest((kernel / "arch/x86/boot/bzImage").read_bytes()),
            "bytes": {words[0]: int(words[1]) for words in map(str.split, sizes.splitlines())
                      if words and words[0] in SECTIONS},
            "configuration": {"name": kernel.name,
                              "hash": digest((kernel / ".config").read_bytes())}}


def boot(args: argparse.Namespace, base: str, version: str) -> tuple[dict[str, Any], float]:
    """Boot once; return what the plugin wrote, with labels as in a result, and the seconds.

    base: of the names of the files that stay; version: QEMU's. Raises ModelError and OSError.
    """
    workload, kernel, program = WORKLOADS[args.workload], args.kernel, BUILT / "init"
    raw, console = Path(f"{base}.raw.json"), Path(f"{base}.console")
    symbols = Symbols(kernel / "System.map", program)
    plugin = [str(BUILT / f"plugin-api{emulator.plugin_api(version)}.so"),
              f"out={raw}", *(f"{name}={value}" for name, value in args.caches.items())]
    if workload.unit_symbol:
        plugin.append(f"unit={symbols.span(workload.unit_symbol)[0]:x}")
    if workload.instructions or args.instructions:
        plugin.append("instructions=1")
    variables = Variables(kernel / "vmlinux") if args.variables else None
    if variables:
        plugin.append("data={:x}:{:x}".format(*variables.physical()))
    fields = expanded(modules_of(kernel) / "layout.o", "task_struct", INSIDE) if args.fields else []
    for label, function in enumerate(args.range, FIRST_RANGE):
        plugin.append("range={}:{:x}:{:x}".format(label, *symbols.span(function)))
    for old in (raw, console):
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        initramfs = Path(directory) / "initramfs"
        make_initramfs(initramfs, kernel, program, modules_of(kernel), workload.disk)
        append = [*workload.append, f"workload={args.workload}", *args.append,
                  *(f"{word}={value}" for word, value in args.words.items())]
        command = [QEMU, *emulator.options(
            kernel / "arch/x86/boot/bzImage", initramfs, console, append),
            "-cpu", emulator.cpu(args.cpuid), "-smp", str(workload.cpus), "-m", MEMORY,
            "-plugin", ",".join(word.replace(",", ",,") for word in plugin)]
        start = time.monotonic()
        seconds = emulator.run(
            command, console, Path(directory) / "log", args.time_limit,
            lambda line: print(f"model: {args.workload}: {line} "
                               f"({time.monotonic() - start:.0f} s)", flush=True))
    lines = console.read_text(errors="replace").replace("\r", "").split("\n")
    check_console(lines)
    symbols = Symbols(kernel / "System.map", program, module_symbols(lines))
    try:
        counted = json.loads(raw.read_text())
    except ValueError:
        raise ModelError(f"{raw} is not whole") from None
    for label, function in enumerate(args.range, FIRST_RANGE):
        if str(label) in counted["labels"]:
            lines.append(f"cachemodel: label {label} {function}")
        else:
            print(f"model: --range {function}: no access while it was counted")
    counted["labels"] = label_results(counted, lines, symbols, variables)
    for label in counted["labels"].values() if fields else ():
        label["fields"] = touched(label["objects"].get("task_struct"), fields)
    return counted, seconds


def run_workload(args: argparse.Namespace) -> int:
    """Run a workload; write the result."""
    workload = WORKLOADS[args.workload]
    if args.build:
        build(args.kernel)
    args.results.mkdir(parents=True, exist_ok=True)
    base, version = args.results.resolve() / args.name, emulator.version_of(QEMU)
    counted, seconds = boot(args, str(base), version)
    result: dict[str, Any] = {
        "kind": "modelled", "workload": args.workload, "words": args.words,
        "geometry": counted["geometry"],
        "kernel": {**about_kernel(args.kernel),
                   "append": "".join(f" {word}" for word in args.append)},
        "qemu": version, "cpu": emulator.cpu(args.cpuid), "memory": MEMORY,
        "command": args.command,
        "date": datetime.date.today().isoformat(), "seconds": round(seconds, 1),
        "accesses_per_second": round(counted["accesses"] / seconds),
        "left_out": counted["left_out"], "labels": counted["labels"]}
    if workload.unit and not any(label["units"] for label in counted["labels"].values()):
        raise ModelError(f"no {workload.unit} was counted")
    text = tables.one(result)
    write_whole(Path(f"{base}.json"), json.dumps(result, indent=1) + "\n")
    write_whole(Path(f"{base}.txt"), text)
    print(text, end="")
    print(f"model: {seconds:.0f} s, {result['accesses_per_second'] / 1e6:.1f} million "
          f"accesses a second; {base}.json, {base}.txt")
    return 0


def matching(pattern: str, wanted: str) -> Callable[[str], str]:
    """Return the type of an option: text that matches a pattern. wanted: what an error says."""
    def checked(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"{text}: {wanted}")
        return text
    return checked


class Parser(argparse.ArgumentParser):
    """One line for an error: whoever comes by make cannot use more."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"model: {message}\n")


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="model", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("workload", metavar="WORKLOAD", choices=WORKLOADS, help=", ".join(WORKLOADS))
    for name, metavar, about in (
            ("set", "NAME=VALUE", "settings of the workload"),
            ("geometry", "NAME=VALUE",
             "of the caches: l1d|l2|llc=SIZE:WAYS (or full)"),
            ("range", "FUNCTION", "a label of its own for a function, callees left out"),
            ("append", "PARAMETER", "kernel parameters")):
        add(f"--{name}", action="extend", nargs="+", default=[], metavar=metavar, help=about)
    add("--instructions", action="store_true", help="count them, too, a repeated one each time")
    add("--variables", action="store_true", help="count the kernel's static variables, too")
    add("--fields", action="store_true",
        help="name the fields of task_structs that are touched, by pahole")
    add("--cpuid", default="", metavar="NAME=VALUE,...",
        type=matching(r"([+-]?[\w.-]+(=[\w.-]+)?(,|$))*", "NAME=VALUE with commas between them"),
        help="what the guest's CPUID says, as QEMU's -cpu takes it")
    add("--kernel", type=kernel_of, default=KERNEL.resolve(), metavar="DIR",
        help="O= directory, or its name in build/out (default: vm)")
    add("--build", action="store_true", help="build what has changed before")
    add("--time-limit", type=int, default=900, metavar="SECONDS", help="of a boot (default: 900)")
    add("--name", type=matching(r"\w[\w.-]*", "letters, digits, _ . and - only"),
        help="of the result (default: the workload's)")
    add("--results", type=Path, default=RESULTS, metavar="DIR",
        help="for its files (default: build/results/model)")
    return parser


def arguments(argv: list[str]) -> argparse.Namespace:
    """Return the command line's values; exits with 2 when it is wrong.

    words and caches are all settings of the workload and of the geometry, command is that of make.
    """
    parser = make_parser()
    args = parser.parse_args(argv)
    args.name = args.name or args.workload
    args.command = f'make model ARGS="{shlex.join(word for word in argv if word != "--build")}"'
    if len(args.range) > MAX_RANGES or len(set(args.range)) < len(args.range):
        parser.error(f"--range: {MAX_RANGES} functions at most, each once")
    workload = WORKLOADS[args.workload]
    try:
        args.words = pairs(args.set, workload.words, "--set")
        args.caches = pairs(args.geometry, GEOMETRY | workload.geometry, "--geometry")
    except ValueError as error:
        parser.error(str(error))
    return args


def main() -> int:
    """Do what the command line says; return the exit status."""
    args = arguments(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return run_workload(args)
    except (ModelError, OSError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("model: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
