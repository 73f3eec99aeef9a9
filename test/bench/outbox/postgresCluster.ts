import { existsSync, readdirSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { freePort } from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";

/** Where Debian puts the programs of each version. */
const DEBIAN_VERSIONS = "/usr/lib/postgresql";
const START_MS_MAX = 30_000;
const USER = "bench";
const PASSWORD = "bench";
/** `nobody` of every Linux: PostgreSQL refuses to run as root. */
const NOBODY = 65_534;

/** A PostgreSQL server of this process's own, as it is installed: durable (fsync), on loopback. */
export interface PostgresCluster {
  readonly url: string;
  /** The process whose children do the work. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** The folder of `initdb` and `postgres`: that of the PATH, else the newest of Debian; null where there is none. */
export function postgresPrograms(): string | null {
  const debian = existsSync(DEBIAN_VERSIONS) ? readdirSync(DEBIAN_VERSIONS) : [];
  const newestFirst = debian.sort((left, right) => Number(right) - Number(left));
  const folders = newestFirst.map((version) => join(DEBIAN_VERSIONS, version, "bin"));
  const found = folders.find((folder) => existsSync(join(folder, "initdb")));
  const onPath = Bun.which("initdb");
  return found ?? (onPath === null ? null : join(onPath, ".."));
}

/** A fresh cluster in a temporary folder, on a free port. `programs`: {@link postgresPrograms}. */
export async function startPostgres(programs: string): Promise<PostgresCluster> {
  const folder = await mkdtemp(join(tmpdir(), "postledger-bench-postgres-"));
  const passwordFile = join(folder, "password");
  const data = join(folder, "data");
  await writeFile(passwordFile, PASSWORD, { mode: 0o600 });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [folder, passwordFile]) await chown(path, NOBODY, NOBODY);
  const unprivileged = isRoot
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"]
    : [];
  const run = (program: string, ...options: readonly string[]) =>
    Bun.spawn([...unprivileged, join(programs, program), ...options], {
      // It looks for its own folder, and may not read ours.
      cwd: folder,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
  const account = [`--username=${USER}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  const initialised = run("initdb", ...account, "--encoding=UTF8", "--locale=C", `--pgdata=${data}`);
  const errorOutput = await new Response(initialised.stderr).text();
  if ((await initialised.exited) !== 0) throw new Error(`initdb failed: ${errorOutput}`);
  const port = await freePort();
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: folder, fsync: "on" };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = run("postgres", "-D", data, ...options);
  // Its log, which would fill the pipe.
  void server.stderr.pipeTo(new WritableStream());
  const url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  await until(() => answers(url), "PostgreSQL to answer", START_MS_MAX);
  return {
    url,
    pid: server.pid,
    async stop() {
      // A fast shutdown: it does not wait for clients.
      server.kill("SIGINT");
      await server.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.close();
  }
}
