import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import {
  beginLinkSession,
  describeInBrowser,
  expectGoodLooks,
  logInByKey,
  logInByLink,
  openLogInLink,
} from "./browserFixture.ts";

const TEST_MS_MAX = 60_000;

/** Where a label of the time axis begins and ends, in pixels of its canvas. */
interface PlotLabel {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** Records the labels of the time axis that a canvas drew last: the centred texts. */
const LABEL_RECORDER = `
  window.plotLabels = new Map();
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...rect) {
    plotLabels = new Map();
    return clearRect.apply(this, rect);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    const half = this.measureText(text).width / 2;
    if (this.textAlign === "center") plotLabels.set(x, { text, left: x - half, right: x + half });
    return fillText.call(this, text, x, ...rest);
  };
`;

/** Whether all scripts of a page but one have arrived, and the browser has had time for what they do when they start. */
const SCRIPTS_ARRIVED = `async (last) => {
  const arrived = performance.getEntriesByType("resource").filter(({ responseEnd }) => responseEnd > 0);
  const others = [...document.scripts].filter(({ src }) => src !== "" && !src.includes("/" + last + "."));
  if (document.readyState === "loading") return false;
  if (!others.every(({ src }) => arrived.some(({ name }) => name === src))) return false;
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  return true;
}`;

describeInBrowser("the frame of the dashboard", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.remove());

  test("the link logs in once, and leaves nothing of itself in the address or the history", async () => {
    const { page, errors } = await browser.open();
    // What is before it may be a page of a service that has ended.
    await page.goto("about:blank");
    const answer = await app.app.dashboardLink(null);
    if (answer.kind !== "link") throw new Error(answer.kind);
    await openLogInLink(page, answer.url);
    await page.waitForURL(`${app.url}/dashboard`);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Overview");
    await page.goBack();
    expect(page.url()).not.toContain("#");
    expect(errors).toEqual([]);
    const other = await browser.open();
    await openLogInLink(other.page, answer.url);
    await other.page.getByText("The link was used already").waitFor();
  });

  test.each(["dashboard", "htmx"])("a page whose script %s arrives last becomes live", async (last) => {
    const { page, errors } = await browser.open();
    await beginLinkSession(page, app);
    await page.route(`**/assets/${last}.*.js`, async (route) => {
      await page.waitForFunction(SCRIPTS_ARRIVED, last);
      await route.continue();
    });
    await page.goto(`${app.url}/dashboard/messages`);
    await page.locator("#live.on").waitFor();
    expect(errors).toEqual([]);
  });

  test("a link logs in where the log-in page is open already", async () => {
    const { page } = await browser.open();
    await page.goto(`${app.url}/dashboard/log-in`);
    const answer = await app.app.dashboardLink(null);
    if (answer.kind !== "link") throw new Error(answer.kind);
    await openLogInLink(page, answer.url);
    await page.waitForURL(`${app.url}/dashboard`);
  });

  test("a key logs in, log-out leads back, and the page is not to be seen again", async () => {
    const { page } = await browser.open();
    await logInByKey(page, app.url, app.apiKey);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(/log-in\?out=$/);
    await page.goto(`${app.url}/dashboard`);
    await page.waitForURL(/log-in/);
  });

  test("a link on another site reaches the page that it names", async () => {
    const { page } = await browser.open();
    await logInByLink(page, app);
    // Another host to the browser, though the same machine.
    const elsewhere = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () =>
        new Response(`<a href="${app.url}/dashboard?from=mail">open</a>`, {
          headers: { "content-type": "text/html" },
        }),
    });
    try {
      await page.goto(`http://localhost:${elsewhere.port}/`);
      await page.getByText("open").click();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    } finally {
      await elsewhere.stop(true);
    }
  });

  test("without scripts a key logs in and pages can be read", async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await logInByKey(page, app.url, app.apiKey);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Overview");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(/log-in\?out=$/);
  });

  test("? shows the keys, Esc takes them away", async () => {
    const { page } = await browser.open();
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard`);
    await page.locator("html.scripted").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor({ state: "hidden" });
  });

  test("a tablet shows the whole navigation", async () => {
    const { page } = await browser.open({ width: 768 });
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard`);
    const links = page.locator(".side nav a");
    expect(await links.count()).toBeGreaterThan(10);
    for (const link of await links.all()) {
      const box = await link.boundingBox();
      expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual(768);
    }
  });

  test.each([1280, 768, 390])("labels of the plot do not touch on a window of %i pixels", async (width) => {
    const { page } = await browser.open({ width, locale: "en-US" });
    await page.addInitScript(LABEL_RECORDER);
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard`);
    await page.locator("[data-plot] canvas").waitFor();
    const labels = (await page.evaluate("[...plotLabels.values()]")) as readonly PlotLabel[];
    expect(labels.length).toBeGreaterThan(1);
    const overlapping = labels.filter(({ left }, index) => left < (labels[index - 1]?.right ?? -1));
    expect(overlapping).toEqual([]);
  });

  test(
    "the log-in page looks well",
    () =>
      expectGoodLooks(browser, "log-in", async (page) => {
        await page.goto(`${app.url}/dashboard/log-in`);
      }),
    TEST_MS_MAX,
  );
});
