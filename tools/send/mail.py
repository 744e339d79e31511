# SPDX-License-Identifier: GPL-2.0
"""make mail: writes the mails of a set of patches to a directory; sends nothing.

Environment: SET (names of sets) or GROUP (all sets of these groups); KDIR (a git tree of the base
whose user sends, default a small repository of the touched files); V (version), RFC=1, SIGNOFF=1
(adds Signed-off-by of the sender: only who sends may), OUT (default build/mails/SET), BUILD.

git format-patch makes the mails, get_maintainer.pl on the patched MAINTAINERS says to whom they go.
"""

import email.utils
import os
import re
import shlex
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import environment
from tools.checks.waivers import WAIVERS, read_waivers
from tools.command import Stop, must, run
from tools.send.covers import Cover, load_covers
from tools.send.git import check_git, git
from tools.series import Patch, Series, load_series
from tools.tree.sources import Sources
from tools.tree.state import commits, make_repo

PLACEHOLDER = re.compile(r"\.(example|invalid|localdomain)$|@localhost$|@example\.|\bnoreply\b")
LISTS = re.compile(r"^Patch-mainline: .*to be sent to (.+)$", re.M)
ROLE = re.compile(r"^(.*?>|\S+@\S+) \((.*)\)$")
ORIGINAL = re.compile(r"^Originally-by:.*<(\S+)>$", re.M)
# A small repository has no history, and lint has looked at the types that are waived
IGNORED = ("UNKNOWN_COMMIT_ID", "FILE_PATH_CHANGES")
# "all" would drop the mails' own Cc lines, which say to whom each goes
SEND = "git send-email --no-thread --suppress-cc=author --suppress-cc=self --suppress-cc=body"


def chosen(series: Series) -> list[Cover]:
    """Return the sets that SET= or GROUP= names; raises Stop for none and for one without a
    letter."""
    covers = load_covers(series)
    sets, groups = os.environ.get("SET", "").split(), environment.chosen()
    for name in sets:
        if name not in covers:
            raise Stop(f"no cover letter {name}.cover in patches; there are: {' '.join(covers)}")
    wanted = {patch.name for patch in series.choose(groups)} if groups else set()
    own = {name for group in series.groups if group.name in groups for name in group.names}
    found = [cover for cover in covers.values() if cover.name in sets
             or wanted and any(patch.name in own for patch in cover.patches)]
    if not found:
        raise Stop(f"usage: make mail SET=name or GROUP=name; sets: {' '.join(covers)}")
    return found


def wanted() -> tuple[Series, list[Cover]]:
    """Return the series, and the sets that the environment asks for; raises as chosen()."""
    series = load_series(environment.patches().parent)
    covers = chosen(series)
    if os.environ.get("OUT") and len(covers) > 1:
        raise Stop(f"OUT= is for one set, these are {len(covers)}")
    return series, covers


def sender(repo: Path) -> str:
    """Return the git user of a repository as an address; raises Stop for none and a placeholder."""
    ident = run(["git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"], repo,
                user=True)
    if ident.returncode:
        raise Stop("git does not know who sends: git config user.name and user.email")
    who = ident.stdout.rpartition(">")[0] + ">"
    if PLACEHOLDER.search(email.utils.parseaddr(who)[1]):
        raise Stop(f"{who} has no address that answers reach: git config user.email")
    return who


def before(series: Series, cover: Cover) -> list[Patch]:
    """Return what a set needs of other sets: the needs of the groups that are whole in it."""
    mine = {patch.name for patch in cover.patches}
    groups = [group.name for group in series.groups if mine.issuperset(group.names)]
    return [patch for patch in (series.choose(groups) if groups else []) if patch.name not in mine]


def to_whom(mail: Path, patch: Patch, kernel: Path, entries: Path) -> tuple[list[str], list[str]]:
    """Return the people and the lists of a mail: of get_maintainer.pl, its header, its Cc lines."""
    lines = must(["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--roles",
                  f"--mpath={entries}", mail], kernel).splitlines()
    found = [match.groups() for match in map(ROLE.match, lines) if match]
    people = [who for who, role in found if " list" not in role.partition(":")[0]]
    people += re.findall(r"^Cc: (.+ <\S+@\S+>)$", patch.body, re.M)
    lists = [who for who, _ in found if who not in people]
    known, named = entries.read_text(encoding="utf-8"), LISTS.search(patch.notes)
    for name in re.split(r", | and ", named[1]) if named else []:
        where = re.search(rf"^[A-Z]:\s+(?:.*<)?({re.escape(name)}@[\w.-]+)", known, re.M)
        if not where:
            raise Stop(f"{patch.name}: MAINTAINERS has no address of {name}")
        lists.append(where[1])
    seen = {one.lower() for one in ORIGINAL.findall(patch.text)}  # these never get a mail

    def once(some: list[str]) -> list[str]:
        return [who for who in some if (one := email.utils.parseaddr(who)[1].lower()) not in seen
                and not seen.add(one)]
    return once(people), once(lists)


