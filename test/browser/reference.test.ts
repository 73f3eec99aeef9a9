import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import { until } from "../support/until.ts";
import { describeInBrowser, expectGoodLooks, expectNoSideScroll } from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;
/** A line of text: requests above the reader are of other lengths in another language. */
const LINE_PX = 25;
const LOOKED_AT = ["sendEmail", "getEmail", "updateWebhook", "on-email-bounced"];

describeInBrowser("the reference", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { DELIVERY: "off" } });
  });
  afterAll(() => app.remove());

  test(
    "looks well in light, in dark and on phones",
    async () => {
      await expectGoodLooks(browser, "reference", async (page) => {
        await page.goto(`${app.url}/docs`);
        // Some of each kind, with everything open: all of them would take minutes to look at.
        await page.evaluate(`
          const kept = ${JSON.stringify(LOOKED_AT)};
          for (const section of document.querySelectorAll("section")) if (!kept.includes(section.id)) section.remove();
          for (const one of document.querySelectorAll("details")) one.open = true;
        `);
      });
    },
    TEST_MS_MAX,
  );

  test("on the narrowest phone nothing of it stands out at the side, whatever is open", async () => {
    const { page } = await browser.open({ width: 360, height: 740 });
    await page.goto(`${app.url}/docs`);
    await page.evaluate(`
      for (const section of document.querySelectorAll("section")) section.style.contentVisibility = "visible";
      for (const one of document.querySelectorAll("details")) one.open = true;
    `);
    await expectNoSideScroll(page);
  });

  test("finds operations by words, paths, fields and codes, by the keyboard alone", async () => {
    const { page, errors } = await browser.open();
    await page.goto(`${app.url}/docs`);
    await page.keyboard.press("/");
    await page.keyboard.type("idempotency conflict");
    const results = page.locator(".search li a");
    await page.getByRole("status").getByText("3 results", { exact: true }).waitFor();
    expect(await results.allTextContents()).toEqual([
      "Send an emailPOST",
      "Send up to 100 emailsPOST",
      "Send the content of an email againPOST",
    ]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs#sendEmail$/);
    await page.getByRole("searchbox").fill("bounces");
    await results.getByText("Count bounces").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(`document.activeElement.textContent.includes("Count bounces")`);
    await page.getByRole("searchbox").press("Escape");
    await page.locator("[data-contents]").waitFor();
    expect(errors).toEqual([]);
  });

  test("shows requests in the language that was chosen, wherever it was chosen, and keeps it", async () => {
    const { page } = await browser.open();
    await page.goto(`${app.url}/docs`);
    const shown = page.locator("#getEmail .request pre:visible");
    expect(await shown.textContent()).toContain("curl ");
    await page.locator("#getEmail").scrollIntoViewIfNeeded();
    const top = () => page.locator("#getEmail .request").evaluate((one) => one.getBoundingClientRect().top);
    const before = await top();
    await page.locator("#getEmail .request label", { hasText: "Python" }).click();
    await shown.filter({ hasText: "urlopen" }).waitFor();
    // The radio button is at the beginning of the page, and what is read stays where it is.
    const isThere = async () => Math.abs((await top()) - before) < LINE_PX;
    await until(isThere, "the request to scroll back into place");
    await page.reload();
    await shown.filter({ hasText: "urlopen" }).waitFor();
  });

  test("copies the request that shows", async () => {
    const { page, context } = await browser.open();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${app.url}/docs`);
    await page.locator("#listEmails .request button").click();
    await page.locator("#listEmails .request").getByText("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toStartWith(
      `curl '${app.url}/api/v1/emails'`,
    );
  });

  test("can be read without a script, and the language chosen", async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await page.goto(`${app.url}/docs`);
    expect(await page.getByRole("searchbox").isVisible()).toBeFalse();
    await page.locator("#sendEmail .request label", { hasText: "JavaScript" }).click();
    await page.locator("#sendEmail .request pre:visible", { hasText: "await fetch(" }).waitFor();
    await page.locator("#sendEmail summary", { hasText: "IDEMPOTENCY_CONFLICT" }).click();
    await page.getByText('"code": "IDEMPOTENCY_CONFLICT"').first().waitFor();
  });

  test("on a phone the contents open on request and close behind what was chosen", async () => {
    const { page } = await browser.open({ width: 360, height: 740 });
    await page.goto(`${app.url}/docs`);
    const link = page.locator("[data-contents] a", { hasText: "List uploads" });
    expect(await link.isVisible()).toBeFalse();
    await page.getByText("Contents", { exact: true }).click();
    await link.click();
    await page.waitForURL(/#listAttachments$/);
    await link.waitFor({ state: "hidden" });
  });
});
