#!/bin/sh
# The step of Dockerfile.model: a vLLM environment under $WORKBENCH_STATE, for "gpu" or "cpu".
set -eu
cd "$(dirname "$0")/.."
state=${WORKBENCH_STATE:?the folder to install into}

case ${1:?gpu or cpu} in
gpu)
    "${PYTHON:-python3}" -m venv "$state/model-venv"
    "$state/model-venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check vllm==0.32.0
    ;;
cpu)
    PIP_NO_CACHE_DIR=1 "${PYTHON:-python3}" -m config.stack.model make
    ;;
*)
    echo "unknown variant: $1" >&2
    exit 2
    ;;
esac
