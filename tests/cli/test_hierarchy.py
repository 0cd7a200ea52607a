"""``sfumato hierarchy``: listed, proposed, imported, mended, exported, removed."""

from __future__ import annotations

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.generalization.hierarchies import Suppression, Taxonomy
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE


def kept(line):
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        return dict(project.document.hierarchies)


def sexes(line, text):
    path = line.folder / "sex.csv"
    path.write_text(text)
    return path


def test_a_hierarchy_is_proposed_listed_exported_and_removed(made):
    assert made.run("hierarchy", made.project) == ExitCode.OK
    assert "no hierarchies" in made.remarks
    assert made.run("hierarchy", made.project, "--column", "sex", "--propose") == ExitCode.OK
    assert "level 1: 1 class, the smallest with 12 records" in made.output
    assert kept(made) == {"sex": Suppression()}
    assert made.run("hierarchy", made.project) == ExitCode.OK
    assert made.output == "sex: suppression\n"
    out = made.folder / "out.csv"
    assert made.run("hierarchy", made.project, "--column", "sex", "--export", out) == ExitCode.OK
    assert sorted(out.read_text().split()) == ["f;*", "m;*"]
    assert made.run("hierarchy", made.project, "--column", "sex") == ExitCode.OK
    assert "2 levels" in made.output
    assert made.run("hierarchy", made.project, "--column", "sex", "--remove") == ExitCode.OK
    assert kept(made) == {}


def test_a_hierarchy_is_imported_from_a_table(made):
    path = sexes(made, "f;any;*\nm;any;*\nx;any;*\n")
    assert made.run("hierarchy", made.project, "--column", "sex", "--import", path) == ExitCode.OK
    assert kept(made) == {
        "sex": Taxonomy((("f", "any", "*"), ("m", "any", "*"), ("x", "any", "*")))
    }


def test_a_table_with_faults_is_refused_and_mended_on_demand(made):
    path = sexes(made, "F;any;*\nF;any;*\n")
    asked = ("hierarchy", made.project, "--column", "sex", "--import", path)
    assert made.run(*asked) == ExitCode.EXPECTED_ERROR
    assert "Row 2 repeats row 1" in made.remarks
    assert kept(made) == {}
    assert made.run(*asked, "--fix") == ExitCode.OK
    assert made.remarks.count("Fixed") == 3
    assert kept(made) == {"sex": Taxonomy((("f", "any", "*"), ("m", "*", "*")))}


def test_what_can_not_be_done_is_said(made):
    ask = ("hierarchy", made.project)
    assert made.run(*ask, "--propose") == ExitCode.USAGE
    assert made.run(*ask, "--column", "sex", "--fix") == ExitCode.USAGE
    assert made.run(*ask, "--column", "sexx", "--propose") == ExitCode.EXPECTED_ERROR
    assert "Did you mean sex" in made.remarks
    assert made.run(*ask, "--column", "sex") == ExitCode.EXPECTED_ERROR
    assert "has no hierarchy" in made.remarks


def test_rules_read_hierarchies_from_files_beside_them(line):
    sexes(line, "f;any;*\nm;any;*\n")
    rules = line.folder / "rules.toml"
    rules.write_text(rules.read_text() + '\n[hierarchies.sex]\nfile = "sex.csv"\n')
    assert line.init() == ExitCode.OK, line.remarks
    assert list(kept(line)) == ["sex"]
    assert line.run("rules", line.project, "--apply", rules) == ExitCode.OK, line.remarks
    assert list(kept(line)) == ["sex"]


# ----- several files


def folder_of(line, **texts):
    folder = line.folder / "hierarchies"
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"people_hierarchy_{name}.csv").write_text(text)
    return folder


def test_a_folder_of_files_is_read_by_their_names(made):
    folder = folder_of(made, sex="f;*\nm;*\n", planet="a;*\n")
    (folder / "notes.pdf").write_bytes(b"%PDF")
    assert made.run("hierarchy", made.project, "--import", folder) == ExitCode.OK
    assert made.output == "people_hierarchy_sex.csv: “sex”, 2 levels\n"
    assert "people_hierarchy_planet.csv: for no column; left out." in made.remarks
    assert "notes" not in made.remarks
    assert kept(made) == {"sex": Taxonomy((("f", "*"), ("m", "*")))}


def test_a_file_with_faults_is_named_and_the_others_are_kept(made):
    assert made.run("hierarchy", made.project, "--column", "illness", "--propose") == ExitCode.OK
    before = kept(made)["illness"]
    folder = folder_of(made, sex="f;*\nm;*\n", ill="1;*\n1;*\n")
    files = sorted(folder.iterdir())
    match = ("--match", "people_hierarchy_ill.csv=illness")
    asked = ("hierarchy", made.project, "--import", *files, *match)
    assert made.run(*asked) == ExitCode.EXPECTED_ERROR
    assert "people_hierarchy_ill.csv: The hierarchy's table can't be used" in made.remarks
    assert kept(made) == {"illness": before, "sex": Taxonomy((("f", "*"), ("m", "*")))}


def test_what_a_file_is_for_can_be_said(made):
    folder = folder_of(made, gender="f;*\nm;*\n")
    [file] = folder.iterdir()
    asked = ("hierarchy", made.project, "--import", folder, "--match")
    assert made.run(*asked, f"{file.name}=sx") == ExitCode.EXPECTED_ERROR
    assert kept(made) == {}
    assert made.run(*asked, f"{file.name}=sex") == ExitCode.OK, made.remarks
    assert list(kept(made)) == ["sex"]
    assert made.run(*asked, "a=sex", "--column", "sex") == ExitCode.USAGE
    assert made.run("hierarchy", made.project, "--import", folder, "--fix") == ExitCode.USAGE
    both = ("--column", "sex", "--import", file, file)
    assert made.run("hierarchy", made.project, *both) == ExitCode.USAGE
