# SPDX-License-Identifier: GPL-2.0
"""Bad input and interruptions: each gives one clear line and a non-zero exit, nothing half-made, and a second run ends well."""

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
    for key in ("KDIR", "GROUP", "FORCE", "LINUX_TARBALL", "LINUX_SHA256"):
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


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["sigint", "sigkill"])
def test_robust_push_interrupted(mini: dict, how: int) -> None:
    before = Fingerprint.of(mini["tree"])
    process = script("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"])
    code, err = interrupt_when(process, lambda: pushed(mini["tree"], 5), how)
    if how == signal.SIGINT:
        assert code == 130 and "as it was" in err
        assert Fingerprint.of(mini["tree"]) == before
    must_pass(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"]))
    assert pushed(mini["tree"], 16) and not list(mini["tree"].glob(".cache-footprint.*"))
    must_pass(run("unapply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"]))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_build_interrupted() -> None:
    """On the kernel of this run: some objects go, the build is interrupted, the next one is whole and the one after is idle."""
    out = BUILD / "out/vm"
    image = out / "arch/x86/boot/bzImage"
    variables = {"BUILD": BUILD, "CF_TREE": os.environ.get("CF_TREE", BUILD / "linux")}
    assert image.exists(), "no kernel: run make kernel"
    before = image.read_bytes()
    for directory in ("fs", "kernel", "mm"):
        for path in (out / directory).glob("*.o"):
            path.unlink()
    process = script("kernel.sh", BUILD.parent, "vm", **variables)
    code, err = interrupt_when(process, lambda: any((out / "fs").glob("*.o")))
    assert code == 130 and "run it again" in err, f"{code}: {err}"
    must_pass(run("kernel.sh", BUILD.parent, "vm", **variables))
    assert image.read_bytes() == before, "the image differs from the one of an uninterrupted build"
    must_pass(run("kernel.sh", BUILD.parent, "vm", **variables))
    compiled = [line for line in (out / "build.log").read_text().splitlines() if line.startswith("  CC")]
    assert not compiled, f"a build with nothing to do compiled {len(compiled)} files"


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
    must_pass(run("apply.sh", later["work"], **later["variables"]))


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
    must_fail(run("apply.sh", mini["work"], **variables), "7.2.9", "7.3", "FORCE=1")
    must_fail(run("base.sh", mini["work"], **variables), "7.2.9", "7.3")
    assert Fingerprint.of(other) == before
    must_pass(run("apply.sh", mini["work"], FORCE=1, **variables))
    must_fail(run("apply.sh", mini["work"], KDIR=mini["queue"], QUEUE=mini["queue"], PIN=mini["pin"]), "not a Linux source tree")
    must_fail(run("base.sh", mini["work"], PIN=mini["pin"], LINUX_TARBALL="/nowhere.tar.xz"), "no such file")


