# The server's image. One stage builds it and another one installs its packages, so that the last one holds only what
# runs.
ARG NODE_IMAGE=node:26.10.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# The whole id of the commit: the image has the sources without their git.
ARG COMMIT=""
RUN COMMIT=$COMMIT npm run build

# The optional packages are other Nodes, and this image has one.
FROM ${NODE_IMAGE} AS packages
WORKDIR /packages
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="rowlock" \
      org.opencontainers.image.description="A lock server over gRPC, kept in MySQL or SQLite" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    ROWLOCK_LISTEN=0.0.0.0:50051 \
    ROWLOCK_METRICS_LISTEN=0.0.0.0:9464
COPY package.json LICENSE /app/
COPY bin /app/bin
COPY deploy/healthcheck.mjs /app/deploy/
COPY --from=packages /packages/node_modules /app/node_modules
COPY --from=build /build/proto /app/proto
COPY --from=build /build/dist /app/dist
# If no database is configured, the embedded one is in the working directory.
RUN install -d -o node -g node /var/lib/rowlock
WORKDIR /var/lib/rowlock
VOLUME /var/lib/rowlock
USER node
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "/app/deploy/healthcheck.mjs"]
ENTRYPOINT ["node", "/app/bin/rowlock.mjs"]
CMD ["serve"]
