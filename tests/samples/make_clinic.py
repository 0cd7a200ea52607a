"""Make clinic.csv, the synthetic sample: `python -m tests.samples.make_clinic`.

No record is about anybody. The same bytes come out on every machine: the only source of chance
is numpy's frozen `RandomState.random_sample`, and nothing but sums and products is done to it.

What depends on what: age and sex on each other; occupation on age and sex; region on chance;
diagnosis on age, sex, occupation and region; season on diagnosis; ward on diagnosis and age;
length of stay on diagnosis and age; cost on ward and length of stay.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import numpy as np

from sfumato.resources import resource_path

RECORDS = 10_000
SEED = 20_250_101
FIRST_DAY = date(2025, 1, 1)

COLUMNS = (
    "record_number",
    "name",
    "sex",
    "birth_year",
    "postcode",
    "region",
    "occupation",
    "admission_date",
    "ward",
    "diagnosis",
    "length_of_stay",
    "cost",
)

WOMEN = (
    "Ada Amina Beatriz Carla Chiara Dana Elif Emma Eva Farida Greta Hanna Ines Iris Jana Julia"
    " Kaya Lea Lena Lucia Maja Marta Mia Mina Nadia Nora Olga Paula Rosa Sara Sofia Tara Vera"
    " Yara Zoë"
)
MEN = (
    "Adam Amir Anton Ben Bruno Carlo Dario David Emil Erik Felix Goran Hugo Ian Ivan Jan Jonas"
    " Karim Leo Luis Marek Mateo Milan Nils Noah Omar Oskar Pavel Rafael René Samir Simon Theo"
    " Viktor Yusuf"
)
FAMILIES = (
    "Abel Acar Adler Bakker Banik Berg Bianchi Blanc Brandt Castro Cerny Conti Costa Dahl Demir"
    " Diaz Dubois Engel Evers Falk Ferrari Fiala Fischer Garcia Gruber Haas Hansen Horvat Huber"
    " Ivanov Jansen Jovanovic Kaya Keller Klein Koch Kovacs Kowalski Krüger Larsen Lopez Lorenz"
    " Marin Martin Meier Moreau Moser Müller Nagy Novak Olsen Pereira Petrov Popov Ricci Rossi"
    " Santos Sauer Schmid Silva Sorensen Stein Toth Urban Vidal Vogel Wagner Weber Winter Wolf"
    " Yilmaz Zeman Zimmer"
)
GIVEN_NAMES = {"female": WOMEN.split(), "male": MEN.split()}
FAMILY_NAMES = FAMILIES.split()

REGIONS = {
    # region: (share, first and last postcode)
    "Harbour": (0.24, 1001, 1180),
    "Old Town": (0.21, 2010, 2150),
    "Lakeside": (0.19, 4005, 4240),
    "Highmoor": (0.13, 6100, 6390),
    "Westvale": (0.16, 8020, 8260),
    "Northfields": (0.07, 10_115, 10_320),
}

AGE_BANDS = ((0, 17), (18, 39), (40, 64), (65, 79), (80, 97))
AGE_SHARES = {"female": (7, 26, 24, 25, 18), "male": (9, 17, 31, 29, 14)}

WORK = {
    # occupation: (weight for women, weight for men) between 18 and 66
    "Agriculture": (2, 4),
    "Care and health": (17, 4),
    "Construction": (1, 13),
    "Education": (11, 5),
    "Manufacturing": (7, 16),
    "Office and finance": (22, 16),
    "Sales and services": (20, 13),
    "Transport": (3, 11),
    "Not employed": (12, 10),
}

DIAGNOSES = {
    # diagnosis: (weights for the age bands, weight for women, weight for men)
    "Alcohol dependence": ((0, 5, 9, 3, 1), 0.6, 1.5),
    "Anxiety disorder": ((2, 8, 5, 2, 1), 1.4, 0.7),
    "Appendicitis": ((14, 10, 4, 2, 1), 1.0, 1.0),
    "Arm or leg fracture": ((24, 11, 9, 8, 8), 1.0, 1.0),
    "Asthma": ((20, 6, 4, 3, 2), 1.1, 0.9),
    "Breast cancer": ((0, 1, 9, 7, 4), 2.0, 0.02),
    "Childbirth": ((0, 44, 1, 0, 0), 1.0, 0.0),
    "Depression": ((4, 9, 9, 5, 4), 1.3, 0.8),
    "Diabetes": ((4, 3, 8, 10, 8), 0.9, 1.1),
    "Gallstones": ((0, 5, 8, 6, 4), 1.3, 0.7),
    "HIV infection": ((0, 1.2, 1.3, 0.4, 0.1), 0.5, 1.5),
    "Heart attack": ((0, 1, 10, 14, 14), 0.6, 1.4),
    "Heart failure": ((0, 1, 5, 16, 30), 0.9, 1.1),
    "High blood pressure": ((0, 2, 8, 9, 9), 1.0, 1.0),
    "Hip fracture": ((0, 0.3, 2, 9, 26), 1.4, 0.7),
    "Kidney failure": ((1, 1, 4, 7, 8), 0.9, 1.1),
    "Lung cancer": ((0, 0.3, 6, 9, 5), 0.8, 1.2),
    "Pneumonia": ((16, 4, 6, 11, 20), 0.9, 1.1),
    "Prostate cancer": ((0, 0, 6, 14, 8), 0.0, 1.0),
    "Stroke": ((0, 1, 6, 13, 18), 0.9, 1.1),
}

MORE_LIKELY = {
    # (diagnosis, occupation or region): how many times as likely
    ("Alcohol dependence", "Construction"): 1.8,
    ("Alcohol dependence", "Not employed"): 2.4,
    ("Arm or leg fracture", "Agriculture"): 1.9,
    ("Arm or leg fracture", "Construction"): 2.2,
    ("Depression", "Care and health"): 1.5,
    ("Depression", "Not employed"): 1.7,
    ("Anxiety disorder", "Education"): 1.5,
    ("High blood pressure", "Transport"): 1.6,
    ("Lung cancer", "Manufacturing"): 1.7,
    ("Asthma", "Harbour"): 1.9,
    ("Lung cancer", "Harbour"): 1.4,
    ("HIV infection", "Old Town"): 2.0,
}

WARDS = {
    "Alcohol dependence": {"Psychiatry": 7, "Internal medicine": 3},
    "Anxiety disorder": {"Psychiatry": 9, "Internal medicine": 1},
    "Appendicitis": {"Surgery": 1},
    "Arm or leg fracture": {"Surgery": 1},
    "Asthma": {"Internal medicine": 1},
    "Breast cancer": {"Oncology": 7, "Surgery": 3},
    "Childbirth": {"Maternity": 1},
    "Depression": {"Psychiatry": 9, "Internal medicine": 1},
    "Diabetes": {"Internal medicine": 1},
    "Gallstones": {"Surgery": 8, "Internal medicine": 2},
    "HIV infection": {"Internal medicine": 1},
    "Heart attack": {"Cardiology": 1},
    "Heart failure": {"Cardiology": 7, "Internal medicine": 3},
    "High blood pressure": {"Cardiology": 4, "Internal medicine": 6},
    "Hip fracture": {"Surgery": 1},
    "Kidney failure": {"Internal medicine": 1},
    "Lung cancer": {"Oncology": 8, "Internal medicine": 2},
    "Pneumonia": {"Internal medicine": 1},
    "Prostate cancer": {"Oncology": 6, "Surgery": 4},
    "Stroke": {"Neurology": 1},
}

MEAN_STAY = {
    "Alcohol dependence": 11,
    "Anxiety disorder": 16,
    "Appendicitis": 4,
    "Arm or leg fracture": 5,
    "Asthma": 4,
    "Breast cancer": 6,
    "Childbirth": 3,
    "Depression": 24,
    "Diabetes": 7,
    "Gallstones": 5,
    "HIV infection": 9,
    "Heart attack": 7,
    "Heart failure": 9,
    "High blood pressure": 4,
    "Hip fracture": 13,
    "Kidney failure": 9,
    "Lung cancer": 9,
    "Pneumonia": 8,
    "Prostate cancer": 6,
    "Stroke": 12,
}

DAY_COST = {
    # ward: (cost of the admission, cost of a day), euro
    "Cardiology": (2400, 640),
    "Internal medicine": (600, 460),
    "Maternity": (1500, 520),
    "Neurology": (1300, 610),
    "Oncology": (2900, 700),
    "Paediatrics": (700, 540),
    "Psychiatry": (300, 330),
    "Surgery": (2700, 580),
}

IN_WINTER = {"Pneumonia", "Asthma", "Heart failure", "Depression"}
SURGICAL = {"Appendicitis", "Arm or leg fracture"}


def pick(weights: Mapping[str, float], chance: float) -> str:
    """Return a key with probability in proportion to its weight; `chance` is in [0, 1)."""
    left = chance * math.fsum(weights.values())
    for key, weight in weights.items():
        left -= weight
        if left < 0:
            return key
    return max(weights, key=lambda key: weights[key])


def birth_year(sex: str, admitted: date, chances: Iterator[float]) -> int:
    """Return a year of birth by the age bands of a hospital's patients."""
    bands = {str(i): float(share) for i, share in enumerate(AGE_SHARES[sex])}
    low, high = AGE_BANDS[int(pick(bands, next(chances)))]
    return admitted.year - low - int(next(chances) * (high - low + 1))