def address(mail: Path, people: list[str], lists: list[str]) -> None:
    """Add To and Cc to the head of a mail."""
    head, _, text = mail.read_text(encoding="utf-8").partition("\n\n")
    for key, found in (("To", people or lists), ("Cc", lists if people else [])):
        head += f"\n{key}: " + ",\n\t".join(found) if found else ""
    mail.write_text(f"{head}\n\n{text}", encoding="utf-8")


def check(mail: Path, kernel: Path, signed: bool) -> None:
    """Raise Stop if checkpatch.pl --strict finds anything in a mail that is not waived."""
    waived = {waiver.type for waiver in read_waivers(WAIVERS)[0]}
    words = ["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--no-summary",
             "--show-types", "--ignore", ",".join(sorted({*waived, *IGNORED}))]
    done = run([*words, *([] if signed else ["--no-signoff"]), mail], kernel,
               env={"HOME": str(mail.parent)})
    # In a git tree it may also print why spdxcheck.py does not run
    found = re.findall(r"^.*: (?:ERROR|WARNING|CHECK):.*$", done.stdout, re.M)
    if done.returncode or found:
        raise Stop(f"checkpatch: {(found or ['fails'])[0].removeprefix(f'{mail.parent}/')}")


def write(series: Series, cover: Cover, repo: Path, kernel: Path, scratch: Path) -> None:
    """Write the mails of a set to a scratch directory; raises Stop."""
    signed = os.environ.get("SIGNOFF") == "1"
    if signed:
        for patch in cover.patches:
            if re.search(r"^\+S:\s+Orphan", patch.diff, re.M):
                raise Stop(f"{patch.name}: its MAINTAINERS entry is an orphan: put your name there")
    base = git(repo, "rev-parse", "HEAD")
    first = commits(repo, base, before(series, cover), mine=True)
    last = commits(repo, first, cover.patches, mine=True)
    words = ["--cover-letter", "--thread", "-o", str(scratch)]
    words += [f"--base={base}"] if repo == kernel else []
    words += [f"-v{int(os.environ['V'])}"] if os.environ.get("V") else []
    words += ["--signoff"] if signed else []
    words += ["--rfc"] if not signed or os.environ.get("RFC") == "1" else []
    git(repo, "format-patch", *words, f"{first}..{last}")
    letter, *mails = sorted(scratch.glob("*.patch"))
    entries = scratch / "MAINTAINERS"
    entries.write_text(git(repo, "show", f"{last}:MAINTAINERS") + "\n", encoding="utf-8")
    people: dict[str, None] = {}
    lists: dict[str, None] = dict.fromkeys(cover.to)

    def one(mail: Path, patch: Patch) -> tuple[list[str], list[str]]:
        check(mail, kernel, signed)
        return to_whom(mail, patch, kernel, entries)

    with ThreadPoolExecutor() as pool:
        for mail, of_mail in zip(mails, pool.map(one, mails, cover.patches), strict=True):
            address(mail, *of_mail)
            people.update(dict.fromkeys(of_mail[0]))
            lists.update(dict.fromkeys(of_mail[1]))
    entries.unlink()
    text = letter.read_text(encoding="utf-8")
    letter.write_text(text.replace("*** SUBJECT HERE ***", cover.subject).replace(
        "*** BLURB HERE ***", cover.body.strip()), encoding="utf-8")
    address(letter, list(people), [line for line in lists if line not in people])


def main() -> None:
    """Write the mails of the sets that are asked for; raises Stop for every known failure."""
    out, given = os.environ.get("OUT"), environment.is_given("KDIR")
    series, covers = wanted()
    with tempfile.TemporaryDirectory() as scratch:
        kernel = environment.tree()
        if given:
            check_git(kernel)
            if git(kernel, "status", "--porcelain", "--untracked-files=no"):
                raise Stop(f"{kernel} has changes that are in no commit")
        repo = kernel if given else make_repo(series.paths, Sources(kernel), Path(scratch) / "repo")
        who = sender(repo)
        for cover in covers:
            where = Path(out or environment.build() / "mails" / cover.name)
            if out and where.is_dir() and any(where.iterdir()):
                raise Stop(f"{where} is not empty")
            mails = Path(scratch) / cover.name
            write(series, cover, repo, kernel, mails)
            shutil.rmtree(where, ignore_errors=True)
            shutil.copytree(mails, where)
            print(f"mail: {len(list(where.iterdir()))} mails of {who} in {where}")
            if os.environ.get("SIGNOFF") != "1":
                print("mail: an RFC, as it has no Signed-off-by: SIGNOFF=1 adds yours")
            print(f"{SEND} {shlex.quote(str(where))}/*.patch")


if __name__ == "__main__":
    try:
        main()
    except (OSError, RuntimeError, ValueError) as stop:
        print(f"mail: error: {str(stop).splitlines()[0]}", file=sys.stderr)
        sys.exit(1)
