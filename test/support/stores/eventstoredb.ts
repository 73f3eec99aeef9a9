import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../until.ts";
import { type Authority, certificateAuthority } from "./certificates.ts";

const START_MS_MAX = 60_000;
/** Where `docker compose up -d eventstore` serves. */
const COMPOSE_PORT = 2_113;

/** The process of a server that only this test uses, and may disturb. */
export interface ServerProcess {
  /** Suspends it (SIGSTOP): connections stay open and nothing answers. Resolves when none of its threads runs. */
  pause(): Promise<void>;
  resume(): void;
  /** Kills it (SIGKILL). */
  kill(): Promise<void>;
  /** Restarts it after {@link kill} with the same files and port. */
  start(): Promise<void>;
}

export interface EventStoreDbServer {
  /** A connection string. */
  readonly url: string;
  readonly port: number;
  /** Contains `db` and `log`, and is removed with the server; null for an external server. */
  readonly folder: string | null;
}

/** Whether a test can start its own server. */
export const canStartEventStoreDb = Bun.which("eventstored") !== null;

/** The variable in which the test runner passes the server to each process, as JSON; `null` if there is none. */
export const SERVER_VARIABLE = "TEST_EVENTSTORE_SERVER";

/** Test files may each load their own copy of this module, but share one server. */
const SHARED = Symbol.for("test.eventstoredb");
const shared = globalThis as { [SHARED]?: Promise<EventStoreDbServer | null> };

/** The server that all suites of this process share: the runner's, or else one that is found. */
export function eventStoreDb(): Promise<EventStoreDbServer | null> {
  const given = process.env[SERVER_VARIABLE];
  shared[SHARED] ??= given === undefined ? findEventStoreDb() : Promise.resolve(JSON.parse(given));
  return shared[SHARED];
}

/**
 * The server at EVENTSTORE_URL, else `eventstored` from the PATH on a free loopback port, else the compose
 * file's. Null if there is none, with a printed line, so that tests are never skipped silently.
 */
export async function findEventStoreDb(): Promise<EventStoreDbServer | null> {
  const url = process.env.EVENTSTORE_URL;
  if (url)
    return {
      url,
      port: Number(/:(\d+)/.exec(url.replace(/^[^/]*\/\//, ""))?.[1] ?? COMPOSE_PORT),
      folder: null,
    };
  const reasons: string[] = ["EVENTSTORE_URL is not set"];
  if (canStartEventStoreDb) {
    try {
      return await startEventStoreDb();
    } catch (error) {
      reasons.push(`eventstored did not start: ${error instanceof Error ? error.message : error}`);
    }
  } else reasons.push("eventstored is not on the PATH");
  const composed = await compose();
  if (typeof composed !== "string") return composed;
  reasons.push(composed);
  console.warn(`EventStoreDB: not reachable (${reasons.join("; ")}): skipping its tests`);
  return null;
}

/** A server that one test started: it can be disturbed, and its files inspected. */
export interface OwnServer extends EventStoreDbServer {
  readonly process: ServerProcess;
  readonly folder: string;
}

/** A connection string for a server through a proxy on a local port. */
export function urlThrough({ url }: EventStoreDbServer, port: number): string {
  return url.replace(/(\/\/(?:[^@]*@)?)[^/?]*/, `$1127.0.0.1:${port}`);
}

/** A server that one test started, with TLS and users as in production. */
export interface SecuredServer extends OwnServer {
  /** The authority that issued the server's certificate. */
  readonly authority: Authority;
  /** A connection string for another user than the administrator; null: without a user. */
  urlFor(user: { readonly name: string; readonly password: string } | null, host?: string): string;
}

/** The administrator. The password contains characters that a URL must escape. */
export const ADMIN = { name: "admin", password: "k3y:&@dmin" };
const OPERATOR_PASSWORD = "op-3rator";

/** Starts a server on free loopback ports with a temporary folder. It ends with this process. */
export async function startEventStoreDb(choosePort: ChoosePort = freePort): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), "eventstoredb-"));
  const urlOf = (port: number) => `esdb://127.0.0.1:${port}?tls=false`;
  const isReady = (port: number) => isLive(`http://127.0.0.1:${port}`);
  return start({ folder, urlOf, options: ["--insecure"], env: {}, isReady, choosePort });
}

