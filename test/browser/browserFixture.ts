import { afterEach, beforeAll, describe, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import type { TestApp } from "../support/service.ts";
import { until } from "../support/until.ts";
import { hasChromium, START_MS_MAX, sharedChromium, type TabKind } from "./sharedChromium.ts";

/** Half of what the package's own `source` is. */
const axeSource = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

/** A window of the browser, and what went wrong in it. */
export interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and refusals of the page's policy, as the browser's console has them. */
  readonly errors: readonly string[];
}

export interface WindowOptions extends Partial<TabKind> {
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** The browser that tests share; each opens windows of its own, which know nothing of one another. */
export interface TestBrowser {
  open(options?: WindowOptions): Promise<Window>;
}

/** What goes wrong in a page from now on. */
function errorsOf(page: Page): readonly string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // That a page itself is not there, or not allowed, is what some tests are about.
    const isOfPage = message.location().url === page.url() && /status of 4\d\d/.test(message.text());
    if (message.type() === "error" && !isOfPage) errors.push(message.text());
  });
  return errors;
}

/**
 * Tests in a real Chromium. Where none is found they are skipped, and the run of all tests says how many. Every name
 * has the word "browser" in it, by which they are counted.
 */
export function describeInBrowser(name: string, tests: (browser: TestBrowser) => void): void {
  describe.skipIf(!hasChromium)(`in a browser: ${name}`, () => {
    let chromium: Awaited<ReturnType<typeof sharedChromium>>;
    beforeAll(async () => {
      chromium = await sharedChromium();
    }, START_MS_MAX);
    afterEach(() => chromium.release());
    tests({
      async open({ colorScheme = "light", width = 1280, height = 860, ...kind } = {}) {
        const { context, page } = await chromium.take({ javaScriptEnabled: true, locale: "en-GB", ...kind });
        await page.emulateMedia({ colorScheme, reducedMotion: "no-preference" });
        await page.setViewportSize({ width, height });
        return { page, context, errors: errorsOf(page) };
      },
    });
  });
}

/**
 * Waits for a text, and for the scripts of the page that it has come with: before them it takes no keys, and a link that
 * opens a dialog leads to its page.
 */
export async function waitForPageWith(page: Page, text: string): Promise<void> {
  await page.getByText(text).first().waitFor();
  await page.locator("html.scripted").waitFor();
}

/** Opens a log-in link. Its page sends a form by itself, maybe before all of it is there: it is not waited for. */
export async function openLogInLink(page: Page, url: string): Promise<void> {
  await page.goto(url, { waitUntil: "commit" });
}

async function logInLink(app: TestApp, workspaceId: string | null): Promise<string> {
  const answer = await app.app.dashboardLink(workspaceId);
  if (answer.kind !== "link") throw new Error(`no link: ${answer.kind}`);
  return answer.url;
}

/**
 * Gives a window a session of this key, or of this link, without its log-in pages: they take a hundred times as much of
 * a processor, and have tests of their own (`frame.test.ts`). The window stays where it is.
 */
export async function beginSession(page: Page, url: string, secret: string): Promise<void> {
  const answer = await page.request.post(`${url}/dashboard/log-in`, { form: { secret }, maxRedirects: 0 });
  if (answer.status() !== 303) throw new Error(`log-in refused: ${answer.status()} ${await answer.text()}`);
}

/** As {@link beginSession}, by a link such as the command prints. */
export async function beginLinkSession(
  page: Page,
  app: TestApp,
  workspaceId: string | null = null,
): Promise<void> {
  await beginSession(page, app.url, await logInLink(app, workspaceId));
}

/** Logs in as a person does: by opening the link that the command prints. */
export async function logInByLink(page: Page, app: TestApp): Promise<void> {
  await openLogInLink(page, await logInLink(app, null));
  await page.waitForURL(/\/dashboard$/);
}

/** Logs in by pasting an API key. */
export async function logInByKey(page: Page, url: string, apiKey: string): Promise<void> {
  await page.goto(`${url}/dashboard/log-in`);
  await page.getByLabel("API key or log-in link").fill(apiKey);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(/\/dashboard$/);
}

