import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "../adapters/durableFiles/durableFile.ts";
import type { Waiting } from "../domain/email/waitingReason.ts";
import { urlOf } from "../http/server/requestTarget.ts";
import { equalInConstantTime } from "../kernel/crypto/equalInConstantTime.ts";

/** Tells a command where the service on this data directory is. Only the directory's owner can read it. */
const FILE = "service.json";

/**
 * How long an answer may take. `doctor` waits for everything the service depends on, and a hanging relay takes longer
 * than the ten seconds after which Bun closes an idle connection by default.
 */
const ANSWER_SECONDS_MAX = 60;

/** What {@link openLocalControl} writes. A damaged file must not send the token, or a request, elsewhere. */
const LOOPBACK_URL = /^http:\/\/127\.0\.0\.1:\d{1,5}$/;
const TOKEN = /^[\w-]+=*$/;

/** How a command on the same machine reaches a running service. */
export interface ServiceAddress {
  readonly url: string;
  /** Valid for this run only. */
  readonly token: string;
}

/** What a service tells commands that use its data directory. */
interface LocalAnswers {
  /** What `doctor` shows. */
  status(): Promise<unknown>;
  /** Whether the log is frozen and nothing in flight here could still be written to it. */
  settled(): Promise<boolean>;
  /** Why a message has not ended; null if it has, or there is none. */
  waiting(emailId: string): Promise<Waiting | null>;
  /** A link that logs in to the dashboard of a workspace; null means the only one. */
  dashboardLink(workspaceId: string | null): Promise<unknown>;
}

/**
 * Answers commands that run on this machine and can read the data directory, until it is closed. It has its own
 * loopback port, so no API caller can reach it and no setting of the API's port affects it.
 */
export async function openLocalControl(dataDir: string, answers: LocalAnswers) {
  const token = crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: "base64url" });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: ANSWER_SECONDS_MAX,
    async fetch(request) {
      const authorization = request.headers.get("authorization") ?? "";
      if (!equalInConstantTime(authorization, `Bearer ${token}`)) return new Response(null, { status: 401 });
      const { pathname, searchParams } = urlOf(request);
      switch (pathname) {
        case "/status":
          return Response.json(await answers.status());
        case "/settled":
          return Response.json(await answers.settled());
        case "/waiting":
          return Response.json({ waiting: await answers.waiting(searchParams.get("email") ?? "") });
        case "/dashboard-link":
          return Response.json(await answers.dashboardLink(searchParams.get("workspace")));
        default:
          return new Response(null, { status: 404 });
      }
    },
    error: () => new Response(null, { status: 500 }),
  });
  const address: ServiceAddress = { url: server.url.origin, token };
  const path = join(dataDir, FILE);
  await writeDurably(path, Buffer.from(JSON.stringify(address)));
  return {
    async close() {
      await rm(path, { force: true });
      await server.stop(true);
    },
  };
}

/** The address that the last service on this data directory left; null if it removed it or left none. */
export async function serviceAddress(dataDir: string): Promise<ServiceAddress | null> {
  try {
    const found = JSON.parse(await readFile(join(dataDir, FILE), "utf8")) as Partial<ServiceAddress> | null;
    const [url, token] = [String(found?.url), String(found?.token)];
    return LOOPBACK_URL.test(url) && TOKEN.test(token) ? { url, token } : null;
  } catch {
    return null;
  }
}
