"""The states of adopting: the dialog with a ladder, with independent files, with a problem."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

import pandas as pd

from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import draw_released, uniforms
from sfumato.engine.table.table import EncodedColumn
from sfumato.project.document.adopted_files import BY_KEY
from sfumato.ui.panels.policy.adoption import AdoptDialog
from sfumato.ui.panels.policy.panel import PolicyPanel
from tests.screenshots.stage import Scene, Stage


def _column(stage: Stage) -> EncodedColumn:
    column = stage.session.attribute(stage.session.document.sensitive[0].name)
    assert column is not None
    return column


def _releases(stage: Stage, levels: tuple[float, ...], *, ladder: bool) -> list[Path]:
    """Write releases as another tool would have made them."""
    column = _column(stage)
    domain, name = column.attribute.domain, column.attribute.name
    assert domain is not None
    true = column.values.astype("int64")
    above, paths = true, []
    for place, (before, level) in enumerate(pairwise((1.0, *levels))):
        kept = level / before if ladder else level
        origin = above if ladder else true
        draws = uniforms(len(true), 77 + place)
        above = draw_released(uniform_matrix(kept, domain.size), origin, draws)
        paths.append(stage.folder / f"ward-release-{place + 1}.csv")
        shown = domain.decode(above.astype(column.values.dtype), name)
        shown.to_frame().to_csv(paths[-1], index=False)
    return paths


def _dialog(stage: Stage, path: Path, holder: str) -> AdoptDialog:
    panel = stage.panel("policy")
    assert isinstance(panel, PolicyPanel)
    panel.page.adopted.adopt.click()
    dialog = panel.page.adopted.dialog
    assert dialog is not None
    dialog.form.holder.setText(holder)
    dialog.open_file(path)
    stage.settle()
    stage.settle()
    return dialog


def _adopt(stage: Stage, path: Path, holder: str) -> None:
    _dialog(stage, path, holder).accept()
    stage.settle()


def _adopted(stage: Stage, *, ladder: bool) -> None:
    stage.open_sample()
    panel = stage.panel("policy")
    assert isinstance(panel, PolicyPanel)
    stage.settle()
    upper, lower = _releases(stage, (0.5, 0.2), ladder=ladder)
    _adopt(stage, upper, "Regional hospital")
    _adopt(stage, lower, "Cancer registry")
    panel.scroll_to(panel.page.ladder if ladder else panel.page.adopted)
    stage.settle()


def _examined(stage: Stage, *, ladder: bool) -> None:
    stage.open_sample()
    stage.panel("policy")
    stage.settle()
    upper, lower = _releases(stage, (0.5, 0.4), ladder=ladder)
    _adopt(stage, upper, "Regional hospital")
    _dialog(stage, lower, "Cancer registry")


def _strange(stage: Stage) -> None:
    stage.open_sample()
    stage.panel("policy")
    stage.settle()
    (path,) = _releases(stage, (0.5,), ladder=True)
    lines = path.read_text(encoding="utf-8").splitlines()
    domain = _column(stage).attribute.domain
    assert domain is not None
    for value, other in zip(domain.names[:2], ("A-01", "A-02"), strict=True):
        lines = [other if line == value else line for line in lines]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _dialog(stage, path, "")


def _part(stage: Stage) -> None:
    """A file of some of the records, matched by a key of theirs."""
    stage.open_sample()
    stage.panel("policy")
    stage.settle()
    (path,) = _releases(stage, (0.5,), ladder=True)
    table = stage.session.table
    assert table is not None
    key = table.columns[0]
    shown = pd.read_csv(path).assign(**{key: table.column(key)})
    shown.iloc[: 2 * table.rows // 3].to_csv(path, index=False)
    dialog = _dialog(stage, path, "Regional hospital")
    dialog.form.match.button_for(BY_KEY).click()
    stage.settle()


def _reading(stage: Stage) -> None:
    stage.open_sample()
    stage.panel("policy")
    stage.settle()
    (path,) = _releases(stage, (0.5,), ladder=True)
    dialog = _dialog(stage, path, "")
    dialog.form.reading.click()
    stage.settle()


SCENES = (
    Scene("adopted-ladder", partial(_adopted, ladder=True)),
    Scene("adopted-beside", partial(_adopted, ladder=False)),
    Scene("adopting", partial(_examined, ladder=True)),
    Scene("adopting-independent", partial(_examined, ladder=False)),
    Scene("adopting-values", _strange),
    Scene("adopting-part", _part),
    Scene("adopting-reading", _reading),
)
