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
