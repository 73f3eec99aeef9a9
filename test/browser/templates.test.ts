import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import { describeInBrowser, expectGoodLooks, logInByLink } from "./browserFixture.ts";

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
    await logInByLink(page, app);
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

  test("archiving asks in a dialog, and Esc leaves everything as it is", async () => {
    const { page } = await browser.open();
    await logInByLink(page, app);
    await page.goto(`${app.url}/dashboard/templates/${id}`);
    await page.getByRole("link", { name: "Archive" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect((await app.call("GET", `${PATH}/${id}`)).json.status).toBe("published");
  });

  const pages: Readonly<Record<string, () => string>> = {
    templates: () => "/templates",
    template: () => `/templates/${id}`,
    "template-version": () => `/templates/${id}/versions/${first}`,
    "template-compare": () => `/templates/${id}/compare?from=${first}&to=${second}`,
  };
  for (const [name, path] of Object.entries(pages))
    test(
      `${name} looks well`,
      () =>
        expectGoodLooks(browser, name, async (page) => {
          await logInByLink(page, app);
          await page.goto(`${app.url}/dashboard${path()}`);
        }),
      TEST_MS_MAX,
    );
});
