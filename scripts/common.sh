# Sourced by ./run, ./check and the scripts here. It must work in bash 3.2, the version on macOS.
# shellcheck shell=bash disable=SC2034,SC2120

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Builds are kept outside the clone, so that another clone reuses them.
cache=${PEL_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/pel}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
# Separate from the native one, because its flags differ.
wasm_target=${CARGO_TARGET_DIR%/}-wasm
rust_needed=1.95
rust_pinned=1.95.0

# Disables a Vulkan layer of Mesa that only orders devices, and prints errors without a desktop.
export NODEVICE_SELECT=1

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least 1.96.0 1.95: succeeds if the first version is the second or newer.
version_at_least() {
    local -a found wanted
    IFS=. read -ra found <<<"${1%%-*}"
    IFS=. read -ra wanted <<<"$2"
    local at
    for at in "${!wanted[@]}"; do
        ((10#${found[at]:-0} == 10#${wanted[at]})) || return $((10#${found[at]:-0} < 10#${wanted[at]}))
    done
}

# The version of a cargo, or nothing.
cargo_version() { ("${1:-cargo}" --version 2>/dev/null || true) | sed -n 's/^cargo \([0-9][0-9.]*\).*/\1/p'; }

# The SHA-256 of each file, or of standard input.
sha256() {
    if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# Size, modification time and name of each file. They show whether a file has changed, without reading it.
fingerprint() { stat -L -c '%s %Y %n' "$@" 2>/dev/null || stat -L -f '%z %m %N' "$@"; }

# The version of all crates.
workspace_version() { sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml"; }

# unpack_files FROM TO: copies the files of a folder, and unpacks those ending in .xz.
unpack_files() {
    local file
    for file in "$1"/*; do
        case $file in
            *.xz)
                have xz || fail "unpacking $file needs xz (Debian: xz-utils)"
                xz -dc "$file" >"$2/$(basename "$file" .xz)"
                ;;
            *) cp "$file" "$2/" ;;
        esac
    done
}

# install_tool NAME VERSION [cargo options]: prints the path of this version of a program from crates.io. It uses the one on PATH,
# else builds it once and keeps it in the cache folder.
install_tool() {
    local name=$1 version=$2 folder=$cache/tools/$1-$2
    shift 2
    if have "$name" && "$name" --version 2>/dev/null | grep -qF "$version"; then
        command -v "$name"
        return
    fi
    if [ ! -x "$folder/bin/$name" ]; then
        say "building $name $version, once (a few minutes)"
        # The version is pinned: the newest may need packages that a mirror of crates.io does not have yet. The target folder is
        # separate, because the workspace uses other flags.
        CARGO_TARGET_DIR=$folder/target cargo install --quiet --locked --root "$folder" --version "=$version" "$name" "$@" >&2 ||
            return
        rm -rf "$folder/target"
    fi
    printf '%s\n' "$folder/bin/$name"
}

# Ensures that `cargo` is Rust 1.95 or newer: the one on PATH, else one that rustup installs. If rustup is missing, it is
# installed into the cache folder and changes nothing else on the machine.
ensure_cargo() {
    version_at_least "$(cargo_version)" "$rust_needed" && return
    local home=$cache/rust found
    found=$(cargo_version)
    if ! have rustup; then
        export RUSTUP_HOME=$home/rustup
        PATH=$home/cargo/bin:$PATH
    fi
    if ! have rustup; then
        say "Rust is missing${found:+ (found $found, $rust_needed is needed)}: installing it into $home"
        have curl && install_rustup "$home" || no_rust
    fi
    if ! rustup run "$rust_pinned" cargo --version >/dev/null 2>&1; then
        say "adding Rust $rust_pinned"
        rustup toolchain install "$rust_pinned" --no-self-update --profile minimal --component rustfmt --component clippy >&2 || no_rust
    fi
    export RUSTUP_TOOLCHAIN=$rust_pinned
    version_at_least "$(cargo_version)" "$rust_needed" || no_rust
}

install_rustup() {
    local script
    script=$(curl --proto '=https' --tlsv1.2 -sSf --retry 3 https://static.rust-lang.org/rustup/rustup-init.sh) || return
    CARGO_HOME=$1/cargo RUSTUP_INIT_SKIP_PATH_CHECK=yes \
        sh -c "$script" rustup-init -y --quiet --no-modify-path --profile minimal --default-toolchain none >/dev/null
}

no_rust() { fail "could not get Rust $rust_needed or newer. Install it from https://rustup.rs and try again"; }

# Some dependencies are C.
ensure_compiler() {
    have cc || have gcc || have clang || have cl && return
    case $(uname -s) in
        Darwin) fail "a C compiler is needed: xcode-select --install" ;;
        Linux) fail "a C compiler is needed. On Debian or Ubuntu: sudo apt-get install build-essential; on Fedora: sudo dnf install gcc" ;;
        *) fail "a C compiler is needed: install the C++ build tools of Visual Studio" ;;
    esac
}
