import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import { beginLinkSession, beginSession, describeInBrowser, expectGoodPage } from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;

describeInBrowser("API keys", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.remove());

  test(
    "a key is created, shown once, and revoked after one question",
    async () => {
      const { page, errors } = await browser.open();
      await beginSession(page, app.url, app.apiKey);
      await page.goto(`${app.url}/dashboard`);
      await page.getByRole("link", { name: "API keys" }).click();
      // When it was last used: no more is known than the hour.
      expect(await page.locator("td time").first().textContent()).toMatch(/:00.*–.*:00/);
      await page.getByRole("link", { name: "Create a key" }).click();
      await page.getByLabel("Name").fill("Shop");
      await page.getByRole("checkbox", { name: /^email:send/ }).check();
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("Only this page shows it.").waitFor();
      // A reload sends the form again, and creates nothing.
      await page.reload();
      await page.getByRole("heading", { name: "This was done already" }).waitFor();
      await page.getByRole("link", { name: "To the key" }).click();
      await page.getByRole("heading", { name: "Shop" }).waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("link", { name: "API keys" }).first().click();
      const row = page.locator("tr", { hasText: "Shop" });
      for (const word of ["used", "expires"]) await row.getByText(word, { exact: true }).waitFor();
      expect(await row.count()).toBe(1);
      const sizes = (await page.evaluate(
        `[...document.querySelectorAll(".rows td:has(.narrow), .rows td time")].map((one) => getComputedStyle(one).fontSize)`,
      )) as readonly string[];
      expect(sizes.length).toBeGreaterThanOrEqual(5);
      expect(new Set(sizes).size).toBe(1);
      await row.getByRole("link").click();
      await page.getByRole("link", { name: "Revoke" }).click();
      await page.getByText("Revoke Shop?").waitFor();
      await page.getByRole("button", { name: "Revoke" }).click();
      await page.getByText("Shop no longer works.").waitFor();
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "the button of a log-in by link names the day until which a key is valid, and follows the field",
    async () => {
      const { page, errors } = await browser.open();
      await beginLinkSession(page, app);
      await page.goto(`${app.url}/dashboard`);
      await page.getByRole("link", { name: "API keys" }).click();
      await page.getByRole("link", { name: "Create a key" }).click();
      await page.getByRole("button", { name: /^Create, valid until \d+ \w+ 20\d\d$/ }).waitFor();
      await page.getByLabel("Expires").fill("2199-01-31T12:00");
      await page.getByRole("button", { name: "Create, valid until 31 January 2199" }).waitFor();
      await page.getByRole("button", { name: "Copy the command" }).waitFor();
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "the form of a log-in by link looks right",
    () =>
      expectGoodPage(browser, "api-key-new", `${app.url}/dashboard/api-keys/new`, (page) =>
        beginLinkSession(page, app),
      ),
    TEST_MS_MAX,
  );
});
