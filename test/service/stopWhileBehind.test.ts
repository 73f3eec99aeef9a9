import { expect, test } from "bun:test";
import { join } from "node:path";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { newEvent } from "../contract/eventStore.ts";
import { startTestApp } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

/** Far less than the wait for the read models takes by itself. */
const TEST_MS_MAX = 30_000;
const LONGEST = { STORE_TIMEOUT_MS: "60000", DRAIN_TIMEOUT_MS: "120000" };

test(
  "a service stops although its workers wait for read models that are behind",
  async () => {
    const dataDir = temporaryFolder();
    await (await startTestApp({ dataDir })).remove();
    const store = openSqliteEventStore({ path: join(dataDir, "events.db") });
    // Nobody can read it, so the read models that need it stop there.
    await store.append("email-damaged", [{ ...newEvent(), type: "EmailQueued" }], "noStream");
    await store.close();
    const { app, call } = await startTestApp({ dataDir, env: LONGEST });
    await until(
      async () => (await call("GET", "/health/ready")).json.checks.read_models.ok === false,
      "the read models to stop",
    );
    await app.stop();
    expect(app.inFlight()).toMatchObject({ requests: 0, deliveries: 0 });
  },
  TEST_MS_MAX,
);
