# SPDX-License-Identifier: GPL-2.0
"""Bad input and interruptions: one clear line and a non-zero exit, nothing half-made.

A second run ends well. The trees, tarballs and queues are small ones (small_move.py).
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tools import environment
from tools.environment import ROOT
from tools.verdicts import content
from tools.tree.small_tree import make_pin, make_queue, make_tarball, make_tree, module, sums

CACHE = environment.cache()
EDIT = "int an_edit_of_the_user;\n"
# Sends apply.py a signal at the first or second file that it moves to the tree
HOOKED = """#!/usr/bin/env -S python3 -S
import os, runpy, sys
sys.path.insert(0, os.getcwd())
number, at, *sys.argv = sys.argv[1:]
def hook(event, arguments):
    global at
    if event == "os.rename" and str(arguments[1]).startswith(os.environ["KDIR"] + "/lib/"):
        at = int(at) - 1
        if at == 0:
            os.kill(os.getpid(), int(number))
sys.addaudithook(hook)
runpy.run_module("tools.tree.apply", run_name="__main__")
"""
GIVEN = ("RESULTS", "QUILT", "MAKE", "KDIR", "GROUP", "FORCE", "DISCARD", "LINUX_")
pytestmark = pytest.mark.robust


def script(words: str, work: Path, **variables: object) -> subprocess.Popen:
    """Start a script with arguments in a process group of its own, working below `work`."""
    name, *arguments = words.split()
    env = {key: value for key, value in os.environ.items() if not key.startswith(GIVEN)}
    env |= {"BUILD": f"{work}/build", "CACHE": f"{work}/cache"}
    env |= {"NEED_TREE_MIB": "10", "NEED_CACHE_MIB": "10"}
    env |= {key: str(value) for key, value in variables.items()}
    # A job in the background ignores SIGINT
    return subprocess.Popen([ROOT / "tools" / name, *arguments], env=env, text=True, cwd=ROOT,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def passes(process: subprocess.Popen) -> str:
    """Return what a program prints; it must end with 0."""
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0, f"exit code {process.returncode}: {out}"
    return out


def fails(process: subprocess.Popen, *words: str) -> None:
    """The program must end with 1 and print one line that says error, with these words in it."""
    out, _ = process.communicate(timeout=900)
    lines = [line for line in out.splitlines() if ": error: " in line]
    assert process.returncode == 1, f"exit code {process.returncode}: {out}"
    assert len(lines) == 1, f"not one error line: {out}"
    for word in words:
        assert word in lines[0], f"{word!r} is not in: {lines[0]}"


def interrupt_when(process: subprocess.Popen, condition: Callable[[], bool], says: str,
                   how: int = signal.SIGINT) -> None:
    """Signal the process group once `condition` holds; the program must say these words."""
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, f"ended before it was interrupted: {process.communicate()}"
        assert time.monotonic() < deadline, "the moment to interrupt never came"
        time.sleep(0.005)
    os.killpg(process.pid, how)
    out, _ = process.communicate(timeout=60)
    killed = how == signal.SIGKILL
    assert process.returncode == (-how if killed else 130) and (killed or says in out), out


@contextmanager
def unchanged(tree: Path) -> Iterator[None]:
    """The files of a tree, but for git's store, must be the same afterwards."""
    before = sums(tree)
    yield
    assert sums(tree) == before


