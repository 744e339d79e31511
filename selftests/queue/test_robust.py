# SPDX-License-Identifier: GPL-2.0
"""Bad input and interruptions: each gives one clear line and a non-zero exit, nothing half-made, and a second run ends well."""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

from selftests.queue import minikernel
from selftests.queue.minikernel import Fingerprint
from selftests.queue.slowserver import serve

ROOT = Path(os.environ.get("CF_ROOT", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("CF_BUILD", ROOT / "build"))
CACHE = Path(os.environ.get("CF_CACHE", Path.home() / ".cache/cache-footprint"))
pytestmark = pytest.mark.robust


def script(name: str, work: Path, *args: str, **variables: object) -> subprocess.Popen:
    """Start scripts/NAME in a process group of its own, working below `work`; variables go into its environment."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CF_", "QUILT", "MAKE"))}
    for key in ("KDIR", "GROUP", "FORCE", "DISCARD", "LINUX_TARBALL", "LINUX_SHA256"):
        env.pop(key, None)
    env |= {"BUILD": str(work / "build"), "CACHE": str(work / "cache"), "NEED_TREE_MIB": "10", "NEED_CACHE_MIB": "10"}
    env |= {key: str(value) for key, value in variables.items()}
    return subprocess.Popen([ROOT / "scripts" / name, *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))	# a background job ignores it


def run(name: str, work: Path, *args: str, **variables: object) -> tuple[int, str, str]:
    """Run scripts/NAME to its end: exit code, standard output, standard error."""
    process = script(name, work, *args, **variables)
    out, err = process.communicate(timeout=900)
    return process.returncode, out, err


def tree_py(mini: dict, *words: str, **variables: object) -> tuple[int, str, str]:
    """Run tree.py to its end, on the tree and with the queue of `mini` or those of the variables."""
    given = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]} | variables
    return run("tree.py", mini["work"], *words, **given)


def must_pass(result: tuple[int, str, str]) -> str:
    code, out, err = result
    assert code == 0, f"exit code {code}: {out}{err}"
    return out


def must_fail(result: tuple[int, str, str], *words: str) -> str:
    """Exit code 1 and exactly one line that says error, with these words in it."""
    code, _, err = result
    lines = [line for line in err.splitlines() if ": error: " in line]
    assert code == 1, f"exit code {code}: {err}"
    assert len(lines) == 1, f"not one error line: {err}"
    for word in words:
        assert word in lines[0], f"{word!r} is not in: {lines[0]}"
    return lines[0]


def interrupt_when(process: subprocess.Popen, condition: Callable[[], bool], how: int = signal.SIGINT) -> tuple[int, str]:
    """Signal the whole process group once `condition` holds, as Ctrl-C does. Returns the exit code and standard error."""
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, f"ended before it could be interrupted: {process.communicate()}"
        assert time.monotonic() < deadline, "the moment to interrupt never came"
        time.sleep(0.005)
    os.killpg(process.pid, how)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.fixture
def mini(tmp_path: Path) -> dict:
    """A small tarball with its pin, a queue of 16 patches and the work directory."""
    tree = minikernel.make_tree(tmp_path / "linux-7.3.4", padding=400_000)
    mirror = tmp_path / "mirror/v7.x"
    mirror.mkdir(parents=True)
    tarball = minikernel.make_tarball(tree, mirror / "linux-7.3.4.tar.xz")
    return {"tree": tree, "mirror": mirror.parent, "tarball": tarball, "pin": minikernel.make_pin(tmp_path / "pin", tarball),
            "queue": minikernel.make_queue(tmp_path / "queue", 16), "work": tmp_path}


def test_robust_download_interrupted(mini: dict) -> None:
    cached = mini["work"] / "cache/linux-7.3.4.tar.xz"
    part = cached.with_name(cached.name + ".part")
    with serve(mini["mirror"], rate=100_000) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        process = script("base.sh", mini["work"], PIN=mini["pin"], KERNEL_MIRROR=url)
        code, err = interrupt_when(process, lambda: part.exists() and part.stat().st_size > 50_000)
        assert code == 130 and "run it again" in err
        assert not cached.exists() and not (mini["work"] / "build/linux").exists()
        server.rate = 1 << 30
        must_pass(run("base.sh", mini["work"], PIN=mini["pin"], KERNEL_MIRROR=url))
        assert server.starts[-1] > 0, "the second run began the download anew"
    assert (mini["work"] / "build/linux/Makefile").exists() and cached.exists()


def test_robust_unpack_interrupted(tmp_path: Path) -> None:
    """With the real tarball: unpacking takes long enough to be met in its midst."""
    tarball = max((path for path in CACHE.glob("linux*.tar.xz")), key=lambda path: path.stat().st_mtime, default=None)
    tarball = Path(os.environ["LINUX_TARBALL"]) if os.environ.get("LINUX_TARBALL") else tarball
    if not tarball:
        pytest.skip(f"the base came from KDIR= or LINUX_TARBALL=, there is no tarball in {CACHE} to unpack")
    process = script("base.sh", tmp_path, LINUX_TARBALL=tarball)
    code, err = interrupt_when(process, lambda: any((tmp_path / "build").glob(".unpack.*/tree/Makefile*"))
                               or any((tmp_path / "build").glob(".unpack.*/tree/arch")))
    assert code == 130 and "run it again" in err
    assert not (tmp_path / "build/linux").exists() and not list((tmp_path / "build").glob(".unpack.*"))
    must_pass(run("base.sh", tmp_path, LINUX_TARBALL=tarball))
    assert (tmp_path / "build/linux/mm/filemap.c").exists()
    shutil.rmtree(tmp_path / "build")


def pushed(tree: Path, number: int) -> bool:
    """Whether quilt has come to patch `number` on `tree`."""
    applied = tree / ".pc/applied-patches"
    return applied.exists() and len(applied.read_text().splitlines()) >= number


def leftovers(tree: Path) -> list[str]:
    """What tree.py has left in a tree, apart from quilt's directory."""
    return [path.name for path in tree.glob(".cache-footprint*")]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["sigint", "sigkill"])
