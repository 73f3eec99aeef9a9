import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../support/webhook/webhookWorld.ts";
import {
  beginSession,
  describeInBrowser,
  expectGoodLooks,
  keepScreenshot,
  waitForPageWith,
} from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;

describeInBrowser("the pages of webhooks", (browser) => {
  let world: WebhookWorld;
  let tenant: Tenant;
  let failing: string;
  let delivery: string;
  let isDown = true;
  beforeAll(async () => {
    world = await startWebhookWorld(sqliteStore, ["shop", "crm", "new", "phone"], {
      answer: (_call, response) => {
        response.statusCode = isDown ? 503 : 200;
        response.end(isDown ? "<b>out of order</b>" : "ok");
      },
    });
    tenant = await world.service.tenant();
    const register = async (name: string, parts: object): Promise<string> =>
      (await tenant.call("POST", "/webhooks", { body: { url: world.urlOf(name), ...parts } })).json.id;
    const disabled = await register("crm", { event_types: ["email.sent", "email.bounced"] });
    await tenant.call("POST", `/webhooks/${disabled}/disable`);
    failing = await register("shop", { description: "Orders and their mail" });
    delivery = (await tenant.call("POST", `/webhooks/${failing}/test`)).json.delivery_id;
    const tried = `/webhooks/${failing}/deliveries/${delivery}`;
    await until(
      async () => (await tenant.call("GET", tried)).json.attempt_log[0]?.outcome === "failed",
      "an attempt that failed",
    );
  });
  afterAll(() => world.remove());

  const visitPage = (path: string) => async (page: Page) => {
    await beginSession(page, world.service.url, tenant.apiKey);
    await page.goto(`${world.service.url}/dashboard${path}`);
  };

  for (const [name, path] of [
    ["webhook-endpoint", () => `/webhooks/${failing}`],
    ["webhook-delivery", () => `/webhooks/${failing}/deliveries/${delivery}`],
  ] as const)
    test(
      `${name} looks well`,
      () =>
        expectGoodLooks(
          browser,
          name,
          (page) => page.goto(`${world.service.url}/dashboard${path()}`),
          (page) => beginSession(page, world.service.url, tenant.apiKey),
        ),
      TEST_MS_MAX,
    );

  test(
    "an endpoint is added, and its secret is not to be seen again",
    async () => {
      const { page, errors } = await browser.open();
      await visitPage("/webhooks")(page);
      await page.getByRole("link", { name: "Add endpoint" }).click();
      await page.getByLabel("URL").fill(world.urlOf("new"));
      await page.getByRole("button", { name: "Add endpoint" }).click();
      await page.getByRole("heading", { name: "The endpoint was added" }).waitFor();
      expect(await page.locator(".secret code").textContent()).toStartWith("whsec_");
      await keepScreenshot(page, "webhook-secret-light");
      await page.getByRole("link", { name: "I have copied it" }).click();
      await page.getByRole("heading", { level: 1, name: /^new\.receiver/ }).waitFor();
      expect(await page.content()).not.toContain("whsec_");
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "a delivery that failed is found by keyboard, and sent again",
    async () => {
      const { page, errors } = await browser.open();
      await visitPage("/webhooks")(page);
      await page.locator("a[data-row]", { hasText: "shop." }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`/webhooks/${failing}$`));
      await waitForPageWith(page, "Deliveries");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await waitForPageWith(page, "<b>out of order</b>");
      isDown = false;
      await page.getByRole("button", { name: "Deliver again" }).click();
      await page.getByRole("status").getByText("It is being delivered again.").waitFor();
      await until(async () => {
        await page.reload();
        return (await page.getByText("The endpoint has taken it.").count()) === 1;
      }, "the delivery to be made");
      await keepScreenshot(page, "webhook-delivered-light");
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "deleting asks first in a dialog, and without scripts on a page",
    async () => {
      const { page } = await browser.open();
      await visitPage(`/webhooks/${failing}`)(page);
      await page.getByRole("link", { name: "Delete endpoint" }).click();
      const dialog = page.getByRole("dialog", { name: "Confirm" });
      await dialog.getByText("This cannot be undone").waitFor();
      await keepScreenshot(page, "webhook-delete-dialog-light");
      await dialog.getByRole("link", { name: "Back" }).click();
      await dialog.waitFor({ state: "hidden" });
      const plain = await browser.open({ javaScriptEnabled: false });
      await visitPage(`/webhooks/${failing}`)(plain.page);
      await plain.page.getByRole("link", { name: "Delete endpoint" }).click();
      await plain.page.getByRole("button", { name: "Delete" }).click();
      await plain.page.getByText("was deleted.").waitFor();
    },
    TEST_MS_MAX,
  );

  test(
    "on a phone a delivery's message has the room that its time leaves",
    async () => {
      const body = { url: world.urlOf("phone"), event_types: ["email.queued"] };
      const { id } = (await tenant.call("POST", "/webhooks", { body })).json;
      await tenant.send(newKey(), message());
      const { page } = await browser.open({ width: 375 });
      await visitPage(`/webhooks/${id}`)(page);
      const row = page.locator(".rows tbody tr:has(a[href*='/messages/'])").first();
      await until(async () => {
        await page.reload();
        return (await row.count()) === 1;
      }, "the delivery of the message");
      const boxOf = async (element: Locator) => {
        const { x, width } = (await element.boundingBox()) ?? { x: 0, width: 0 };
        return { left: x, right: x + width, width };
      };
      const shown = await boxOf(row.locator(".clip"));
      const time = await boxOf(row.locator("td").last());
      expect(shown.width).toBeGreaterThan(120);
      expect(time.left).toBeGreaterThanOrEqual(shown.right);
      expect(time.right).toBeGreaterThan((await boxOf(row)).right - 1);
    },
    TEST_MS_MAX,
  );
});