def occupation_of(sex: str, age: int, chance: float) -> str:
    """Return an occupation group that fits age and sex; empty below school age."""
    if age < 6:
        return ""
    if age < 18:
        return "At school"
    if age > 66:
        return "Retired"
    weights = {name: float(pair[sex == "male"]) for name, pair in WORK.items()}
    if age < 26:
        weights["In training"] = 60.0
    return pick(weights, chance)


def diagnosis_of(sex: str, age: int, occupation: str, region: str, chance: float) -> str:
    """Return a diagnosis by age, sex, occupation and region."""
    band = next(i for i, (low, high) in enumerate(AGE_BANDS) if low <= age <= high)
    weights = {}
    for name, (by_age, women, men) in DIAGNOSES.items():
        weight = float(by_age[band]) * (men if sex == "male" else women)
        weight *= MORE_LIKELY.get((name, occupation), 1.0) * MORE_LIKELY.get((name, region), 1.0)
        weights[name] = weight
    return pick(weights, chance)


def ward_of(diagnosis: str, age: int, chance: float) -> str:
    """Return the ward that treats a diagnosis; children have one of their own."""
    if age < 16 and diagnosis not in SURGICAL:
        return "Paediatrics"
    return pick({name: float(w) for name, w in WARDS[diagnosis].items()}, chance)