def test_robust_push_interrupted(mini: dict, how: int) -> None:
    before = Fingerprint.of(mini["tree"])
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    process = script("tree.py", mini["work"], "apply", **variables)
    copies = mini["tree"] / ".cache-footprint.new/tree"
    code, err = interrupt_when(process, lambda: pushed(copies, 5), how)
    if how == signal.SIGINT:
        assert code == 130 and "as it was" in err
        assert Fingerprint.of(mini["tree"]) == before
    must_pass(tree_py(mini, "apply"))
    assert pushed(mini["tree"], 16) and leftovers(mini["tree"]) == [".cache-footprint.git"]
    must_pass(tree_py(mini, "unapply"))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_tarball_truncated(mini: dict) -> None:
    whole = mini["tarball"].read_bytes()
    short = mini["work"] / "short.tar.xz"
    short.write_bytes(whole[:len(whole) // 2])
    must_fail(run("base.sh", mini["work"], PIN=mini["pin"], LINUX_TARBALL=short), "SHA-256", "truncated")
    assert not (mini["work"] / "build/linux").exists()
    # In the cache: noticed, thrown away, fetched again
    (mini["work"] / "cache/linux-7.3.4.tar.xz").write_bytes(whole[:len(whole) // 2])
    code, _, err = run("base.sh", mini["work"], PIN=mini["pin"], KERNEL_MIRROR=mini["mirror"].as_uri())
    assert code == 0 and "truncated" in err


def test_robust_tarball_altered(mini: dict) -> None:
    altered = bytearray(mini["tarball"].read_bytes())
    altered[len(altered) // 2] ^= 1
    mini["tarball"].write_bytes(altered)
    must_fail(run("base.sh", mini["work"], PIN=mini["pin"], LINUX_TARBALL=mini["tarball"]), "SHA-256", "altered")
    must_fail(run("base.sh", mini["work"], PIN=mini["pin"], KERNEL_MIRROR=mini["mirror"].as_uri()), "another SHA-256 sum")
    assert not list((mini["work"] / "cache").glob("*.tar.xz*")) and not (mini["work"] / "build/linux").exists()


def test_robust_tarball_without_checksum(mini: dict) -> None:
    minikernel.make_pin(mini["pin"], mini["tarball"], recorded=False)
    code, _, err = run("base.sh", mini["work"], PIN=mini["pin"], KERNEL_MIRROR=mini["mirror"].as_uri())
    assert code == 1 and "not taken without a checksum" in err


def debian_mirror(where: Path, tarball: Path, version: str, package: str = "linux-source-7.3") -> str:
    """A Debian mirror below `where` whose suite "later" has one linux-source package; returns what DEBIAN_MIRROR= takes."""
    root, pool = where / "package", where / "debian/pool"
    (root / "usr/src").mkdir(parents=True)
    (root / "DEBIAN").mkdir()
    pool.mkdir(parents=True)
    shutil.copy(tarball, root / f"usr/src/{package}.tar.xz")
    control = f"Package: {package}\nVersion: {version}\nArchitecture: all\nMaintainer: A Person <person@example.org>\n"
    (root / "DEBIAN/control").write_text(f"{control}Description: sources\n")
    deb = pool / f"{package}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, deb], check=True, capture_output=True)
    for index in ("binary-amd64/Packages", "source/Sources"):
        (where / "debian/dists/later/main" / index).parent.mkdir(parents=True)
        (where / "debian/dists/later/main" / index).write_text("")
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    lists = where / "debian/dists/later"
    (lists / "main/binary-amd64/Packages").write_text(
        f"{control}Filename: pool/{deb.name}\nSize: {deb.stat().st_size}\nSHA256: {digest}\nDescription: sources\n")
    sums = [f" {hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_size} {file.relative_to(lists)}"
            for file in sorted(lists.rglob("*s")) if file.is_file()]
    (lists / "Release").write_text("Suite: later\nComponents: main\nArchitectures: amd64\nSHA256:\n" + "\n".join(sums) + "\n")
    return f"[trusted=yes] file:{where / 'debian'}"


@pytest.fixture
def later(mini: dict) -> dict:
    """`mini` with a mirror that no longer has the pinned release: a tarball of 7.3.9, a pin whose own source is gone."""
    if not shutil.which("apt-get"):
        pytest.skip("no apt here")
    tree = minikernel.make_tree(mini["work"] / "linux-7.3.9", version="7.3.9")
    tarball = minikernel.make_tarball(tree, mini["work"] / "linux-7.3.9.tar.xz")
    pin = mini["pin"].read_text().replace('sources=(', 'sources=("deb later linux-source-7.3 7.3.4-1 linux-source-7.3.tar.xz 0" ')
    mini["pin"].write_text(pin.replace("newer_suites=()", "newer_suites=(later)").replace("=none", "=linux-source-7.3"))
    return mini | {"tarball": tarball, "variables": {
        "PIN": mini["pin"], "QUEUE": mini["queue"], "KERNEL_MIRROR": (mini["work"] / "nothing").as_uri(),
        "DEBIAN_MIRROR": debian_mirror(mini["work"] / "mirror", tarball, "7.3.9-1")}}


def test_robust_base_newer(later: dict) -> None:
    """A newer release takes the place of the pinned one when no source has that, with a warning each time."""
    code, _, err = run("base.sh", later["work"], **later["variables"])
    tree = later["work"] / "build/linux"
    assert code == 0 and "no linux-source-7.3 7.3.4-1 (it has: 7.3.9-1)" in err and "7.3.9-1, not the pinned Linux 7.3.4" in err, err
    assert Fingerprint.of(tree) == Fingerprint.of(minikernel.make_tree(later["work"] / "same", version="7.3.9"))
    code, _, err = run("base.sh", later["work"], **later["variables"])
    assert code == 0 and "7.3.9-1, not the pinned Linux 7.3.4" in err, err
    must_pass(run("tree.py", later["work"], "apply", **later["variables"]))


def test_robust_base_newer_does_not_fit(later: dict) -> None:
    """A newer release that the series does not apply to is refused, and nothing is unpacked."""
    variables = later["variables"] | {"QUEUE": minikernel.make_queue(later["work"] / "broken", 9, broken=6)}
    must_fail(run("base.sh", later["work"], **variables), "7.3.9-1", "does not apply", "lib-change-file-6.patch")
    assert not (later["work"] / "build/linux").exists() and not list((later["work"] / "build").glob(".unpack.*"))


def test_robust_base_deb(later: dict) -> None:
    """The pin's Debian package gives the tarball; one with another sum is an error."""
    digest = hashlib.sha256(later["tarball"].read_bytes()).hexdigest()
    pin = later["pin"].read_text()
    later["pin"].write_text(pin.replace("7.3.4-1 linux-source-7.3.tar.xz 0", f"7.3.9-1 linux-source-7.3.tar.xz {digest}"))
    code, out, err = run("base.sh", later["work"], **later["variables"])
    assert code == 0 and "not the pinned" not in err, f"{out}{err}"
    shutil.rmtree(later["work"] / "build")
    shutil.rmtree(later["work"] / "cache")
    later["pin"].write_text(pin.replace("7.3.4-1 linux-source-7.3.tar.xz 0", f"7.3.9-1 linux-source-7.3.tar.xz {'0' * 64}"))
    must_fail(run("base.sh", later["work"], **later["variables"]), "another SHA-256 sum")


def test_robust_other_version(mini: dict) -> None:
    other = minikernel.make_tree(mini["work"] / "linux-7.2", version="7.2.9")
    before = Fingerprint.of(other)
    variables = {"KDIR": other, "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_fail(tree_py(mini, "apply", KDIR=other), "7.2.9", "7.3", "FORCE=1")
    must_fail(run("base.sh", mini["work"], **variables), "7.2.9", "7.3")
    assert Fingerprint.of(other) == before
    must_pass(tree_py(mini, "apply", FORCE=1, KDIR=other))
    must_fail(tree_py(mini, "apply", KDIR=mini["queue"]), "not a Linux source tree")
    must_fail(run("base.sh", mini["work"], PIN=mini["pin"], LINUX_TARBALL="/nowhere.tar.xz"), "no such file")


def test_robust_patch_fails(mini: dict) -> None:
    queue = minikernel.make_queue(mini["work"] / "broken", 9, broken=6)
    before = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply", QUEUE=queue), "lib-change-file-6.patch", "as it was")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_patch_missing(mini: dict) -> None:
    (mini["queue"] / "lib-change-file-3.patch").unlink()
    before = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply"), "lib-change-file-3.patch")
    assert Fingerprint.of(mini["tree"]) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    where = tmp_path / "small"
    where.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", where], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    yield where
    subprocess.run(["umount", where], check=True)


def test_robust_disk_full(mini: dict, small_disk: Path) -> None:
    # Noticed before the work begins
    variables = {"PIN": mini["pin"], "LINUX_TARBALL": mini["tarball"], "BUILD": small_disk / "build"}
    must_fail(run("base.sh", mini["work"], **variables, NEED_TREE_MIB=100), "100 MiB", "are free")
    # Not noticed before: unpacking runs into it
    tree = minikernel.make_tree(mini["work"] / "big/linux-7.3.4", padding=4_000_000)
    tarball = minikernel.make_tarball(tree, mini["work"] / "big.tar.xz")
    variables |= {"LINUX_TARBALL": tarball, "PIN": minikernel.make_pin(mini["work"] / "bigpin", tarball)}
    must_fail(run("base.sh", mini["work"], **variables, NEED_TREE_MIB=0), "no space left")
    assert not list(small_disk.glob("build/linux")) and not list(small_disk.glob("build/.unpack.*"))
    # The tree itself stands on the full disk: the push is undone
    on_small = small_disk / "linux"
    shutil.copytree(minikernel.make_tree(mini["work"] / "plain"), on_small)
    before = Fingerprint.of(on_small)
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(4096))
        filler.truncate(filler.tell() - 16 * 4096)
    code, _, err = tree_py(mini, "apply", KDIR=on_small)
    assert code == 1 and ": error: " in err, err
    assert Fingerprint.of(on_small) == before, err
    (small_disk / "filler").unlink()
    must_pass(tree_py(mini, "apply", KDIR=on_small))


def test_robust_no_network(tmp_path: Path) -> None:
    """The pinned base with an empty cache and every way out closed."""
    closed = "http://127.0.0.1:9"
    error = must_fail(run("base.sh", tmp_path, http_proxy=closed, https_proxy=closed, KERNEL_MIRROR=closed,
                          LINUX_SHA256="0" * 64), "no network?", "LINUX_TARBALL=")
    assert error and not (tmp_path / "build/linux").exists()


def test_robust_missing_package(tmp_path: Path) -> None:
    """All commands but flex: named, with the command that installs it."""
    (tmp_path / "bin").mkdir()
    for directory in os.environ["PATH"].split(":"):
        for command in Path(directory).glob("*") if Path(directory).is_dir() else ():
            link = tmp_path / "bin" / command.name
            if command.name != "flex" and not link.is_symlink():
                link.symlink_to(command.resolve())
    must_fail(run("tools.sh", tmp_path, INSTALL=0, PATH=tmp_path / "bin"), "flex", "apt-get install")


def test_robust_foreign_queue(mini: dict) -> None:
    (mini["tree"] / "patches").mkdir()
    before = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply"), "make export")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_edits_kept(mini: dict) -> None:
    must_pass(tree_py(mini, "apply"))
    edited = mini["tree"] / "lib/new15.c"
    edited.write_text("int an_edit_of_the_user;\n")
    must_fail(tree_py(mini, "unapply", FORCE=1), "lib-change-file-15.patch", "quilt refresh")
    variables = {"BUILD": linked_build(mini), "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_fail(run("clean.sh", mini["work"], "all", **variables), "edits")
    assert "an_edit" in edited.read_text()
    must_pass(tree_py(mini, "unapply", DISCARD=1))
    assert not edited.exists()


def linked_build(mini: dict) -> Path:
    """A build directory whose kernel tree is the small one."""
    build = mini["work"] / "other-build"
    build.mkdir(exist_ok=True)
    (build / "linux.base").touch()
    (build / "linux").symlink_to(mini["tree"])
    return build


def test_robust_added_file_kept(mini: dict) -> None:
    """The edit of a file that the user has added to the top patch is not lost."""
    must_pass(tree_py(mini, "apply"))
    quilt(mini["tree"], str(mini["queue"]), "add", "lib/file9.c")
    (mini["tree"] / "lib/file9.c").write_text("int an_edit_of_the_user;\n")
    must_fail(tree_py(mini, "unapply"), "edits")
    assert "an_edit" in (mini["tree"] / "lib/file9.c").read_text()
    quilt(mini["tree"], str(mini["queue"]), "refresh")
    must_pass(tree_py(mini, "unapply"))
    assert "an_edit" not in (mini["tree"] / "lib/file9.c").read_text()


def test_robust_force_keeps_edits(mini: dict) -> None:
    """FORCE=1 is about the version of the kernel alone."""
    tree = minikernel.make_tree(mini["work"] / "linux-7.4", version="7.4.0")
    queue = minikernel.make_queue(mini["work"] / "groups", 6, groups=("first", "second"))
    variables = {"KDIR": tree, "QUEUE": queue, "FORCE": 1}
    must_pass(tree_py(mini, "apply", GROUP="first", **variables))
    edited = tree / "lib/file0.c"
    edited.write_text(edited.read_text() + "int an_edit_of_the_user;\n")
    before = Fingerprint.of(tree)
    must_fail(tree_py(mini, "apply", GROUP="second", **variables), "edits", "DISCARD=1")
    assert Fingerprint.of(tree) == before
    must_pass(tree_py(mini, "apply", GROUP="second", DISCARD=1, **variables))
    assert "an_edit" not in edited.read_text() and "patched_1" in (tree / "lib/file1.c").read_text()


def test_robust_second_apply_idle(mini: dict) -> None:
    must_pass(tree_py(mini, "apply"))
    before = Fingerprint.of(mini["tree"])
    assert "already" in must_pass(tree_py(mini, "apply"))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_new_changelog_keeps_times(mini: dict) -> None:
    """A series whose text changed but not its effect is pushed anew without a reason to compile anything again."""
    must_pass(tree_py(mini, "apply"))
    times = {path: path.stat().st_mtime for path in (mini["tree"] / "lib").glob("*.c")}
    patch = mini["queue"] / "lib-change-file-3.patch"
    patch.write_text(patch.read_text().replace("Change one line.", "Change one line, for a better reason."))
    assert "already" in must_pass(tree_py(mini, "apply"))
    patch.rename(mini["queue"] / "lib-of-another-name.patch")
    patch = mini["queue"] / "lib-of-another-name.patch"
    series = mini["queue"] / "series"
    series.write_text(series.read_text().replace("lib-change-file-3.patch", patch.name))
    assert "pushed" in must_pass(tree_py(mini, "apply"))
    assert {path: path.stat().st_mtime for path in times} == times
    patch.write_text(patch.read_text().replace("+int new_3;", "+int new_and_different;"))
    must_pass(tree_py(mini, "apply"))
    changed = [path.name for path in times if path.stat().st_mtime != times[path]]
    assert changed == ["new3.c"], changed


def quilt(tree: Path, patches: str, *args: str) -> None:
    """Plain quilt in `tree`, as a user without our scripts would call it."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("QUILT")}
    subprocess.run(["quilt", *args], cwd=tree, env=env | {"QUILT_PATCHES": patches}, check=True, capture_output=True)


def test_robust_foreign_queue_pushed(mini: dict) -> None:
    """A tree on which another project's patches stand, with quilt's default directory: never popped, never pushed on."""
    shutil.copytree(mini["queue"], mini["tree"] / "patches")
    quilt(mini["tree"], "patches", "push", "-a")
    before = Fingerprint.of(mini["tree"])
    for name in ("apply", "unapply"):
        must_fail(tree_py(mini, name, QUEUE="", FORCE=1), "queue of its own")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_after_plain_quilt(mini: dict) -> None:
    """What plain quilt has pushed of this series is known for ours: apply begins anew, unapply takes it off."""
    before = Fingerprint.of(mini["tree"])
    quilt(mini["tree"], str(mini["queue"]), "push", "-a")
    must_pass(tree_py(mini, "apply"))
    must_pass(tree_py(mini, "unapply"))
    assert Fingerprint.of(mini["tree"]) == before


@pytest.mark.parametrize("lost", ["store", "commit"])
def test_robust_no_commit_of_the_push(mini: dict, lost: str) -> None:
    """Without the store, or when the record names no commit, edits are found all the same."""
    before = Fingerprint.of(mini["tree"])
    must_pass(tree_py(mini, "apply"))
    record = mini["tree"] / ".pc/.cache-footprint"
    if lost == "store":
        shutil.rmtree(mini["tree"] / ".cache-footprint.git")
    else:
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(line for line in lines if not line.startswith("commit")))
    edited = mini["tree"] / "lib/new5.c"
    text = edited.read_text()
    edited.write_text("int an_edit_of_the_user;\n")
    must_fail(tree_py(mini, "unapply"), "edits")
    assert "an_edit" in edited.read_text()
    edited.write_text(text)
    must_pass(tree_py(mini, "unapply"))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_changed_series_does_not_fit(mini: dict) -> None:
    """The series on the tree stays when the changed one does not apply."""
    must_pass(tree_py(mini, "apply"))
    before = Fingerprint.of(mini["tree"])
    patch = mini["queue"] / "lib-change-file-9.patch"
    patch.write_text(patch.read_text().replace("-int value_0_9;", "-int nowhere_to_be_found;"))
    must_fail(tree_py(mini, "apply"), "lib-change-file-9.patch", "as it was")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_relative_names(mini: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mini["work"])
    must_pass(tree_py(mini, "apply", KDIR=mini["tree"].name, QUEUE="queue"))
    assert pushed(mini["tree"], 16)


def test_robust_unknown_group(mini: dict) -> None:
    must_fail(tree_py(mini, "apply", GROUP="nonsense"),
              "no group 'nonsense'", "preparations")


def test_robust_clean_leaves_others_alone(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/precious").write_text("not ours\n")
    must_fail(run("clean.sh", tmp_path, "all"), "left alone")
    assert (tmp_path / "build/precious").exists()


def test_robust_moved_repository(mini: dict) -> None:
    """The series is taken off a tree, and pushed again, from where the patches are now."""
    before = Fingerprint.of(mini["tree"])
    must_pass(tree_py(mini, "apply"))
    moved = mini["queue"].rename(mini["work"] / "moved")
    assert "already" in must_pass(tree_py(mini, "apply", QUEUE=moved))
    must_pass(tree_py(mini, "unapply", QUEUE=moved))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_lock_of_the_tree(mini: dict) -> None:
    """Two runs with build directories of their own do not work on one tree at a time."""
    lock = os.open(mini["tree"], os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = Fingerprint.of(mini["tree"])
    for command in ("apply", "unapply"):
        must_fail(tree_py(mini, command, BUILD=mini["work"] / command), "another run works")
    assert Fingerprint.of(mini["tree"]) == before
    os.close(lock)
    must_pass(tree_py(mini, "apply"))


def test_robust_read_only_tree(mini: dict, small_disk: Path) -> None:
    tree = small_disk / "linux"
    shutil.copytree(minikernel.make_tree(mini["work"] / "plain"), tree)
    must_pass(tree_py(mini, "apply", KDIR=tree))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for command in ("apply", "unapply"):
        must_fail(tree_py(mini, command, KDIR=tree), "cannot be written to")


def test_robust_plain_push_with_fuzz(mini: dict) -> None:
    """What plain quilt has pushed with fuzz comes off, and is not pushed with fuzz by us."""
    changed = mini["tree"] / "lib/file0.c"
    changed.write_text(changed.read_text().replace("int value_0_18;", "int of_this_tree;"))
    before = Fingerprint.of(mini["tree"])
    quilt(mini["tree"], str(mini["queue"]), "push", "-a")
    on_it = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply"), "lib-change-file-15.patch does not apply", "as it was")
    assert Fingerprint.of(mini["tree"]) == on_it
    must_pass(tree_py(mini, "unapply"))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_series_on_it_by_patch(mini: dict) -> None:
    for name in patch_names(mini["queue"]):
        words = ["patch", "-p1", "-s", "-i", mini["queue"] / name]
        subprocess.run(words, cwd=mini["tree"], check=True)
    before = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply"), "has the series already, by patch")
    assert Fingerprint.of(mini["tree"]) == before and not leftovers(mini["tree"])


def patch_names(queue: Path) -> list[str]:
    """The patches of a small queue in order."""
    return [line for line in (queue / "series").read_text().splitlines() if line.endswith(".patch")]


def test_robust_offsets_named(mini: dict) -> None:
    lines = [f" int value_1_{number};\n" for number in range(17, 24)]
    lines[3:4] = ["-int value_1_20;\n", "+int patched;\n"]
    hunk = "--- a/lib/file1.c\n+++ b/lib/file1.c\n@@ -18,7 +18,7 @@\n" + "".join(lines)
    patch = mini["queue"] / "lib-change-file-15.patch"
    patch.write_text(f"Subject: [PATCH] lib: Change line 20\n---\n{hunk}")
    longer = mini["tree"] / "lib/file1.c"
    longer.write_text("int one_line_more;\n" + longer.read_text())
    out = must_pass(tree_py(mini, "apply"))
    assert "lib-change-file-15.patch: lib/file1.c: Hunk #1 succeeded at 19 (offset 1 line)" in out


def test_robust_groups(mini: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several groups, a group that needs two, and one without patches."""
    queue = minikernel.make_queue(mini["work"] / "groups", 9, groups=("first", "second", "both"))
    series = queue / "series"
    monkeypatch.chdir(mini["work"])
    banner = "# --- group both: a part of it ---"
    text = series.read_text().replace(banner, f"{banner}\n# needs: first second")
    series.write_text(text + "# --- group none: to come ---\n")
    before = Fingerprint.of(mini["tree"])
    needs = 'GROUP="first second"'
    must_fail(tree_py(mini, "apply", GROUP="both", QUEUE=queue), "group both needs", needs)
    must_fail(tree_py(mini, "apply", GROUP="both first", QUEUE=queue), needs)
    must_pass(tree_py(mini, "apply", GROUP="first second", QUEUE=queue))
    assert pushed(mini["tree"], 9)
    must_pass(tree_py(mini, "apply", GROUP="second", QUEUE=queue))
    second = patch_names(queue)[3:6]
    assert (mini["tree"] / ".pc/applied-patches").read_text().split() == second
    lines = must_pass(tree_py(mini, "export", "copies", GROUP="second", QUEUE=queue))
    assert lines.split() == [f"copies/{name}" for name in second]
    must_pass(tree_py(mini, "apply", GROUP="none", QUEUE=queue))
    assert Fingerprint.of(mini["tree"]) == before and not leftovers(mini["tree"])


# make branch

def git(tree: Path, *words: str) -> str:
    """Run git in `tree` and return what it prints."""
    words = ("git", "-C", str(tree), *words)
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def git_tree(where: Path) -> Path:
    """A small kernel tree as a git repository, with a change of the user that is not committed."""
    tree = minikernel.make_tree(where)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Person")
    git(tree, "config", "user.email", "person@example.org")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "base")
    (tree / "lib/file19.c").write_text("int an_edit_of_the_user;\n")
    return tree


def branches(tree: Path) -> list[str]:
    """The branches that make branch has made."""
    refs = ("--format=%(refname:short)", "refs/heads/cache-footprint")
    return git(tree, "for-each-ref", *refs).split()


def untouched(tree: Path) -> bool:
    """Whether the work tree and HEAD are as git_tree() made them and nothing is under way."""
    left = [name for name in ("rebase-apply", "cache-footprint.new") if (tree / ".git" / name).exists()]
    state = (git(tree, "status", "--porcelain"), git(tree, "symbolic-ref", "HEAD"), left)
    return state == ("M lib/file19.c", "refs/heads/main", [])


def test_robust_branch(mini: dict) -> None:
    tree = git_tree(mini["work"] / "git")
    must_pass(tree_py(mini, "branch", KDIR=tree))
    (name,) = branches(tree)
    assert git(tree, "rev-list", "--count", f"main..{name}") == "16" and untouched(tree)
    last = "A Person <person@example.org> lib: Change file 15: Change one line."
    assert git(tree, "log", "-1", "--format=%an <%ae> %s: %b", name) == last
    must_pass(tree_py(mini, "apply"))
    for file in git(tree, "ls-tree", "-r", "--name-only", name, "lib/").splitlines():
        assert git(tree, "show", f"{name}:{file}") == (mini["tree"] / file).read_text().strip()
    must_fail(tree_py(mini, "branch", KDIR=tree), "already")


def test_robust_new_patch_not_in_series(mini: dict) -> None:
    """A patch that was made on the tree of a group is not taken off because series lacks it."""
    queue = minikernel.make_queue(mini["work"] / "groups", 6, groups=("first", "second"))
    given = {"QUEUE": queue, "GROUP": "first"}
    must_pass(tree_py(mini, "apply", **given))
    quilt(mini["tree"], str(queue), "new", "mine.patch")
    quilt(mini["tree"], str(queue), "add", "lib/file9.c")
    (mini["tree"] / "lib/file9.c").write_text("int mine;\n")
    quilt(mini["tree"], str(queue), "refresh")
    before = Fingerprint.of(mini["tree"])
    must_fail(tree_py(mini, "apply", **given), "mine.patch", "not in series")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_branch_group(mini: dict) -> None:
    tree = git_tree(mini["work"] / "git")
    queue = minikernel.make_queue(mini["work"] / "groups", 6, groups=("first", "second"))
    must_pass(tree_py(mini, "branch", KDIR=tree, QUEUE=queue, GROUP="second"))
    (name,) = branches(tree)
    assert git(tree, "log", "--format=%s", f"main..{name}").splitlines()[-1] == "lib: Change file 3"


def test_robust_branch_fails(mini: dict) -> None:
    tree = git_tree(mini["work"] / "git")
    queue = minikernel.make_queue(mini["work"] / "broken", 9, broken=6)
    must_fail(tree_py(mini, "branch", KDIR=tree, QUEUE=queue), "lib-change-file-6.patch", "as it was")
    assert untouched(tree) and not branches(tree)
    (tree / ".git/rebase-apply").mkdir()
    must_fail(tree_py(mini, "branch", KDIR=tree), "rebase-apply")
    assert (tree / ".git/rebase-apply").is_dir() and not branches(tree)
    must_fail(tree_py(mini, "branch"), "not a git tree")
    other = minikernel.make_tree(mini["work"] / "7.2", version="7.2.9")
    must_fail(tree_py(mini, "branch", KDIR=other), "7.2.9", "FORCE=1")


# Signals, at moments spread over the run

MOMENTS = 20 if os.environ.get("CF_FULL") == "1" else 3


def files(tree: Path) -> Fingerprint:
    """The kernel's files of a tree: without quilt's and tree.py's directories."""
    return Fingerprint.of(tree, ".")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """A small tree as it was, pushed, and with one of two groups, by name; a queue and a pin."""
    work = tmp_path_factory.mktemp("stages")
    made = {"work": work, "tree": work, "pin": minikernel.make_pin(work / "pin", Path(__file__)),
            "queue": minikernel.make_queue(work / "queue", 8, groups=("first", "second")),
            "base": minikernel.make_tree(work / "base")}
    with open(made["base"] / "lib/file0.c", "a") as file:
        file.write("int an_edit_of_the_user;\n")
    for name, group in (("pushed", ""), ("first", "first"), ("second", "second")):
        made[name] = shutil.copytree(made["base"], work / name)
        must_pass(tree_py(made, "apply", KDIR=made[name], GROUP=group))
    return made


@pytest.fixture
def stages(prepared: dict, tmp_path: Path) -> dict:
    """The same with a work directory of its own."""
    return prepared | {"work": tmp_path}


def interrupted(stages: dict, start: str, command: str, group: str = "") -> Iterator[tuple[Path, int]]:
    """Run tree.py and send each signal at each moment, each time on a new copy of the tree `start`.

    Yields the tree and the exit code: 0 when it was done, 130 when it has said that the tree is as
    it was, -9 when it was killed.
    """
    variables = {"QUEUE": stages["queue"], "PIN": stages["pin"], "GROUP": group}
    whole = shutil.copytree(stages[start], stages["work"] / "whole", symlinks=True)
    began = time.monotonic()
    must_pass(run("tree.py", stages["work"], command, KDIR=whole, **variables))
    seconds = time.monotonic() - began
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        for moment in range(MOMENTS):
            tree = stages["work"] / f"{how.name}-{moment}"
            shutil.copytree(stages[start], tree, symlinks=True)
            process = script("tree.py", stages["work"], command, KDIR=tree, **variables)
            try:
                process.wait(seconds * (moment + 0.5) / MOMENTS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, how)
            _, err = process.communicate(timeout=60)
            code = process.returncode
            if code in (-signal.SIGINT, -signal.SIGTERM) or err.endswith("KeyboardInterrupt\n"):
                code = 130  # before tree.py's own lines; Python prints where it was
            else:
                assert (code == 130) == ("as it was" in err), err
            assert code in (0, 130, -signal.SIGKILL), err
            yield tree, code
            texts = [path.read_text() for path in tree.glob("lib/file*.c")]
            assert any("an_edit_of_the_user" in text for text in texts)


def moved(stages: dict, tree: Path, code: int, before: str, after: str) -> None:
    """Fail unless each file of the tree is as the exit code says."""
    if code == 0:
        assert files(tree) == files(stages[after])
    elif code == 130:
        assert Fingerprint.of(tree) == Fingerprint.of(stages[before])
    elif not (tree / ".cache-footprint.undo").exists():
        assert files(tree) in (files(stages[before]), files(stages[after]))


def test_robust_signal_apply(stages: dict) -> None:
    for tree, code in interrupted(stages, "base", "apply"):
        moved(stages, tree, code, "base", "pushed")
        must_pass(tree_py(stages, "apply", KDIR=tree))
        assert files(tree) == files(stages["pushed"])
        assert leftovers(tree) == [".cache-footprint.git"]
        must_pass(tree_py(stages, "unapply", KDIR=tree))
        assert Fingerprint.of(tree, "none") == Fingerprint.of(stages["base"], "none")


def test_robust_signal_unapply(stages: dict) -> None:
    for number, (tree, code) in enumerate(interrupted(stages, "pushed", "unapply")):
        moved(stages, tree, code, "pushed", "base")
        if number % 2:
            must_pass(tree_py(stages, "apply", KDIR=tree))
            assert files(tree) == files(stages["pushed"])
        must_pass(tree_py(stages, "unapply", KDIR=tree))
        assert Fingerprint.of(tree, "none") == Fingerprint.of(stages["base"], "none")


def test_robust_signal_group(stages: dict) -> None:
    for tree, code in interrupted(stages, "first", "apply", "second"):
        moved(stages, tree, code, "first", "second")
        must_pass(tree_py(stages, "apply", KDIR=tree, GROUP="second"))
        assert files(tree) == files(stages["second"])
        must_pass(tree_py(stages, "unapply", KDIR=tree))
        assert Fingerprint.of(tree, "none") == Fingerprint.of(stages["base"], "none")


def test_robust_signal_branch(stages: dict) -> None:
    stages["git"] = git_tree(stages["work"] / "git")
    for tree, code in interrupted(stages, "git", "branch"):
        assert bool(branches(tree)) == (code == 0) or code == -signal.SIGKILL
        again = tree_py(stages, "branch", KDIR=tree)
        assert again[0] == 0 or "already" in again[2], again
        (name,) = branches(tree)
        assert git(tree, "rev-list", "--count", f"main..{name}") == "8" and untouched(tree)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("start", ["base", "pushed", "first"])
def test_robust_move_cut_off(stages: dict, start: str, when: str) -> None:
    """Killed between two states, before git moves the files or after: put back, then moved."""
    words = "unapply" if start == "pushed" else "apply"
    git_path = shutil.which("git")
    commands = {"before": "kill -9 0", "after": f'"{git_path}" "$@"; kill -9 0'}
    (stages["work"] / "bin").mkdir()
    fake = stages["work"] / "bin/git"
    case = f'case "$*" in *--reset*) {commands[when]} ;; esac'
    fake.write_text(f'#!/bin/sh\n{case}\nexec "{git_path}" "$@"\n')
    fake.chmod(0o755)
    tree = shutil.copytree(stages[start], stages["work"] / "tree", symlinks=True)
    path = f"{fake.parent}:{os.environ['PATH']}"
    assert tree_py(stages, words, KDIR=tree, PATH=path)[0] == -signal.SIGKILL
    assert (tree / ".cache-footprint.undo").exists()
    code, _, err = tree_py(stages, words, KDIR=tree)
    assert code == 0 and "put back first" in err
    assert files(tree) == files(stages["base" if words == "unapply" else "pushed"])
    must_pass(tree_py(stages, "unapply", KDIR=tree))
    assert Fingerprint.of(tree, "none") == Fingerprint.of(stages["base"], "none")
