"""Looking at a policy never changes it: only what a person does is an edit."""

import numpy as np
import pytest

from sfumato.ui.panels.policy import PANEL
from tests.ui.hands import on_screen
from tests.ui.limit_steps import open_values

LEVELS = ({"trust_factor": 0.123456789}, {"rho1": 0.0123456, "rho2": 0.2345678})


def limits_with(theta):
    own = [{"value": "HIV", "rho1": 0.0212345, "rho2": 0.0654321}]
    # Equal frequencies cost nothing, so that limits as tight as 1.0000123 leave something.
    settings = {"mode": "published", "limits": own, "frequencies": "equal"}
    return settings if theta is None else {**settings, "theta": theta}


@pytest.mark.slow
@pytest.mark.parametrize("theta", [6.7891234, 1.0000123, 5000.0, None])
@pytest.mark.parametrize("statement", LEVELS)
def test_limits_and_levels_of_any_precision_stay_as_they_are(qtbot, session, theta, statement):
    panel = on_screen(qtbot, PANEL(session))
    for _ in range(2):  # the second time, the editors have shown something else before
        open_values(session, settings=limits_with(theta), statement=statement)
        panel.activate()
        assert session.document.policy[0].settings.get("theta") == theta
        assert session.document.recipients[0].statements["disease"] == statement
        assert session.undo_text == "Open"
        open_values(session, settings=limits_with(3.0))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_matrix_of_any_precision_stays_as_it_is(qtbot, session):
    entries = np.random.default_rng(1).dirichlet(np.ones(4), 4).T.tolist()
    panel = on_screen(qtbot, PANEL(session))
    open_values(session, settings={"entries": entries}, by="matrix")
    panel.activate()
    assert session.undo_text == "Open"
    assert session.document.policy[0].settings["entries"] == entries
