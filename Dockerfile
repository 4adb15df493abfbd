# fukayomi in a container, by a user without rights. Two targets from one environment:
#
#     docker build -t fukayomi .                          the page in the browser (docs/install.md)
#     docker build --target worker -t fukayomi-worker .   machines of a fleet (docs/fleet.md)
#
# EXTRAS chooses what is installed: --build-arg EXTRAS=fleet,train for the learner of a fleet. PACKAGES are further ones.
FROM debian:trixie-slim AS base
# Debian's stable release changes a package for its security alone, and keeps no old versions.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 tini wget \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home fukayomi

FROM base AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
ARG EXTRAS=fleet,web
ARG PACKAGES=s3fs
ENV PIP_CONSTRAINT=/source/constraints.txt PIP_BUILD_CONSTRAINT=/source/constraints.txt PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY . .
RUN python3 -m venv /opt/fukayomi \
 && /opt/fukayomi/bin/pip install -q --upgrade pip \
 && /opt/fukayomi/bin/pip install -q ".[$EXTRAS]" $PACKAGES

FROM base AS worker
COPY --from=build /opt/fukayomi /opt/fukayomi
ENV PATH=/opt/fukayomi/bin:$PATH PYTHONUNBUFFERED=1
USER 1000
WORKDIR /home/fukayomi
# KubeRay and docs/fleet.md name the command: ray start with the address of the head.
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s CMD ["ray", "health-check"]
ENTRYPOINT ["tini", "--"]

FROM worker AS web
EXPOSE 8346
# Who has no token is refused, by a server that is well.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "import http.client; page = http.client.HTTPConnection('localhost', 8346, timeout=4); page.request('GET', '/'); raise SystemExit(page.getresponse().status >= 500)"]
ENTRYPOINT ["tini", "--", "fukayomi", "web", "--no-browser", "--host", "0.0.0.0"]
