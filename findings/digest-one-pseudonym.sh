#!/usr/bin/env bash
# digest 0.6.31 for R: everybody in a table has the same pseudonym.
#
# digest() makes one hash of all that it is given, so that of a column of names there is one, which R
# repeats in every row. Name by name it hashes how R stores a name, not its letters: the pseudonym is
# not the one that sha256sum makes of the name. With serialize = FALSE it is, and of a column all
# names but the first are ignored.
#
# Seen: one pseudonym for Anna, Ben and Cleo. Alone Anna is 622df29a..., and bf4fccd6... with
# serialize = FALSE and by sha256sum.
command -v Rscript >/dev/null || { echo "R is needed" >&2; exit 2; }
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked r-cran-digest=0.6.31-1
unset LD_LIBRARY_PATH
export R_LIBS="$FOLDER/root/usr/lib/R/site-library:$FOLDER/root/usr/lib/R/library"
ANNA="$(printf Anna | sha256sum | cut -d' ' -f1)"
export ANNA
Rscript --vanilla -e '
  people <- data.frame(name = c("Anna", "Ben", "Cleo"))
  people$pseudonym <- digest::digest(people$name, "sha256")
  letters_only <- digest::digest(people$name, "sha256", serialize = FALSE)
  one_by_one <- sapply(people$name, digest::digest, algo = "sha256")
  print(substr(cbind(people$pseudonym, letters_only, one_by_one), 1, 8))
  stopifnot(length(unique(people$pseudonym)) == 1, length(unique(one_by_one)) == 3)
  stopifnot(substr(one_by_one["Anna"], 1, 8) == "622df29a", substr(letters_only, 1, 8) == "bf4fccd6")
  stopifnot(letters_only == Sys.getenv("ANNA"), one_by_one["Anna"] != Sys.getenv("ANNA"))'
