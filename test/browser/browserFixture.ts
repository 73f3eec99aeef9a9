import { afterAll, afterEach, beforeAll, describe, expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { TestApp } from "../support/service.ts";

/** Where a Chromium is: CHROMIUM_PATH, Debian's, or one on the PATH; null where there is none. */
function chromiumPath(): string | null {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  if (existsSync("/usr/bin/chromium")) return "/usr/bin/chromium";
  return Bun.which("chromium") ?? Bun.which("chromium-browser") ?? Bun.which("google-chrome");
}

const executablePath = chromiumPath();
/** How long a page may take for what a test waits for, in ms. */
const WAIT_MS_MAX = 30_000;
const START_MS_MAX = 60_000;
/** Each page compiles it anew, and this is half of what the package's own `source` is. */
const axeSource = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

/** A window of the browser, and what went wrong in it. */
export interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and refusals of the page's policy, as the browser's console has them. */
  readonly errors: readonly string[];
}

export interface WindowOptions {
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  readonly javaScriptEnabled?: boolean;
}

/** A browser that tests share; each opens windows of its own, which know nothing of one another. */
export interface TestBrowser {
  open(options?: WindowOptions): Promise<Window>;
}

/** Where a window is, and whether its pages may have scripts. */
interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly javaScriptEnabled: boolean;
}

/**
 * Windows that tests have left, emptied for other tests: in a new one a log-in and a page take three times as much of a
 * processor, since it has a process of its own that knows none of the scripts.
 */
class Tabs {
  private readonly free: Tab[] = [];
  private readonly taken: Tab[] = [];

  async take(browser: Browser, javaScriptEnabled: boolean): Promise<Tab> {
    const at = this.free.findIndex((tab) => tab.javaScriptEnabled === javaScriptEnabled);
    const [tab = await openTab(browser, javaScriptEnabled)] = at < 0 ? [] : this.free.splice(at, 1);
    this.taken.push(tab);
    return tab;
  }

  /** Empties the windows that are open, for other tests. */
  async release(): Promise<void> {
    const left = this.taken.splice(0);
    await Promise.all(left.map(emptyTab));
    this.free.push(...left);
  }
}

async function openTab(browser: Browser, javaScriptEnabled: boolean): Promise<Tab> {
  const context = await browser.newContext({
    javaScriptEnabled,
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  });
  context.setDefaultTimeout(WAIT_MS_MAX);
  return { context, page: await context.newPage(), javaScriptEnabled };
}

/** Ends what its page does, and takes away cookies, rights, and what pages have stored. */
async function emptyTab({ context, page }: Tab): Promise<void> {
  page.removeAllListeners();
  const others = context.pages().filter((other) => other !== page);
  await Promise.all(others.map((other) => other.close()));
  await page.mouse.move(0, 0);
  if (page.url().startsWith("http")) {
    // A page of the same site without scripts: for an empty one the browser would begin another process. Where the
    // service has ended already, its error takes the place.
    const isThere = await page.goto(new URL("/health/live", page.url()).href).then(
      () => true,
      () => false,
    );
    if (isThere) await page.evaluate("localStorage.clear(); sessionStorage.clear()");
  }
  await context.clearCookies();
  await context.clearPermissions();
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
  describe.skipIf(executablePath === null)(`in a browser: ${name}`, () => {
    let browser: Browser;
    const tabs = new Tabs();
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: executablePath ?? "",
        // Tests run as whoever runs them, in containers as root: there Chromium has no sandbox to set up.
        args: ["--no-sandbox", "--disable-dev-shm-usage"],
        timeout: START_MS_MAX,
      });
    }, START_MS_MAX);
    afterEach(() => tabs.release());
    afterAll(() => browser?.close());
    tests({
      async open({ colorScheme = "light", width = 1280, height = 860, javaScriptEnabled = true } = {}) {
        const { context, page } = await tabs.take(browser, javaScriptEnabled);
        await page.emulateMedia({ colorScheme });
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

/** Logs in as a person does: by opening the link that the command prints. */
export async function logInByLink(
  page: Page,
  app: TestApp,
  workspaceId: string | null = null,
): Promise<void> {
  const answer = await app.app.dashboardLink(workspaceId);
  if (answer.kind !== "link") throw new Error(`no link: ${answer.kind}`);
  await openLogInLink(page, answer.url);
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

/** Looks at a page as axe does; fails on what is serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  // By the debugger and not as a script of the page, whose policy would refuse it.
  await page.evaluate(axeSource);
  const findings = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(): Promise<{ violations: readonly AxeFinding[] }> } })
      .axe;
    return (await axe.run()).violations;
  });
  const bad = findings.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(
    bad.map(({ id, nodes }) => ({
      id,
      nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => [html, failureSummary]),
    })),
  ).toEqual([]);
}

/** Whether anything of a page stands out at the side. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  const [content, width] = (await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [
    number,
    number,
  ];
  expect(content).toBeLessThanOrEqual(width);
}

/** Keeps a picture of a page where SCREENSHOTS_DIR says; does nothing without it. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS_DIR;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}

/** {@link expectGoodLooks} of the page at an address, for whoever has logged in. */
export function expectGoodPage(
  browser: TestBrowser,
  name: string,
  address: string,
  logIn: (page: Page) => Promise<unknown>,
): Promise<void> {
  const visit = async (page: Page) => {
    await page.goto(address);
    await page.locator("main h1").waitFor();
  };
  return expectGoodLooks(browser, name, visit, logIn);
}

/**
 * Looks at a page in light, in dark and on phones: that it is accessible, that nothing stands out at the side, and that
 * the browser had nothing to complain of. `name` is what its pictures are called. `visit` loads the page anew for each
 * look; `logIn` comes once, before the first.
 */
export async function expectGoodLooks(
  browser: TestBrowser,
  name: string,
  visit: (page: Page) => Promise<unknown>,
  logIn: (page: Page) => Promise<unknown> = async () => {},
): Promise<void> {
  const looks = [
    { look: "light", colorScheme: "light", width: 1280, height: 860 },
    { look: "dark", colorScheme: "dark", width: 1280, height: 860 },
    { look: "phone", colorScheme: "light", width: 390, height: 844 },
    { look: "narrow", colorScheme: "dark", width: 360, height: 740 },
  ] as const;
  const { page, errors } = await browser.open();
  await logIn(page);
  for (const { look, colorScheme, width, height } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await visit(page);
    await keepScreenshot(page, `${name}-${look}`);
    await expectAccessible(page);
    await expectNoSideScroll(page);
    expect({ look, errors }).toEqual({ look, errors: [] });
  }
}
