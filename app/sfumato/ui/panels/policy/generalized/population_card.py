"""What is known of the population: a list of it, or how much of it is in the table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.project.document.generalization import PopulationFile
from sfumato.project.publication.population import basis_text, open_population, told
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.policy.generalized import edits
from sfumato.ui.panels.policy.generalized.computing import View
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.shell.choosers import table_filters
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import Card, button, label, row

JOB: Final = "population"
LEAST: Final = 0.0001
WHOLE: Final = 100.0
"""Percent: the table is all of the population, which is what counts where nothing is known."""


class PopulationCard(Card):
    """Asks what the table's people are a part of, and says what the risk rests on.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("The population"),
            tr(
                "Who does not know that a person is in the table looks for them in the whole"
                " population (the journalist, the marketer). The more people look like them there,"
                " the less likely they are found."
            ),
            parent,
        )
        self._session = session
        self.choose = button(tr("Choose a list of the population…"), self._choose, icon="folder")
        self.forget = button(tr("Forget it"), self._forget, "quiet")
        self.body.addLayout(row(self.choose, self.forget, None))
        self.share = NumberField(LEAST, WHOLE, decimals=4, unit="%", step=1.0, show_range=False)
        self.share.spin.setAccessibleName(tr("Share of the population that is in the table"))
        self.share.value_changed.connect(self._set_share)
        line = row(
            label(tr("or the table holds"), "muted"),
            self.share,
            label(tr("of the population, everybody with the same chance"), "muted"),
            None,
        )
        self.body.addLayout(line)
        self.basis = label("", wrap=True)
        self.unknown = label("", "caution", wrap=True)
        self.problem = label("", "danger", wrap=True)
        for text in (self.basis, self.unknown, self.problem):
            self.body.addWidget(text)

    # ----- what is shown

    def show_view(self, view: View | None) -> None:
        """Show what is decided, and what came of it."""
        decided = self._session.document.generalization
        if decided is None:
            return
        known = decided.population is not None or decided.sampling_fraction is not None
        self.forget.setVisible(known)
        self.share.setEnabled(decided.population is None)
        fraction = decided.sampling_fraction
        self.share.set_value(WHOLE if fraction is None else 100 * fraction)
        self._say("", "", "")
        if view is None:
            return
        lost = view.population.unknown if view.population is not None else ()
        problem = view.population_problem
        self._say(
            typeset(basis_text(told(view.risks, view.population, fraction))),
            "\n".join(typeset(each.text) for each in lost),
            " ".join(error_texts(problem)) if problem is not None else "",
        )

    def _say(self, basis: str, unknown: str, problem: str) -> None:
        for field, text in (
            (self.basis, basis),
            (self.unknown, unknown),
            (self.problem, problem),
        ):
            field.setText(text)
            field.setVisible(bool(text))

    # ----- what the person does

    def _choose(self) -> None:
        source = self._session.document.source
        folder = Path(source.path).parent if source is not None else None
        path = self._session.chooser.open_file(
            tr("Choose a list of the population"), table_filters(), folder
        )
        if path is not None:
            self.open_file(path)

    def open_file(self, path: Path) -> None:
        """Take a file as the population."""
        decided = self._session.document.generalization
        if decided is None:
            return
        self._session.runner.run(
            tr("Reading {name}", name=path.name),
            partial(open_population, path, decided.quasi_identifiers),
            self._take,
            self._refuse,
            key=JOB,
        )

    def _take(self, file: PopulationFile) -> None:
        self._session.edit(
            tr("Look for people in {name}", name=Path(file.path).name),
            edits.with_population(self._session.document, file),
        )

    def _refuse(self, problem: SfumatoError) -> None:
        self.problem.setText(" ".join(error_texts(problem)))
        self.problem.show()

    def _set_share(self, percent: float) -> None:
        fraction = None if percent >= WHOLE else percent / 100
        self._session.edit(
            tr("Say how much of the population is in the table"),
            edits.with_population(self._session.document, None, fraction),
            merge_key=("sampling fraction",),
        )

    def _forget(self) -> None:
        self._session.edit(
            tr("Forget the population"), edits.with_population(self._session.document, None)
        )
