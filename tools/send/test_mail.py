# SPDX-License-Identifier: GPL-2.0
"""make mail: what reviewers get, by a mail server on the loopback address, and what is refused."""

import email
import email.utils
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from tools import environment
from tools.environment import ROOT
from tools.send.covers import Cover, load_covers
from tools.tree.sources import Sources
from tools.tree.state import make_repo
from tools.series import Series

SENDER = {"user.name": "A Sender", "user.email": "sender@sender.test"}
SEND_EMAIL = Path("/usr/lib/git-core/git-send-email")
B4 = environment.build() / "venv/bin/b4"


def settings(**values: str) -> dict[str, str]:
    """Return variables that give git these settings and no others."""
    found = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
             "GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def mail(out: Path | str, config: dict[str, str] | None = None,
         **variables: object) -> subprocess.CompletedProcess[str]:
    """Run tools/send/mail.py with these variables and git settings (default: a sender's)."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("SET", "GROUP", "KDIR", "V", "RFC", "SIGNOFF")
           and not key.startswith("GIT_")}
    env |= settings(**(SENDER if config is None else config))
    env |= {"OUT": str(out), "BUILD": str(environment.tree().parent)}
    env |= {key: str(value) for key, value in variables.items()}
    return subprocess.run([ROOT / "tools/run", "tools.send.mail"], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


class Sink:
    """Keeps each mail with the addresses that it was sent to."""

    def __init__(self) -> None:
        self.mails: list[tuple[set[str], Message]] = []

    async def handle_DATA(self, _server, _session, envelope) -> str:  # noqa: N802
        """Keep a mail."""
        text = envelope.content.decode().replace("\r\n", "\n")
        self.mails.append((set(envelope.rcpt_tos), email.message_from_string(text)))
        return "250 OK"


@pytest.fixture
def sink() -> Iterator[Controller]:
    """A mail server on a port of the loopback address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(Sink(), hostname="127.0.0.1", port=port)
    controller.start()
    yield controller
    controller.stop()


@pytest.fixture(scope="module")
def covers(series: Series) -> list[Cover]:
    """The sets, in the order in which they can be applied."""
    return sorted(load_covers(series).values(),
                  key=lambda cover: series.names.index(cover.patches[0].name))


def addresses(message: Message, *keys: str) -> set[str]:
    """Return the addresses in headers of a mail."""
    lines = [line for key in keys for line in message.get_all(key, [])]
    return {address for _, address in email.utils.getaddresses(lines)}


def check_mails(cover: Cover, found: list[tuple[set[str], Message]]) -> None:
    """A set is a thread of numbered mails below its cover letter, each to whom it says."""
    (_, letter), *mails = found
    last = len(cover.patches)
    assert len(mails) == last
    for number, (to, message) in enumerate(found):
        subject = " ".join(message["Subject"].split())
        assert re.match(rf"\[RFC PATCH v2 0*{number}/{last}\] \S", subject), subject
        assert to == addresses(message, "To", "Cc") and len(to) > 1
        assert addresses(message, "From") == {SENDER["user.email"]}
        assert not [address for address in to if "example" in address or "users." in address]
    assert cover.subject in " ".join(letter["Subject"].split())
    assert cover.body.strip() in letter.get_payload(decode=True).decode()
    assert set(cover.to) <= addresses(letter, "To", "Cc")
    people = set()
    for (to, message), patch in zip(mails, cover.patches, strict=True):
        assert message["In-Reply-To"] == letter["Message-ID"]
        originals = set(re.findall(r"^Originally-by:.*<(\S+)>", patch.text, re.M))
        assert not to & originals
        people |= to
    assert people <= addresses(letter, "To", "Cc")


