#!/usr/bin/env bash
# deid 0.4.13: an image that is marked as without identity has the patient's name, age of 95 and clinic.
#
# Without a recipe replace_identifiers() uses its own, takes out what it lists, and sets "Patient Identity Removed" to YES.
# Descriptions, comments, the clinic's name, the device's number, an age above 89, and private fields stay as they
# are, though the standard's profile that the mark stands for has rules for each of them.
#
# Seen: the study's description and the comments on the image with the patient's name, and six others.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with deid==0.4.13 pydicom==3.0.2 numpy==2.4.6 <<'P'
from deid.dicom import replace_identifiers
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

image = Dataset()
image.SOPClassUID, image.SOPInstanceUID = CTImageStorage, generate_uid()
image.PatientName, image.PatientID, image.PatientBirthDate = "Muster^Anna", "123", "19250228"
KEPT = {
    "StudyDescription": "CT of Anna Muster",
    "ImageComments": "Anna Muster asked for a copy",
    "InstitutionName": "Clinic of Chur",
    "DeviceSerialNumber": "98765",
    "PatientAge": "095Y",
    "Occupation": "mayor",
    "MilitaryRank": "colonel",
}
for name, value in KEPT.items():
    setattr(image, name, value)
image.add_new(0x00091001, "LO", "private: Anna Muster")
image.file_meta = FileMetaDataset()
image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
image.save_as("image.dcm", enforce_file_format=True)
[left] = replace_identifiers(["image.dcm"], save=False)
print(*(f"{field.name}: {field.value}" for field in left), sep="\n")
assert "PatientName" not in left and left.PatientIdentityRemoved == "YES"
assert {name: left.get(name) for name in KEPT} == KEPT and left[0x00091001].value == "private: Anna Muster"
P
