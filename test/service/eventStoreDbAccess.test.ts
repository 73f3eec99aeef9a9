import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { EventStoreDBClient } from "@eventstore/db-client";
import { connectEventStoreDb } from "../../src/adapters/eventstoredb/eventStoreDb.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { runCommand, runProgram } from "../support/process/runCommand.ts";
import { startTestApp } from "../support/service.ts";
import { certificateAuthority } from "../support/stores/certificates.ts";
import {
  ADMIN,
  canStartEventStoreDb,
  type OwnServer,
  type SecuredServer,
  startEventStoreDb,
  startSecuredEventStoreDb,
  urlThrough,
} from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
/** What a bootstrapped workspace may send from. */
const FROM = "hello@example.com";
const PASSWORD = "s3cret: é/@?&#";

describe.skipIf(!canStartEventStoreDb)("a secured EventStoreDB", () => {
  let server: SecuredServer;
  let insecure: OwnServer;
  const folder = temporaryFolder();
  let strangersFile: string;
  /** Where a server has a certificate of the right authority for another name. */
  let otherServer: Server;
  let elsewherePort: number;

  beforeAll(async () => {
    strangersFile = join(folder, "strangers.crt");
    await writeFile(strangersFile, certificateAuthority("somebody else's authority").certificate);
    [server, insecure] = await Promise.all([startSecuredEventStoreDb(), startEventStoreDb()]);
    const { certificate: cert, key } = server.authority.issue("elsewhere", ["elsewhere.example.org"]);
    otherServer = createServer({ cert, key, ALPNProtocols: ["h2"] });
    // Clients hang up when they have seen its certificate.
    otherServer.on("secureConnection", (socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => otherServer.listen(0, "127.0.0.1", resolve));
    elsewherePort = (otherServer.address() as AddressInfo).port;
    for (const [name, groups] of [
      ["eraser", ["$ops"]],
      ["plain", []],
      ["unlisted", []],
    ] as const) {
      await createUser(server, name, groups);
    }
    // As the page on EventStoreDB tells operators to do.
    const client = EventStoreDBClient.connectionString(server.url);
    await client.setStreamMetadata("$all", { acl: { readRoles: ["$admins", "eraser", "plain"] } });
    await client.dispose();
  }, TEST_MS_MAX);
  afterAll(async () => {
    otherServer?.close();
    await Promise.all([server?.process.kill(), insecure?.process.kill()]);
  });

  const urlAs = (name: string) => server.urlFor({ name, password: PASSWORD });

  describe("is not started on, and one line says why and what to do,", () => {
    const swapFile = (url: string, file: string) => url.replace(/tlsCAFile=[^&]*/, `tlsCAFile=${file}`);
    const cases: Readonly<
      Record<string, () => { url: string; patterns: readonly RegExp[]; status?: number }>
    > = {
      "with a wrong password": () => ({
        url: server.urlFor({ name: ADMIN.name, password: "guess" }),
        patterns: [/refuses the user name or the password/, /esdb:\/\/user:password@host:2113/],
      }),
      "with an unknown user": () => ({
        url: server.urlFor({ name: "nobody", password: "guess" }),
        patterns: [/refuses the user name or the password/],
      }),
      "without a user": () => ({
        url: server.urlFor(null),
        patterns: [/requires a user/, /esdb:\/\/user:password@host:2113/],
      }),
      "with a password that is not percent-encoded": () => ({
        url: `esdb://admin:gu/e@ss@localhost:${server.port}`,
        patterns: [/percent-encode/, /%2F/, /%40/],
      }),
      "as a user who may not read the log": () => ({
        status: 1,
        url: urlAs("unlisted"),
        patterns: [/denies its user access/, /docs\/eventstoredb\.md/],
      }),
      "without the authority of its certificate": () => ({
        url: server.url.replace(/\?.*/, ""),
        patterns: [/certificate from an authority that this machine does not know/, /tlsCAFile=/],
      }),
      "with another authority": () => ({
        url: swapFile(server.url, strangersFile),
        patterns: [/certificate from an authority that this machine does not know/, /tlsCAFile=/],
      }),
      "with another authority, as a cluster": () => ({
        url: swapFile(server.urlFor(ADMIN, `localhost:${server.port},127.0.0.1`), strangersFile),
        patterns: [/certificate from an authority that this machine does not know/, /tlsCAFile=/],
      }),
      "with a file of the authority that is not there": () => ({
        url: swapFile(server.url, join(folder, "none.crt")),
        patterns: [/tlsCAFile names a file that does not exist/],
      }),
      "with a file of the authority that is no certificate": () => ({
        url: swapFile(server.url, import.meta.path),
        patterns: [/holds no certificate/],
      }),
      "by TLS where there is none": () => ({
        url: `esdb://127.0.0.1:${insecure.port}`,
        patterns: [/speaks no TLS/, /tls=false/],
      }),
      "without TLS": () => ({
        status: 1,
        url: `esdb://localhost:${server.port}?tls=false`,
        patterns: [/does not answer as it should/, /tls=false for a node without TLS/],
      }),
      "by a name that its certificate does not have": () => ({
        url: urlThrough(server, elsewherePort),
        patterns: [/certificate for other hosts/],
      }),
    };

    test.each(Object.entries(cases))(
      "%s",
      async (_name, testCase) => {
        const { url, patterns, status = 2 } = testCase();
        const env = { PORT: "0", STORE_URL: url, MASTER_KEY, STORE_TIMEOUT_MS: "1500" };
        const { exitCode, out, err } = await runProgram(["serve"], await mkdtemp(join(folder, "data-")), env);
        expect({ err, exitCode, out }).toEqual({ err, exitCode: status, out: "" });
        expect(err.trim().split("\n")).toHaveLength(1);
        expect(err).not.toMatch(/guess|gu.e.ss/);
        for (const pattern of patterns) expect(err).toMatch(pattern);
      },
      TEST_MS_MAX,
    );

    test(
      "nor is a command, with the same line",
      async () => {
        const withOtherAuthority = swapFile(server.url, strangersFile);
        for (const [url, patterns] of [
          [server.urlFor({ name: ADMIN.name, password: "guess" }), /refuses the user name or the password/],
          [withOtherAuthority, /certificate from an authority that this machine does not know/],
        ] as const) {
          const env = { STORE_URL: url, MASTER_KEY, STORE_TIMEOUT_MS: "1500" };
          const { exitCode, err } = await runCommand(["workspace", "list"], folder, env);
          expect({ err, exitCode }).toEqual({ err, exitCode: 2 });
          expect(err.trim().split("\n")).toHaveLength(1);
          expect(err).toMatch(patterns);
        }
      },
      TEST_MS_MAX,
    );
  });

  test(
    "serves a user who may read the log and is of no group: accepts, lists, erases and has its log checked",
    async () => {
      const env = { STORE_URL: urlAs("plain"), MASTER_KEY, BOOTSTRAP: "on", SMTP_URL: "outbox:" };
      const service = await startTestApp({ env });
      try {
        const body = { from: FROM, to: "somebody@example.org", subject: "hi", text: "hello" };
        const { status, json } = await service.send("first-of-a-kind", body);
        expect(status).toBe(202);
        const path = `/api/v1/emails/${json.id}`;
        await until(
          async () => (await service.call("GET", path)).json.status === "sent",
          "the mail to be sent",
        );
        expect((await service.call("GET", "/api/v1/emails")).json.data).toHaveLength(1);
        expect((await service.send("first-of-a-kind", body)).headers.get("idempotent-replayed")).toBe("true");
        expect((await service.call("DELETE", `${path}/content`)).status).toBeLessThan(300);
        const erased = async () => (await service.call("GET", path)).json.content_erased === true;
        await until(erased, "the content to be erased");
        const { exitCode, out } = await runCommand(["audit", "verify", "--json"], service.dataDir, env);
        expect({ out, exitCode }).toEqual({ out, exitCode: 0 });
      } finally {
        await service.remove();
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is scavenged for a user of $ops alone, who needs no other right for it",
    async () => {
      const countRemaining = async (name: string) => {
        const store = await connectEventStoreDb({ url: urlAs(name) });
        return (await store.purge().finally(() => store.close())).remains;
      };
      expect(await countRemaining("eraser")).toEqual([]);
      expect(await countRemaining("plain")).toEqual([
        expect.stringMatching(/the user of STORE_URL is not in \$ops/),
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "is reached by its address as well, alone and as a cluster that advertises addresses",
    async () => {
      for (const host of ["127.0.0.1", `127.0.0.1:${server.port},127.0.0.1`]) {
        const store = await connectEventStoreDb({ url: server.urlFor(ADMIN, host) });
        const event = { id: crypto.randomUUID(), type: "Reached", data: {}, metadata: {} };
        expect(await store.append(`reached-${crypto.randomUUID()}`, [event], "noStream")).toMatchObject({
          outcome: "appended",
        });
        expect(await store.head()).not.toBe(LOG_START);
        await store.close();
      }
    },
    TEST_MS_MAX,
  );
});

/** As the operator's page says, by the server's own HTTP interface. */
async function createUser(
  { port, authority }: SecuredServer,
  loginName: string,
  groups: readonly string[],
): Promise<void> {
  const { status } = await fetch(`https://localhost:${port}/users`, {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`${ADMIN.name}:${ADMIN.password}`)}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ loginName, fullName: loginName, password: PASSWORD, groups }),
    tls: { ca: authority.certificate },
  });
  if (status !== 201) throw new Error(`the user ${loginName} was not created: ${status}`);
}
