import { afterAll, beforeAll, expect, setSystemTime, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { HOUR_MS } from "../../src/kernel/time.ts";
import { growLog } from "../bench/growthLog.ts";
import { ROOT } from "../support/root.ts";
import { sendSamples } from "../support/sampleMessages.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { describeInBrowser, logInByKey } from "./browserFixture.ts";

const TEST_MS_MAX = 90_000;
const PICTURE_BYTES_MAX = 150_000;
/** Of the last seven days, and of now. */
const PAST_MESSAGES = 6_000;
const MESSAGES = 40;
const IMAGES = join(ROOT, "docs/images");

/** The pictures of the documentation: `DOCS_PICTURES=yes bun test test/browser/docsPictures.test.ts` makes them again. */
const PICTURES = ["overview-light", "messages-light", "message-light", "message-dark"] as const;

test.each(PICTURES)("the picture %s is there, and small", (name) => {
  const { size } = statSync(join(IMAGES, `dashboard-${name}.png`));
  expect(size).toBeGreaterThan(10_000);
  expect(size).toBeLessThan(PICTURE_BYTES_MAX);
});

describeInBrowser("pictures of the documentation", (browser) => {
  let service: TestService;
  let tenant: Tenant;
  let pages: Readonly<Record<string, string>>;
  const isWanted = process.env.DOCS_PICTURES === "yes";
  beforeAll(async () => {
    // At the end of an hour: the curves fall where one has only begun.
    if (isWanted) setSystemTime(new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 30_000));
    service = await startService(sqliteStore);
    tenant = await service.tenant();
    const { data: senders } = (await tenant.call("GET", "/api/v1/senders")).json;
    const names = {
      workspaceId: tenant.workspaceId,
      senderIds: senders.map(({ id }: { readonly id: string }) => id),
    };
    const { bounced } = await sendSamples(service, tenant, isWanted ? MESSAGES : 6);
    await growLog(service.log.store, 8, names, isWanted ? PAST_MESSAGES : 10);
    const isCaughtUp = async () => (await tenant.call("GET", "/api/v1/emails?limit=1")).status === 200;
    await until(isCaughtUp, "the read models", TEST_MS_MAX / 2);
    pages = { overview: "/", messages: "/messages", message: `/messages/${bounced}` };
  }, TEST_MS_MAX);
  afterAll(async () => {
    setSystemTime();
    await service.remove();
  });

  test.each(PICTURES)(
    "%s can be taken",
    async (name) => {
      const [page = "", look] = name.split("-");
      const colorScheme = look === "dark" ? "dark" : "light";
      const window = await browser.open({
        colorScheme,
        width: 1280,
        height: page === "messages" ? 560 : 800,
      });
      await logInByKey(window.page, service.url, tenant.apiKey);
      await window.page.goto(`${service.url}/dashboard${pages[page]}`);
      await window.page.locator("#live.on").waitFor();
      const picture = await window.page.screenshot();
      if (isWanted) await Bun.write(join(IMAGES, `dashboard-${name}.png`), picture);
      expect(picture.byteLength).toBeLessThan(PICTURE_BYTES_MAX);
    },
    TEST_MS_MAX,
  );
});