@dataclass
class Mini:
    """A small kernel tree with a queue and a pin, and where the scripts work on it.

    variables are added to the environment of each script.
    """

    work: Path
    tree: Path
    queue: Path
    pin: Path
    variables: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tarball = self.work / "linux-7.3.4.tar.xz"
        self.built = self.work / "build/linux"

    def start(self, words: str, **variables: object) -> subprocess.Popen:
        """Start a script, or a command of apply.py on the tree."""
        given = {"QUEUE": self.queue, "PIN": self.pin, **self.variables}
        if ".sh" not in words:
            given, words = given | {"KDIR": self.tree}, f"run {module(words.split()[0])} {words}"
        return script(words, self.work, **given | variables)

    def passes(self, words: str, **variables: object) -> str:
        """Return what a script prints that must pass."""
        return passes(self.start(words, **variables))

    def fails(self, words: str, *says: str, **variables: object) -> None:
        """A script must fail with one line that has these words, and not change the tree."""
        with unchanged(Path(variables.get("KDIR", self.tree))):
            fails(self.start(words, **variables), *says)

    def take_queue(self, patches: int, *groups: str, broken: int | None = None) -> None:
        """Make another queue that of all that follows."""
        self.queue = make_queue(self.work / "other-queue", patches, broken, groups)

    def quilt(self, words: str) -> None:
        """Call plain quilt on the tree, as a user without the scripts would."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("QUILT")}
        subprocess.run(["quilt", *words.split()], cwd=self.tree, check=True, capture_output=True,
                       env=env | {"QUILT_PATCHES": str(self.queue)})

    def patch(self, number: int) -> Path:
        """Return a patch of the queue."""
        return self.queue / f"lib-change-file-{number}.patch"

    def nothing_unpacked(self) -> bool:
        """Whether no tree has come to the build directory, not even a part of one."""
        return not self.built.exists() and not list(self.built.parent.glob(".unpack.*"))


@pytest.fixture
def mini(tmp_path: Path) -> Mini:
    """A small tarball with its pin, and a queue of 16 patches."""
    tree = make_tree(tmp_path / "linux-7.3.4")
    made = Mini(tmp_path, tree, make_queue(tmp_path / "queue", 16), tmp_path / "pin")
    make_pin(made.pin, make_tarball(tree, made.tarball))
    return made


def edit(path: Path) -> None:
    """Change a file as a user would."""
    path.write_text(path.read_text() + EDIT)


def replace(path: Path, old: str, new: str) -> None:
    """Change text in a file."""
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def applied(tree: Path) -> list[str]:
    """Return the patches that quilt has pushed on a tree."""
    patches = tree / ".pc/applied-patches"
    return patches.read_text().split() if patches.exists() else []


def leftovers(tree: Path) -> list[str]:
    """Return what apply.py has left in a tree, apart from quilt's directory."""
    return [path.name for path in tree.glob(".cache-footprint*")]


# The base kernel

def test_robust_unpack_interrupted(tmp_path: Path) -> None:
    """With the real tarball: unpacking takes long enough to be met in its midst."""
    tarballs = sorted(CACHE.glob("linux*.tar.xz"), key=lambda path: path.stat().st_mtime)
    tarball = os.environ.get("LINUX_TARBALL") or (tarballs or [None])[-1]
    if not tarball:
        pytest.skip(f"the base came from KDIR=, there is no tarball in {CACHE} to unpack")
    build = tmp_path / "build"
    interrupt_when(script("tree/base.sh", tmp_path, LINUX_TARBALL=tarball), says="run it again",
                   condition=lambda: any(build.glob(".unpack.*/tree/[Ma]*")))
    assert not (build / "linux").exists() and not list(build.glob(".unpack.*"))
    passes(script("tree/base.sh", tmp_path, LINUX_TARBALL=tarball))
    assert (build / "linux/mm/filemap.c").exists()
    shutil.rmtree(build)


