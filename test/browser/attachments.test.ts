import { beforeAll, expect, test } from "bun:test";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { beginSession, describeInBrowser, expectGoodPage, waitForPageWith } from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;

describeInBrowser("attachments", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, {});
  const ids = new Map<string, string>();
  beforeAll(async () => {
    for (const [filename, contentType, text] of [
      ["terms-and-conditions-of-sale-2026-with-a-rather-long-name.txt", "text/plain", "Be kind."],
      ["orders.json", "application/json", "{"],
      ["price-list.csv", "text/csv", "item,price\ntea,4.50\n"],
    ] as const) {
      const body = { filename, content_type: contentType, content: Buffer.from(text).toString("base64") };
      const { json } = await tenant.call("POST", "/api/v1/attachments", { body });
      const status = async () => (await tenant.call("GET", `/api/v1/attachments/${json.id}`)).json.status;
      await until(async () => (await status()) !== "pending", "the check of the upload");
      ids.set(filename, json.id);
    }
    const attachments = [ids.get("price-list.csv")];
    for (const to of ["ana.ruiz@example.org", "ben.okafor@example.org"])
      await tenant.send(newKey(), message({ to, subject: "Our new prices", attachments }));
  }, TEST_MS_MAX);

  const looks: readonly (readonly [string, () => string])[] = [
    ["attachment-rejected", () => `/attachments/${ids.get("orders.json")}`],
    ["attachments-none", () => "/attachments?status=pending"],
  ];
  test.each(looks)(
    "%s looks well",
    (name, path) =>
      expectGoodPage(browser, name, `${service.url}/dashboard${path()}`, (page) =>
        beginSession(page, service.url, tenant.apiKey),
      ),
    TEST_MS_MAX,
  );

  // After the looks: what it deletes is looked at.
  test("a file is found, downloaded, and deleted after one question", async () => {
    const { page, errors } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(`${service.url}/dashboard/attachments`);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "price-list.csv" }).waitFor();
    await waitForPageWith(page, "ben.okafor@example.org");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("price-list.csv");
    await page.getByRole("link", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm" });
    await dialog.getByRole("button", { name: "Delete" }).click();
    await waitForPageWith(page, "price-list.csv was deleted.");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/attachments\/[0-9a-f-]{36}$/);
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/attachments$/);
    expect(errors).toEqual([]);
  });

  test("a file is uploaded, and one that cannot be sent is refused in words", async () => {
    const { page, errors } = await browser.open();
    await beginSession(page, service.url, tenant.apiKey);
    await page.goto(`${service.url}/dashboard/attachments`);
    const choose = (name: string, text: string) =>
      page.getByLabel("File", { exact: true }).setInputFiles({
        name,
        mimeType: "application/octet-stream",
        buffer: Buffer.from(text),
      });
    await choose("notes.md", "# Notes");
    await page.getByRole("button", { name: "Upload" }).click();
    await page.waitForURL(/\/attachments\/[0-9a-f-]{36}$/);
    await page.getByText("The file was uploaded, and is being checked.").waitFor();
    await page.getByRole("heading", { level: 1, name: "notes.md" }).waitFor();
    await page.goto(`${service.url}/dashboard/attachments`);
    await choose("setup.exe", "MZ");
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByText("It was not accepted:").waitFor();
    expect(errors).toEqual([]);
  });
});
