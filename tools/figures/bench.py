# SPDX-License-Identifier: GPL-2.0
"""Times what the series changes, in user space on the real CPU: builds and runs the benchmarks
selftests/GROUP/bench*.py, keeps medians and quartiles in
Documentation/results/GROUP/bench*.csv, or in a file for another checkout (share.py).

The figures are of this machine: a run replaces those of its CPU model and hypervisor only. A
difference counts when it is larger than the noise: the same copy, measured as two. What breaks a
table's own rule is published, then named with exit status 1.

Exit status: 0 done, 1 it does not build or run or cannot be published, 2 usage, 130 interrupted.
"""
import argparse
import datetime
import subprocess
import sys
from pathlib import Path

from tools.figures import share, store, tables
from tools.figures.cells import Block
from tools.figures.machine import machine
from tools.figures.measure import BenchError, NotBuilt, command, keep, listing
from tools.figures.tables import Timed
from tools.series import series_hash

ROUNDS = 21


def measure(table: Timed, tree: Path, rounds: int, made_by: str) -> Block:
    """Run a table's program; return its block.

    tree: with the series pushed; rounds: how often each copy has its turn; made_by: the command
    that the block names. Raises OSError, BenchError, and ValueError for a tree or a repository of
    which no result is published.
    """
    depends = store.ready(table.group, table.sources(), tree)
    more = table.run(tree, rounds)
    store.unchanged(table.group, depends)
    return {
        "machine": machine(), "compiler": command("gcc", "--version").splitlines()[0],
        "rounds": rounds, "series": series_hash(store.series_of_today().patches),
        "command": made_by, "date": datetime.date.today().isoformat(), "depends": depends, **more}


def made(table: Timed, args: argparse.Namespace) -> tuple[Block, bool]:
    """Measure a table, publish or print it; return its block, and whether it is as it should be.
    Raises as measure()."""
    block = measure(table, args.tree, args.rounds, "make bench SHORT=1" if args.short
                    else f"make bench GROUP={table.group} ROUNDS={args.rounds}")
    if args.short or args.print_only:
        print(listing(block))
    else:
        keep(table.group, block, table.name)
    if wrong := table.complaints(block):
        print(f"bench: {table.group}/{table.name}: {len(wrong)} cells are not as they should be:",
              *wrong, sep="\n  ", file=sys.stderr)
    return block, not wrong


def run(args: argparse.Namespace) -> int:
    """Measure the tables of the groups; return the exit status."""
    code, blocks = 0, {}
    for table in [table for table in tables.timed() if table.group in args.group]:
        name = f"{table.group}/{table.name}"
        try:
            block, good = made(table, args)
        except NotBuilt as error:
            print(f"bench: {name}: left out: {error}", file=sys.stderr)
        except (BenchError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            print(f"bench: {name}: {error}", file=sys.stderr)
            code = 1
        except KeyboardInterrupt:
            print(f"bench: {name}: interrupted; nothing of it is written", file=sys.stderr)
            return 130
        else:
            blocks[name] = block
            # A file for others is whole with such cells, too
            code = code if good or args.short else 1
    if args.short and blocks:
        share.write(args.short, blocks)
        print(f"bench: {args.short} has {', '.join(blocks)}: send it, or make results-add FILE=it")
    return code if blocks else 1


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return the command line's values; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(prog="bench", usage=argparse.SUPPRESS,
                                     description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    groups = sorted({table.group for table in tables.timed()})
    parser.add_argument("group", nargs="*", metavar="GROUP",
                        help=f"default: {' '.join(groups)}")
    parser.add_argument("--tree", type=Path, help="with the series applied")
    parser.add_argument("--rounds", type=int, help=f"at least {share.ROUNDS} (default: {ROUNDS})")
    parser.add_argument("--short", type=Path, metavar="FILE",
                        help=f"{share.ROUNDS} rounds; print, and write a file for --add elsewhere")
    parser.add_argument("--add", type=Path, metavar="FILE",
                        help="measure nothing: publish what another machine wrote with --short")
    parser.add_argument("--print-only", action="store_true",
                        help="keep no figures: the machine was not idle before the start")
    args = parser.parse_args(words)
    if unknown := sorted({*args.group} - {*groups}):
        parser.error(f"no benchmark of group {unknown[0]}; {' '.join(groups)} have one")
    args.group = args.group or groups
    args.rounds = share.ROUNDS if args.short else args.rounds or ROUNDS
    if not args.add and (args.rounds < share.ROUNDS or not args.tree):
        parser.error(f"a tree and at least {share.ROUNDS} rounds are needed")
    return args


def main(words: list[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    args = arguments(words)
    try:
        if args.add:
            print("bench: added to", *share.add(args.add))
            return 0
        return run(args)
    except (OSError, ValueError) as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
