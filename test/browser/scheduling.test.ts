import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { rfc3339 } from "../../src/kernel/time.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";
import { beginSession, describeInBrowser, expectGoodPage, waitForPageWith } from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;
const HOUR_MS = 3_600_000;
/** As a field for a time has it, where the browser is. */
const IN_BERLIN = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Berlin",
  dateStyle: "short",
  timeStyle: "short",
});

function berlinTime(at: number): string {
  return IN_BERLIN.format(at).replace(" ", "T");
}

describeInBrowser("scheduled messages and tags", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, {});

  /** A message that is to go on the hour, in two days or so. */
  const scheduled = async (): Promise<{ readonly id: string; readonly at: number }> => {
    const at = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 48 * HOUR_MS;
    const { json } = await tenant.send(newKey(), message({ scheduled_at: rfc3339(at) }));
    return { id: json.id, at };
  };
  const open = async (path: string) => {
    const window = await browser.open();
    await beginSession(window.page, service.url, tenant.apiKey);
    await window.page.goto(`${service.url}/dashboard${path}`);
    return window;
  };

  test(
    "one is moved to a time of the zone that its sender is in, and then sent now",
    async () => {
      const { id, at } = await scheduled();
      const stateOf = async () => (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
      const { page, errors } = await open(`/messages/${id}`);
      await page.getByRole("heading", { name: "Scheduled" }).waitFor();
      await page.getByRole("link", { name: "Reschedule…" }).click();
      const field = page.getByRole("dialog").getByLabel("Time (Europe/Berlin)");
      expect(await field.inputValue()).toBe(berlinTime(at));
      const later = at + 26 * HOUR_MS;
      await field.fill(berlinTime(later));
      await page.getByRole("dialog").getByRole("button", { name: "Reschedule" }).click();
      await waitForPageWith(page, "It goes at");
      expect(await stateOf()).toMatchObject({ status: "scheduled", scheduled_at: rfc3339(later) });
      await page.getByRole("button", { name: "Send now" }).click();
      await waitForPageWith(page, "It is due now and goes next.");
      expect(Date.parse((await stateOf()).scheduled_at)).toBeLessThanOrEqual(Date.now());
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "without scripts the time is in UTC",
    async () => {
      const { id, at } = await scheduled();
      const { page } = await browser.open({ javaScriptEnabled: false });
      await beginSession(page, service.url, tenant.apiKey);
      await page.goto(`${service.url}/dashboard/messages/${id}/reschedule`);
      const field = page.getByLabel("Time (UTC)");
      expect(await field.inputValue()).toBe(rfc3339(at).slice(0, 16));
      await field.fill(rfc3339(at + HOUR_MS).slice(0, 16));
      await page.getByRole("button", { name: "Reschedule" }).click();
      await page.getByText("It goes at").waitFor();
      const { json } = await tenant.call("GET", `/api/v1/emails/${id}`);
      expect(json.scheduled_at).toBe(rfc3339(at + HOUR_MS));
    },
    TEST_MS_MAX,
  );

  test(
    "a tag of one leads to all that have it, and the filters keep it",
    async () => {
      const { json } = await tenant.send(
        newKey(),
        message({ subject: "With a tag", tags: ["welcome", "spring sale"] }),
      );
      await tenant.send(newKey(), message({ subject: "Without one" }));
      const { page, errors } = await open(`/messages/${json.id}`);
      await page.getByRole("link", { name: "spring sale" }).click();
      await waitForPageWith(page, "With a tag");
      expect(await page.getByLabel("Search messages").inputValue()).toBe('tag:"spring sale"');
      expect(await page.getByText("Without one").count()).toBe(0);
      await page.getByText("Filters", { exact: true }).click();
      await page.getByLabel("Tag").fill("welcome");
      await page.locator(".filters").getByRole("button", { name: "Search" }).click();
      await page.waitForURL(/q=tag%3Awelcome$/);
      await waitForPageWith(page, "With a tag");
      await page.keyboard.press("/");
      await page.keyboard.type("tag:nobody");
      await page.keyboard.press("Enter");
      await page.getByText("No message matches").waitFor();
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "the page of a scheduled one looks well",
    async () => {
      const { id } = await scheduled();
      const logIn = (page: Page) => beginSession(page, service.url, tenant.apiKey);
      const address = `${service.url}/dashboard/messages/${id}`;
      await expectGoodPage(browser, "message-scheduled", address, logIn);
      await expectGoodPage(browser, "message-reschedule", `${address}/reschedule`, logIn);
    },
    TEST_MS_MAX,
  );
});
