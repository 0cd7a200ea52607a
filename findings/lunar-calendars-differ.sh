#!/usr/bin/env bash
# lunardate 0.3.0 and LunarCalendar 0.0.9: births in three months have another date in the Chinese calendar.
#
# Both have tables of months, which begin a day apart three times in a hundred years. A birth that was written by
# one and read by the other is of another day; 25 November 1954 is the first day of a month by one, the last by the other.
#
# Seen, of all days from 1930 to 2029: 90 differ, in July and August 1933, November and December 1954, and September
# 1978 (to 1 October).
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with lunardate==0.3.0 LunarCalendar==0.0.9 <<'P'
import datetime

from lunarcalendar import Converter, Solar
from lunardate import LunarDate

first = datetime.date(1930, 1, 1)
months = {}
for number in range((datetime.date(2030, 1, 1) - first).days):
    born = first + datetime.timedelta(number)
    one = LunarDate.from_solar_date(born.year, born.month, born.day)
    two = Converter.Solar2Lunar(Solar(born.year, born.month, born.day))
    if (one.month, one.day) != (two.month, two.day):
        months.setdefault(born.year, []).append(born)
spans = {year: (len(days), str(days[0]), str(days[-1])) for year, days in months.items()}
print(spans)
assert spans == {
    1933: (30, "1933-07-22", "1933-08-20"),
    1954: (30, "1954-11-25", "1954-12-24"),
    1978: (30, "1978-09-02", "1978-10-01"),
}
P
