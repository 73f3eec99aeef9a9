# The service and its production dependencies, nothing else. To pin the base by digest as well: see docker-compose.yml.
FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# Peers are for types: what runs is named as a dependency of our own.
RUN bun install --frozen-lockfile --production --omit=peer
COPY tsconfig.json ./
COPY projections ./projections
COPY src ./src
# What the service writes is in /data: the rest of the file system can be read-only.
RUN mkdir /data && chown bun:bun /data
# The command line: `docker exec <container> postledger doctor`, as hints name it by POSTLEDGER_COMMAND.
RUN printf '#!/bin/sh\nexec bun /app/src/main.ts "$@"\n' > /usr/local/bin/postledger \
  && chmod 755 /usr/local/bin/postledger
ENV POSTLEDGER_COMMAND=postledger
USER bun
ENV HOST=0.0.0.0 DATA_DIR=/data
EXPOSE 3000
VOLUME /data
STOPSIGNAL SIGTERM
# The path of BASE_URL prefixes all others.
HEALTHCHECK --interval=10s --timeout=5s --retries=6 --start-period=20s CMD ["bun", "-e", "const { PORT, BASE_URL } = process.env; const { pathname } = new URL(BASE_URL || 'http://localhost'); const path = `${pathname}/health/live`.replace('//', '/'); process.exit((await fetch(`http://127.0.0.1:${PORT || 3000}${path}`)).ok ? 0 : 1)"]
CMD ["bun", "src/main.ts", "serve"]
