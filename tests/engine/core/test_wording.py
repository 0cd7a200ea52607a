"""Sentences that remember their template."""

from __future__ import annotations

import copy
import pickle

from sfumato.engine.core.wording import Sentence


def test_a_sentence_is_a_text_filled_in_from_its_template():
    made = Sentence("{share:.1f} of {whole}", share=0.25, whole=Sentence("the rows"))
    assert made == "0.2 of the rows"
    assert made.template == "{share:.1f} of {whole}"
    assert made.details == {"share": 0.25, "whole": "the rows"}


def test_copies_of_a_sentence_keep_its_template_and_details():
    made = Sentence("{{{column}}} is empty.", column="{age}")
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == "{{age}} is empty."
        assert again.template == made.template
        assert again.details == {"column": "{age}"}