def test_robust_tarball_altered(mini: Mini) -> None:
    altered = bytearray(mini.tarball.read_bytes())
    altered[len(altered) // 2] ^= 1
    mini.tarball.write_bytes(altered)
    mini.fails("tree/base.sh", "SHA-256", "truncated", "altered", LINUX_TARBALL=mini.tarball)
    assert mini.nothing_unpacked()


def debian_mirror(where: Path, tarball: Path) -> str:
    """Make a Debian mirror whose suite "later" has linux-source-7.3 7.3.9-1, for DEBIAN_MIRROR=."""
    package = "linux-source-7.3"
    root, pool, lists = where / "package", where / "debian/pool", where / "debian/dists/later"
    index = lists / "main/binary-amd64/Packages"
    for path in (root / "usr/src", root / "DEBIAN", pool, index.parent):
        path.mkdir(parents=True)
    shutil.copy(tarball, root / f"usr/src/{package}.tar.xz")
    control = (f"Package: {package}\nVersion: 7.3.9-1\nArchitecture: all\n"
               "Maintainer: A Person <person@example.org>\nDescription: sources\n")
    (root / "DEBIAN/control").write_text(control)
    deb = pool / f"{package}_7.3.9-1_all.deb"
    words = ["dpkg-deb", "--build", "--root-owner-group", root, deb]
    subprocess.run(words, check=True, capture_output=True)
    size = deb.stat().st_size
    control += f"Filename: pool/{deb.name}\nSize: {size}\nSHA256: {content(deb)}\n"
    index.write_text(control)
    (lists / "Release").write_text(
        "Suite: later\nComponents: main\nArchitectures: amd64\nSHA256:\n"
        f" {content(index)} {len(control)} {index.relative_to(lists)}\n")
    return f"[trusted=yes] file:{where / 'debian'}"


@pytest.fixture
def later(mini: Mini) -> Mini:
    """`mini` with a mirror that has 7.3.9 and no longer the pinned release."""
    if not shutil.which("apt-get"):
        pytest.skip("no apt here")
    tree = make_tree(mini.work / "linux-7.3.9", version="7.3.9")
    mini.tarball = make_tarball(tree, mini.work / "linux-7.3.9.tar.xz")
    replace(mini.pin, "newer_suites=()", "newer_suites=(later)")
    replace(mini.pin, "=none", "=linux-source-7.3")
    mini.variables = {"DEBIAN_MIRROR": debian_mirror(mini.work / "debs", mini.tarball)}
    return mini


def test_robust_base_newer(later: Mini) -> None:
    """A newer release takes the place of the pinned one if no source has that, with a warning."""
    out = later.passes("tree/base.sh")
    assert "no linux-source-7.3 7.3.4-1 (it has: 7.3.9-1)" in out
    assert "7.3.9-1, not the pinned Linux 7.3.4" in out
    assert sums(later.built) == sums(make_tree(later.work / "same", version="7.3.9"))
    assert "7.3.9-1, not the pinned Linux 7.3.4" in later.passes("tree/base.sh")
    later.passes("apply", KDIR="")


def test_robust_base_newer_does_not_fit(later: Mini) -> None:
    """A newer release that the series does not apply to is refused, and nothing is unpacked."""
    later.take_queue(9, broken=6)
    later.fails("tree/base.sh", "7.3.9-1", "does not apply", "lib-change-file-6.patch")
    assert later.nothing_unpacked()


def test_robust_base_deb(later: Mini) -> None:
    """The pin's Debian package gives the tarball; a truncated one in the cache is fetched again.

    One that comes with another sum is an error.
    """
    right = content(later.tarball)
    make_pin(later.pin, later.tarball)
    replace(later.pin, "7.3.4-1", "7.3.9-1")
    assert "not the pinned" not in later.passes("tree/base.sh")
    shutil.rmtree(later.work / "build")
    cached = later.work / "cache/linux-source-7.3.tar.xz"
    cached.write_bytes(cached.read_bytes()[:1000])
    assert "truncated" in later.passes("tree/base.sh")
    shutil.rmtree(later.work / "build")
    cached.unlink()
    replace(later.pin, right, "0" * 64)
    later.fails("tree/base.sh", "another SHA-256 sum")


def test_robust_other_version(mini: Mini) -> None:
    known = make_tree(mini.work / "linux-7.2", version="7.2.9")
    mini.fails("tree/base.sh", "7.2.9", "7.3", KDIR=known)
    other = make_tree(mini.work / "linux-6.1", version="6.1.9")
    mini.fails("apply", "6.1.9", "7.3", "FORCE=1", KDIR=other)
    mini.fails("tree/base.sh", "6.1.9", "7.3", KDIR=other)
    mini.passes("apply", FORCE=1, KDIR=other)
    mini.fails("apply", "not a Linux source tree", KDIR=mini.queue)
    mini.fails("tree/base.sh", "no such file", LINUX_TARBALL="/nowhere.tar.xz")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    where = tmp_path / "small"
    where.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", where]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    yield where
    subprocess.run(["umount", where], check=True)


def test_robust_disk_full(mini: Mini, small_disk: Path) -> None:
    """Too small a disk is noticed before the work begins; on a full one, the push is undone."""
    mini.fails("tree/base.sh", "100 MiB", "are free", LINUX_TARBALL=mini.tarball, NEED_TREE_MIB=100,
               BUILD=small_disk / "build")
    on_small = shutil.copytree(make_tree(mini.work / "plain"), small_disk / "linux")
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(4096))
        filler.truncate(filler.tell() - 16 * 4096)
    with unchanged(on_small):
        process = mini.start("apply", KDIR=on_small)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 1 and ": error: " in out, out
    (small_disk / "filler").unlink()
    mini.passes("apply", KDIR=on_small)