/** As {@link startEventStoreDb}, with a certificate from its own authority for `localhost` and 127.0.0.1. */
export async function startSecuredEventStoreDb(): Promise<SecuredServer> {
  const folder = mkdtempSync(join(tmpdir(), "eventstoredb-"));
  const authority = certificateAuthority("EventStoreDB test authority");
  const { certificate, key } = authority.issue("eventstoredb-node", ["localhost", "127.0.0.1"]);
  const authorities = join(folder, "authorities");
  const authorityFile = join(authorities, "authority.crt");
  mkdirSync(authorities);
  writeFileSync(authorityFile, authority.certificate);
  writeFileSync(join(folder, "node.crt"), certificate);
  writeFileSync(join(folder, "node.key"), key);
  const options = [
    ...["--certificate-file", join(folder, "node.crt")],
    ...["--certificate-private-key-file", join(folder, "node.key")],
    ...["--trusted-root-certificates-path", authorities],
  ];
  const env = {
    EVENTSTORE_DEFAULT_ADMIN_PASSWORD: ADMIN.password,
    EVENTSTORE_DEFAULT_OPS_PASSWORD: OPERATOR_PASSWORD,
  };
  const urlAs = (user: typeof ADMIN | null, host: string) => {
    const credentials = user && `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@`;
    return `esdb://${credentials ?? ""}${host}?tlsCAFile=${encodeURIComponent(authorityFile)}`;
  };
  const urlOf = (port: number) => urlAs(ADMIN, `localhost:${port}`);
  // A new server creates its users shortly after it is live.
  const isReady = (port: number) => isLive(`https://localhost:${port}`, authority, "/users/admin");
  const server = await start({ folder, urlOf, options, env, isReady, choosePort: freePort });
  const urlFor = (user: typeof ADMIN | null, host = "localhost") => urlAs(user, `${host}:${server.port}`);
  return { ...server, authority, urlFor };
}

type ChoosePort = (except?: number) => Promise<number>;

interface StartOptions {
  readonly folder: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  urlOf(port: number): string;
  isReady(port: number): Promise<boolean>;
  readonly choosePort: ChoosePort;
}

interface ServerPorts {
  readonly port: number;
  readonly replicationPort: number;
}

/** How often a server is started before it is given up: somebody else may take a port before it does. */
const START_TRIES_MAX = 3;

async function startOnFreePorts(options: StartOptions): Promise<ServerPorts & { readonly pid: number }> {
  for (let tries = 1; ; tries += 1) {
    const port = await options.choosePort();
    const ports = { port, replicationPort: await options.choosePort(port) };
    try {
      return { ...ports, pid: await spawnServer(options, ports) };
    } catch (error) {
      if (tries === START_TRIES_MAX) throw error;
    }
  }
}

async function start(options: StartOptions): Promise<OwnServer> {
  const { folder, urlOf } = options;
  const { port, replicationPort, ...first } = await startOnFreePorts(options);
  let { pid } = first;
  return {
    url: urlOf(port),
    port,
    folder,
    process: {
      async pause() {
        process.kill(pid, "SIGSTOP");
        await until(() => isStopped(pid), "the server to be stopped");
      },
      resume: () => process.kill(pid, "SIGCONT"),
      async kill() {
        process.kill(pid, "SIGKILL");
        await until(async () => !(await isListening(port)), "the server to exit");
      },
      async start() {
        pid = await spawnServer(options, { port, replicationPort });
      },
    },
  };
}

