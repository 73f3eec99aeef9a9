import { afterEach, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import type { Page } from "playwright-core";
import { issueKey } from "../../src/commands/apiKey/issueApiKey.ts";
import { revokeKey } from "../../src/commands/apiKey/revokeApiKey.ts";
import { renameExistingWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { SESSION_IDLE_MS_MAX } from "../../src/http/dashboard/frame/sessions.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { type Samples, sendSamples } from "../support/sampleMessages.ts";
import { startTestApp } from "../support/service.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import type { Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import {
  beginLinkSession,
  beginSession,
  describeInBrowser,
  expectGoodLooks,
  expectGoodPage,
  keepScreenshot,
  openPage,
} from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;

describeInBrowser("sessions", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, {
    LOGIN_PROXY_HEADER: "X-Forwarded-Email",
    LOGIN_PROXIES: "127.0.0.1",
  });
  let samples: Samples;
  beforeAll(async () => {
    samples = await sendSamples(service, tenant, 6);
  }, TEST_MS_MAX);
  const at = (path: string) => `${service.url}/dashboard${path}`;

  test("whose session has ended logs in again, and is where they were", async () => {
    const short = await tenant.withKey({});
    const { page } = await browser.open();
    await beginSession(page, service.url, short.apiKey);
    await page.goto(at(`/messages/${samples.bounced}/erase`));
    const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
    await revokeKey(service.log, short.keyId, context);
    // A change is not made, and says so; a page leads to the log-in and from there back.
    const leadsTo = async () => (await page.request.get(at("/"), { maxRedirects: 0 })).status();
    await until(async () => (await leadsTo()) === 303, "the session to end");
    await page.getByRole("button", { name: "Erase for good" }).click();
    await page.getByText("nothing was changed").waitFor();
    await page.goto(at(`/messages/${samples.bounced}`));
    await page.getByText("Your session has ended").waitFor();
    await page.getByLabel("API key or log-in link").fill(tenant.apiKey);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(at(`/messages/${samples.bounced}`));
    await page.getByRole("heading", { name: "The address does not exist." }).waitFor();
  });

  test("whom the login proxy names logs in with a click, and out again until the next one", async () => {
    const { page, errors } = await browser.open();
    const named = (one: Page) => one.setExtraHTTPHeaders({ "x-forwarded-email": "Ana@example.com" });
    await named(page);
    await page.goto(at("/messages"));
    await page.getByText("No key belongs to ana@example.com").waitFor();
    const key = { workspaceId: tenant.workspaceId, scopes: ["email:read"], expiresAt: null } as const;
    for (const name of ["support", "reading"])
      await issueKey(service.log, { ...key, name, person: "ana@example.com" }, systemCommandContext("test"));
    await expectGoodPage(browser, "log-in-as-a-person", at("/log-in"), named);
    await page.reload();
    await page.getByRole("button", { name: "support" }).click();
    await page.waitForURL(at("/messages"));
    await page.getByText("ana@example.com", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "support" }).waitFor();
    expect(errors).toEqual([]);
  });

  // The service is in this process: its clock is moved, and the browser's goes on.
  afterEach(() => void setSystemTime());
  test("a session that nobody has used for too long ends, and a log-in leads back to the page", async () => {
    const { page } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(at("/messages?q=status%3Abounced"));
    await page.locator("#live.on").waitFor();
    setSystemTime(new Date(Date.now() + SESSION_IDLE_MS_MAX));
    // The page that was left open follows nothing any more; whoever does something logs in first.
    await page.getByRole("alert").getByRole("heading", { name: "Your session has ended" }).waitFor();
    expect(await page.locator("#live").textContent()).toBe("session ended");
    await page.locator("a[data-row]").first().click();
    await page.getByText("Your session has ended. Log in again to continue.").waitFor();
    await page.getByLabel("API key or log-in link").fill(tenant.apiKey);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(at(`/messages/${samples.bounced}`));
    await page.getByRole("heading", { name: "The address does not exist." }).waitFor();
  });

  test("a page that is left open says that its key was revoked, and leads back to itself", async () => {
    const short = await tenant.withKey({});
    const { page, errors } = await browser.open();
    await beginSession(page, service.url, short.apiKey);
    await page.goto(at("/messages?q=status%3Abounced"));
    await page.locator("#live.on").waitFor();
    await revokeKey(service.log, short.keyId, {
      ...systemCommandContext("test"),
      workspaceId: tenant.workspaceId,
    });
    await page.getByRole("alert").getByRole("link", { name: "Log in again" }).click();
    await page.getByLabel("API key or log-in link").fill(tenant.apiKey);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(at("/messages?q=status%3Abounced"));
    await page.locator("a[data-row]").first().waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    // The browser tells of the answer 401, which is how the page knows.
    expect(errors.filter((error) => !/status (of )?401/.test(error))).toEqual([]);
  });

  test("a page that follows nothing says that the session has ended when somebody comes back to it", async () => {
    const short = await tenant.withKey({});
    const { page } = await browser.open();
    await beginSession(page, service.url, short.apiKey);
    await page.goto(at("/suppressions"));
    await page.getByLabel("Address", { exact: true }).fill("half-typed@example.org");
    await revokeKey(service.log, short.keyId, {
      ...systemCommandContext("test"),
      workspaceId: tenant.workspaceId,
    });
    const ended = page.getByRole("alert").getByRole("heading", { name: "Your session has ended" });
    await until(async () => {
      // As when the window comes to the front again.
      await page.evaluate("window.dispatchEvent(new Event('focus'))");
      return ended.isVisible();
    }, "the session to end");
    expect(await page.getByLabel("Address", { exact: true }).inputValue()).toBe("half-typed@example.org");
  });

  test(
    "what says that the session has ended looks well",
    () =>
      expectGoodLooks(
        browser,
        "session-ended",
        async (page) => {
          await page.goto(at("/suppressions"));
          await page.locator("html.scripted").waitFor();
          // As the script does when it hears of it: a real end leaves no session for the next look.
          await page.evaluate("document.querySelector('#session-ended').hidden = false");
        },
        (page) => beginSession(page, service.url, tenant.apiKey),
      ),
    TEST_MS_MAX,
  );

  test("in two tabs of one session a log-out in one ends the other", async () => {
    const { page, context } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(at("/messages"));
    const second = await context.newPage();
    await second.goto(at("/workspace"));
    await page.bringToFront();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(/log-in/);
    await second.bringToFront();
    await second.getByRole("link", { name: "Pause sending" }).click();
    await second.waitForURL(/log-in/);
  });

  describe("a tab whose browser has logged in to another workspace since", () => {
    /** A tab on a page of the tenant's workspace, whose browser is logged in to another one by then. */
    const oldTab = async (path: string) => {
      const other = await service.tenant();
      const context = { ...systemCommandContext("test"), workspaceId: other.workspaceId };
      await renameExistingWorkspace(service.log, other.workspaceId, "Other Shop", context);
      const { page, context: window } = await browser.open();
      await beginSession(page, service.url, tenant.apiKey);
      await page.goto(at(path));
      await page.locator("html.scripted").waitFor();
      const second = await window.newPage();
      await beginSession(second, service.url, other.apiKey);
      await page.bringToFront();
      const notice = page.getByRole("alert").filter({ hasText: "switched to Other Shop" });
      return { page, other, notice };
    };
    const isPaused = async ({ workspaceId }: Tenant) =>
      (await service.log.workspaces.get(workspaceId))?.paused;

    test("asks nothing and changes nothing there, but says so and leads to where the browser is", async () => {
      const { page, other, notice } = await oldTab("/workspace");
      await page.getByRole("link", { name: "Pause sending" }).click();
      await notice.waitFor();
      expect(await page.locator("dialog[open]").count()).toBe(0);
      expect(new URL(page.url()).pathname).toBe("/dashboard/workspace");
      expect(await notice.textContent()).toContain("It shows test,");
      expect(await isPaused(other)).toBe(false);
      await keepScreenshot(page, "other-workspace");
      await notice.getByRole("link", { name: "Reload" }).click();
      await page.locator(".workspace", { hasText: "Other Shop" }).waitFor();
      // Before its scripts have run, the link leads to a page instead of opening the dialog.
      await page.waitForLoadState();
      expect(await notice.isVisible()).toBe(false);
      await page.getByRole("link", { name: "Pause sending" }).click();
      await page.getByRole("dialog").getByText("In workspace Other Shop").waitFor();
      await keepScreenshot(page, "other-workspace-dialog");
    });

    test.each([
      ["/messages?q=status%3Abounced", "#message-rows"],
      ["/", "#overview"],
    ])("keeps what it shows: %s", async (path, part) => {
      const { page, notice } = await oldTab(path);
      const before = await page.locator(part).textContent();
      // What reloads these parts now and then, without the wait.
      await page.evaluate("htmx.trigger('#live', 'changed')");
      await notice.waitFor();
      expect(await page.locator("#live").textContent()).toBe("out of date");
      expect(await page.locator(part).textContent()).toBe(before);
    });

    test("says so when its stream reconnects", async () => {
      const { page, notice } = await oldTab("/messages");
      await page.evaluate("document.querySelector('#live')._htmx.sse.reader.cancel()");
      await notice.waitFor();
      expect(await page.locator("#live").textContent()).toBe("out of date");
    });

    test(
      "looks well",
      () =>
        expectGoodLooks(
          browser,
          "other-workspace",
          async (page) => {
            await page.goto(at("/suppressions"));
            await page.locator("html.scripted").waitFor();
            await page.evaluate("document.querySelector('#other-workspace').hidden = false");
          },
          (page) => beginSession(page, service.url, tenant.apiKey),
        ),
      TEST_MS_MAX,
    );
  });

  test("two tabs may both change something, and each sees what the other did", async () => {
    const { page, context } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    const second = await context.newPage();
    for (const tab of [page, second]) await tab.goto(at("/suppressions"));
    for (const [tab, address] of [
      [page, "one@example.org"],
      [second, "two@example.org"],
    ] as const) {
      await tab.bringToFront();
      await tab.getByLabel("Address", { exact: true }).fill(address);
      await tab.getByRole("button", { name: "Add", exact: true }).click();
      await tab.getByText(`${address} gets no more mail.`).waitFor();
    }
    await second.getByRole("cell", { name: "one@example.org", exact: true }).waitFor();
  });

  test("a key that may only read is shown nothing that it may not do, anywhere", async () => {
    const reader = await tenant.withKey({ scopes: ["email:read"] });
    const { page, errors } = await browser.open();
    await beginSession(page, service.url, reader.apiKey);
    await page.goto(at("/"));
    const pages = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    expect(await pages.allTextContents()).toEqual(["Overview", "Messages", "Outbox"]);
    for (const path of ["/", "/messages", `/messages/${samples.deferred}`]) {
      await openPage(page, at(path));
      expect(await page.locator("main form[method=post]").count()).toBe(0);
      expect(await page.getByRole("link", { name: /…$/ }).count()).toBe(0);
    }
    for (const path of ["/workspace/pause", "/audit", "/attachments", "/webhooks"]) {
      await page.goto(at(path));
      await page.getByRole("heading", { level: 1, name: "Not allowed" }).waitFor();
    }
    expect(errors).toEqual([]);
  });

  test("sending is paused and resumed by the keyboard alone", async () => {
    const { page } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(at("/workspace"));
    await page.getByRole("link", { name: "Pause sending" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Confirm" });
    await dialog.waitFor();
    // Enter once too often pauses nothing: it is the other button that has the focus.
    await dialog.locator("a:focus", { hasText: "Back" }).waitFor();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Sending is paused.").waitFor();
    await page.getByRole("button", { name: "Resume sending" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Sending is resumed.").waitFor();
  });

  test("Tab comes to the content past the navigation at once", async () => {
    const { page } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(at("/messages"));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(`document.activeElement.id === "content"`);
  });
});

describeInBrowser("a service that is restarted underneath", (browser) => {
  test(
    "reconnects open pages by itself, and keeps sessions logged in",
    async () => {
      const first = await startTestApp();
      const { dataDir, apiKey } = first;
      const port = new URL(first.url).port;
      const { page } = await browser.open();
      await beginLinkSession(page, first);
      await page.goto(`${first.url}/dashboard/messages`);
      await page.locator("#live.on").waitFor();
      await first.app.stop();
      await page.locator("#live:not(.on)").waitFor();
      const second = await startTestApp({ dataDir, env: { PORT: port } });
      try {
        // The browser waits longer after each attempt that fails.
        await page.locator("#live.on").waitFor({ timeout: TEST_MS_MAX / 2 });
        const sent = await second.send("after-the-restart", {
          from: "hello@example.com",
          to: "ana@example.org",
          subject: "Back again",
          text: "Back again",
        });
        expect(sent.status).toBe(202);
        await page.getByRole("link", { name: "1 new" }).click();
        await page.getByText("Back again").waitFor();
        expect(apiKey).toBe(second.apiKey);
      } finally {
        await second.remove();
        await first.remove().catch(() => {});
      }
    },
    TEST_MS_MAX,
  );
});
