#!/usr/bin/env bash
# DataSynthesizer 0.1.13: a description at ε = 0.1 states the largest income and rare values exactly.
#
# Noise is added to how frequent bins and values are. The least and the largest number, the list of all
# values and the share of missing ones stand in the description as they are in the table.
#
# Seen: the one income of 987654.25, the smallest, and a diagnosis that one person has.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with DataSynthesizer==0.1.13 pandas==2.2.3 numpy==1.26.4 setuptools==75.8.0 <<'P'
import contextlib
import io
import json

import pandas
from DataSynthesizer.DataDescriber import DataDescriber

incomes = [1000.5 + 17 * person for person in range(199)] + [987654.25]
diagnoses = ["flu", "cold"] * 99 + ["flu", "a rare disease"]
pandas.DataFrame({"income": incomes, "diagnosis": diagnoses}).to_csv("people.csv", index=False)
describer = DataDescriber(category_threshold=20)
with contextlib.redirect_stdout(io.StringIO()):
    describer.describe_dataset_in_correlated_attribute_mode("people.csv", epsilon=0.1, k=1)
describer.save_dataset_description_to_file("people.json")
with open("people.json") as file:
    told = json.load(file)["attribute_description"]
income = told["income"]
print(income["min"], income["max"], told["diagnosis"]["distribution_bins"])
assert (income["min"], income["max"]) == (1000.5, 987654.25)
assert "a rare disease" in told["diagnosis"]["distribution_bins"]
P
