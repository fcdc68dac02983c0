# One image, three uses: `signoff up` (default), `signoff bot`, `python -P -m workers`.
# .ci/run rehearses these steps (make image-rehearsal): what stands here is what was tried.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/signoff && /opt/signoff/bin/pip install --require-hashes -r requirements.lock -c requirements.lock
COPY storage storage
COPY workers workers
COPY bot bot
RUN /opt/signoff/bin/pip install --no-deps --no-build-isolation .

FROM python:3.13-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends postgresql-client util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --home-dir /var/lib/signoff signoff
COPY --from=build /opt/signoff /opt/signoff
ENV PATH=/opt/signoff/bin:$PATH SIGNOFF_STATE=/var/lib/signoff SIGNOFF_CONFIG=/etc/signoff/signoff.toml PYTHONSAFEPATH=1
USER signoff
WORKDIR /var/lib/signoff
VOLUME /var/lib/signoff
HEALTHCHECK --interval=300s --timeout=30s CMD ["signoff", "doctor"]
CMD ["signoff", "up"]
