# The web application and its worker: one set of packages, two commands.
#   docker build -f docker/Dockerfile.app --target web .
FROM python:3.11-slim-bookworm AS app
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/opt/venv/bin:$PATH \
    DJANGO_SETTINGS_MODULE=config.settings \
    WORKBENCH_STATE=/var/lib/workbench
RUN useradd --system --uid 1000 --home-dir /var/lib/workbench workbench
WORKDIR /srv/workbench
COPY config/requirements/app.txt config/requirements/app.txt
COPY docker/install-app.sh docker/install-app.sh
RUN docker/install-app.sh packages /opt/venv
COPY . .
RUN docker/install-app.sh static /opt/venv \
    && install -d -o workbench /var/lib/workbench/media
USER 1000
VOLUME /var/lib/workbench/media

FROM app AS worker
# A stop signal lets calls in flight finish: give it time (compose: stop_grace_period).
CMD ["celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "4"]

FROM app AS web
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "docker/healthcheck.py", "8000"]
CMD ["python", "-m", "config.server", "--host", "0.0.0.0", "--access-log"]
