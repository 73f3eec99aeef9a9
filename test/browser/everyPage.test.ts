import { beforeAll, expect, test } from "bun:test";
import { recordBackupOrExport } from "../../src/commands/instance/recordBackupOrExport.ts";
import { SCOPES } from "../../src/domain/apiKey/scopes.ts";
import { allDashboardRoutes } from "../../src/http/dashboard/frame/allDashboardRoutes.ts";
import type { DashboardOptions } from "../../src/http/dashboard/frame/dashboardOptions.ts";
import type { LiveStreams } from "../../src/http/dashboard/live/liveStreams.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { logIn } from "../support/dashboard.ts";
import { crawlDashboard, plantHostileContent } from "../support/hostileContent.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { stub } from "../support/stub.ts";
import { until } from "../support/until.ts";
import { beginSession, describeInBrowser, expectGoodLook, openPage } from "./browserFixture.ts";

const TEST_MS_MAX = 240_000;
/** A page is loaded in the last of them, in which the one before has left the window. */
const LOOKS = [
  { look: "light", colorScheme: "light", width: 360, height: 860 },
  { look: "dark", colorScheme: "dark", width: 1280, height: 860 },
] as const;
const EXPIRES_AT = "2099-12-31T12:00:00Z";
const REFUSED_IN_FRAME = /^Blocked script execution in .*sandboxed|violates .* directive: "img-src data:"/;
/** Gives the day and the hour of every time two digits, whenever the test runs. */
const LONGEST_TIMES = `for (const time of document.querySelectorAll("time"))
  time.textContent = time.textContent.replace(/\\b\\d(?=[:,])/g, "2$&")`;
/** How long until the log has a seal, which a page shows. */
const SEAL_INTERVAL_MS = 200;
/** Of what a browser shows as a page: files and parts of other pages are left out. */
const routes = allDashboardRoutes(stub() as DashboardOptions, stub() as LiveStreams).filter(
  ({ method, path }) =>
    method === "GET" &&
    !path.startsWith("/live") &&
    !/\.(csv|html|eml)$|\/files?(\/|$)|\/(timeline|rows|preview)$/.test(path),
);

describeInBrowser("every page with hostile content", (browser) => {
  const { service, tenant } = serviceFixture(sqliteStore, {
    AUDIT_SEAL_INTERVAL_MS: String(SEAL_INTERVAL_MS),
  });
  let addresses: readonly string[];
  beforeAll(async () => {
    await plantHostileContent(service, tenant);
    const copy = { kind: "backup", place: "/var/backups/postledger-2026-11-22" } as const;
    await recordBackupOrExport(service.log.store, copy, systemCommandContext("cli"));
    const visitor = await logIn(service.url, tenant.apiKey);
    const shows = async (path: string, text: string) => (await visitor.get(path)).html.includes(text);
    await until(() => shows("/messages", "bounced"), "the message");
    await until(() => shows("/audit/seals", "Last seal"), "a seal");
    await until(() => shows("/audit/erasures", "completed"), "the erasure");
    const found = [...(await crawlDashboard(visitor)).keys()];
    const paths = new Set(routes.map(({ path }) => path));
    addresses = routes.flatMap(({ path }) => {
      const pattern = new RegExp(`^${path.replace(/:[a-zA-Z]+/g, "[^/]+")}$`);
      const isOfRoute = (address: string) => {
        const [bare = ""] = address.split("?");
        // In /templates/new, "new" is no id.
        return bare === path || (pattern.test(bare) && !paths.has(bare));
      };
      return found.find(isOfRoute) ?? [];
    });
  }, TEST_MS_MAX);

  test("links lead to nearly every page", () => {
    expect(addresses.length).toBeGreaterThan(routes.length * 0.7);
  });

  test(
    "is accessible, keeps within the window and runs nothing, on a small light one and a large dark one",
    async () => {
      const { page, errors } = await browser.open({ colorScheme: "dark" });
      await beginSession(page, service.url, tenant.apiKey);
      for (const address of addresses) {
        await openPage(page, `${service.url}/dashboard${address}`);
        const name = `every${address.replaceAll(/[^a-z]+/g, "-").slice(0, 60)}`;
        for (const look of LOOKS)
          await expectGoodLook(page, name, look).catch((error: unknown) => {
            const message = error instanceof Error ? error.message : error;
            throw new Error(`${address}, ${look.look}: ${message}`);
          });
      }
      // What a mail in its frame wants is refused, and the browser says so.
      expect(errors.filter((error) => !REFUSED_IN_FRAME.test(error))).toEqual([]);
      expect(errors.join()).not.toContain("run is not defined");
    },
    TEST_MS_MAX,
  );

  test(
    "lists keep their rows within the window at every width",
    async () => {
      const { json } = await tenant.call("POST", "/api/v1/api-keys", {
        body: {
          name: "Storefront in production ".repeat(4).trim(),
          scopes: SCOPES.slice(1),
          expires_at: EXPIRES_AT,
        },
      });
      await fetch(`${service.url}/api/v1/emails`, { headers: { authorization: `Bearer ${json.key}` } });
      const { page } = await browser.open({ locale: "en-US" });
      await beginSession(page, service.url, tenant.apiKey);
      for (const address of addresses.filter((one) => !one.slice(1).includes("/"))) {
        await openPage(page, `${service.url}/dashboard${address}`);
        await page.evaluate(LONGEST_TIMES);
        for (const width of [1280, 1180, 1024, 1000, 900, 840, 800, 390]) {
          await page.setViewportSize({ width, height: 860 });
          const wide = await page.evaluate(
            "[...document.querySelectorAll('.rows')].filter((one) => one.scrollWidth > one.clientWidth).length",
          );
          expect({ address, width, wide }).toEqual({ address, width, wide: 0 });
        }
      }
    },
    TEST_MS_MAX,
  );
});
