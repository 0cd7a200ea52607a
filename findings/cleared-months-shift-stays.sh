#!/usr/bin/env bash
# cleared 0.4.11: two days of a patient become one where dates are shifted by months, and don't come back.
#
# Dates are shifted by a time of the patient's own, so that intervals between events are kept; days, weeks,
# months or years can be chosen. By months a day that the other month doesn't have becomes its last: stays get
# shorter or longer by up to three days, and reversing gives other dates than those that were shifted.
#
# Seen, of 28 January, 31 January and 3 February 2021 and one month: 28 February twice, and 3 March; reversed
# 28 January twice, and 3 February.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with --no-deps cleared==0.4.11 antlr4-python3-runtime==4.13.2 click==8.5.1 colorlog==6.12.0 hydra-core==1.3.8 \
   Jinja2==3.1.6 MarkupSafe==3.0.4 \
  networkx==3.6.1 numpy==2.4.6 omegaconf==2.4.0 packaging==26.4 pandas==2.3.3 python-dateutil==4.0.0 \
  pytz==2026.6 PyYAML==6.0.4 rich==15.0.0 ruamel.yaml==0.19.1 SQLAlchemy==2.1.9 typer==0.29.2 \
  typing_extensions==4.16.0 tzdata==2026.6 <<'P'
import pandas as pd
from cleared.config.structure import DeIDConfig, IdentifierConfig, TimeShiftConfig
from cleared.transformers.temporal import DateTimeDeidentifier

days = ["2021-01-28", "2021-01-31", "2021-02-03"]
events = pd.DataFrame({"patient": [1, 1, 1], "day": pd.to_datetime(days)})
months = DeIDConfig(time_shift=TimeShiftConfig(method="shift_by_months", min=1, max=2))
shift = DateTimeDeidentifier(IdentifierConfig(name="patient", uid="patient"), "day", global_deid_config=months)
shifted, kept = shift.transform(events, {})
reversed_, _ = shift.reverse(shifted, kept)
print(shifted, reversed_, sep="\n")
assert shifted["day"].astype(str).tolist() == ["2021-02-28", "2021-02-28", "2021-03-03"]
assert reversed_["day"].astype(str).tolist() == ["2021-01-28", "2021-01-28", "2021-02-03"]
P