def test_robust_no_network(tmp_path: Path) -> None:
    """The pinned base with an empty cache and every way out closed."""
    closed = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    process = script("tree/base.sh", tmp_path, **closed)
    fails(process, "no network?", "LINUX_TARBALL=")
    assert not (tmp_path / "build/linux").exists()


def test_robust_missing_package(tmp_path: Path) -> None:
    """All commands but flex: named, with the command that installs it."""
    (tmp_path / "bin").mkdir()
    for directory in os.environ["PATH"].split(":"):
        for command in Path(directory).glob("*") if Path(directory).is_dir() else ():
            link = tmp_path / "bin" / command.name
            if command.name != "flex" and not link.is_symlink():
                link.symlink_to(command.resolve())
    process = script("install.sh", tmp_path, INSTALL=0, PATH=tmp_path / "bin")
    fails(process, "flex", "apt-get install")


def test_robust_clean_leaves_others_alone(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/precious").write_text("not ours\n")
    fails(script("clean.sh all", tmp_path), "left alone")
    assert (tmp_path / "build/precious").exists()


# The series on a tree

@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["sigint", "sigkill"])
def test_robust_push_interrupted(mini: Mini, how: int) -> None:
    copies = mini.tree / ".cache-footprint.new/tree"
    before = sums(mini.tree)
    interrupt_when(mini.start("apply"), lambda: len(applied(copies)) >= 5, "as it was", how)
    assert how == signal.SIGKILL or sums(mini.tree) == before
    mini.passes("apply")
    assert len(applied(mini.tree)) == 16 and not leftovers(mini.tree)
    mini.passes("unapply")
    assert sums(mini.tree) == before


def test_robust_patch_missing(mini: Mini) -> None:
    mini.patch(3).unlink()
    mini.fails("apply", "lib-change-file-3.patch")


def test_robust_foreign_queue(mini: Mini) -> None:
    """A tree with the patches of another queue in quilt's default directory: never changed."""
    shutil.copytree(mini.queue, mini.tree / "patches")
    mini.fails("apply", "make export")
    mini.queue = Path("patches")
    mini.quilt("push -a")
    for name in ("apply", "unapply"):
        mini.fails(name, "queue of its own", QUEUE="", FORCE=1)


def test_robust_edits_kept(mini: Mini) -> None:
    mini.passes("apply")
    edited = mini.tree / "lib/new15.c"
    edited.write_text(EDIT)
    mini.fails("unapply", "lib/new15.c", "quilt refresh", FORCE=1)
    build = mini.work / "other-build"
    build.mkdir()
    (build / "linux.base").touch()
    (build / "linux").symlink_to(mini.tree)
    mini.fails("clean.sh all", "edits", BUILD=build)
    mini.passes("unapply", DISCARD=1)
    assert not edited.exists()


def test_robust_added_file_kept(mini: Mini) -> None:
    """The edit of a file that the user has added to the top patch is not lost."""
    mini.passes("apply")
    edited = mini.tree / "lib/file9.c"
    mini.quilt("add lib/file9.c")
    edited.write_text(EDIT)
    mini.fails("unapply", "edits")
    mini.quilt("refresh")
    mini.passes("unapply")
    assert EDIT not in edited.read_text()


