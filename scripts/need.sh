#!/usr/bin/env bash
# Name what this machine lacks, with the command that brings it: need.sh python PYTHON | compiler PYTHON | node | chromium
set -euo pipefail

missing() { # what, Debian packages
    echo "cellmill: $1. On Debian: apt-get install $2" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
    else return 1
    fi
}

need_python() {
    command -v "$1" >/dev/null || missing "no Python 3.11 or newer was found (PYTHON=/path/to/python names another)" "python3 python3-venv python3-dev"
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || missing "$1 is $("$1" --version), and 3.11 or newer is needed (PYTHON=/path/to/python names another)" "python3.11 python3.11-venv python3.11-dev"
    "$1" -c 'import venv, ensurepip' 2>/dev/null || missing "$1 cannot make virtual environments" "python3-venv"
}

need_compiler() {
    command -v "${CC:-gcc}" >/dev/null || missing "no C compiler was found (${CC:-gcc})" "gcc libc6-dev"
    local include
    include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -f "$include/Python.h" ] || missing "the headers of $1 are not there ($include/Python.h)" "python3-dev"
    echo 'int main(void){return 0;}' | "${CC:-gcc}" -x c -include stdio.h -fsyntax-only - 2>/dev/null || missing "the C library's headers are not there" "libc6-dev"
}

need_node() {
    command -v node >/dev/null || missing "node was not found; it builds the JupyterLab panel" "nodejs"
    node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
        { echo "cellmill: node $(node --version) is too old; 20 or newer is needed to build the panel" >&2; exit 1; }
}

# The shell, which draws pages alone, is quicker; the browser tests do without it.
need_chromium() {
    if chromium_is_here && command -v "${CELLMILL_CHROMIUM:-chromium-headless-shell}" >/dev/null; then return; fi
    if command -v apt-get >/dev/null && [ "$(. /etc/os-release 2>/dev/null; echo "${ID:-}")" = debian ]; then
        echo "chromium and its headless shell are not here; installing them from Debian for the browser tests" >&2
        if as_root apt-get -qq update >/dev/null && { as_root_install chromium chromium-headless-shell || as_root_install chromium; }; then return; fi
    fi
    chromium_is_here || missing "chromium was not found; the browser tests drive it" "chromium chromium-headless-shell"
}

chromium_is_here() {
    local name
    for name in "${CELLMILL_CHROMIUM:-}" chromium chromium-browser google-chrome; do
        if [ -n "$name" ] && command -v "$name" >/dev/null; then return; fi
    done
    return 1
}

as_root_install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null; }

what=$1
shift
"need_$what" "$@"
