import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/adapters/pino/logger.ts";
import { isEmbedded } from "../../src/service/adapters/openStore.ts";
import { readConfig } from "../../src/service/config/config.ts";
import type { RunningApp } from "../../src/service/runApp.ts";
import { startApp } from "../../src/service/startApp.ts";
import { checkAnswer, noteService } from "../gate/answerLog.ts";
import { COMMAND_LINE } from "./process/program.ts";
import { emptyNameServer } from "./servers/nameServer.ts";
import { until } from "./until.ts";

type Environment = Readonly<Record<string, string>>;

/** Options of a test's service; `env` overrides settings that suit tests. */
export interface ServiceOptions {
  readonly env?: Environment;
  /** Kept if given; otherwise a temporary one that `remove` deletes. */
  readonly dataDir?: string;
}

/** Further options of a service in its own process. */
export interface ProcessOptions extends ServiceOptions {
  /** The command line of the program: of a copy with a fault, say. */
  readonly program?: readonly string[];
  /** Prepended to the command: `strace`, say. It must keep the process id. */
  readonly wrapper?: readonly string[];
  /** Called as soon as there is a process, long before it listens. */
  readonly onSpawn?: (pid: number) => void;
}

/** A client of one service with one key. */
export interface Caller {
  /** One request; `body` is sent as JSON. Headers given here replace the defaults; `null` leaves one out. */
  call(method: string, path: string, options?: CallerOptions): Promise<Answer>;
  send(key: string, body: unknown): Promise<Answer>;
}

export interface CallerOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | null>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly json: any;
  readonly text: string;
}

/** Makes requests to `url` with `apiKey`. Throws if an answer does not match the OpenAPI document. */
export function callerOf(url: string, apiKey: string): Caller {
  const caller: Caller = {
    async call(method, path, { body, headers = {} } = {}) {
      const all: Record<string, string | null> = {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      };
      const sentHeaders = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
      const payload = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const response = await fetch(url + path, {
        method,
        headers: Object.fromEntries(sentHeaders),
        redirect: "manual",
        ...(body === undefined ? {} : { body: payload as string }),
      });
      const text = await response.text();
      checkAnswer(url, method, path, { status: response.status, headers: response.headers, text });
      const isJson = /json/.test(response.headers.get("content-type") ?? "");
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text ? JSON.parse(text) : null,
      };
    },
    send: (key, body) => caller.call("POST", "/api/v1/emails", { body, headers: { "idempotency-key": key } }),
  };
  return caller;
}

const TEST_ENVIRONMENT: Environment = {
  HOST: "127.0.0.1",
  PORT: "0",
  LOG_LEVEL: "silent",
  DISK_FREE_BYTES_MIN: "0",
  LIMIT_KEY_REQUESTS_PER_SECOND: "0",
  LIMIT_WORKSPACE_REQUESTS_PER_SECOND: "0",
  AUTH_FAILURES_PER_MINUTE: "0",
  AUDIT_SEAL_INTERVAL_MS: "0",
  // Test files run in parallel: a test that is not about slowness must not fail because of it.
  STORE_TIMEOUT_MS: "20000",
  REQUEST_TIMEOUT_MS: "50000",
};

/** Settings that suit tests. No DNS query for an invented name leaves this machine. */
async function testEnvironment(): Promise<Environment> {
  const { address } = await emptyNameServer();
  return { ...TEST_ENVIRONMENT, DNS_SERVERS: address };
}

async function directoryFor(options: ServiceOptions): Promise<string> {
  return options.dataDir ?? (await mkdtemp(join(tmpdir(), "postledger-test-")));
}

/** A service inside the test's own process, on a free port. */
export interface TestApp extends Caller {
  readonly app: RunningApp;
  readonly url: string;
  readonly apiKey: string;
  readonly dataDir: string;
  /** Stops it, and removes its data directory if that is temporary. */
  remove(): Promise<void>;
}

export async function startTestApp(options: ServiceOptions = {}): Promise<TestApp> {
  const dataDir = await directoryFor(options);
  const config = readConfig({ ...(await testEnvironment()), DATA_DIR: dataDir, ...options.env });
  const app = await startApp(config, createLogger(config.logLevel));
  const url = app.url.href.replace(/\/$/, "") + config.baseUrl.pathname.replace(/\/$/, "");
  noteService(url, { ...options.env });
  if (!isEmbedded(config)) await readModelsBuilt(url);
  const apiKey = await readFile(join(dataDir, "bootstrap.key"), "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  return {
    ...callerOf(url, apiKey),
    app,
    url,
    apiKey,
    dataDir,
    async remove() {
      await app.stop();
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A log that all suites share is long by the time the last one starts. */
const BUILD_MS_MAX = 60_000;

async function readModelsBuilt(url: string): Promise<void> {
  const isBuilt = async () => {
    const { checks } = (await (await fetch(`${url}/health/ready`)).json()) as HealthJson;
    return !checks.read_models.detail.startsWith("being built");
  };
  await until(isBuilt, "the read models to be built", BUILD_MS_MAX);
}

interface HealthJson {
  readonly checks: { readonly read_models: { readonly detail: string } };
}

/** A service in its own process, which can be killed. */
export interface TestProcess extends Caller {
  readonly pid: number;
  readonly url: string;
  readonly apiKey: string;
  readonly dataDir: string;
  /** Its standard error so far: the log lines. */
  log(): string;
  /** Its standard output so far, for people. */
  out(): string;
  /** Sends the signal and waits until it exits. */
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<number>;
  /** Its exit status, once it has ended. */
  readonly exited: Promise<number>;
}

/** The line of the log that says where the service listens: LOG_LEVEL must let it through. */
const LISTENING = /"url":"([^"]+)"[^\n]*"msg":"listening"/;

export async function startTestProcess(options: ProcessOptions = {}): Promise<TestProcess> {
  const dataDir = await directoryFor(options);
  const settings = await testEnvironment();
  const env = { ...process.env, ...settings, LOG_LEVEL: "info", DATA_DIR: dataDir, ...options.env };
  const { program = COMMAND_LINE, wrapper = [] } = options;
  const child = Bun.spawn([...wrapper, ...program, "serve"], {
    // The program must run from any directory: Bun reads tsconfig.json from the current one only.
    cwd: "/",
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  options.onSpawn?.(child.pid);
  let out = "";
  let log = "";
  const drain = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
  };
  void drain(child.stdout, (text) => {
    out += text;
  });
  void drain(child.stderr, (text) => {
    log += text;
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(() => LISTENING.test(log) || hasEnded(), "the service to listen");
  const url = LISTENING.exec(log)?.[1]?.replace(/\/$/, "");
  if (url === undefined) throw new Error(`the service did not start: ${log}`);
  noteService(url, env);
  const apiKey = (await readFile(join(dataDir, "bootstrap.key"), "utf8").catch(() => "")).trim();
  return {
    ...callerOf(url, apiKey),
    pid: child.pid,
    url,
    apiKey,
    dataDir,
    log: () => log,
    out: () => out,
    exited: child.exited,
    async kill(signal) {
      child.kill(signal);
      return child.exited;
    },
  };
}
