# The server's image: Node, the libraries that it needs, and the server; no shell and no package manager. Its layers have
# the same digests whenever and wherever they are built from the same commit on the same base image.
# The digest is of the index of all processors; only it decides what is built on.
ARG NODE_IMAGE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# The whole id of the commit: the image has the sources without their git.
ARG COMMIT=""
RUN COMMIT=$COMMIT npm run build

FROM ${NODE_IMAGE} AS layers
# For strip, which takes a fifth off Node.
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
COPY deploy/image/system.sh /
RUN sh /system.sh /layers/system
WORKDIR /layers/app/app
# The optional packages are other Nodes, and this image has one. The list of what is here must not name what is not: npm
# would then leave packages out of it that the server and its development share.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional && npm pkg delete devDependencies optionalDependencies
ARG SOURCE_DATE_EPOCH=0
COPY scripts/image-sbom.ts /
RUN node /image-sbom.ts /layers/system >sbom.cdx.json && rm package-lock.json .npmrc
COPY LICENSE ./
COPY bin bin
COPY deploy/healthcheck.mjs deploy/
COPY --from=build /build/proto/gen proto/gen
COPY --from=build /build/dist dist
# What only people and compilers read of the packages goes; licences stay. `rowlock` starts without sh and env, which are not there.
RUN find . -type f \( -name '*.map' -o -name '*.[cm]ts' -o -name '*.ts' -o -name '*.md' \) ! -iname 'licen[cs]e*' -delete && \
    find node_modules -type d -empty -delete && \
    sed -i '1s|.*|#!/usr/local/bin/node --inspect-port=192.0.2.1:9229|' bin/rowlock.mjs && chmod -R u=rwX,go=rX /layers/app && \
    ln -s /app/bin/rowlock.mjs /layers/system/usr/local/bin/rowlock && \
    find /layers -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM scratch
LABEL org.opencontainers.image.title="rowlock" \
      org.opencontainers.image.description="A lock server over gRPC, kept in MySQL or SQLite" \
      org.opencontainers.image.licenses="Apache-2.0"
# The system changes with Node alone, so that a new version of the server is a small layer on what machines have.
COPY --from=layers /layers/system/ /
COPY --from=layers /layers/app/ /
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    ROWLOCK_BANNER=false \
    ROWLOCK_LISTEN=0.0.0.0:50051 \
    ROWLOCK_METRICS_LISTEN=0.0.0.0:9464
# If no database is configured, the embedded one is in the working directory.
WORKDIR /var/lib/rowlock
VOLUME /var/lib/rowlock
# A number, by which Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "/app/deploy/healthcheck.mjs"]
ENTRYPOINT ["node", "--disable-sigusr1", "/app/bin/rowlock.mjs"]
CMD ["serve"]
