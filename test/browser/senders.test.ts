import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";
import { beginLinkSession, describeInBrowser, expectGoodPage } from "./browserFixture.ts";

const TEST_MS_MAX = 120_000;

describeInBrowser("senders", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { VERIFICATION_FROM: "postmaster@mail.example.net" } });
  });
  afterAll(() => app.remove());

  const added = async (body: Readonly<Record<string, string>>): Promise<string> =>
    (await app.call("POST", "/api/v1/senders", { body })).json.id;

  test(
    "a domain is added, looked for in the DNS, and disabled after one question",
    async () => {
      const { page, errors } = await browser.open();
      await beginLinkSession(page, app);
      await page.goto(`${app.url}/dashboard`);
      await page.getByRole("link", { name: "Senders" }).click();
      await page.getByLabel("Address or domain").fill("shop.example.com");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByText("shop.example.com was added.").waitFor();
      await page.getByText("_postledger.shop.example.com").waitFor();
      expect(errors).toEqual([]);
      await page.getByRole("button", { name: "Verify now" }).click();
      await page.getByRole("alert").getByText("There is no TXT record of").waitFor();
      await page.getByRole("link", { name: "Disable" }).click();
      await page.getByText("Disable shop.example.com?").waitFor();
      await page.getByRole("button", { name: "Disable" }).click();
      await page.getByText("shop.example.com sends no more mail.").waitFor();
    },
    TEST_MS_MAX,
  );

  test(
    "the pages of senders that are not verified look right",
    async () => {
      const address = "billing-and-receipts.of-the-northern-branch@mail.example.com";
      const box = await added({ address, display_name: "Example billing" });
      await app.call("POST", `/api/v1/senders/${box}/verification`, { body: { method: "email" } });
      const domain = await added({ domain: "example.com" });
      for (const [name, path] of [
        ["sender-address", `/senders/${box}`],
        ["sender-domain", `/senders/${domain}`],
      ] as const)
        await expectGoodPage(browser, name, `${app.url}/dashboard${path}`, (page) =>
          beginLinkSession(page, app),
        );
    },
    TEST_MS_MAX,
  );
});
