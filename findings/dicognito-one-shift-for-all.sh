#!/usr/bin/env bash
# dicognito 0.19.0: all patients' dates are moved by one and the same time, and one patient has two names.
#
# Whoever knows when one patient was born, or that one had a scan on a day, has the dates of all that were
# anonymized with the same anonymizer. An age in years stays. In a sequence, a patient's name is made without looking at
# the sex that stands outside, so that the same woman has another first name there.
#
# Seen: the births of 28 February 1930 and 1 March 1950 of two patients and the study of the first are all 285 days
# earlier; the age of 95 stays; the names differ.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dicognito==0.19.0 pydicom==3.0.2 <<'P'
from dicognito.anonymizer import Anonymizer
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import generate_uid
from pydicom.valuerep import DA


def image(name, number, born):
    """What identifies a patient in an image."""
    made, request = Dataset(), Dataset()
    made.file_meta = FileMetaDataset()
    made.SOPInstanceUID, made.StudyInstanceUID = generate_uid(), generate_uid()
    made.PatientName, made.PatientID, made.PatientBirthDate = name, number, born
    made.PatientSex, made.PatientAge, made.StudyDate = "F", "095Y", "20250301"
    request.PatientName = name
    made.RequestAttributesSequence = [request]
    return made


anonymizer = Anonymizer(seed="a seed")
first, second = image("Muster^Anna", "123", "19300228"), image("Meier^Eva", "987", "19500301")
before = [DA(each) for each in (first.PatientBirthDate, second.PatientBirthDate, first.StudyDate)]
anonymizer.anonymize(first)
anonymizer.anonymize(second)
after = [DA(each) for each in (first.PatientBirthDate, second.PatientBirthDate, first.StudyDate)]
moved = {(old - new).days for old, new in zip(before, after)}
names = [str(first.PatientName), str(first.RequestAttributesSequence[0].PatientName)]
print(moved, names, first.PatientAge)
assert len(moved) == 1 and moved.pop() > 100
assert names[0] != names[1] and first.PatientAge == "095Y"
P