def send(done: subprocess.CompletedProcess[str], sink: Controller) -> None:
    """Run the line that make mail prints, with git set to the mail server."""
    line = done.stdout.splitlines()[-1]
    assert line.startswith("git send-email "), done.stdout
    config = SENDER | {"sendemail.smtpserver": "127.0.0.1", "sendemail.confirm": "never",
                       "sendemail.smtpserverport": str(sink.port)}
    sent = subprocess.run(["bash", "-c", line], env=os.environ | settings(**config), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert sent.returncode == 0, sent.stdout[-1000:] + sent.stderr[-1000:]


def am(repo: Path, mbox: Path) -> None:
    """Apply mails to a repository."""
    done = subprocess.run(["git", "-C", repo, "am", "-q", mbox], capture_output=True, text=True,
                          env=os.environ | settings(**SENDER), check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def mbox_of(found: list[tuple[set[str], Message]], path: Path) -> Path:
    """Write mails as a mailbox, as a reader would save them."""
    path.write_bytes(b"".join(b"From a Mon Sep 17 00:00:00 2001\n" + message.as_bytes() + b"\n"
                              for _, message in found))
    return path


def test_smtp_roundtrip(series: Series, covers: list[Cover], sink: Controller,
                        tmp_path: Path) -> None:
    """Each set is sent and comes back in order; applied by git am, all give the tree of quilt."""
    assert SEND_EMAIL.is_file(), "apt-get install git-email"
    sources = Sources.from_env()
    repo = make_repo(series.paths, sources, tmp_path / "repo")
    for cover in covers:
        sink.handler.mails = []
        done = mail(tmp_path / cover.name, SET=cover.name, V=2)
        assert done.returncode == 0, done.stderr
        send(done, sink)
        check_mails(cover, sink.handler.mails)
        am(repo, mbox_of(sink.handler.mails[1:], tmp_path / f"{cover.name}.mbox"))
    for path in series.paths:
        assert (repo / path).read_bytes() == (sources.kernel() / path).read_bytes(), path


def test_b4(series: Series, covers: list[Cover], sink: Controller, tmp_path: Path) -> None:
    """b4 am takes a set from a mailbox, without a network, and git am takes it from b4."""
    assert SEND_EMAIL.is_file(), "apt-get install git-email"
    cover = covers[0]
    done = mail(tmp_path / "out", SET=cover.name, V=2)
    assert done.returncode == 0, done.stderr
    send(done, sink)
    mbox = mbox_of(sink.handler.mails, tmp_path / "mbox")
    repo = make_repo(series.paths, Sources.from_env(), tmp_path / "repo")
    words = [*(["unshare", "--net"] if os.geteuid() == 0 else []), B4, "--offline-mode", "am", "-m",
             mbox, "-o", tmp_path / "b4", sink.handler.mails[0][1]["Message-ID"].strip("<>")]
    taken = subprocess.run(words, cwd=repo, env=os.environ | settings(**SENDER) | {
        "HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert taken.returncode == 0, taken.stdout + taken.stderr
    (found,) = (tmp_path / "b4").glob("*.mbx")
    am(repo, found)
    count = subprocess.check_output(["git", "-C", repo, "rev-list", "--count", "base..HEAD"])
    assert int(count) == len(cover.patches)


def test_mail_refuses(series: Series, covers: list[Cover], tmp_path: Path) -> None:
    """Each thing that is wrong is one line and exit status 1, and no mail is written."""
    name, out = covers[0].name, tmp_path / "out"

    def refused(words: str, config: dict[str, str] | None = None, **variables: object) -> None:
        done = mail(variables.pop("where", out), config, **{"SET": name} | variables)
        lines = done.stderr.splitlines()
        assert done.returncode == 1 and len(lines) == 1, done.stdout + done.stderr
        assert lines[0].startswith("mail: error: ") and words in lines[0], lines
        assert not out.exists() or not list(out.glob("*cover*"))

    refused("who sends", {})
    refused("no address", SENDER | {"user.email": "a@users.noreply.b.example"})
    refused("no cover letter nosuch.cover", SET="nosuch")
    refused("usage", SET="")
    refused("no group 'nosuch'", SET="", GROUP="nosuch")
    refused("no kernel tree", BUILD=tmp_path)
    refused("not a git tree", KDIR=tmp_path)
    refused("is not empty", where=Path(__file__).parent)
    refused("/proc/", where="/proc/mails")
    repo = make_repo(series.paths, Sources.from_env(), tmp_path / "repo")
    shutil.rmtree(repo / "arch")
    refused("in no commit", KDIR=repo)
    orphan = next(cover for cover in covers if any("\n+S:\tOrphan" in patch.diff
                                                   for patch in cover.patches))
    refused("is an orphan", SET=orphan.name, SIGNOFF=1)
