#!/usr/bin/env bash
# Creates the environments that hold real Paddle and PyTorch, outside the repository:
#
#   $FLT_ORACLE_DIR/paddle26   Python 3.11, paddlepaddle 2.6.2   the 2.x half of the oracle
#   $FLT_ORACLE_DIR/paddle18   Python 3.8,  paddlepaddle 1.8.5   the fluid half
#   $FLT_ORACLE_DIR/torch      Python 3.11, PyTorch for CPU      a rival in bench/
#
# Usage: tools/oracle/setup.sh [paddle26] [paddle18] [torch]     (default: all three)
#
# 2.6.2 needs protobuf 4.25.3 and numpy 1.x: with what pip would choose, parts of it raise.
set -euo pipefail

root="${FLT_ORACLE_DIR:-$HOME/.cache/flotilla-oracle}"

# find_python VERSION prints an interpreter of that version, from PATH or from pyenv.
find_python() {
  local candidate
  for candidate in "python$1" "$(pyenv prefix "$(pyenv latest "$1" 2>/dev/null)" 2>/dev/null)/bin/python"; do
    if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Python $1 is needed for this environment but was not found on PATH or in pyenv" >&2
  return 1
}

# make NAME PYTHON PACKAGE... leaves a finished environment alone; .done says that it is finished.
make() {
  local name="$1" version="$2" python
  shift 2
  if [ -f "$root/$name/.done" ]; then
    echo "$name is ready"
    return
  fi
  python="$(find_python "$version")"
  rm -rf "${root:?}/$name"
  mkdir -p "$root"
  "$python" -m venv "$root/$name"
  "$root/$name/bin/python" -m pip install --quiet --upgrade pip
  "$root/$name/bin/python" -m pip install --quiet "$@"
  touch "$root/$name/.done"
  echo "$name is ready"
}

for name in "${@:-paddle26 paddle18 torch}"; do
  for one in $name; do
    case "$one" in
      paddle26) make paddle26 3.11 "paddlepaddle==2.6.2" "protobuf==4.25.3" "numpy<2" setuptools pytest \
        pillow "opencv-python-headless<4.12" ;;
      paddle18) make paddle18 3.8 "paddlepaddle==1.8.5" "numpy<1.20" "protobuf==3.20.*" pytest ;;
      torch) make torch 3.11 torch torchvision numpy ;;
      *) echo "unknown environment $one; known: paddle26 paddle18 torch" >&2 && exit 2 ;;
    esac
  done
done
