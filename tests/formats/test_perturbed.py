"""The programs in bundles: the same figures in Python and R, and intervals that hold the truth."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.bundles.contents import SeenView
from sfumato.formats.bundles.readme import example_rows
from sfumato.formats.bundles.writing import write_bundle
from tests.formats.bundles import case, code_blocks, facts_of, plain_contents

ILLNESSES, TRIAGES = ("cold", "flu", "gout", None), (1, 2, 3)
ROWS = 1000
BOUNDED = {"lowest": 0, "highest": 35, "step": 0.1, "bounds": "stated"}
STATED = {"frequencies": "stated", "shares": [3, 2, 1]}
WAYS = {
    "each by itself": (
        (("illness",), "uniform", 0.6, {}),
        (("triage",), "distribution", 0.7, STATED),
        (("income",), "gaussian", 0.4, {"covariance": [[9.0]], "measured": "stated"}),
    ),
    "in chapters, between bounds": (
        (("illness",), "hierarchical", 0.5, {"chapters": list("aabb"), "inside_share": 0.5}),
        (("triage",), "uniform", 0.7, {}),
        (("income",), "laplace", 30.0, BOUNDED),
    ),
    "together": (
        (("illness", "triage"), "joint", 0.6, {}),
        (("income",), "laplace", 30.0, BOUNDED),
    ),
}
"""Which columns are released by which mechanism, at which level; the noise of numbers is stated."""
SPECS = (
    ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
    ColumnSpec("triage", Role.SENSITIVE, domain=Domain(TRIAGES)),
    ColumnSpec("income", Role.SENSITIVE, Kind.NUMERIC),
    ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
    ColumnSpec("days", Role.INSENSITIVE, Kind.NUMERIC),
    ColumnSpec("region", Role.QUASI_IDENTIFIER),
)
ILL = np.array([[0.5, 0.2, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1], [0.2, 0.6, 0.1, 0.1]])
"""The shares of illnesses by triage."""


def people(seed, rows=ROWS):
    """A table drawn from a model whose coefficients are known."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 2, rows)
    triage = (rng.random(rows) < 0.5).astype(int) + ((rng.random(rows) < 0.7) & (region == 1))
    illness = (rng.random(rows)[:, None] > np.cumsum(ILL[triage], axis=1)).sum(axis=1)
    illness = np.minimum(illness, 3)
    age = rng.integers(20, 60, rows)
    income = 10 + 3 * (illness == 1) + 0.1 * age + rng.normal(0, 2, rows)
    return pd.DataFrame(
        {
            "illness": pd.Categorical.from_codes(np.where(illness < 3, illness, -1), ILLNESSES[:3]),
            "triage": 1 + triage,
            "income": income,
            "age": age,
            "days": 1 + 0.5 * income + 2.0 * (triage == 2) + rng.normal(0, 1, rows),
            "region": np.where(region == 1, "north", "south"),
        }
    )


def encoded(table, names):
    return tuple(encode_column(table, spec) for spec in SPECS if spec.name in names)


def released(frame, seed, way):
    """The columns as a release with a key of its own shows them."""
    table, made = Table(frame), frame.copy()
    key, ids = KeyRing(seed.to_bytes(32, "big")), record_ids_by_position(len(frame))
    for names, by, level, settings in WAYS[way]:
        request = ReleaseRequest(encoded(table, names), settings, level, ids, key)
        for name, column in mechanism_called(by).release(request, Silent()).items():
            made[name] = column.to_numpy()
    return made


def perturbations_of(frame, ways):
    """What a bundle says of columns that are released so."""
    facts = []
    for names, by, level, settings in ways:
        attributes = [column.attribute for column in encoded(Table(frame), names)]
        facts.append(facts_of(mechanism_called(by), attributes, level, settings))
    return tuple(facts)


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory, way):
    """A bundle of such a release."""
    folder = tmp_path_factory.mktemp("bundle")
    contents = replace(
        case().contents,
        table=Table(released(people(1), 1, way)),
        columns=SPECS,
        perturbations=perturbations_of(people(1), WAYS[way]),
    )
    write_bundle(contents, folder, "csv", Silent())
    return folder


