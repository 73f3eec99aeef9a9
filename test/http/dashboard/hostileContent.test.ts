import { afterAll, beforeAll, expect, test } from "bun:test";
import { logIn } from "../../support/dashboard.ts";
import { crawlDashboard, HOSTILE, PAGES_MAX, plantHostileContent } from "../../support/hostileContent.ts";
import { sharedService } from "../../support/sharedService.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import type { TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;
const UNESCAPED = /<script>run|<img src=x|href="javascript:/i;

let service: TestService;
beforeAll(async () => {
  service = await sharedService(sqliteStore);
});
afterAll(() => service.remove());

test(
  "what anybody may write is text on every page",
  async () => {
    const tenant = await service.tenant();
    await plantHostileContent(service, tenant);
    const visitor = await logIn(service.url, tenant.apiKey);
    await until(async () => (await visitor.get("/messages")).html.includes("bounced"), "the message");
    const pages = await crawlDashboard(visitor);
    expect(pages.size).toBeGreaterThan(50);
    expect(pages.size).toBeLessThan(PAGES_MAX);
    const escapedPages = [...pages].filter(([, html]) => html.includes("&lt;script&gt;run()"));
    expect(escapedPages.length).toBeGreaterThan(12);
    expect([...pages].filter(([, html]) => UNESCAPED.test(html)).map(([path]) => path)).toEqual([]);
    // A browser without scripts shows them too.
    const parts = [...pages].filter(
      ([, html]) => html !== "" && !/<main\b[\s\S]*<h1\b[^>]*>[^<]*\w/.test(html),
    );
    expect(parts.map(([path]) => path)).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "what somebody is led to by a link is text too",
  async () => {
    const visitor = await logIn(service.url, (await service.tenant()).apiKey);
    const text = encodeURIComponent(HOSTILE);
    for (const path of [
      `/${text}`,
      `/messages?q=${text}`,
      `/messages/${text}`,
      `/suppressions?address=${text}&reason=${text}`,
      `/suppressions/${text}/remove`,
      `/audit?action=${text}&actor=${text}&target_id=${text}&from=${text}`,
      `/audit/erasures/${text}`,
      `/attachments?status=${text}`,
      `/templates/${text}`,
      `/webhooks/${text}`,
      `/log-in?next=${text}`,
      `/?range=${text}`,
    ])
      expect({ path, html: (await visitor.get(path)).html }).not.toMatchObject({
        html: expect.stringMatching(UNESCAPED),
      });
  },
  TEST_MS_MAX,
);
