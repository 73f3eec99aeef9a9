import { beforeAll, expect, test } from "bun:test";
import { type Samples, sendSamples } from "../support/sampleMessages.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { SENDER } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import {
  beginSession,
  describeInBrowser,
  expectGoodPage,
  openPage,
  waitForPageWith,
} from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;

describeInBrowser("messages", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, {});
  let samples: Samples;
  beforeAll(async () => {
    samples = await sendSamples(service, tenant);
  }, TEST_MS_MAX);
  const open = async (path: string) => {
    const window = await browser.open();
    await beginSession(window.page, service.url, tenant.apiKey);
    await window.page.goto(`${service.url}/dashboard${path}`);
    return window;
  };

  test("somebody finds a bounced one by its recipient and reads why", async () => {
    const { page, errors } = await open("/messages");
    await page.keyboard.press("/");
    await page.keyboard.type("to:ben.okafor@example.org status:bounced");
    await page.keyboard.press("Enter");
    await page.waitForURL(/status%3Abounced/);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/messages\/[0-9a-f-]{36}$/);
    await page.getByRole("heading", { name: "The address does not exist." }).waitFor();
    await page.getByText("550 5.1.1").first().waitFor();
    expect(errors).toEqual([]);
  });

  test("J, Enter and Esc lead to a message and back to its row", async () => {
    const { page } = await open("/messages");
    for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
    const second = await page.evaluate<string | undefined>("document.activeElement?.dataset?.row");
    expect(second).toBe((await page.locator("a[data-row]").nth(1).getAttribute("data-row")) ?? "none");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/messages/${second}$`));
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/messages$/);
    await page.waitForFunction(`document.activeElement?.dataset?.row === "${second}"`);
  });

  test("new ones are counted above the list, and rows stay where they are", async () => {
    const { page } = await open("/messages");
    await page.locator("#live.on").waitFor();
    const first = () => page.locator("a[data-row]").first().getAttribute("data-row");
    const before = await first();
    await tenant.send("while-looking-1", {
      from: SENDER,
      to: "new@example.org",
      subject: "New",
      text: "New",
    });
    await page.getByRole("link", { name: "1 new" }).waitFor();
    expect(await first()).toBe(before);
    await page.getByRole("link", { name: "1 new" }).click();
    await page.getByText("new@example.org").waitFor();
  });

  test("the slider shows a message as it was", async () => {
    const { page, errors } = await open(`/messages/${samples.bounced}`);
    const shown = page.locator("#timeline-shown");
    expect(await shown.locator(".status").first().textContent()).toBe("bounced");
    await page.getByLabel("As of").fill("1");
    await shown.locator(".status", { hasText: "queued" }).waitFor();
    await until(async () => (await shown.locator(".timeline li").count()) === 1, "one entry");
    expect(errors).toEqual([]);
  });

  test("a message that waits is tried at once, sent again, canceled and erased, each asked once", async () => {
    const { page } = await open(`/messages/${samples.deferred}`);
    await page.getByRole("heading", { name: "Waiting: delivery is off" }).waitFor();
    await page.getByRole("button", { name: "Try now" }).click();
    await waitForPageWith(page, "It is due now and goes next.");
    await page.getByRole("link", { name: "Send again…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Recipient").fill("somebody.else@example.org");
    await dialog.getByRole("button", { name: "Send again" }).click();
    await waitForPageWith(page, "This is the new message");
    expect(page.url()).not.toContain(samples.deferred);
    await page.getByRole("link", { name: "Cancel…" }).click();
    await dialog.getByRole("button", { name: "Cancel the message" }).click();
    await waitForPageWith(page, "The message was canceled.");
    await page.getByRole("link", { name: "Erase content…" }).click();
    await dialog.getByText("gone for good").waitFor();
    await dialog.getByRole("button", { name: "Erase for good" }).click();
    await page.getByText("The content was erased.").waitFor();
    expect(await page.getByText("somebody.else@example.org").count()).toBe(0);
  });

  test("a mail that wants to run, load, navigate and leave its frame does nothing of it", async () => {
    const asked: string[] = [];
    const elsewhere = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        asked.push(new URL(request.url).pathname);
        return new Response("");
      },
    });
    const host = `http://127.0.0.1:${elsewhere.port}`;
    const html = `<h1 id="mark">Hello</h1><script>top.location="${host}/script"; fetch("${host}/fetch")</script>
      <img src="${host}/pixel.png" onerror="parent.document.title='run'"><link rel="stylesheet" href="${host}/style.css">
      <style>@import url("${host}/import.css"); body { background: url(${host}/background.png) }</style>
      <meta http-equiv="refresh" content="0;url=${host}/refresh"><base href="${host}/base/" target="_top">
      <form action="${host}/form" method="post"><button id="go">Go</button></form>
      <iframe src="${host}/frame"></iframe><object data="${host}/object"></object>
      <svg><use href="${host}/use.svg#a"/></svg><video src="${host}/video" autoplay></video>
      <a id="out" target="_top" href="javascript:parent.document.title='run'">link</a>`;
    const subject = `<script>document.title="run"</script>"><img src=x onerror="document.title='run'">`;
    try {
      const { json } = await tenant.send("hostile-mail-1", {
        from: SENDER,
        to: "x@example.org",
        subject,
        html,
      });
      const { page } = await open(`/messages/${json.id}?show=html`);
      const frame = page.frameLocator("iframe");
      await frame.locator("#mark").waitFor();
      await frame.locator("#go").click();
      await frame.locator("#out").click();
      await page.getByRole("link", { name: "Phone" }).click();
      await frame.locator("#mark").waitFor();
      expect(await page.title()).toContain("<script>");
      expect(page.url()).toStartWith(service.url);
      expect(asked).toEqual([]);
    } finally {
      await elsewhere.stop(true);
    }
  });

  test("without scripts messages can be found, read, and looked at as they were", async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(`${service.url}/dashboard/messages`);
    await page.getByLabel("Search messages").fill("status:bounced");
    await page.getByRole("button", { name: "Search" }).click();
    await page
      .getByRole("link", { name: /@example\.org/ })
      .first()
      .click();
    await page.getByRole("heading", { name: "The address does not exist." }).waitFor();
    await page.goto(`${page.url()}?at=1`);
    expect(await page.locator(".timeline li").count()).toBe(1);
    await page.getByRole("link", { name: "Erase content…" }).click();
    await page.getByRole("heading", { name: "Erase the content of this message?" }).waitFor();
  });

  const looks: readonly (readonly [string, () => string])[] = [
    ["messages", () => "/messages"],
    ["messages-wrong", () => "/messages?q=sattus%3Abounced"],
    ["message-deferred", () => `/messages/${samples.queued}`],
    ["message-html", () => `/messages/${samples.sent}?show=html`],
    ["not-found", () => `/messages/${crypto.randomUUID()}`],
  ];
  test.each(looks)(
    "%s looks well",
    (name, path) =>
      expectGoodPage(browser, name, `${service.url}/dashboard${path()}`, (page) =>
        beginSession(page, service.url, tenant.apiKey),
      ),
    TEST_MS_MAX,
  );

  test("one with the longest subject shows its state at once, and leads back in one line", async () => {
    const to = "long@example.org";
    const { json } = await tenant.send("longest-subject", {
      from: SENDER,
      to,
      subject: "W".repeat(998),
      text: "-",
    });
    const { page } = await browser.open({ width: 360 });
    await beginSession(page, service.url, tenant.apiKey);
    const heightOf = async (selector: string) => (await page.locator(selector).boundingBox())?.height ?? 0;
    const lineHeight = 40;
    await openPage(page, `${service.url}/dashboard/messages/${json.id}`);
    expect(await heightOf("main h1")).toBeLessThan(4 * lineHeight);
    expect(await page.locator("main h1").getAttribute("title")).toBe("W".repeat(998));
    await openPage(page, `${service.url}/dashboard/messages/${json.id}/send-again`);
    expect(await heightOf(".above")).toBeLessThan(2 * lineHeight);
  });

  test("one is printed without the navigation and the buttons", async () => {
    const { page } = await open(`/messages/${samples.bounced}`);
    await page.getByRole("heading", { name: "The address does not exist." }).waitFor();
    const shown = async () => ({
      navigation: await page.locator(".side").isVisible(),
      buttons: await page.locator("main button:visible, main .button:visible").count(),
      reply: await page.getByText("550 5.1.1").first().isVisible(),
    });
    expect(await shown()).toMatchObject({ navigation: true, reply: true });
    await page.emulateMedia({ media: "print" });
    expect(await shown()).toEqual({ navigation: false, buttons: 0, reply: true });
    // Other tests use this window too.
    await page.emulateMedia({ media: null });
  });
});
