# shellcheck shell=bash
# The packages of Debian that ./dev needs (packages.txt), and their installation. ./dev reads this file.
# It needs `say`, `fail`, `step` and `logs` of ./dev.
# shellcheck disable=SC2154

# The names of some groups of packages.txt, one a line.
packages_of() { # GROUP...
  local group found
  for group in "$@"; do
    found=$(sed -n "s/^$group: *//p" packages.txt)
    [ -n "$found" ] || fail "packages.txt has no group \"$group\""
    tr -s ' ' '\n' <<<"$found"
  done | sort -u
}

installed() { # PACKAGE
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The names of those packages that apt can install, one a line. One call for all: each reads all of apt's lists.
candidates_of() { # PACKAGE...
  apt-cache policy "$@" 2>/dev/null | sed -n '/^[^ ].*:$/{s/:$//;h;};/^  Candidate: [^(]/{x;p;}'
}

is_candidate() { # PACKAGE
  grep -qxF -- "$1" <<<"$candidates"
}

as_root() {
  # A bare environment may lack the sbin folders, and dpkg insists on them.
  local settings=(DEBIAN_FRONTEND=noninteractive "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin")
  if [ "$(id -u)" -eq 0 ]; then
    env "${settings[@]}" "$@"
  else
    sudo -n env "${settings[@]}" "$@"
  fi
}

apt_install() {
  as_root apt-get install -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@"
}

apt_update() {
  step 'Updating the package lists (apt-get update)' apt-update \
    as_root apt-get update -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300
}

# Makes sure that the packages of some groups are installed.
need() { # GROUP...
  [ "${TARN_PACKAGES:-}" = skip ] && return
  local list name candidates updated=no
  mapfile -t list < <(packages_of "$@")
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "not a Debian-like system: install what Debian 12 calls ${list[*]%\?}, then use TARN_PACKAGES=skip"
  fi

  local missing=() wanted=()
  for name in "${list[@]}"; do
    if installed "${name%\?}"; then
      continue
    elif [ "$name" = npm\? ] && command -v npm >/dev/null; then
      continue # comes with Node's own packages, too, beside which Debian's cannot be
    elif [ "${name%\?}" != "$name" ]; then
      wanted+=("${name%\?}")
    else
      missing+=("$name")
    fi
  done
  local absent=("${missing[@]}" "${wanted[@]}")
  [ "${#absent[@]}" -eq 0 ] && return

  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "not root, and no sudo. Install as root: ${absent[*]}"
    # On a terminal sudo may ask; the later calls do not.
    if [ -t 0 ]; then sudo -v; else sudo -n true 2>/dev/null; fi ||
      fail "not root, and sudo refused. Install as root: ${absent[*]}"
  fi

  candidates=$(candidates_of "${absent[@]}")
  for name in "${absent[@]}"; do
    if ! is_candidate "$name"; then
      apt_update
      updated=yes
      candidates=$(candidates_of "${absent[@]}")
      break
    fi
  done
  for name in "${wanted[@]}"; do
    if is_candidate "$name"; then
      missing+=("$name")
    else
      say "Going on without $name, which this system does not have"
    fi
  done
  for name in "${missing[@]}"; do
    is_candidate "$name" || fail "no package $name in the lists of this system; see packages.txt and $logs/apt-update.log"
  done
  [ "${#missing[@]}" -eq 0 ] && return

  if [ "$updated" = yes ] || ! (step "Installing ${missing[*]}" apt-install apt_install "${missing[@]}"); then
    # Lists that are only old still know the names, but the archive has moved on.
    [ "$updated" = yes ] || apt_update
    step "Installing ${missing[*]}" apt-install apt_install "${missing[@]}"
  fi
}
