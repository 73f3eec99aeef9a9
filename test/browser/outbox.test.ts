import { afterAll, beforeAll, expect, test } from "bun:test";
import { SHOP_HTML } from "../support/sampleMessages.ts";
import { startTestApp, type TestApp } from "../support/service.ts";
import { beginLinkSession, describeInBrowser, expectGoodLooks } from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;

describeInBrowser("the outbox", (browser) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.remove());
  const mail = (nth: number) => ({
    from: "hello@example.com",
    to: "ana@example.org",
    subject: `Mail ${nth}`,
    html: SHOP_HTML,
    text: "Your order has shipped. Hello Ana, the parcel left our warehouse this morning.",
  });

  test("the first minute: in by the link, a mail is sent, and there it is", async () => {
    const { page, errors } = await browser.open();
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard`);
    await page.getByRole("link", { name: "Outbox" }).click();
    await page.getByRole("heading", { name: "No mail yet" }).waitFor();
    await page.locator("#live.on").waitFor();
    await app.send("first-mail-1", mail(1));
    await page.getByText("Mail 1").click();
    await page.frameLocator("iframe").getByText("Your order has shipped").waitFor();
    expect(errors).toEqual([]);
  });

  test("later ones come by themselves, and the open mail stays", async () => {
    const { page } = await browser.open();
    await beginLinkSession(page, app);
    await page.goto(`${app.url}/dashboard/outbox`);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.frameLocator("iframe").getByText("Your order has shipped").waitFor();
    await page.locator("#live.on").waitFor();
    await app.send("second-mail-1", mail(2));
    await page.getByText("Mail 2").waitFor();
    await page.getByRole("heading", { name: "Mail 1" }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/outbox$/);
  });

  test(
    "it looks well",
    async () => {
      await app.send("third-mail-1", { ...mail(3), subject: "Reset your password" });
      await expectGoodLooks(
        browser,
        "outbox",
        async (page) => {
          await page.goto(`${app.url}/dashboard/outbox`);
          await page.getByText("Mail 1").click();
          await page.frameLocator("iframe").getByText("Your order has shipped").waitFor();
        },
        (page) => beginLinkSession(page, app),
      );
    },
    TEST_MS_MAX,
  );
});