def stay_of(diagnosis: str, age: int, chances: Iterator[float]) -> int:
    """Return the days in hospital: skewed, longer for the old."""
    mean = MEAN_STAY[diagnosis] * (1.25 if age >= 75 else 0.85 if age < 40 else 1.0)
    skewed = mean * (0.35 + 2.6 * next(chances) * next(chances))
    return max(1, int(skewed + 0.5))


def cost_of(ward: str, days: int, chances: Iterator[float]) -> str:
    """Return the cost in euro, with a spread of about a quarter around the ward's tariff."""
    admission, day = DAY_COST[ward]
    spread = 0.7 + 0.3 * (next(chances) + next(chances))
    return f"{(admission + day * days) * spread:.2f}"


def admitted_on(day: int, winter: bool, chances: Iterator[float]) -> date:
    """Return the day of admission; what belongs to winter is moved there half of the time."""
    move = next(chances)
    where = int(next(chances) * 120)
    if winter and move < 0.5:
        day = where if where < 75 else 365 - (where - 74)
    return FIRST_DAY + timedelta(days=day)


def patient(chances: Iterator[float]) -> dict[str, str]:
    """Return one admission, still without its record number."""
    sex = "female" if next(chances) < 0.525 else "male"
    day = int(next(chances) * 365)
    year = birth_year(sex, FIRST_DAY, chances)
    age = FIRST_DAY.year - year
    region = pick({name: share for name, (share, _, _) in REGIONS.items()}, next(chances))
    _, first, last = REGIONS[region]
    occupation = occupation_of(sex, age, next(chances))
    diagnosis = diagnosis_of(sex, age, occupation, region, next(chances))
    ward = ward_of(diagnosis, age, next(chances))
    days = stay_of(diagnosis, age, chances)
    row = {
        "name": f"{_one_of(GIVEN_NAMES[sex], chances)} {_one_of(FAMILY_NAMES, chances)}",
        "sex": sex,
        "birth_year": str(year),
        "postcode": f"{first + int(next(chances) * (last - first + 1)):05d}",
        "region": region,
        "occupation": occupation,
        "admission_date": admitted_on(day, diagnosis in IN_WINTER, chances).isoformat(),
        "ward": ward,
        "diagnosis": diagnosis,
        "length_of_stay": str(days),
        "cost": cost_of(ward, days, chances),
    }
    for column, share in (("occupation", 0.03), ("postcode", 0.01), ("diagnosis", 0.008)):
        if next(chances) < share:
            row[column] = ""
    return row


def _one_of(names: list[str], chances: Iterator[float]) -> str:
    return names[int(next(chances) * len(names))]


def make_clinic(records: int = RECORDS) -> bytes:
    """Return the sample as the bytes of a UTF-8 CSV file, in the order of admission."""
    source = np.random.RandomState(SEED)
    patients = [patient(iter(source.random_sample(32).tolist())) for _ in range(records)]
    patients.sort(key=lambda row: row["admission_date"])
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for number, row in enumerate(patients, start=1):
        writer.writerow({"record_number": f"25-{number:05d}", **row})
    return text.getvalue().encode()


if __name__ == "__main__":
    resource_path("samples", "clinic.csv").write_bytes(make_clinic())
