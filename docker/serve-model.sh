#!/bin/sh
# Starts the server that install-model.sh installed. Further arguments go to vLLM (GPU variant).
set -eu
cd "$(dirname "$0")/.."

if [ "${VARIANT:-gpu}" = cpu ]; then
    exec python3 -m config.stack.model serve 0.0.0.0 8000
fi
exec "$WORKBENCH_STATE/model-venv/bin/vllm" serve "${MODEL:?name the model to serve}" \
    --host 0.0.0.0 --port 8000 "$@"