/**
 * A signal that stops a process takes effect when one of its threads runs next, which on a busy machine is after
 * the others have answered another call. So we poll the state: `T` in proc(5) and ps(1).
 */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks))
    return Bun.spawnSync(["ps", "-o", "state=", "-p", String(pid)])
      .stdout.toString()
      .trim()
      .startsWith("T");
  try {
    return readdirSync(tasks).every((task) =>
      /^State:\s+T/m.test(readFileSync(join(tasks, task, "status"), "utf8")),
    );
  } catch {
    // A thread has ended since it was listed, so not all stand still.
    return false;
  }
}

/** Whether a server has died, where /proc shows it. Some shells reap it at once, others leave a zombie (`Z`). */
async function hasDied(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return stat === null ? existsSync("/proc/self") : /\) Z/.test(stat);
}

/** The server runs under a shell that waits for the end of our pipe, so it goes when we go, however we end. */
const KEEPER = `trap '' INT; "$@" >/dev/null 2>&1 & echo $!; cat >/dev/null; kill -9 $!; wait; rm -rf "$FOLDER"`;

/** Starts a server and waits until it is ready. Throws when it dies before that. */
async function spawnServer(
  { folder, options: more, env, isReady }: StartOptions,
  { port, replicationPort }: ServerPorts,
): Promise<number> {
  const options = [
    ...more,
    ...["--db", join(folder, "db"), "--log", join(folder, "log")],
    ...["--node-ip", "127.0.0.1", "--node-port", String(port)],
    ...["--replication-ip", "127.0.0.1", "--replication-port", String(replicationPort)],
    // Small, because a test's server holds few streams and is started often.
    ...["--stream-existence-filter-size", "1000000", "--disable-log-file"],
  ];
  const keeper = Bun.spawn(["sh", "-c", KEEPER, "sh", "eventstored", ...options], {
    // The server accepts this refusal only from the environment. In Turkish it does not know its own options.
    env: { ...process.env, ...env, FOLDER: folder, EVENTSTORE_TELEMETRY_OPTOUT: "true", LC_ALL: "C" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const { value } = await keeper.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value));
  keeper.unref();
  let died = false;
  await until(
    async () => {
      died = await hasDied(pid);
      return died || (await isReady(port));
    },
    "eventstored to be ready",
    START_MS_MAX,
  );
  if (died) throw new Error("eventstored ended before it was ready");
  return pid;
}

async function compose(): Promise<EventStoreDbServer | string> {
  if (!Bun.which("docker")) return "no docker";
  const root = join(import.meta.dir, "../../..");
  const run = async (...command: string[]) => {
    const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    return (await child.exited) === 0;
  };
  if (!(await run("docker", "info"))) return "docker does not answer";
  if (!(await run("docker", "compose", "up", "-d", "eventstore"))) return "docker compose did not start it";
  const port = COMPOSE_PORT;
  await until(() => isLive(`http://127.0.0.1:${port}`), "the composed server to be ready", START_MS_MAX);
  return { url: `esdb://127.0.0.1:${port}?tls=false`, port, folder: null };
}

/** Whether a server answers as it should; a secured one is asked as its administrator. */
async function isLive(origin: string, authority?: Authority, path = "/health/live"): Promise<boolean> {
  const response = await fetch(`${origin}${path}`, {
    signal: AbortSignal.timeout(1_000),
    ...(authority && {
      headers: { authorization: `Basic ${btoa(`${ADMIN.name}:${ADMIN.password}`)}` },
      tls: { ca: authority.certificate },
    }),
  }).catch(() => null);
  return response?.ok ?? false;
}

async function isListening(port: number): Promise<boolean> {
  const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => null);
  socket?.end();
  return socket !== null;
}

/** Below the ports that the system hands out to connections, one of which could take ours before its server does. */
const PORTS = { first: 10_000, count: 20_000 } as const;
const PORT_TRIES_MAX = 50;

/** A loopback port that nobody listens on, and not `except`. */
export async function freePort(except?: number): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES_MAX; tries += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (port !== except && (await isFree(port))) return port;
  }
  throw new Error(`no free port in ${PORT_TRIES_MAX} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
