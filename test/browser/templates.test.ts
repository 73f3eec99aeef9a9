import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import {
  beginLinkSession,
  beginSession,
  describeInBrowser,
  expectGoodLooks,
  expectGoodPage,
} from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;
const PATH = "/api/v1/templates";
const HTML = `<h1>Thank you, {{ name }}</h1>
<p>Your order {{ order }} is on its way.</p>
<p>It was packed this morning.</p>
<p>The parcel comes in two to four days.</p>
<p>Write to us when it does not.</p>
<p>Your shop</p>`;

describeInBrowser("templates", (browser) => {
  let app: TestApp;
  let id: string;
  let first: string;
  let second: string;
  const call = async (path: string, body?: unknown) =>
    (await app.call("POST", path, body === undefined ? {} : { body })).json;
  beforeAll(async () => {
    app = await startTestApp();
    id = (await call(PATH, { name: "Order confirmation" })).id;
    await call(PATH, { name: "Password reset" });
    const variables = [
      { name: "name", type: "string", default: "there" },
      { name: "order", type: "number", required: true },
    ];
    const source = {
      subject: "Your order {{ order }}",
      html: HTML,
      text: "Thank you, {{ name }}: {{ order }}",
      variables,
    };
    first = (await call(`${PATH}/${id}/versions`, source)).id;
    await call(`${PATH}/${id}/versions/${first}/publish`);
    const html = `${HTML.replace("two to four", "one to three")}\n<p>PS: follow the parcel online.</p>`;
    second = (await call(`${PATH}/${id}/versions`, { ...source, html, subject: "Order {{ order }}" })).id;
  }, TEST_MS_MAX);
  afterAll(() => app.remove());

  test("a version is compared with the one in use, and published", async () => {
    const { page, errors } = await browser.open();
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard/templates`);
    await page.getByRole("link", { name: "Order confirmation" }).click();
    await page.getByRole("button", { name: "Show the differences" }).click();
    await page.getByText("one to three").waitFor();
    await page.getByRole("link", { name: "Open version 2" }).click();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Version 2 was published").waitFor();
    expect((await app.call("GET", `${PATH}/${id}`)).json.current_version_id).toBe(second);
    expect(errors).toEqual([]);
  });

  test("a draft is written, seen while it is written, corrected, saved and published", async () => {
    const { page, errors } = await browser.open();
    await beginLinkSession(page, app);
    const { id: made } = await call(PATH, { name: "Welcome" });
    await page.goto(`${app.url}/dashboard/templates/${made}/draft`);
    await page.getByLabel("Subject").fill("Welcome, {{ name }}");
    await page.getByLabel("HTML", { exact: true }).fill("<p>Hello {{ nmae }}</p>");
    await page.getByLabel("Name of variable 1").fill("name");
    await page.getByText("did you mean name?").waitFor();
    await page.getByLabel("HTML", { exact: true }).fill("<p>Hello {{ name }}</p>");
    const frame = page.frameLocator("iframe");
    await page.getByLabel(/^name/).fill("Ana");
    await frame.getByText("Hello Ana").waitFor();
    expect(await page.getByText("did you mean name?").count()).toBe(0);
    expect(await page.locator(".preview-subject").textContent()).toBe("Welcome, Ana");
    await page.getByRole("button", { name: "Save the draft" }).click();
    await page.getByText("The version was drafted").waitFor();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Version 1 was published").waitFor();
    expect(errors).toEqual([]);
  });

  test("variables get rows by buttons, while the page and the focus stay where they are", async () => {
    const { page, errors } = await browser.open();
    await beginLinkSession(page, app);
    const { id: made } = await call(PATH, { name: "Many variables" });
    await page.goto(`${app.url}/dashboard/templates/${made}/draft`);
    await page.getByLabel("Subject").fill("{{ greeting }}");
    await page.getByLabel("HTML", { exact: true }).fill("<p>{{ parcel }} {{ order }}</p>");
    const name = (nth: number) => page.getByLabel(`Name of variable ${nth}`);
    const preview = page.getByRole("button", { name: "Preview" });
    await preview.click();
    await name(5).waitFor();
    expect([await name(1).inputValue(), await name(3).inputValue()]).toEqual(["greeting", "order"]);
    expect(await preview.evaluate((button) => button.ownerDocument.activeElement === button)).toBe(true);
    await page.getByRole("button", { name: "Add a variable" }).click();
    await name(6).waitFor();
    await page.locator("input[name=name-3]:focus").waitFor();
    await page.keyboard.type("day");
    // Enter previews, as its button does.
    await page.keyboard.press("Enter");
    await page.getByLabel(/^day/).waitFor();
    expect(page.url()).toEndWith("/draft");
    expect(errors).toEqual([]);
  });

  test("without scripts a draft is previewed by a button, and saved", async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await beginSession(page, app.url, app.apiKey);
    const { id: made } = await call(PATH, { name: "Plain" });
    await page.goto(`${app.url}/dashboard/templates/${made}/draft`);
    await page.getByLabel("Subject").fill("Plain");
    await page.getByLabel("HTML", { exact: true }).fill("<p>Hello</p>");
    await page.getByRole("button", { name: "Add a variable" }).click();
    await page.getByLabel("Name of variable 3").waitFor();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("button", { name: "Show the HTML" }).click();
    await page.frameLocator("iframe").getByText("Hello").waitFor();
    await page.getByRole("button", { name: "Save the draft" }).click();
    await page.getByText("The version was drafted").waitFor();
  });

  test("archiving asks in a dialog, and Esc leaves everything as it is", async () => {
    const { page } = await browser.open();
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard/templates/${id}`);
    await page.getByRole("link", { name: "Archive" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect((await app.call("GET", `${PATH}/${id}`)).json.status).toBe("published");
  });

  test(
    "the editor looks well",
    () =>
      expectGoodLooks(
        browser,
        "template-draft",
        async (page) => {
          await page.goto(`${app.url}/dashboard/templates/${id}/draft`);
          await page.frameLocator("iframe").getByText("Your order 42").waitFor();
        },
        (page) => beginLinkSession(page, app),
      ),
    TEST_MS_MAX,
  );

  test(
    "the differences of two versions look well",
    () => {
      const address = `${app.url}/dashboard/templates/${id}/compare?from=${first}&to=${second}`;
      return expectGoodPage(browser, "template-compare", address, (page) => beginLinkSession(page, app));
    },
    TEST_MS_MAX,
  );
});
