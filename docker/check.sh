#!/usr/bin/env bash
# Checks the images without a container engine.
#   check.sh lint     Dockerfiles by hadolint, compose.yaml against the Compose schema, scripts by the shell
#   check.sh app      install steps of Dockerfile.app in a clean environment, then the application in production mode
#   check.sh model    install step of Dockerfile.model (VARIANT=cpu): several minutes and about 3.5 GB
# Tools come from $BIN (default: .workbench/venv/bin). `app` needs the database that DATABASE_URL names: it makes
# tables in it. `make images` runs lint and app.
set -euo pipefail
cd "$(dirname "$0")/.."
BIN=${BIN:-$PWD/.workbench/venv/bin}
python=${PYTHON:-python3}

clean=
finish() {
    [ -n "$clean" ] || return 0
    if [ -f "$clean/web.pid" ]; then
        local web
        web=$(cat "$clean/web.pid")
        kill "$web" || true
        while kill -0 "$web" 2>/dev/null; do sleep 0.1; done
    fi
    rm -rf "$clean"
}
trap finish EXIT

# The sign-in page as a proxy with TLS asks for it, and the style sheet that it names.
SIGN_IN='
import http.client, re, sys
def get(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request("GET", path, headers={"Host": "workbench.test", "X-Forwarded-Proto": "https"})
    response = connection.getresponse()
    assert response.status == 200, (path, response.status)
    return response.read().decode()
get(re.search(r"/static/[^\"]+\.css", get("/sign-in/")).group())
'

# Runs a command with nothing of this environment but what pip is told.
alone() {
    local kept=()
    while IFS= read -r name; do kept+=("$name=${!name}"); done < <(compgen -e PIP_ || true)
    env -i PATH="$(dirname "$(command -v "$python")"):/usr/bin:/bin" HOME="$clean" LANG=C.UTF-8 \
        PYTHON="$(command -v "$python")" WORKBENCH_STATE="$clean/state" "${kept[@]}" "$@"
}

# What the build context of an image holds, in a folder of its own.
copy_context() {
    clean=$(mktemp -d)
    mkdir "$clean/context"
    tar --exclude-from=.dockerignore -cf - . | tar -xf - -C "$clean/context"
    cd "$clean/context"
}

check_lint() {
    "$BIN/hadolint" docker/Dockerfile.app docker/Dockerfile.model
    "$BIN/check-jsonschema" --builtin-schema vendor.compose-spec docker/compose.yaml
    for script in docker/*.sh; do bash -n "$script"; done
    echo "image recipes: Dockerfiles, compose.yaml and scripts are well-formed"
}

check_app() {
    local database=${DATABASE_URL:?check.sh app needs a database} broker=${CELERY_BROKER_URL:?and a broker}
    copy_context
    echo "Installing the application's image steps in a clean environment"
    alone docker/install-app.sh packages "$clean/venv"
    alone docker/install-app.sh static "$clean/venv"

    if alone "$clean/venv/bin/python" manage.py check --deploy >"$clean/refusal" 2>&1; then
        echo "the application starts without a secret key" >&2
        return 1
    fi
    grep -q DJANGO_SECRET_KEY "$clean/refusal"

    production() {
        alone DATABASE_URL="$database" CELERY_BROKER_URL="$broker" ALLOWED_HOSTS=workbench.test \
            DJANGO_SECRET_KEY="$("$python" -c 'import secrets; print(secrets.token_urlsafe(50))')" "$@"
    }
    production "$clean/venv/bin/python" manage.py check --deploy --fail-level WARNING
    production "$clean/venv/bin/python" manage.py migrate --noinput --verbosity 0
    production "$clean/venv/bin/celery" -A config report >/dev/null

    local port
    port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # shellcheck disable=SC2016 - for the inner shell, which becomes the server and so has its process number
    production bash -c 'echo $$ >"$0"; exec "$@"' "$clean/web.pid" \
        "$clean/venv/bin/python" -m config.server --port "$port" >"$clean/web.log" 2>&1 &
    for _ in $(seq 60); do
        if production "$clean/venv/bin/python" docker/healthcheck.py "$port" 2>/dev/null; then
            "$python" -c "$SIGN_IN" "$port"
            echo "image steps: installed, refused to start without a secret, answered in production mode"
            return
        fi
        sleep 1
    done
    echo "the application did not answer in production mode:" >&2
    cat "$clean/web.log" >&2
    return 1
}

check_model() {
    copy_context
    alone PYTHONUNBUFFERED=1 docker/install-model.sh cpu
    alone "$clean/state/model-venv/bin/python" -c 'import vllm; print("vLLM", vllm.__version__)'
    test -s "$clean/state/models/smollm2/model.safetensors"
}

"check_${1:-lint}"
