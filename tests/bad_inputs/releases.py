"""Releases that must not be made, and bundles that are not what was released."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato.engine.core.columns import Binning, Domain, Role
from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.errors import CannotWrite
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import ReleaseError, SourceChanged, TargetExists
from sfumato.project.release.release import make_release
from tests.bad_inputs.workshop import DIAGNOSES, Act, BadInput, Workshop
from tests.in_batches import in_batches


def releasing(
    change: Callable[[Document], Document] = lambda d: d,
    *,
    recipient: str = "Office",
    out: str = "another",
    format_name: str = "csv",
    rows: int = 40,
) -> Callable[[Workshop], Act]:
    """A stage on which one more release is made after the document was changed."""

    def stage(workshop: Workshop) -> Act:
        with workshop.open() as project:
            project.save_document(change(project.document))

        def act() -> object:
            table = Table(workshop.frame().head(rows))
            with workshop.open() as project:
                return make_release(
                    project,
                    in_batches(table),
                    recipient,
                    workshop.folder / out,
                    format_name,
                    Silent(),
                )

        return act

    return stage


def column(name: str, **changes: Any) -> Callable[[Document], Document]:
    return lambda document: document.with_column(replace(document.column(name), **changes))


def _shown(document: Document) -> Document:
    return replace(column("diagnosis", role=Role.INSENSITIVE)(document), policy=())


def _number_perturbed(document: Document) -> Document:
    changed = column("cost", role=Role.SENSITIVE, binning=Binning((0, 120, 200)))(document)
    entry = PolicyEntry(("cost",), "uniform")
    level = {"retention_probability": 0.5}
    recipients = tuple(
        replace(r, statements={**r.statements, "cost": level}) for r in changed.recipients
    )
    return replace(changed, policy=(*changed.policy, entry), recipients=recipients)


def _no_zip(workshop: Workshop) -> Act:
    path = workshop.write("bundle.zip", b"PK\x03\x04 and no more")
    return lambda: read_bundle(path, Silent())


def _bundle(workshop: Workshop) -> Any:
    return next(path for path in workshop.out.iterdir() if path.is_dir())


def reading(change: Callable[[Any], object]) -> Callable[[Workshop], Act]:
    """A stage on which a bundle is read after somebody changed it."""

    def stage(workshop: Workshop) -> Act:
        bundle = _bundle(workshop)
        change(bundle)
        return lambda: read_bundle(bundle, Silent())

    return stage


def _data(bundle: Any) -> Any:
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    return bundle / package["resources"][0]["path"]


def _one_cell_more(bundle: Any) -> None:
    data = _data(bundle)
    data.write_bytes(data.read_bytes().replace(DIAGNOSES[0].encode(), DIAGNOSES[1].encode(), 1))


CASES = (
    BadInput(
        "a recipient who is not in the policy",
        ReleaseError,
        "no recipient called Quicklime",
        releasing(recipient="Quicklime"),
    ),
    BadInput(
        "a release without a source table",
        ReleaseError,
        "no source table",
        releasing(lambda document: replace(document, source=None)),
    ),
    BadInput(
        "the same release twice into one folder",
        TargetExists,
        "exists already",
        releasing(out="out"),
    ),
    BadInput(
        "a table with other rows than before",
        SourceChanged,
        "39 rows, and the project's source table has 40",
        releasing(rows=39),
    ),
    BadInput(
        "a domain that changed after the first release",
        LadderError,
        "diagnosis was released to Office .* its domain changed",
        releasing(column("diagnosis", domain=Domain((*DIAGNOSES, "Rubella")))),
    ),
    BadInput(
        "another way to tell records apart after the first release",
        LadderError,
        "told apart by their position instead of the record key number",
        releasing(lambda document: replace(document, record_key=None)),
    ),
    BadInput(
        "true values where perturbed ones were released",
        LadderError,
        "diagnosis was perturbed for Office",
        releasing(_shown),
    ),
    BadInput(
        "perturbed values where true ones were released",
        LadderError,
        "cost was released as it is to Office",
        releasing(_number_perturbed),
    ),
    BadInput(
        "a file in the place of the folder for releases",
        CannotWrite,
        "can't be written",
        releasing(out="table.csv"),
    ),
    BadInput(
        "a bundle that is not there",
        BundleError,
        "no file or folder",
        lambda w: lambda: read_bundle(w.folder / "nothing", Silent()),
    ),
    BadInput(
        "a bundle without its data",
        BundleError,
        "is missing",
        reading(lambda bundle: _data(bundle).unlink()),
    ),
    BadInput(
        "a bundle with a changed cell",
        BundleError,
        "was altered",
        reading(_one_cell_more),
    ),
    BadInput(
        "a bundle whose description is no JSON",
        BundleError,
        "not valid JSON",
        reading(lambda bundle: (bundle / "datapackage.json").write_text("{", encoding="utf-8")),
    ),
    BadInput(
        "a bundle without its description",
        BundleError,
        "not a bundle: it has no datapackage.json",
        reading(lambda bundle: (bundle / "datapackage.json").unlink()),
    ),
    BadInput(
        "a folder that is no bundle",
        BundleError,
        "not a bundle: it has no datapackage.json",
        reading(lambda bundle: (shutil.rmtree(bundle), bundle.mkdir())),
    ),
    BadInput(
        "a zip file that is none",
        BundleError,
        "bundle.zip is (not a bundle|damaged)",
        _no_zip,
    ),
)
