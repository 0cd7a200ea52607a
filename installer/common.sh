# shellcheck shell=bash disable=SC2034
# What installer/run and installer/test share; sourced, never run.
# Everything is made inside the checkout (.venv, build), and made once: a
# stamp of what went in tells a later run that nothing has to be done.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
TOOLS="$ROOT/build/package/venv"
UV="$ROOT/build/uv"
LOG="$ROOT/build/setup.log"
mkdir -p "$ROOT/build"

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

QT_PACKAGES=(
  libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libfreetype6
  libxkbcommon0 libxkbcommon-x11-0 libx11-xcb1 libxcb-cursor0 libxcb-icccm4
  libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-render0
  libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb-xinerama0 libxcb-xkb1
)

say() { printf '%s\n' "$*"; }

# stop WHAT DO: what went wrong and what to type, then an end with status 1.
stop() {
  printf '\n%s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'Type:\n    %s\n' "$2" >&2
  exit 1
}

# quietly COMMAND…: its output goes to the log, and is shown (without addresses) if it fails.
quietly() {
  if "$@" >"$LOG" 2>&1; then return 0; fi
  grep -vE '^(Looking in|Get:|Hit:|Ign:)' "$LOG" |
    sed -E 's#(https?|file)://[^ ]+#(address)#g' | tail -n 20 >&2 || true
  return 1
}

# patiently COMMAND…: three attempts, since networks fail.
patiently() {
  local attempt
  for attempt in 1 2; do
    "$@" >"$LOG" 2>&1 && return 0
    sleep $((attempt * 3))
  done
  quietly "$@"
}

