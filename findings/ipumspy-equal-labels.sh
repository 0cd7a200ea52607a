#!/usr/bin/env bash
# ipumspy 0.9.0: of two codes with one label in a DDI codebook, one is lost.
#
# A variable's categories are kept as label → code. Codebooks have several codes with one label
# ("Other", "Not elsewhere classified"), and the earlier is gone.
#
# Seen: two categories of three.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with ipumspy==0.9.0 pandas==2.3.3 <<'P'
import warnings

from ipumspy import readers

warnings.simplefilter("ignore")
CATEGORIES = "".join(
    f"<catgry><catValu>{code}</catValu><labl>{label}</labl></catgry>"
    for code, label in ((10, "Industry"), (19, "Other"), (29, "Other"))
)
with open("codebook.xml", "w", encoding="utf-8") as file:
    file.write(f"""<codeBook xmlns="ddi:codebook:2_5" version="2.5">
<stdyDscr><citation><titlStmt><titl>T</titl></titlStmt>
<serStmt><serName abbr="x">x</serName><serInfo>x</serInfo></serStmt></citation>
<dataAccs><useStmt><citReq>x</citReq><conditions>x</conditions></useStmt></dataAccs></stdyDscr>
<fileDscr><fileTxt><fileName>t.dat</fileName><fileCont>x</fileCont>
<fileStrc type="rectangular"/><fileType charset="utf-8">x</fileType><format>fixed</format>
<filePlac>x</filePlac></fileTxt></fileDscr>
<dataDscr><var ID="WORK" name="WORK" intrvl="discrete"><location StartPos="1" EndPos="2" width="2"/>
<labl>Work</labl>{CATEGORIES}<txt>x</txt><concept>x</concept>
<varFormat type="numeric"/></var></dataDscr></codeBook>""")
codes = readers.read_ipums_ddi("codebook.xml").get_variable_info("WORK").codes
print(codes)
assert codes == {"Industry": 10, "Other": 29}
P
