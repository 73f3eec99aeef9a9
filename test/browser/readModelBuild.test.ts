import { afterEach, expect, setSystemTime, test } from "bun:test";
import { rm } from "node:fs/promises";
import { HOUR_MS } from "../../src/kernel/time.ts";
import { startTestApp } from "../support/service.ts";
import { unprojectedLog } from "../support/unprojectedLog.ts";
import { beginSession, describeInBrowser, keepScreenshot } from "./browserFixture.ts";

const TEST_MS_MAX = 180_000;
/** Read models of so many are made in seconds: long enough to be seen. */
const MESSAGES = 25_000;

describeInBrowser("read models that are being built", (browser) => {
  afterEach(() => void setSystemTime());

  test(
    "a list that is not there yet shows up by itself",
    async () => {
      const { page, errors } = await browser.open();
      // A session outlives a restart: so the first page is asked for as soon as the service answers.
      const { dataDir } = await unprojectedLog(MESSAGES, async ({ url, apiKey }) => {
        await beginSession(page, url, apiKey);
      });
      // All of the log is older than what a service that keeps up may lack.
      setSystemTime(new Date(Date.now() + HOUR_MS));
      const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
      try {
        await page.goto(`${app.url}/dashboard/suppressions`);
        await page.getByRole("heading", { name: "Lists and figures are being built" }).waitFor();
        await keepScreenshot(page, "building-suppressions-light");
        await page.getByRole("link", { name: "Add an address" }).waitFor({ timeout: TEST_MS_MAX / 2 });
        expect(await page.getByText("are being built").count()).toBe(0);
        expect(errors.filter((error) => !error.includes("status of 503"))).toEqual([]);
      } finally {
        await app.remove();
        await rm(dataDir, { recursive: true, force: true });
      }
    },
    TEST_MS_MAX,
  );
});
