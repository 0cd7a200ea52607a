# shellcheck shell=bash
# What the findings share; sourced, never run.
set -euo pipefail

FOLDER="$(mktemp -d)"
trap 'rm -rf "$FOLDER"' EXIT
cd "$FOLDER"

# python_with PACKAGE==VERSION…: runs the Python on standard input with just these packages.
# It fails where a behaviour that was found is another one now.
python_with() {
  "${PYTHON:-python3}" -m venv "$FOLDER/venv"
  "$FOLDER/venv/bin/python" -m pip install -q --disable-pip-version-check "$@"
  "$FOLDER/venv/bin/python" -W ignore -
}

# debian_unpacked PACKAGE=VERSION…: unpacks these and what they need in $FOLDER/root, without installing.
debian_unpacked() {
  mkdir -p "$FOLDER/debs/partial"
  apt-get -qq -y -o Dir::Cache::archives="$FOLDER/debs" -o Debug::NoLocking=1 install \
    -o APT::Sandbox::User="$(id -un)" --reinstall --download-only --no-install-recommends "$@" >&2
  local package
  for package in "$FOLDER"/debs/*.deb; do dpkg -x "$package" "$FOLDER/root"; done
  local libraries="$FOLDER/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
  export PATH="$FOLDER/root/usr/bin:$PATH" LD_LIBRARY_PATH="$libraries:$libraries/pspp"
}

# r_with PACKAGE=VERSION…: runs the R on standard input with just these packages of Debian's and what they need.
# It fails where a behaviour that was found is another one now.
r_with() {
  command -v Rscript >/dev/null || { echo "R is needed" >&2; exit 2; }
  debian_unpacked "$@"
  unset LD_LIBRARY_PATH
  export R_LIBS="$FOLDER/root/usr/lib/R/site-library:$FOLDER/root/usr/lib/R/library"
  Rscript --vanilla -
}