interface AxeFinding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

interface Axe {
  run(options: { resultTypes: readonly string[] }): Promise<{ readonly violations: readonly AxeFinding[] }>;
}

const withAxe = new WeakSet<Page>();

/**
 * Loads axe by the debugger: the page's policy would refuse it as a script of the page. It is sent once for each window,
 * because sending it takes far longer than running it.
 */
async function loadAxe(page: Page): Promise<void> {
  if (!withAxe.has(page)) {
    withAxe.add(page);
    const content = `globalThis.loadAxe = () => {${axeSource}}`;
    await page.addInitScript({ content });
    await page.evaluate(content);
  }
  await page.evaluate("if (globalThis.axe === undefined) loadAxe()");
}

/** Looks at a page as axe does; fails on what is serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  await loadAxe(page);
  const findings = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: Axe };
    return (await axe.run({ resultTypes: ["violations"] })).violations;
  });
  const bad = findings.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(
    bad.map(({ id, nodes }) => ({
      id,
      nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => [html, failureSummary]),
    })),
  ).toEqual([]);
}

/** Plots are drawn again 100 ms after a window has changed. */
const REDRAWN_MS_MAX = 5_000;

/** Whether anything of a page stands out at the side. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  const fits = () => page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth");
  await until(fits, "nothing to stand out at the side", REDRAWN_MS_MAX);
}

/** Keeps a picture of a page where SCREENSHOTS_DIR says; does nothing without it. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS_DIR;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}

/** Opens a page of the dashboard, whose heading is there as soon as the browser has loaded it. */
export async function openPage(page: Page, url: string): Promise<void> {
  await page.goto(url);
  // Not by a locator, for which Playwright would first send a script of its own to each page.
  expect({ url, hasHeading: await page.evaluate("document.querySelector('main h1') !== null") }).toEqual({
    url,
    hasHeading: true,
  });
}

/** {@link expectGoodLooks} of the page at an address, for whoever has logged in. */
export function expectGoodPage(
  browser: TestBrowser,
  name: string,
  address: string,
  logIn: (page: Page) => Promise<unknown>,
): Promise<void> {
  return expectGoodLooks(browser, name, (page) => openPage(page, address), logIn);
}

/** A way to look at a page. */
export interface Look {
  readonly look: string;
  readonly colorScheme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

async function setLook(page: Page, { colorScheme, width, height }: Look): Promise<void> {
  // Colours that fade into others would be looked at half-way.
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height });
}

/** Looks at the page of a window: that it is accessible, and that nothing stands out at the side. */
export async function expectGoodLook(page: Page, name: string, look: Look): Promise<void> {
  await setLook(page, look);
  await keepScreenshot(page, `${name}-${look.look}`);
  await expectAccessible(page);
  await expectNoSideScroll(page);
}

const LARGE: readonly Look[] = [
  { look: "light", colorScheme: "light", width: 1280, height: 860 },
  { look: "dark", colorScheme: "dark", width: 1280, height: 860 },
];
const PHONES: readonly Look[] = [
  { look: "phone", colorScheme: "light", width: 390, height: 844 },
  { look: "narrow", colorScheme: "dark", width: 360, height: 740 },
];

/**
 * Looks at a page in light, in dark and on phones: that it is accessible, that nothing stands out at the side, and that
 * the browser had nothing to complain of. `name` is what its pictures are called. `visit` loads the page, once in a large
 * window and once on a phone; `logIn` comes once, before the first.
 */
export async function expectGoodLooks(
  browser: TestBrowser,
  name: string,
  visit: (page: Page) => Promise<unknown>,
  logIn: (page: Page) => Promise<unknown> = async () => {},
): Promise<void> {
  const { page, errors } = await browser.open();
  await logIn(page);
  for (const looks of [LARGE, PHONES])
    for (const [nth, look] of looks.entries()) {
      await setLook(page, look);
      if (nth === 0) await visit(page);
      await expectGoodLook(page, name, look);
      expect({ look: look.look, errors }).toEqual({ look: look.look, errors: [] });
    }
}
