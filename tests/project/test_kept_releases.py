"""What this computer keeps of releases grows by what is new, and outlives what damages a part."""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace
from itertools import pairwise

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.project.document.model import canonical_json
from sfumato.project.store.files import Staging
from sfumato.project.store.kept_releases import KeptRelease, KeptReleases
from sfumato.project.store.secret import ProjectSecret

POLICY = {"recipients": [f"Office {place}" for place in range(500)]}
SECRET = ProjectSecret(bytes(range(32)))


def release_to(place, policy=POLICY):
    staging = Staging(f"staged {place}", f"bundle {place}", "id", f"Office {place}", False)
    details = {"recipient": f"Office {place}", "policy": policy}
    return KeptRelease(f"{place:064}", "2026-01-01", details, staging, True)


@pytest.fixture
def kept(tmp_path):
    return KeptReleases(SECRET, tmp_path / "ward.sfumato")


def test_releases_are_read_as_they_were_kept_but_those_that_were_taken_back(kept, tmp_path):
    other = {"recipients": []}
    releases = [release_to(0), release_to(1), release_to(2, other), release_to(3)]
    assert all(kept.keep(each) for each in releases)
    assert kept.read() == tuple(releases)
    kept.forget(releases[1].entry)
    again = KeptReleases(SECRET, tmp_path / "ward.sfumato")
    assert again.read() == (releases[0], *releases[2:])
    assert again.keep(release_to(4))
    assert again.read()[-1] == release_to(4)
    again.forget_all()
    assert again.read() == ()
    assert again.keep(releases[0])
    assert again.read() == (releases[0],)


def test_a_policy_is_kept_once_for_all_releases_that_were_made_by_it(kept):
    sizes = []
    for place in range(10, 16):
        kept.keep(release_to(place))
        sizes.append(kept.path.stat().st_size)
    steps = {after - before for before, after in pairwise(sizes)}
    assert max(steps) - min(steps) < 8  # but for padding, each takes the same
    assert max(steps) < len(canonical_json(POLICY)) / 4


def test_another_process_that_removes_the_file_takes_no_policy_from_later_releases(kept):
    kept.keep(release_to(0))
    kept.path.unlink()
    kept.keep(release_to(1))
    assert kept.read() == (release_to(1),)


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_that_was_cut_off_costs_no_other_one(kept, cut):
    for place in range(3):
        kept.keep(release_to(place))
    kept.path.write_bytes(kept.path.read_bytes()[:-cut])
    kept.keep(release_to(3))
    wanted = range(4) if cut == 1 else (0, 1, 3)
    assert kept.read() == tuple(release_to(place) for place in wanted)


def test_what_an_earlier_version_kept_is_read(kept):
    plain = canonical_json([asdict(release_to(place)) for place in range(2)]).encode()
    nonce = secrets.token_bytes(12)
    key = SECRET.derive("kept releases")
    kept.path.parent.mkdir(parents=True)
    kept.path.write_bytes(nonce + AESGCM(key).encrypt(nonce, plain, b"Sfumato kept releases 1"))
    assert kept.read() == (release_to(0), release_to(1))


def test_another_secret_reads_nothing(kept, tmp_path):
    kept.keep(release_to(0))
    other = KeptReleases(ProjectSecret(bytes(32)), tmp_path / "ward.sfumato")
    other.path.write_bytes(kept.path.read_bytes())
    assert other.read() == ()
    assert replace(release_to(0), pending=False) not in kept.read()
