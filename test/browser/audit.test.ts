import { beforeAll, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import { sendSamples } from "../support/sampleMessages.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { beginLinkSession, describeInBrowser, expectGoodPage } from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;
const HOSTILE = `<script>document.title="run"</script>"><img src=x onerror="document.title='run'">`;

describeInBrowser("the audit", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, { AUDIT_SEAL_INTERVAL_MS: "200" });
  beforeAll(async () => {
    await sendSamples(service, tenant, 12);
    await tenant.call("POST", "/api/v1/api-keys", { body: { name: "Shop", scopes: ["email:send"] } });
    await tenant.call("POST", "/api/v1/api-keys", { body: { name: HOSTILE, scopes: ["email:read"] } });
    await tenant.call("POST", "/api/v1/workspace/pause");
    await tenant.call("POST", "/api/v1/workspace/resume");
  }, TEST_MS_MAX);

  const open = async (path: string) => {
    const window = await browser.open();
    await beginLinkSession(window.page, service.app, tenant.workspaceId);
    await window.page.goto(`${service.url}/dashboard${path}`);
    return window;
  };

  test("who did what is found by filters that stand in the address, and hostile names are text", async () => {
    const { page, errors } = await open("/audit");
    await page.getByRole("link", { name: "Sending paused" }).waitFor();
    expect(await page.title()).toBe("Audit log · Postledger");
    await page.getByLabel("Target").selectOption("workspace");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.waitForURL(/target_type=workspace/);
    await page.getByRole("link", { name: "Sending paused" }).click();
    await page.waitForURL(/action=sending.paused/);
    expect(await page.locator("tbody tr").count()).toBe(1);
    expect(errors).toEqual([]);
  });

  const boxOf = async (element: Locator) => {
    const box = await element.boundingBox();
    return {
      top: box?.y ?? 0,
      right: (box?.x ?? 0) + (box?.width ?? 0),
      bottom: (box?.y ?? 0) + (box?.height ?? 0),
    };
  };

  test("what an entry is about is shown at every width", async () => {
    const { page } = await open("/audit");
    for (const width of [390, 1_024, 1_280, 1_440]) {
      await page.setViewportSize({ width, height: 844 });
      const targets = await page.locator(".target:has(a)").all();
      expect(targets.length).toBeGreaterThan(2);
      // A long name may be cut, but it begins within its cell, below the word for its kind.
      for (const target of targets)
        expect((await boxOf(target.locator("a"))).top).toBeLessThan((await boxOf(target)).bottom - 5);
    }
  });

  test("a phone shows every part of a message, and the way to the reference", async () => {
    const { page } = await open("/audit");
    await page.setViewportSize({ width: 390, height: 844 });
    const isWhole = async (name: string) => {
      const { right } = await boxOf(page.getByRole("link", { name }));
      return right > 0 && right <= 390;
    };
    expect(await isWhole("API reference")).toBe(true);
    await page.goto(`${service.url}/dashboard/messages`);
    await page.locator("a[data-row]").first().click();
    expect(await isWhole("Download MIME")).toBe(true);
  });

  test(
    "the log is verified while somebody looks, and the result comes by itself",
    async () => {
      const { page, errors } = await open("/audit/seals");
      await page.getByRole("heading", { name: "Last seal" }).waitFor();
      await page.getByRole("button", { name: "Verify the log" }).click();
      await page.getByText("what was checked is as it was written").waitFor({
        timeout: TEST_MS_MAX / 2,
      });
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "read models are verified and one is rebuilt, by the keyboard",
    async () => {
      const { page } = await open("/audit/read-models");
      await page.getByRole("button", { name: "Verify all" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("compared with the log: they agree.").waitFor({ timeout: TEST_MS_MAX / 2 });
      await page.reload();
      await page.getByRole("button", { name: "Rebuild emails" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("1 read model rebuilt and in use.").waitFor({ timeout: TEST_MS_MAX / 2 });
    },
    TEST_MS_MAX,
  );

  test(
    "a person is erased, and the report follows the work",
    async () => {
      const { page } = await open("/audit/erasures");
      await page.getByRole("link", { name: "Erase a person…" }).click();
      await page.getByLabel("The person's address").fill("ben.okafor@example.org");
      await page.getByRole("button", { name: "Erase for good" }).click();
      await page.getByRole("heading", { name: "What was erased" }).waitFor({ timeout: TEST_MS_MAX / 2 });
      await page.locator(".heading .status", { hasText: "completed" }).waitFor({
        timeout: TEST_MS_MAX / 2,
      });
    },
    TEST_MS_MAX,
  );

  test(
    "a search that finds nothing looks well",
    () =>
      expectGoodPage(
        browser,
        "audit-nothing",
        `${service.url}/dashboard/audit?action=email.rescheduled`,
        (page) => beginLinkSession(page, service.app, tenant.workspaceId),
      ),
    TEST_MS_MAX,
  );
});
