import { afterEach, expect, setSystemTime, test } from "bun:test";
import { rm } from "node:fs/promises";
import { logIn } from "../../support/dashboard.ts";
import { startTestApp } from "../../support/service.ts";
import { unprojectedLog } from "../../support/unprojectedLog.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 180_000;
const HOUR_MS = 3_600_000;
/** Read models of so many are made in seconds, and the first page is asked for in milliseconds. */
const MESSAGES = 12_000;

afterEach(() => void setSystemTime());

test(
  "while read models are being built after a start, pages say how far that is, and show what there is",
  async () => {
    const { dataDir, apiKey } = await unprojectedLog(MESSAGES);
    // All of the log is older than what a service that keeps up may lack.
    setSystemTime(new Date(Date.now() + HOUR_MS));
    const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
    try {
      const visitor = await logIn(app.url, apiKey);
      const [overview, messages, outbox, suppressions] = await Promise.all(
        ["/", "/messages", "/outbox", "/suppressions"].map((path) => visitor.get(path)),
      );
      for (const page of [overview, messages, outbox, suppressions]) {
        expect(page?.html).toContain("Lists and figures are being built");
        expect(page?.html).toMatch(/of which \d+% is read/);
        expect(page?.html).not.toContain("No message has been sent yet");
      }
      const ready = await app.call("GET", "/health/ready");
      expect(ready.status).toBe(503);
      expect(ready.json.checks.read_models.detail).toMatch(/^being built: \d+% of the log is read$/);
      expect(overview?.html).toContain("The figures are being counted");
      expect(overview?.html).not.toContain("caught up");
      for (const page of [overview, messages, outbox]) expect(page?.status).toBe(200);
      // What must be whole to be shown is there when it is whole.
      expect(suppressions?.status).toBe(503);
      expect(suppressions?.html).toContain("<h1>Suppressions</h1>");
      expect(suppressions?.html).toContain('hx-get="/dashboard/live/read-models?without-rows"');
      const isBuilt = async () => !(await visitor.get("/messages")).html.includes("are being built");
      await until(isBuilt, "the read models", TEST_MS_MAX / 2);
      expect((await visitor.get("/suppressions")).status).toBe(200);
      expect((await app.call("GET", "/health/ready")).json.checks.read_models.detail).toBe("caught up");
      const htmxRequest = { "hx-request": "true" };
      expect((await visitor.get("/live/read-models", htmxRequest)).html).toContain("are complete now");
      const { headers } = await visitor.get("/live/read-models?without-rows", htmxRequest);
      expect(headers.get("hx-refresh")).toBe("true");
    } finally {
      await app.remove();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
  TEST_MS_MAX,
);
