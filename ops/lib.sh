# Shared by the scripts in ops; sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

build_packages=(libcurl4-openssl-dev libpq-dev libssl-dev libuv1-dev pkg-config)
run_packages=(postgresql-15)
suite_packages=(python3 python3-venv pgbouncer locales)

# Whether a Debian package is installed.
installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs what is missing, or says what is missing and how to install it.
need() {
    local package missing=() apt=(apt-get)
    command -v dpkg-query >/dev/null || die "these scripts expect Debian 12; needed are: $*"
    for package in "$@"; do installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
            say "missing packages: ${missing[*]}"
            die "install them with: sudo apt-get install ${missing[*]}"
        fi
        apt=(sudo -n apt-get)
    fi
    say "installing ${missing[*]}"
    leave_cluster_alone
    install_packages "${missing[@]}" && return
    # The lists may be old or absent: fetch them once, then try again.
    "${apt[@]}" -q update >&2 </dev/null || die "apt-get update failed"
    install_packages "${missing[@]}" || die "could not install ${missing[*]}"
}

# Uses `apt` and `missing` of need().
install_packages() {
    local environment=(env DEBIAN_FRONTEND=noninteractive)
    [ "${apt[0]}" = sudo ] && environment=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    "${environment[@]}" apt-get -q install -y --no-install-recommends "$@" >&2 </dev/null
}

# Debian's package would make and start a cluster of its own, on a network port; ours is embedded.
leave_cluster_alone() {
    local file=/etc/postgresql-common/createcluster.conf
    [ -e "$file" ] && return
    local sudo=()
    [ "$(id -u)" -ne 0 ] && sudo=(sudo -n)
    "${sudo[@]}" mkdir -p "${file%/*}"
    echo 'create_main_cluster = false' | "${sudo[@]}" tee "$file" >/dev/null
}

# Swift 6.2 or later on PATH.
need_swift() {
    local version
    command -v swift >/dev/null ||
        die "swift is not on PATH: install Swift 6.2 or later from swift.org, then put its usr/bin there"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || die "swift --version says no version"
    if [ "${version%%.*}" -lt 6 ] || { [ "${version%%.*}" -eq 6 ] && [ "${version#*.}" -lt 2 ]; }; then
        die "Swift $version is too old: 6.2 or later is needed, from swift.org"
    fi
}

# Builds the program for release and prints its path.
release() {
    (cd "$root" && swift build -c release --product subledger >&2 </dev/null) || return
    printf '%s/subledger\n' "$(cd "$root" && swift build -c release --show-bin-path)"
}
