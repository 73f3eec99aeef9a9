import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import { beginLinkSession, describeInBrowser, waitForPageWith } from "./browserFixture.ts";

const TEST_MS_MAX = 60_000;

describeInBrowser("suppressions", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.remove());

  test(
    "an address is added, found with /, and removed after one question",
    async () => {
      const { page, errors } = await browser.open();
      await beginLinkSession(page, app);
      await page.goto(`${app.url}/dashboard`);
      await page.getByRole("link", { name: "Suppressions" }).click();
      await page.getByText("No address is suppressed").waitFor();
      await page.getByLabel("Address", { exact: true }).fill("ana@example.com");
      await page.getByLabel("Note").fill("Asked for it by phone");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await waitForPageWith(page, "ana@example.com gets no more mail.");
      await page.keyboard.press("/");
      await page.keyboard.type("ana@example.com");
      await page.keyboard.press("Enter");
      await page.waitForURL(/address=ana/);
      await page.getByRole("link", { name: "Remove ana@example.com" }).click();
      await page.getByText("Send mail to ana@example.com again?").waitFor();
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByText("Mail to ana@example.com is sent again.").waitFor();
      expect(errors).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "long addresses and notes leave the other columns in sight",
    async () => {
      const address = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.example`;
      await app.call("POST", "/api/v1/suppressions", { body: { address, note: "n".repeat(200) } });
      const { page } = await browser.open({ width: 1280 });
      await beginLinkSession(page, app);
      await page.goto(`${app.url}/dashboard/suppressions`);
      await page.getByText(address).waitFor();
      const overflow = await page.evaluate<number>(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table'))",
      );
      expect(overflow).toBe(0);
    },
    TEST_MS_MAX,
  );
});
