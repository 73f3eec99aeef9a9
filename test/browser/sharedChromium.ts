import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { atEndOfTests } from "../support/endOfTests.ts";

/** How long a page may take for what a test waits for, in ms. */
const WAIT_MS_MAX = 30_000;
/** How long the browser may take to start, in ms. */
export const START_MS_MAX = 60_000;

/** Names of the browser on the PATH. The first is one without windows, which takes half the processor time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"] as const;

/** Where a Chromium is: at CHROMIUM_PATH, or the first of {@link NAMES}; null where there is none. */
function chromiumPath(): string | null {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  return NAMES.map((name) => Bun.which(name)).find((path) => path !== null) ?? null;
}

const executablePath = chromiumPath();
/** Whether there is a browser for tests. */
export const hasChromium = executablePath !== null;

/** What Playwright turns off. Chromium goes by the last list on its command line, which is ours. */
const OFF_IN_PLAYWRIGHT = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning",
] as const;
/**
 * Processes that nobody sees here: each window would have one for the list below its address bar, and one in case a
 * page needs it. Without them a window takes half the processor time.
 */
const OFF = ["SpareRendererForSitePerProcess", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup"] as const;

/** What differs between windows and stays the same while they last. */
export interface TabKind {
  /** Whether its pages may have scripts. */
  readonly javaScriptEnabled: boolean;
  /** The language of its user: times are longest in `en-US`. */
  readonly locale: "en-GB" | "en-US";
}

/** Where a window is. */
export interface Tab extends TabKind {
  readonly context: BrowserContext;
  readonly page: Page;
}

/**
 * The one browser of a process, which all its test files share. Windows that tests have left are emptied for other
 * tests: in a new one a log-in and a page take three times as much of a processor, since it has a process of its own
 * that knows none of the scripts.
 */
class SharedChromium {
  private readonly free: Tab[] = [];
  private readonly taken: Tab[] = [];

  constructor(private readonly browser: Browser) {}

  get isConnected(): boolean {
    return this.browser.isConnected();
  }

  async take(kind: TabKind): Promise<Tab> {
    const at = this.free.findIndex(
      (tab) => tab.javaScriptEnabled === kind.javaScriptEnabled && tab.locale === kind.locale,
    );
    const [tab = await openTab(this.browser, kind)] = at < 0 ? [] : this.free.splice(at, 1);
    this.taken.push(tab);
    return tab;
  }

  /** Empties the windows that are open, for other tests. */
  async release(): Promise<void> {
    const left = this.taken.splice(0);
    await Promise.all(left.map(emptyTab));
    this.free.push(...left);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

async function launch(): Promise<SharedChromium> {
  const browser = await chromium.launch({
    executablePath: executablePath ?? "",
    args: [
      // Tests run as whoever runs them, in containers as root: there Chromium has no sandbox to set up.
      "--no-sandbox",
      "--disable-dev-shm-usage",
      // A page's next address throws its optimized code away: it costs more than it gains.
      "--js-flags=--no-maglev,--no-opt",
      `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...OFF].join()}`,
    ],
    timeout: START_MS_MAX,
  });
  const shared = new SharedChromium(browser);
  atEndOfTests(() => shared.close());
  return shared;
}

let current: SharedChromium | null = null;

/** The browser of this process: begun when it is first asked for, and again where it has crashed. */
export async function sharedChromium(): Promise<SharedChromium> {
  if (current?.isConnected !== true) current = await launch();
  return current;
}

async function openTab(browser: Browser, kind: TabKind): Promise<Tab> {
  const context = await browser.newContext({ ...kind, timezoneId: "Europe/Berlin" });
  context.setDefaultTimeout(WAIT_MS_MAX);
  return { ...kind, context, page: await context.newPage() };
}

/** Ends what its page does, and takes away cookies, headers, rights, and what pages have stored. */
async function emptyTab({ context, page }: Tab): Promise<void> {
  page.removeAllListeners();
  const others = context.pages().filter((other) => other !== page);
  await Promise.all(others.map((other) => other.close()));
  await page.mouse.move(0, 0);
  if (page.url().startsWith("http")) {
    // By the page itself: for an empty page that we ask for the browser would begin another process.
    await page.evaluate("localStorage.clear(); sessionStorage.clear(); location.replace('about:blank')");
    await page.waitForURL("about:blank");
  }
  await page.setExtraHTTPHeaders({});
  await context.clearCookies();
  await context.clearPermissions();
}