def test_robust_new_changelog_keeps_times(mini: Mini) -> None:
    """A series whose text changed but not its effect gives no reason to compile anything again."""
    mini.passes("apply")
    times = {path: path.stat().st_mtime for path in (mini.tree / "lib").glob("*.c")}
    replace(mini.patch(3), "nobody wants", "somebody wants")
    assert "already" in mini.passes("apply")
    patch = mini.patch(3).rename(mini.queue / "lib-of-another-name.patch")
    replace(mini.queue / "series", "lib-change-file-3.patch", patch.name)
    assert "pushed" in mini.passes("apply")
    assert {path: path.stat().st_mtime for path in times} == times
    replace(patch, "+int new_3;", "+int new_and_different;")
    mini.passes("apply")
    changed = [path.name for path in times if path.stat().st_mtime != times[path]]
    assert changed == ["new3.c"], changed


def test_robust_changed_series_does_not_fit(mini: Mini) -> None:
    """The series on the tree stays when the changed one does not apply."""
    mini.passes("apply")
    replace(mini.patch(9), "-int value_0_9;", "-int nowhere_to_be_found;")
    mini.fails("apply", "lib-change-file-9.patch", "as it was")


def test_robust_lock_of_the_tree(mini: Mini) -> None:
    """Two runs with build directories of their own do not work on one tree at a time."""
    lock = os.open(mini.tree, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    for command in ("apply", "unapply"):
        mini.fails(command, "another run works", BUILD=mini.work / command)
    os.close(lock)
    mini.passes("apply")


def test_robust_read_only_tree(mini: Mini, small_disk: Path) -> None:
    mini.tree = shutil.copytree(make_tree(mini.work / "plain"), small_disk / "linux")
    mini.passes("apply")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for command in ("apply", "unapply"):
        mini.fails(command, "cannot be written to")


def test_robust_plain_push_with_fuzz(mini: Mini) -> None:
    """What plain quilt has pushed with fuzz comes off, and apply does not push with fuzz."""
    replace(mini.tree / "lib/file0.c", "int value_0_18;", "int of_this_tree;")
    with unchanged(mini.tree):
        mini.quilt("push -a")
        mini.fails("apply", "lib-change-file-15.patch does not apply", "as it was")
        mini.passes("unapply")


def test_robust_series_on_it_by_patch(mini: Mini) -> None:
    for number in range(16):
        words = ["patch", "-p1", "-s", "-i", mini.patch(number)]
        subprocess.run(words, cwd=mini.tree, check=True)
    mini.fails("apply", "has the series already, by patch")
    assert not leftovers(mini.tree)


def test_robust_groups(mini: Mini, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several groups, a group that needs two, and one without patches."""
    mini.take_queue(9, "first", "second", "both")
    monkeypatch.chdir(mini.work)
    banner, needs = "# --- group both: an example ---\n", 'GROUP="first second"'
    replace(mini.queue / "series", banner, f"{banner}# needs: first second\n")
    with (mini.queue / "series").open("a") as series:
        series.write("# --- group none: to come ---\n")
    with unchanged(mini.tree):
        mini.fails("apply", "group both needs", needs, GROUP="both")
        mini.fails("apply", "no group 'nonsense'", "first second both", GROUP="nonsense")
        mini.passes("apply", GROUP="first second")
        assert len(applied(mini.tree)) == 9
        mini.passes("apply", GROUP="second")
        second = [mini.patch(number).name for number in (3, 4, 5)]
        assert applied(mini.tree) == second
        (mini.work / "series").write_text("before.patch\ncopies/gone.patch -p1\nafter.patch\n")
        (mini.work / "copies").mkdir()
        (mini.work / "copies/gone.patch").touch()
        for _ in range(2):
            mini.passes(f"export {mini.work}/copies", GROUP="second")
        lines = (mini.work / "series").read_text().split()
        assert lines == ["before.patch", *(f"copies/{name}" for name in second), "after.patch"]
        assert not (mini.work / "copies/gone.patch").exists()
        mini.fails("unapply", "leave GROUP= out", GROUP="second")
        mini.passes("apply", GROUP="none")
    assert not leftovers(mini.tree)


@pytest.fixture(scope="module")
def no_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a Python without packages, as before make tools."""
    root = tmp_path_factory.mktemp("python")
    venv.create(root, symlinks=True)
    return root / "bin"


@pytest.mark.parametrize(("words", "choice"), [
    ("mail", "movsb"), ("mail SET=foo", "movsb"), ("mail SET=movsb V=zwei", "not a number"),
    ("mail SET=movsb RFC=yes", "RFC=1"), ("mail SET=movsb SIGNOFF=0", "SIGNOFF=1"),
    ("model ARGS=foo", "rings"), ("model-tables GROUP=movsb", "hotlines"),
    ("results-add FILE=foo", "make bench SHORT=1"), ("test GROUP=foo", "movsb"),
    ("test JOB=kasan", "make test-full"), ("test-full JOB=foo", "kasan"),
    ("help JOB=foo", "JOB=list"), ("bench SHORT=1 ROUNDS=30", "leave ROUNDS= out"),
    ("bench ROUNDS=3", "at least 15"), ("bench GROUP=smallcopies", "movsb"),
    ("kernel GROUP=foo", "movsb"), ("GROUP=foo", "movsb")])
def test_usage_first(tmp_path: Path, no_packages: Path, words: str, choice: str) -> None:
    """A wrong word ends make with one line that names the choice, before anything is made."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(GIVEN)}
    env["PATH"] = f"{no_packages}:{env['PATH']}"
    done = subprocess.run(["make", f"BUILD={tmp_path}/build", *words.split()], cwd=ROOT, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines()
             if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    assert done.returncode == 2 and len(lines) == 1 and choice in lines[0], done.stderr
    assert not (tmp_path / "build").exists()


def test_export_refuses(mini: Mini) -> None:
    """A relative DIR=, the queue itself, and patches of an earlier export that quilt has pushed."""
    mini.take_queue(4, "first", "second")
    queue, debian = mini.queue, mini.tree / "debian/patches"
    debian.mkdir(parents=True)
    (debian / "series").write_text("")
    mini.fails("export debian/patches/ours", "is not absolute")
    mini.fails(f"export {debian}", "is a patch queue")
    mini.passes(f"export {debian}/ours")
    mini.queue = debian
    mini.quilt("push -a")
    with unchanged(mini.tree):
        fails(script(f"run tools.send.git export {debian}/ours", mini.work, GROUP="first",
                     QUEUE=queue),
              "quilt pop -a first")
    mini.quilt("pop -a")
    passes(script(f"run tools.send.git export {debian}/ours", mini.work, GROUP="first",
                  QUEUE=queue))
    mini.quilt("push -a")
    assert len(applied(mini.tree)) == 2


def test_robust_new_patch_not_in_series(mini: Mini) -> None:
    """A patch that was made on the tree of a group is not taken off because series lacks it."""
    mini.take_queue(6, "first", "second")
    mini.passes("apply", GROUP="first")
    mini.quilt("new mine.patch")
    mini.quilt("add lib/file9.c")
    (mini.tree / "lib/file9.c").write_text("int mine;\n")
    mini.quilt("refresh")
    mini.fails("apply", "mine.patch", "not in series", GROUP="first")


# make branch

def git(tree: Path, *words: str) -> str:
    """Run git in `tree` and return what it prints."""
    words = ("git", "-C", str(tree), *words)
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def git_tree(where: Path) -> Path:
    """A small kernel tree as a git repository, with a change of the user that is not committed."""
    tree = make_tree(where)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Person")
    git(tree, "config", "user.email", "person@example.org")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "base")
    (tree / "lib/file19.c").write_text(EDIT)
    return tree


def branches(tree: Path) -> list[str]:
    """The branches that make branch has made."""
    refs = ("--format=%(refname:short)", "refs/heads/cache-footprint")
    return git(tree, "for-each-ref", *refs).split()


def untouched(tree: Path) -> bool:
    """Whether the work tree and HEAD are as git_tree() made them and nothing is under way."""
    state = git(tree, "status", "--porcelain"), git(tree, "symbolic-ref", "HEAD")
    under_way = (tree / ".git/rebase-apply").exists()
    return state == ("M lib/file19.c", "refs/heads/main") and not under_way


def test_robust_branch(mini: Mini) -> None:
    tree = git_tree(mini.work / "git")
    mini.passes("branch", KDIR=tree)
    (name,) = branches(tree)
    assert git(tree, "rev-list", "--count", f"main..{name}") == "16" and untouched(tree)
    last = ("Ann Example <ann@example.org> lib: Change file 15: "
            "A counter starts at zero, which nobody wants.")
    assert git(tree, "log", "-1", "--format=%an <%ae> %s: %b", name) == last
    mini.passes("apply")
    for file in git(tree, "ls-tree", "-r", "--name-only", name, "lib/").splitlines():
        assert git(tree, "show", f"{name}:{file}") == (mini.tree / file).read_text().strip()
    mini.fails("branch", "already", KDIR=tree)


def test_robust_branch_fails(mini: Mini) -> None:
    tree = git_tree(mini.work / "git")
    broken = make_queue(mini.work / "broken", 9, broken=6)
    mini.fails("branch", "lib-change-file-6.patch", "as it was", KDIR=tree, QUEUE=broken)
    assert untouched(tree) and not branches(tree)
    (tree / ".git/rebase-apply").mkdir()
    mini.fails("branch", "rebase-apply", KDIR=tree)
    assert (tree / ".git/rebase-apply").is_dir() and not branches(tree)
    mini.fails("branch", "not a git tree")
    other = make_tree(mini.work / "6.1", version="6.1.9")
    mini.fails("branch", "6.1.9", "FORCE=1", KDIR=other)


# Signals while files move to the tree

def files(tree: Path) -> dict[str, str]:
    """The kernel's files of a tree: without quilt's and apply.py's directories."""
    return sums(tree, (".",))


@pytest.fixture(params=["first apply", "apply", "unapply"])
def move(mini: Mini, request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """The series goes onto a tree as it came or with one group on it, or off the tree.

    Returns the command and the files that the tree shall have after it.
    """
    mini.take_queue(8, "first", "second")
    base = files(mini.tree)
    mini.passes("apply")
    after = {"apply": files(mini.tree), "unapply": base}
    if request.param == "first apply":
        mini.passes("unapply")
    elif request.param == "apply":
        mini.passes("apply", GROUP="first")
    command = request.param.split()[-1]
    return command, after[command]


def signalled(mini: Mini, how: int, at: int, command: str) -> int:
    """Run a command of apply.py that gets a signal at a file that it moves;
    returns its exit code."""
    hooked = mini.work / "hooked"
    hooked.write_text(HOOKED)
    hooked.chmod(0o755)
    process = script(f"{hooked} {how:d} {at} tree {command}", mini.work,
                     QUEUE=mini.queue, PIN=mini.pin, KDIR=mini.tree)
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_robust_signal_waits(mini: Mini, move: tuple[str, dict[str, str]], how: int) -> None:
    """A signal while the files move does not stop that: the tree is whole."""
    command, after = move
    assert signalled(mini, how, 1, command) == 0
    assert files(mini.tree) == after and not leftovers(mini.tree)


@pytest.mark.parametrize("at", [1, 2])
def test_robust_move_cut_off(mini: Mini, move: tuple[str, dict[str, str]], at: int) -> None:
    """Killed between two states: the next run says how to go on, and then puts back and moves."""
    command, after = move
    assert signalled(mini, signal.SIGKILL, at, command) == -signal.SIGKILL
    mini.fails(command, "cut off", "DISCARD=1")
    mini.passes(command, DISCARD=1)
    assert files(mini.tree) == after and not leftovers(mini.tree)