def test_robust_patch_fails(mini: dict) -> None:
    queue = minikernel.make_queue(mini["work"] / "broken", 9, broken=6)
    before = Fingerprint.of(mini["tree"])
    must_fail(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=queue, PIN=mini["pin"]), "lib-change-file-6.patch", "as it was")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_patch_missing(mini: dict) -> None:
    (mini["queue"] / "lib-change-file-3.patch").unlink()
    before = Fingerprint.of(mini["tree"])
    must_fail(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"]), "lib-change-file-3.patch")
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
    code, _, err = run("apply.sh", mini["work"], KDIR=on_small, QUEUE=mini["queue"], PIN=mini["pin"])
    assert code == 1 and ": error: " in err, err
    assert Fingerprint.of(on_small) == before, err
    (small_disk / "filler").unlink()
    must_pass(run("apply.sh", mini["work"], KDIR=on_small, QUEUE=mini["queue"], PIN=mini["pin"]))


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
    must_fail(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"]), "make export")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_edits_kept(mini: dict) -> None:
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_pass(run("apply.sh", mini["work"], **variables))
    edited = mini["tree"] / "lib/new15.c"
    edited.write_text("int an_edit_of_the_user;\n")
    must_fail(run("unapply.sh", mini["work"], **variables), "edits", "quilt refresh")
    assert "an_edit" in edited.read_text()
    must_pass(run("unapply.sh", mini["work"], FORCE=1, **variables))
    assert not edited.exists()


def test_robust_second_apply_idle(mini: dict) -> None:
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_pass(run("apply.sh", mini["work"], **variables))
    before = Fingerprint.of(mini["tree"])
    assert "already" in must_pass(run("apply.sh", mini["work"], **variables))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_new_changelog_keeps_times(mini: dict) -> None:
    """A series whose text changed but not its effect is pushed anew without a reason to compile anything again."""
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_pass(run("apply.sh", mini["work"], **variables))
    times = {path: path.stat().st_mtime for path in (mini["tree"] / "lib").glob("*.c")}
    patch = mini["queue"] / "lib-change-file-3.patch"
    patch.write_text(patch.read_text().replace("Change one line.", "Change one line, for a better reason."))
    assert "pushed" in must_pass(run("apply.sh", mini["work"], **variables))
    assert {path: path.stat().st_mtime for path in times} == times
    patch.write_text(patch.read_text().replace("+int new_3;", "+int new_and_different;"))
    must_pass(run("apply.sh", mini["work"], **variables))
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
    for name in ("apply.sh", "unapply.sh"):
        must_fail(run(name, mini["work"], KDIR=mini["tree"], PIN=mini["pin"], FORCE=1), "queue of its own")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_after_plain_quilt(mini: dict) -> None:
    """What plain quilt has pushed of this series is known for ours: apply begins anew, unapply takes it off."""
    before = Fingerprint.of(mini["tree"])
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    quilt(mini["tree"], str(mini["queue"]), "push", "-a")
    must_pass(run("apply.sh", mini["work"], **variables))
    must_pass(run("unapply.sh", mini["work"], **variables))
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_changed_series_does_not_fit(mini: dict) -> None:
    """The series on the tree stays when the changed one does not apply."""
    variables = {"KDIR": mini["tree"], "QUEUE": mini["queue"], "PIN": mini["pin"]}
    must_pass(run("apply.sh", mini["work"], **variables))
    before = Fingerprint.of(mini["tree"])
    patch = mini["queue"] / "lib-change-file-9.patch"
    patch.write_text(patch.read_text().replace("-int value_0_9;", "-int nowhere_to_be_found;"))
    must_fail(run("apply.sh", mini["work"], **variables), "lib-change-file-9.patch", "as it was")
    assert Fingerprint.of(mini["tree"]) == before


def test_robust_relative_names(mini: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mini["work"])
    must_pass(run("apply.sh", Path("."), KDIR=mini["tree"].name, QUEUE="queue", PIN=mini["pin"]))
    assert pushed(mini["tree"], 16)


def test_robust_unknown_group(mini: dict) -> None:
    must_fail(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"], GROUP="nonsense"),
              "no group 'nonsense'", "preparations")


def test_robust_clean_leaves_others_alone(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/precious").write_text("not ours\n")
    must_fail(run("clean.sh", tmp_path, "all"), "left alone")
    assert (tmp_path / "build/precious").exists()


def test_robust_moved_repository(mini: dict) -> None:
    """The series is taken off a tree, and pushed again, from where the patches are now."""
    before = Fingerprint.of(mini["tree"])
    must_pass(run("apply.sh", mini["work"], KDIR=mini["tree"], QUEUE=mini["queue"], PIN=mini["pin"]))
    moved = mini["queue"].rename(mini["work"] / "moved")
    variables = {"KDIR": mini["tree"], "QUEUE": moved, "PIN": mini["pin"]}
    assert "already" in must_pass(run("apply.sh", mini["work"], **variables))
    must_pass(run("unapply.sh", mini["work"], **variables))
    assert Fingerprint.of(mini["tree"]) == before
