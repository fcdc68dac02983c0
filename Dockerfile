# One image, three uses: `signoff up` (default), `signoff bot`, `python -P -m workers`.
# .ci/run rehearses these steps (make image-rehearsal): what stands here is what was tried.
# A tag moves; a digest does not. This is Python 3.13.15 on Debian 13.6 for all platforms; another: --build-arg BASE=...
ARG BASE=python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
FROM ${BASE} AS build
WORKDIR /src
# The lock has every extra but `agents`.
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/signoff && /opt/signoff/bin/pip install --require-hashes -r requirements.lock -c requirements.lock
COPY storage storage
COPY workers workers
COPY bot bot
RUN /opt/signoff/bin/pip install --no-deps --no-build-isolation .

FROM ${BASE}
# Debian 13 has PostgreSQL 17's client: pg_dump refuses a server that is newer than itself.
RUN apt-get update \
 && apt-get install -y --no-install-recommends git postgresql-client-17 util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --home-dir /var/lib/signoff signoff
COPY --from=build /opt/signoff /opt/signoff
ENV PATH=/opt/signoff/bin:$PATH SIGNOFF_STATE=/var/lib/signoff SIGNOFF_CONFIG=/etc/signoff/signoff.toml PYTHONSAFEPATH=1 \
    SIGNOFF_HEALTH_PORT=9700
USER signoff
WORKDIR /var/lib/signoff
VOLUME /var/lib/signoff
HEALTHCHECK --interval=30s --timeout=10s CMD ["python", "-P", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9700/healthz', timeout=5)"]
CMD ["signoff", "up"]
