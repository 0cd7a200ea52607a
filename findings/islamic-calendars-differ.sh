#!/usr/bin/env bash
# convertdate 2.5.1 and hijridate 2.6.0: seven of ten births have another date in the Islamic calendar.
#
# convertdate counts months of 30 and 29 days in turn, hijridate follows the calendar of Umm al-Qura. Nothing in a date
# says which: births that were written by one and read by the other are of another day, and at the ends of months
# and years of another month or year.
#
# Seen, of all days from 1930 to 2019: 70 % are another day, 2.6 % another month and 0.2 % another year.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with convertdate==2.5.1 hijridate==2.6.0 <<'P'
import datetime

import convertdate
import hijridate

first, last = datetime.date(1930, 1, 1), datetime.date(2020, 1, 1)
days = (last - first).days
others = {"day": 0, "month": 0, "year": 0}
for number in range(days):
    born = first + datetime.timedelta(number)
    one = convertdate.islamic.from_gregorian(born.year, born.month, born.day)
    two = hijridate.Gregorian(born.year, born.month, born.day).to_hijri().datetuple()
    others["day"] += tuple(one) != two
    others["month"] += tuple(one[:2]) != two[:2]
    others["year"] += one[0] != two[0]
shares = {name: round(100 * count / days, 1) for name, count in others.items()}
print(shares)
assert shares == {"day": 69.8, "month": 2.6, "year": 0.2}
P
