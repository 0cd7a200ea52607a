#!/usr/bin/env bash
# phonetics 1.0.5: most surnames with a first letter in common have the same NYSIIS code.
#
# Of a name's letters after the first nearly none are left in the code, so that records that are brought
# together by it are hardly told apart by more than their first letter. Its soundex() is not cut to four
# characters and keeps vowels as zeros, and is another code than the one that others store.
#
# Seen: Baker, Bailey, Bennett and Brown are BA, Miller, Meier, Morgan and Morris MNA; by jellyfish they have
# seven codes. Soundex of Robinson: R0105205, and R152 by jellyfish.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with phonetics==1.0.5 jellyfish==1.3.0 <<'P'
import jellyfish
import phonetics

NAMES = "Baker Bailey Bennett Brown Miller Meier Morgan Morris".split()
codes = [phonetics.nysiis(name) for name in NAMES]
print(dict(zip(NAMES, codes)), len({jellyfish.nysiis(name) for name in NAMES}))
print(phonetics.soundex("Robinson"), jellyfish.soundex("Robinson"))
assert codes == ["BA"] * 4 + ["MNA"] * 4
assert len({jellyfish.nysiis(name) for name in NAMES}) == 7
assert (phonetics.soundex("Robinson"), jellyfish.soundex("Robinson")) == ("R0105205", "R152")
P
