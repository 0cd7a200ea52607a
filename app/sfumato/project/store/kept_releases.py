"""What the ledger has of releases, kept on this computer for as long as their project is open.

A program that synchronizes folders can put another file in the place of an open project. The
system then keeps the file that is open without a name, and what its ledger has of a release that
somebody may hold would be gone with it. So each release is kept in the user's state folder too,
encrypted (AES-256-GCM) under a key of the project, before its bundle gets its final name. The file
is removed once the project was closed in its place; else its releases are recorded again when
what is under the project's name is opened next.

The file grows by lines, each encrypted on its own, so that keeping a release costs the same however
many are kept. A policy that several were made by stands in it once. A line that was cut off by a
full disk is passed over.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.files import force_to_disk, read_regular
from sfumato.project.document.model import canonical_json
from sfumato.project.store.files import Staging
from sfumato.project.store.seal import state_folder
from sfumato.project.store.secret import ProjectSecret

_FOLDER: Final = "releases"
_NONCE_BYTES: Final = 12
_ABOUT: Final = b"Sfumato kept releases 2"
_ABOUT_WHOLE: Final = b"Sfumato kept releases 1"
"""What earlier versions wrote: one list of all, encrypted as a whole."""


@dataclass(frozen=True)
class KeptRelease:
    """A release as it was recorded.

    Parameters
    ----------
    entry
        The digest of its ledger entry.
    recorded_at
        When it was recorded; ISO 8601, UTC.
    details
        What its entry holds; its policy is whole, and names no other entry.
    staging
        Where its files are until they have their final name.
    pending
        Whether an interruption is settled by its files.
    """

    entry: str
    recorded_at: str
    details: Mapping[str, Any]
    staging: Staging
    pending: bool


class KeptReleases:
    """The releases of one project file that are kept on this computer.

    Parameters
    ----------
    secret
        The project secret, which the file's key and name are derived from.
    path
        The project. A copy of it under another name keeps its own.
    """

    def __init__(self, secret: ProjectSecret, path: Path) -> None:
        self._key = secret.derive("kept releases")
        self._about = str(path.resolve())
        self._policies: set[str] = set()

    @property
    def path(self) -> Path | None:
        """The encrypted file; None where the user has no state folder."""
        folder = state_folder()
        about = b"name " + self._about.encode(errors="surrogateescape")
        name = hmac.new(self._key, about, hashlib.sha256).hexdigest()[:32]
        return None if folder is None else folder / _FOLDER / name

    def read(self) -> tuple[KeptRelease, ...]:
        """Return what is kept; nothing of what was changed or removed."""
        path = self.path
        if path is None:
            return ()
        try:
            content = read_regular(path)
        except OSError:
            return ()
        kept: dict[str, KeptRelease] = {}
        policies: dict[str, Any] = {}
        for line in self._opened(content):
            if "policy" in line:
                policies[_digest_of(line["policy"])] = line["policy"]
            elif "forget" in line:
                kept.pop(line["forget"], None)
            else:
                with suppress(TypeError, KeyError):
                    whole = {**line["details"], "policy": policies[line["details"]["policy"]]}
                    staging = Staging(**line["staging"])
                    release = KeptRelease(**{**line, "details": whole, "staging": staging})
                    kept[release.entry] = release
        return tuple(kept.values())

    def _opened(self, content: bytes) -> Iterator[Any]:
        """Yield what each line holds that was written under the project's key."""
        for line in content.split(b"\n"):
            with suppress(InvalidTag, ValueError):
                yield json.loads(self._decrypted(base64.b64decode(line, validate=True), _ABOUT))
        with suppress(InvalidTag, ValueError, TypeError, KeyError):
            for whole in json.loads(self._decrypted(content, _ABOUT_WHOLE)):
                policy = whole["details"]["policy"]
                yield {"policy": policy}
                yield {**whole, "details": {**whole["details"], "policy": _digest_of(policy)}}

    def _decrypted(self, sealed: bytes, about: bytes) -> bytes:
        return AESGCM(self._key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], about)

    def keep(self, release: KeptRelease) -> bool:
        """Keep one more release; return whether the state folder took it."""
        policy = release.details["policy"]
        details = {**release.details, "policy": _digest_of(policy)}
        return self._append(asdict(replace(release, details=details)), policy)

    def forget(self, entry: str) -> None:
        """Keep a release no longer, by its entry's digest: its files were taken back."""
        self._append({"forget": entry})

    def forget_all(self) -> None:
        """Remove the file: the project holds what it told."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _append(self, line: Mapping[str, Any], policy: Any = None) -> bool:
        """Add a line to the file, after the policy that it is about where that is not there."""
        path = self.path
        if path is None:
            return False
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_NONBLOCK", 0)  # to open a pipe would wait for ever
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
                if not file.tell():  # new, or another process has removed what was there
                    self._policies.clear()
                digest = None if policy is None else _digest_of(policy)
                known = digest is None or digest in self._policies
                for each in (line,) if known else ({"policy": policy}, line):
                    file.write(self._line(each))
                file.flush()
                os.fsync(file.fileno())
            force_to_disk(path.parent)
        except OSError:
            return False
        self._policies |= set() if digest is None else {digest}
        return True

    def _line(self, value: Mapping[str, Any]) -> bytes:
        """Return a line that stands on its own even after one that was cut off."""
        nonce, plain = secrets.token_bytes(_NONCE_BYTES), canonical_json(value).encode()
        sealed = AESGCM(self._key).encrypt(nonce, plain, _ABOUT)
        return b"\n" + base64.b64encode(nonce + sealed) + b"\n"


def _digest_of(policy: Any) -> str:
    return hashlib.sha256(canonical_json(policy).encode()).hexdigest()