is_debian() { [ -r /etc/debian_version ] && command -v apt-get >/dev/null; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# debian_packages WHY NAME…: installs packages where that is possible, else says how to.
debian_packages() {
  local why="$1"
  shift
  is_debian || stop "$why Install with your system's package manager what Debian calls: $*"
  is_root || stop "$why" "sudo apt-get install -y $*"
  say "$why Installing from Debian: $*"
  export DEBIAN_FRONTEND=noninteractive
  patiently apt-get update -q || stop "Debian's package lists can't be read." "apt-get update"
  patiently apt-get install -q -y --no-install-recommends "$@" ||
    stop "Debian could not install the packages." "apt-get install -y $*"
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# find_python: sets PYTHON to a Python of version 3.11 or later.
find_python() {
  local name
  for name in ${SFUMATO_PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python; do
    if command -v "$name" >/dev/null && new_enough "$name"; then
      PYTHON="$(command -v "$name")"
      return 0
    fi
  done
  if is_debian && is_root; then
    debian_packages "Python is missing." python3 python3-venv
    PYTHON="$(command -v python3)"
    new_enough "$PYTHON" && return 0
  fi
  if is_debian; then
    stop "Sfumato needs Python 3.11 or later, and none was found." \
      "sudo apt-get install -y python3 python3-venv"
  fi
  stop "Sfumato needs Python 3.11 or later, and none was found. Install it from python.org or \
with your system's package manager, or name it: SFUMATO_PYTHON=/path/to/python installer/run"
}

# make_venv FOLDER: a virtual environment, made anew where it does not work.
make_venv() {
  "$1/bin/python" -c 'import pip' 2>/dev/null && new_enough "$1/bin/python" && return 0
  find_python
  if ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
    debian_packages "Python's module venv is missing." python3-venv
  fi
  quietly "$PYTHON" -m venv --clear "$1" || stop "A virtual environment could not be made in $1."
}

# stamp FOLDER: a digest of all that decides what is installed there.
stamp() {
  { cat "$ROOT/pyproject.toml" "$ROOT"/installer/locked/*.txt && "$1/bin/python" -VV && say "$ROOT"; } |
    "$1/bin/python" -c 'import hashlib, sys
print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
}

# install_locked FOLDER NAME: the packages of installer/locked/NAME.txt, and no other files than it names.
install_locked() {
  local python="$1/bin/python" wanted="$ROOT/installer/locked/$2.txt"
  # Where uv can't reach the packages, pip may: it may have been told of a mirror.
  if ! install_by_uv "$python" "$wanted" >"$LOG" 2>&1; then
    patiently "$python" -m pip install -q --retries 5 --only-binary :all: --no-compile \
      --require-hashes -r "$wanted" ||
      stop "The packages that Sfumato needs could not be installed. Check the network, then try \
again." "installer/$(basename "$0")"
  fi
  # Tests import two fifths of it, and compile that as they do.
  [ "$2" = test ] && return 0
  # On all cores. Some packages hold examples for other versions of Python; nobody runs their tests.
  "$python" -m compileall -q -j 0 -x '/tests?/' "$1/lib" >/dev/null 2>&1 || true
}

# install_by_uv PYTHON FILE: what pip would install, with the same digests, in a fifth of the time.
install_by_uv() {
  "$1" -m pip install -q --upgrade --target "$UV" --only-binary :all: --require-hashes \
    -r "$ROOT/installer/locked/uv.txt" &&
    "$UV/bin/uv" pip install -q --python "$1" --no-build --require-hashes -r "$2"
}

# install_project [test]: the project, editable, in .venv; nothing where it is already there.
install_project() {
  local what="${1:-run}" marker
  make_venv "$VENV"
  for marker in "$VENV/installed-test" "$VENV/installed-$what"; do
    [ "$(cat "$marker" 2>/dev/null)" = "$(stamp "$VENV")" ] && return 0
    [ "$what" = run ] || break
  done
  say "Setting up .venv; the first time takes a few minutes."
  install_locked "$VENV" "$what"
  quietly "$VENV/bin/python" -m pip install -q --no-deps --no-build-isolation -e "$ROOT" ||
    stop "Sfumato could not be installed in .venv." "installer/$(basename "$0")"
  stamp "$VENV" >"$VENV/installed-$what"
}

# qt_starts PLATFORM: whether Qt really opens an application there.
qt_starts() {
  {
    QT_QPA_PLATFORM="$1" "$VENV/bin/python" -c \
      'from PySide6.QtWidgets import QApplication; QApplication([])'
  } >"$LOG" 2>&1
}

has_r() {
  Rscript -e 'for (name in c("jsonlite", "haven")) stopifnot(requireNamespace(name))' \
    >"$LOG" 2>&1
}

# prepare_r: R, which runs the recipients' code in tests; they are skipped where it is missing.
prepare_r() {
  has_r && return 0
  if is_debian && is_root &&
    (debian_packages "R is missing." r-base-core r-cran-jsonlite r-cran-haven) && has_r; then
    return 0
  fi
  say "R with jsonlite and haven is not installed: tests that run R are skipped."
}

# prepare_postgresql: the server that tests read from; they are skipped where it is missing.
prepare_postgresql() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return 0
  command -v initdb >/dev/null && return 0
  if is_debian && is_root && (debian_packages "PostgreSQL is missing." postgresql); then
    return 0
  fi
  say "PostgreSQL is not installed: tests that read from its server are skipped."
}

# prepare_spark: Spark and its Java, 400 MB; tests of releases on it are skipped where they are missing.
prepare_spark() {
  if ! command -v java >/dev/null; then
    if ! { is_debian && is_root && (debian_packages "Java is missing." openjdk-17-jre-headless); }; then
      say "Java is not installed: tests that run Spark are skipped."
      return 0
    fi
  fi
  "$VENV/bin/python" -c 'import pyspark' 2>/dev/null && return 0
  # It comes as source code alone.
  patiently "$VENV/bin/python" -m pip install -q --retries 5 --no-deps --no-build-isolation \
    --require-hashes -r "$ROOT/installer/locked/spark.txt" ||
    say "Spark could not be installed: tests that run it are skipped."
}

has_screen_reader() {
  local tool libraries
  for tool in Xvfb openbox xdotool dbus-run-session; do
    command -v "$tool" >/dev/null || return 1
  done
  libraries="$(/sbin/ldconfig -p 2>"$LOG")"
  for tool in libxcb-icccm.so.4 libxcb-keysyms.so.1 libxcb-cursor.so.0; do
    [[ "$libraries" == *"$tool"* ]] || return 1
  done
  /usr/bin/python3 -c 'import gi; gi.require_version("Atspi", "2.0"); from gi.repository import Atspi' \
    >"$LOG" 2>&1
}

# prepare_screen_reader: what the window is read out with; the tests are skipped where it is missing.
prepare_screen_reader() {
  has_screen_reader && return 0
  if is_debian && is_root && (debian_packages "A screen and a screen reader are missing." xvfb openbox \
    xdotool dbus at-spi2-core python3-gi gir1.2-atspi-2.0 "${QT_PACKAGES[@]}") && has_screen_reader; then
    return 0
  fi
  say "AT-SPI, Xvfb, openbox or xdotool is not installed: the test that reads the window out is skipped."
}

# prepare_qt [PLATFORM]: the system's libraries that Qt opens a window with.
prepare_qt() {
  local platform="${1-offscreen}"
  qt_starts "$platform" && return 0
  debian_packages "Qt needs libraries of the system." "${QT_PACKAGES[@]}"
  qt_starts "$platform" || stop "Qt still can't start: $(tail -n 3 "$LOG")"
}

# prepare_packaging: what packages are built with, in an environment of its own, and the libraries
# of windows: a .deb names the packages that hold them here.
prepare_packaging() {
  local libraries name
  libraries="$(/sbin/ldconfig -p)"
  for name in EGL.so.1 GL.so.1 wayland-client.so.0 wayland-cursor.so.0 xcb-cursor.so.0 \
    xcb-icccm.so.4 xcb-keysyms.so.1 xkbcommon-x11.so.0; do
    [[ "$libraries" == *"lib$name "* ]] && continue
    debian_packages "Packages name the libraries of windows, and lib$name is missing." \
      libwayland-client0 libwayland-cursor0 "${QT_PACKAGES[@]}"
    break
  done
  make_venv "$TOOLS"
  [ "$(cat "$TOOLS/installed" 2>/dev/null)" = "$(stamp "$TOOLS")" ] && return 0
  say "Setting up what packages are built with; the first time takes a few minutes."
  install_locked "$TOOLS" package
  stamp "$TOOLS" >"$TOOLS/installed"
}

# prepare_package_tests: what built packages are installed, drawn and judged with.
prepare_package_tests() {
  local missing=() tool
  for tool in debootstrap lintian rpmlint rpm rpm2cpio cpio Xvfb xdotool openbox objdump \
    desktop-file-validate appstreamcli; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if is_debian && is_root && (debian_packages "Packages are tested with ${missing[*]}." \
    debootstrap lintian rpmlint rpm rpm2cpio cpio xvfb xdotool openbox binutils \
    desktop-file-utils appstream); then
    return 0
  fi
  say "Without ${missing[*]} the tests that install packages are skipped."
}
