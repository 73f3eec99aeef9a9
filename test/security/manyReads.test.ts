import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { READS_OF_WORKSPACE_MAX, ReadsInFlight } from "../../src/http/limits/readsInFlight.ts";
import { dashboardFixture } from "../support/dashboardFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";

/** More than may wait for their turn over all workspaces. */
const READS = 2_500;
/** Both ends of each connection, and what the service has open besides. */
const DESCRIPTORS_NEEDED = 2 * READS + 500;
// Bun raises the limit that it starts with; a shell that it starts shows what it has become.
const descriptors = Bun.spawnSync(["sh", "-c", "ulimit -n"]).stdout.toString().trim();
const hasDescriptors = descriptors === "unlimited" || Number(descriptors) >= DESCRIPTORS_NEEDED;
if (!hasDescriptors)
  console.log(
    `many reads: skipped, because it needs ${DESCRIPTORS_NEEDED} file descriptors, not ${descriptors}`,
  );

describe.skipIf(!hasDescriptors)("lists of one workspace requested faster than they are answered", () => {
  const fixture = dashboardFixture(sqliteStore, {});

  test("are refused eventually, and another workspace's are answered meanwhile", async () => {
    const other = await fixture.service.tenant();
    const { hostname, port } = new URL(fixture.service.url);
    const ask = `GET /api/v1/emails HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${fixture.tenant.apiKey}\r\n\r\n`;
    // On separate sockets: `fetch` sends at most 256 requests at once.
    const requests = Array.from({ length: READS }, () => {
      const answered = Promise.withResolvers<string>();
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(ask));
      socket.once("error", answered.reject);
      socket.once("data", (bytes) => {
        answered.resolve(bytes.toString("latin1").slice("HTTP/1.1 ".length, "HTTP/1.1 200".length));
        socket.destroy();
      });
      return answered.promise;
    });
    const others = await Promise.all(
      Array.from({ length: 20 }, async () => (await other.call("GET", "/api/v1/emails")).status),
    );
    const statuses = new Set(await Promise.all(requests));
    expect(new Set(others)).toEqual(new Set([200]));
    expect([...statuses].sort()).toEqual(["200", "429"]);
    expect((await fixture.tenant.call("GET", "/api/v1/emails")).status).toBe(200);
  });
});

test("an answered request frees its room once, however often its end is reported", () => {
  const reads = new ReadsInFlight();
  const finishReads = Array.from({ length: READS_OF_WORKSPACE_MAX }, () => reads.begin("a"));
  expect(() => reads.begin("a")).toThrow("too many lists and pages");
  reads.begin("b")();
  finishReads[0]?.();
  finishReads[0]?.();
  reads.begin("a");
  expect(() => reads.begin("a")).toThrow("too many lists and pages");
});
