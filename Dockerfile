# One image for every verb: docker build -t fleetgc .
# The version that package.json names too: a rebuild changes nothing by itself. A tag can be moved, a digest cannot: where you have a
# registry that you trust, give the digest too, --build-arg NODE_IMAGE=node:<version>-bookworm-slim@sha256:<digest>.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /opt/fleetgc
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci
COPY bin ./bin
COPY cli ./cli
COPY packages ./packages
COPY schemas ./schemas
COPY services ./services
COPY sim ./sim
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
# Every service answers /livez here, whatever its verb; one-shot verbs end before the first check. To listen elsewhere set this
# variable rather than --http-address, so that the check follows.
ENV FLEETGC_HTTP_ADDRESS=127.0.0.1:9640
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const at = process.env.FLEETGC_HTTP_ADDRESS; if (at !== 'none') fetch(`http://${at.replace(/^(0\\.0\\.0\\.0|\\[::\\]):/, '127.0.0.1:')}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/opt/fleetgc/bin/fleetgc"]
CMD ["--help"]
