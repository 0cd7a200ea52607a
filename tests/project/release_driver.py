"""Makes releases in processes of their own that die at a step, as a power cut would have it.

Run as ``python -m tests.project.release_driver FOLDER:STEP[:FORM] …``. FORM is ``zip``, or
``counts`` for a table of counts in place of records. STEP is a step of the release, a number of
reports of progress, or ``recovery-NAME``, a step of the recovery at the opening.
Each release runs in a fork of this process, which spares the imports.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path

from sfumato.engine.core.progress import Silent
from sfumato.project import project_file as store
from sfumato.project.count_tables.making import make_count_table
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import recover
from sfumato.project.release.release import make_release
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, new_project, noon, table

KILLED = 77


def dying_at(wanted):
    def at_step(name):
        if name == wanted:
            os._exit(KILLED)

    return at_step


class DyingContext(Silent):
    """Dies at the n-th report of progress."""

    def __init__(self, count):
        self.count = count

    def report(self, fraction, text):
        self.count -= 1
        if self.count == 0:
            os._exit(KILLED)


def release(folder, step, form=""):
    if step.startswith("recovery-"):
        dying = dying_at(step.removeprefix("recovery-"))
        store.recover = lambda *unfinished: recover(*unfinished, dying)
    context = DyingContext(int(step)) if step.isdigit() else Silent()
    with ProjectFile.open(Path(folder) / "ward.sfumato", PASSPHRASE, clock=noon) as project:
        if form == "counts":
            recipient, out = project.document.recipients[0], Path(folder) / "out"
            given = (project, in_batches(table()), ["illness"], recipient, 1.0, out, context)
            make_count_table(*given, dying_at(step))
            return
        make_release(
            project,
            in_batches(table()),
            "Clinic A",
            Path(folder) / "out",
            "csv",
            context,
            as_zip=form == "zip",
            at_step=dying_at(step),
        )


def run(job):
    """Return the exit code of a fork that makes one release."""
    child = os.fork()
    if child == 0:
        # Copies of one project: none may know how far another came.
        os.environ["XDG_STATE_HOME"] = str(Path(job[0], "state"))
        try:
            release(*job)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def warm_up():
    """Import what a release imports when it comes to it, once for all forks."""
    with tempfile.TemporaryDirectory() as folder:
        new_project(Path(folder)).close()
        release(folder, "no step")


if __name__ == "__main__":
    warm_up()
    codes = [run(argument.split(":")) for argument in sys.argv[1:]]
    sys.exit(0 if codes == [KILLED] * len(codes) else 1)