@pytest.fixture(scope="module")
def programs(folder):
    """The bundle's Python program, as a recipient imports it."""
    spec = importlib.util.spec_from_file_location("perturbed", folder / "perturbed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples(folder):
    """The lines of the README's table of examples: Python and R."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| [^`|]+ \| `([^`]+)` \| `([^`]+)` \|$", text, re.MULTILINE)
    assert len(found) >= 4, text
    return found


def chosen_records(text, beginning):
    """The records that guides pass on, by a condition on a column that is not perturbed."""
    passed = rf"`(?:estimate|code_counts)\(({beginning}[^`]+?\])(?:\)|, (?:columns|\.))"
    found = re.findall(passed, text)
    assert found, text
    return found


@pytest.mark.slow
@pytest.mark.turns(1)
def test_every_example_of_the_readme_runs(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    *lines, impute, combine = [python for python, _ in examples(folder)]
    assert (impute[:7], combine[:8]) == ("impute(", "combine(")
    script = [*code_blocks(text, "python"), *code_blocks(text, "py"), *lines]
    script += [f"assert 0 < len({one}) < len(data)" for one in chosen_records(text, r"data\[data")]
    script += [f"tables = {impute}", "estimates, errors = [[1.0], [2.0]], [[0.5], [0.5]]", combine]
    run_in(folder, [sys.executable, "-"], script)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_every_example_of_the_readme_runs_in_r(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    *lines, impute, combine = [r for _, r in examples(folder)]
    script = [*code_blocks(text, "r"), *code_blocks(text, "R"), *lines]
    script += [
        f"stopifnot(nrow({one}) > 0, nrow({one}) < nrow(data))"
        for one in chosen_records(text, r"data\[which")
    ]
    script += [
        f"tables <- {impute}",
        "estimates <- list(1, 2)",
        "errors <- list(0.5, 0.5)",
        combine,
    ]
    run_in(folder, ["Rscript", "--vanilla", "-"], script)


def run_in(folder, command, lines):
    done = subprocess.run(
        command, input="\n".join(lines), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("hidden", ["region", "age"])
def test_examples_leave_out_columns_that_show_one_value_to_all(hidden):
    levels = {"region": (0, 1), "age": (0, 2), hidden: (1, 1)}
    contents = replace(
        case().contents,
        table=Table(people(1)),
        columns=SPECS,
        perturbations=perturbations_of(people(1), WAYS["each by itself"]),
        view=SeenView(levels, 5, 0, ""),
    )
    names = {name: name for name in contents.table.columns}
    assert f'"{hidden}"' not in example_rows(contents, names)


def test_guides_choose_records_by_a_group_that_a_coarser_column_shows(tmp_path):
    contents = replace(
        case().contents,
        table=Table(people(1)),
        columns=SPECS,
        perturbations=perturbations_of(people(1), WAYS["each by itself"]),
        view=SeenView({"age": (1, 2)}, 5, 0, "", commonest={"age": "40 to 49"}),
    )
    write_bundle(contents, tmp_path, "csv", Silent())
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert 'estimate(data[data["age"] == "40 to 49"])' in text
    assert 'estimate(data[which(data[["age"]] == "40 to 49"), ])' in text


def test_guides_choose_no_records_by_their_weight(tmp_path):
    specs = [replace(one, role=Role.WEIGHT) if one.name == "age" else one for one in SPECS]
    contents = replace(
        case().contents,
        table=Table(people(1)),
        columns=tuple(specs),
        perturbations=perturbations_of(people(1), WAYS["each by itself"]),
    )
    write_bundle(contents, tmp_path, "csv", Silent())
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert 'estimate(data[data["' in text
    assert 'data[data["age"]' not in text


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.DATE])
def test_examples_leave_out_columns_that_hold_another_value_in_each_row(kind):
    specs = [replace(one, kind=kind) if one.name == "region" else one for one in SPECS]
    contents = replace(
        case().contents,
        table=Table(people(1)),
        columns=tuple(specs),
        perturbations=perturbations_of(people(1), WAYS["each by itself"]),
    )
    names = {name: name for name in contents.table.columns}
    assert '"region"' not in example_rows(contents, names)


def assert_honest(counts, runs):
    """Assert that 95 % intervals hold the truth as often as they say.

    Each does so in fewer runs than asked for here once in 10,000 times at most. Single ones may be
    cautious: all together must not be.
    """
    fewest = scipy.stats.binom.ppf(1e-4, runs, 0.95)
    assert {key: int(count) for key, count in counts.items() if count < fewest} == {}
    assert np.mean(list(counts.values())) <= 0.98 * runs


LOGITS = np.log(ILL[:, 1] / (1 - ILL[:, 1]))
COEFFICIENTS = {
    "outcome with noise": (
        ("income", ["illness", "age"]),
        {"illness: flu": 3.0, "illness: gout": 0.0, "age": 0.1},
    ),
    "predictor with noise": (
        ("days", ["income", "triage"]),
        {"income": 0.5, "triage: 2": 0.0, "triage: 3": 2.0},
    ),
    "logistic": (
        (("illness", "flu"), ["triage"], "logistic"),
        {
            "(intercept)": LOGITS[0],
            "triage: 2": LOGITS[1] - LOGITS[0],
            "triage: 3": LOGITS[2] - LOGITS[0],
        },
    ),
}


@pytest.mark.turns(3)
@pytest.mark.slow
def test_intervals_of_cross_tables_and_regressions_hold_the_truth(programs, way):
    runs, covered = 150, {}
    for seed in range(runs):
        truth = people(seed)
        data = released(truth, 1000 + seed, way)
        table = programs.crosstab(data, ["illness", "triage"])
        for row in table.itertuples():
            ill = (
                truth["illness"].isna()
                if row.illness == "(missing)"
                else (truth["illness"] == row.illness)
            )
            count = int((ill & (truth["triage"] == row.triage)).sum())
            covered.setdefault((row.illness, row.triage), []).append(row.low <= count <= row.high)
        for name, (asked, wanted) in COEFFICIENTS.items():
            found = programs.regression(data, *asked).set_index("term")
            for term, true in wanted.items():
                low, high = found.loc[term, ["low", "high"]]
                covered.setdefault((name, term), []).append(low <= true <= high)
    assert len(covered) == 12 + 9
    assert_honest({key: sum(held) for key, held in covered.items()}, runs)


def shares_of(frame, columns):
    """The share of each combination of values, by a tuple."""
    shown = [frame[one].astype(object).where(frame[one].notna(), "(missing)") for one in columns]
    return pd.concat(shown, axis=1).agg(tuple, axis=1).value_counts(normalize=True)


FEW = {
    "one column": (["illness"], 29, False),
    "one column of a sample": (["illness"], 29, True),
    "two columns": (["illness", "triage"], 60, False),
    "beside a true column": (["region", "illness"], 40, False),
}


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("few", list(FEW))
def test_errors_of_cross_tables_hold_for_few_records_and_low_retention(few, tmp_path):
    """By simulation: (estimate − truth) / error spreads by 1, and intervals hold the truth."""
    columns, rows, sample = FEW[few]
    rare = {"frequencies": "stated", "shares": [90, 5, 3, 2]}
    weak = ((("illness",), "distribution", 0.05, rare), (("triage",), "uniform", 0.3, {}))
    WAYS["weak"] = weak
    try:
        contents = replace(
            case().contents,
            table=Table(released(people(1), 1, "weak")),
            columns=SPECS,
            perturbations=perturbations_of(people(1), weak),
        )
        write_bundle(contents, tmp_path, "csv", Silent())
        spec = importlib.util.spec_from_file_location("perturbed", tmp_path / "perturbed.py")
        programs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(programs)
        truth, distances, held = people(5, rows), [], []
        shares = shares_of(people(0, 200_000) if sample else truth, columns)
        for seed in range(120):
            truth = people(seed, rows) if sample else truth
            found = programs.crosstab(released(truth, 1000 + seed, "weak"), columns, sample)
            count = rows * shares.reindex(found[columns].agg(tuple, axis=1), fill_value=0.0)
            distance = found["count"].to_numpy() - count.to_numpy()
            distances += (distance / found["standard_error"].to_numpy()).tolist()
            ends = found["low"].to_numpy() - 1e-9, found["high"].to_numpy() + 1e-9
            held += ((ends[0] <= count) & (count <= ends[1])).tolist()
    finally:
        del WAYS["weak"]
    assert 0.8 < np.std(distances) < 1.1
    assert np.abs(distances).max() < 6
    assert np.mean(held) > 0.93


@pytest.mark.turns(3)
@pytest.mark.slow
def test_intervals_from_imputed_tables_hold_the_truth(programs, way):
    """The share of flu among people of a region, for the population that records come from."""
    runs, covered = 100, {"north": 0, "south": 0}
    population = people(10**6, 400_000)
    for seed in range(runs):
        data = released(people(seed, 500), 2000 + seed, way)
        made = programs.impute(data, "illness", ["region"], times=10, seed=seed)
        found, errors = [], []
        for table in made:
            flu = (table["illness"] == "flu").groupby(table["region"]).agg(["mean", "count"])
            found.append(flu["mean"].tolist())
            errors.append(np.sqrt(flu["mean"] * (1 - flu["mean"]) / flu["count"]).tolist())
        said = programs.combine(found, errors)
        for place, region in enumerate(covered):
            own = population[population["region"] == region]
            true = (own["illness"] == "flu").mean()
            covered[region] += bool(said["low"][place] <= true <= said["high"][place])
    assert_honest(covered, runs)


def simple(outcome, predictor):
    """The slope of a linear regression on one predictor, with its standard error."""
    off = predictor - predictor.mean()
    slope = off @ outcome / (off @ off)
    rest = outcome - outcome.mean() - slope * off
    return slope, np.sqrt(((off * rest) ** 2).sum()) / (off @ off)


def logistic(event, predictor):
    """The slope of a logistic regression on one predictor, with its standard error."""
    x, found = np.column_stack([np.ones(len(predictor)), predictor - 14.5]), np.zeros(2)
    for _ in range(8):
        chance = 1 / (1 + np.exp(-x @ found))
        inverse = np.linalg.inv((x * (chance * (1 - chance))[:, None]).T @ x)
        found = found + inverse @ (x.T @ (event - chance))
    return found[1], np.sqrt(inverse[1, 1])


def answers(table):
    """What an analyst asks of imputed incomes, each with its standard error."""
    income, north = table["income"].to_numpy(), (table["region"] == "north").to_numpy(float)
    return {
        "mean": (income.mean(), income.std() / np.sqrt(len(income))),
        "mean in the north": (
            income[north > 0].mean(),
            income[north > 0].std() / np.sqrt(north.sum()),
        ),
        "outcome": simple(income, table["age"].to_numpy()),
        "predictor": simple(table["days"].to_numpy(), income),
        "predictor of an event": logistic(north, income),
    }


@pytest.mark.turns(2)
@pytest.mark.slow
@pytest.mark.parametrize("way", list(WAYS)[:2], indirect=True)
def test_intervals_from_imputed_numbers_hold_the_truth(programs, way):
    """Means, linear relations and a logistic regression, of the population records come from."""
    runs = 150
    truth = {name: value for name, (value, _) in answers(people(10**6, 400_000)).items()}
    covered = dict.fromkeys(truth, 0)
    for seed in range(runs):
        data = released(people(seed), 3000 + seed, way)
        made = programs.impute(data, "income", ["age", "days", "region"], times=10, seed=seed)
        found = [answers(table) for table in made]
        estimates, errors = (
            [[each[name][place] for name in truth] for each in found] for place in (0, 1)
        )
        said = programs.combine(estimates, errors)
        for place, (name, true) in enumerate(truth.items()):
            covered[name] += bool(said["low"][place] <= true <= said["high"][place])
    assert_honest(covered, runs)


PYTHON = """
from perturbed import combine, crosstab, impute, regression

out = [
    crosstab(data, ["illness", "triage"]),
    crosstab(data, ["region", "illness"], sample=True),
    crosstab(data, ["triage"]),
    crosstab(data[:40], ["triage", "region", "illness"]),
    crosstab(data, ["region"], sample=True),
    regression(data, "income", ["illness", "age"]),
    regression(data, "days", ["income", "triage", "region"]),
    regression(data, ("illness", "flu"), ["triage", "age"], "logistic"),
]
made = impute(data, "illness", ["region"], times=3)
shares = [[(t["illness"] == "flu").mean(), t["illness"].isna().mean()] for t in made]
out.append(combine(shares, [[0.01, 0.02]] * 3))
data.loc[5, "days"] = None
made = impute(data, "income", ["days", "region"], times=3)
covariances = [t[["income", "days"]].cov().iloc[0, 1] for t in made]
spread = [[t["income"].mean(), t["income"].std()] for t in made]
found = [[*own, shared] for own, shared in zip(spread, covariances)]
assert all(t["income"].isna().sum() == 1 for t in made)
out.append(combine(found, [[0.1, 0.2, 0.3]] * 3))
for place, table in enumerate(out):
    table.to_csv(f"python{place}.csv", index=False)
"""
R = """
out <- list(
  crosstab(data, c("illness", "triage")),
  crosstab(data, c("region", "illness"), sample = TRUE),
  crosstab(data, "triage"),
  crosstab(data[1:40, ], c("triage", "region", "illness")),
  crosstab(data, "region", sample = TRUE),
  regression(data, "income", c("illness", "age")),
  regression(data, "days", c("income", "triage", "region")),
  regression(data, list("illness", "flu"), c("triage", "age"), "logistic")
)
made <- impute(data, "illness", "region", times = 3)
shares <- lapply(made, function(t) {
  c(sum(t$illness == "flu", na.rm = TRUE) / nrow(t), mean(is.na(t$illness)))
})
data$days[6] <- NA
numbers <- lapply(impute(data, "income", c("days", "region"), times = 3), function(t) {
  t <- t[!is.na(t$income), ]
  c(mean(t$income), sd(t$income), cov(t$income, t$days))
})
out <- c(out, list(
  combine(shares, rep(list(c(0.01, 0.02)), 3)),
  combine(numbers, rep(list(c(0.1, 0.2, 0.3)), 3))
))
for (place in seq_along(out)) {
  write.csv(out[[place]], paste0("r", place - 1, ".csv"), row.names = FALSE)
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_python_and_r_give_the_same_figures(folder, programs, monkeypatch):
    readme = (folder / "README.md").read_text(encoding="utf-8")
    read = {kind: code_blocks(readme, kind)[0] for kind in ("python", "r")}
    source = code_blocks(readme, "R")[0]
    (folder / "code.R").write_text(f"options(warn = 2)\n{read['r']}\n{source}\n{R}", "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "perturbed", raising=False)
    exec(compile(read["python"] + code_blocks(readme, "py")[0] + PYTHON, "code", "exec"), {})
    done = subprocess.run(
        ["Rscript", "--vanilla", "code.R"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    for place in range(10):
        ours, theirs = (pd.read_csv(folder / f"{kind}{place}.csv") for kind in ("python", "r"))
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-7, atol=1e-7, check_dtype=False)


def test_columns_that_can_not_be_corrected_are_refused(programs, folder, way):
    data = released(people(3), 3, way)
    with pytest.raises(ValueError, match=r"logistic regression can't correct .* use impute"):
        programs.regression(data, ("region", "north"), ["income"], "logistic")
    apart = data["illness"].ne("flu") & (np.arange(len(data)) < 20)
    rare = data.assign(region=data["region"].astype(object).mask(apart, "rare"))
    with pytest.raises(ValueError, match="Take a frequent outcome"):
        programs.regression(rare, ("illness", "flu"), ["region"], "logistic")
    with pytest.raises(ValueError, match="region was not perturbed"):
        programs.impute(data, "region")
    with pytest.raises(ValueError, match="can't name perturbed"):
        programs.impute(data, "illness", ["triage"])
    data.loc[0, "triage"] = 9
    with pytest.raises(ValueError, match=r"triage has values that datapackage\.json"):
        programs.crosstab(data, ["triage"])
    package = json.loads((folder / "datapackage.json").read_bytes())
    listed = [each["path"] for each in package["resources"]]
    assert {"perturbed.py", "perturbed.R"} < set(listed)


def with_noise(folder, target, names, covariance):
    """Programs beside a package that tells of other noise in some columns; the Python one."""
    package = json.loads((folder / "datapackage.json").read_bytes())
    fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
    own = fields["income"]["sfumato"]
    own["attributes"], own["channel"] = names, {"noise_covariance": covariance}
    for name in names:
        fields[name]["sfumato"] = own
    (target / "datapackage.json").write_text(json.dumps(package), "utf-8")
    for name in ("perturbed.py", "perturbed.R"):
        shutil.copy(folder / name, target)
    spec = importlib.util.spec_from_file_location("other", target / "perturbed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_in_r(folder, data, code):
    """What R prints of the data beside programs."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    data.to_csv(folder / "noisy.csv", index=False)
    start = 'source("perturbed.R")\ndata <- read.csv("noisy.csv")\n'
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", start + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=folder,
    )
    return done.stdout


@pytest.mark.few(2)
@pytest.mark.parametrize("way", list(WAYS)[:1], indirect=True)
@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("call", ['regression(data, "days", "income")', 'impute(data, "income")'])
def test_a_number_that_is_lost_in_its_noise_is_refused(tmp_path, folder, language, call):
    noisy = people(4)[["days", "income"]]
    noisy["income"] += np.random.default_rng(4).normal(0, 100, len(noisy))
    module = with_noise(folder, tmp_path, ["income"], [[10_000.0]])
    if language == "Python":
        asked = call.replace('"income")', '["income"])') if "regression" in call else call
        with pytest.raises(ValueError, match="too few to correct"):
            eval(asked, {**vars(module), "data": noisy})
    else:
        said = run_in_r(tmp_path, noisy, f"cat(tryCatch({call}, error = conditionMessage))")
        assert "too few to correct" in said


TOGETHER = """
made <- impute(data, "days", "age", times = 2)
print(c(cov(made[[2]][c("income", "days", "age")])), digits = 12)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", list(WAYS)[:1], indirect=True)
def test_numbers_with_correlated_noise_are_imputed_together(tmp_path, folder):
    """Their covariances with each other and with a given column become the true ones."""
    names, covariance = ["income", "days"], np.array([[4.0, 2.0], [2.0, 3.0]])
    noisy = people(5, 20_000)[["income", "days", "age"]]
    true = noisy.cov().to_numpy()
    noise = np.random.default_rng(5).multivariate_normal([0, 0], covariance, len(noisy))
    noisy[names] = (noisy[names] + noise).round(6)
    programs = with_noise(folder, tmp_path, names, covariance.tolist())
    made = programs.impute(noisy, "days", ["age"], times=2)[1]
    found = made[["income", "days", "age"]].cov().to_numpy()
    # Five standard errors of a covariance of so many records, whose variances are up to 140.
    size = np.sqrt(np.outer(np.diag(true) + 4, np.diag(true) + 4) * 2 / len(noisy))
    assert (np.abs(found - true) < 5 * size).all()
    assert not np.allclose(noisy.cov().to_numpy()[:2, :2], true[:2, :2], rtol=0.2)
    printed = run_in_r(tmp_path, noisy, TOGETHER)
    numbers = [float(word) for word in printed.split() if not word.startswith("[")]
    assert numbers == pytest.approx(found.T.ravel(), rel=1e-7)


def test_a_bundle_without_perturbed_columns_has_no_programs(tmp_path):
    write_bundle(plain_contents(pd.DataFrame({"a": [1]})), tmp_path, "csv", Silent())
    assert not list(tmp_path.glob("perturbed.*"))
    assert "perturbed.py" not in (tmp_path / "README.md").read_text(encoding="utf-8")
