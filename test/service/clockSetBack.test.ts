import { afterEach, expect, setSystemTime, test } from "bun:test";
import { askRunningService } from "../../src/cli/service/askRunningService.ts";
import { HOUR_MS } from "../../src/kernel/time.ts";
import type { Check } from "../../src/service/status/checks/check.ts";
import { startTestApp, type TestApp } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey } from "../support/tenants.ts";

const DOCTOR_MS_MAX = 20_000;

afterEach(() => void setSystemTime());

test("after a start doctor warns of a clock that was set back, as long as events are dated in the future", async () => {
  const dataDir = temporaryFolder();
  /** Starts the service, and returns what doctor says about the clock. */
  const clockOf = async (use: (app: TestApp) => Promise<void> = async () => {}) => {
    const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
    try {
      await use(app);
      const asked = await askRunningService(dataDir, "/status", DOCTOR_MS_MAX);
      return (asked as { body: readonly Check[] }).body.find(({ name }) => name === "clock");
    } finally {
      await app.remove();
    }
  };
  const send = async (app: TestApp) => {
    expect((await app.send(newKey(), message({ from: "hello@example.com" }))).status).toBe(202);
  };
  expect(await clockOf()).toBeUndefined();
  setSystemTime(new Date(Date.now() + 2 * HOUR_MS));
  expect(await clockOf(send)).toBeUndefined();
  setSystemTime();
  // Mail that is dated right hides nothing.
  for (const use of [send, undefined])
    expect(await clockOf(use)).toMatchObject({
      status: "warning",
      detail: expect.stringContaining("set back: events may be dated up to"),
      action: expect.stringContaining("When the clock is wrong"),
    });
  setSystemTime(new Date(Date.now() + 3 * HOUR_MS));
  expect(await clockOf()).toBeUndefined();
});
