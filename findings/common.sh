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
