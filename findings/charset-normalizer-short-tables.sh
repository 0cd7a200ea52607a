#!/usr/bin/env bash
# charset-normalizer 3.5.3: no encoding is found for a small table of Cyrillic or Greek texts.
#
# Few words that repeat, as in a coded column, are too little for it: best() is None, although
# the bytes are texts in one of the encodings it knows. chardet 7.7.0 names the encodings.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with charset-normalizer==3.5.3 chardet==7.7.0 <<'P'
import chardet
import charset_normalizer

tables = {
    "cp1251": "номер,пол\n" + "1,муж\n2,жен\n" * 20,
    "cp1253": "αριθμός,φύλο\n" + "1,άνδρας\n2,γυναίκα\n" * 20,
}
for encoding, text in tables.items():
    best = charset_normalizer.from_bytes(text.encode(encoding)).best()
    other = chardet.detect(text.encode(encoding))["encoding"]
    print(encoding, "- charset-normalizer:", best and best.encoding, "- chardet:", other)
    assert best is None, "an encoding is named now"
    assert text.encode(encoding).decode(other) == text
P
