# One image for every verb: docker build -t fleetgc .
# The version that package.json names for x64: a rebuild changes nothing by itself. A tag can be moved, a digest cannot: where you have a
# registry that you trust, give the digest too, --build-arg NODE_IMAGE=node:<version>-trixie-slim@sha256:<digest>.
ARG NODE_IMAGE=node:24.22.3-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /opt/fleetgc
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci
COPY bin ./bin
COPY cli ./cli
COPY packages ./packages
COPY schemas ./schemas
COPY services ./services
COPY lab/demo ./lab/demo
COPY lab/sim ./lab/sim
# What "fleetgc version" tells: --build-arg COMMIT=$(git rev-parse HEAD).
ARG COMMIT=
RUN node bin/build.ts --commit "$COMMIT"

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="fleetgc" org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /opt/fleetgc
COPY bin/fleetgc bin/kubectl-fleetgc bin/kubectl_complete-fleetgc ./bin/
COPY LICENSE ./
COPY --from=build /opt/fleetgc/dist ./dist
# Compiled now, which shortens every start: the help of a verb reads all of its code. What root compiled, Node.js
# looks for under the number of its own user, which is that of `node` here, and makes for root's eyes only.
RUN for verb in node simulate-node decide plan "topics create" "policy apply" "audit verify"; do \
    bin/fleetgc $verb --help >/dev/null || exit 1; \
  done && \
  cd node_modules/.cache/fleetgc/compiled && \
  chmod -R a+r . && \
  for compiled in *-0; do ln -s "$compiled" "${compiled%-0}-$(id -u node)"; done
# Decision services need no privilege. On a node, run agent and executor as root (the chart in deploy/helm does).
USER node
# Every service answers /livez here, whatever its verb, the dashboard at the second address; one-shot verbs end before the first check. To
# listen elsewhere set these variables rather than --http-address and --probe-address, so that the check follows.
ENV FLEETGC_HTTP_ADDRESS=127.0.0.1:9640
ENV FLEETGC_PROBE_ADDRESS=127.0.0.1:9662
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const all = [process.env.FLEETGC_HTTP_ADDRESS, process.env.FLEETGC_PROBE_ADDRESS].filter((at) => at !== 'none'); if (process.env.FLEETGC_HTTP_ADDRESS !== 'none') Promise.any(all.map((at) => fetch(`http://${at.replace(/^(0\\.0\\.0\\.0|\\[::\\]):/, '127.0.0.1:')}/livez`).then((r) => r.ok || Promise.reject()))).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["/opt/fleetgc/bin/fleetgc"]
CMD ["--help"]
