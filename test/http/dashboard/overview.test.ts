import { describe, expect, test } from "bun:test";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { visitedDashboard } from "../../support/visitedDashboard.ts";

/** What a figure of the overview says. */
function figureOf(html: string, name: string): string | undefined {
  const [, figures = ""] = /<ul class="figures">(.*?)<\/ul>/s.exec(html) ?? [];
  const found = figures.split("<li>").find((one) => one.includes(`>${name}<`));
  return /<strong>([^<]*)<\/strong>/.exec(found ?? "")?.[1];
}

describe.each(await testStores())("the overview in the dashboard on $name", (store) => {
  const here = visitedDashboard(store, { DELIVERY: "on", SMTP_URL: "outbox:" });

  test("a message of which more is told after it was sent still counts as sent", async () => {
    const { tenant, visitor } = here;
    for (const name of ["delivered", "complained", "bounced"]) {
      const { status } = await tenant.send(newKey(), message({ to: `${name}@simulator.test` }));
      expect(status).toBe(202);
    }
    const wanted = { accepted: "3", sent: "2", delivered: "1", bounced: "1", complained: "1", failed: "0" };
    for (const range of ["hour", "day", "month"]) {
      let seen = {};
      const look = async () => {
        const { html } = await visitor.get(`/?range=${range}`);
        seen = Object.fromEntries(Object.keys(wanted).map((name) => [name, figureOf(html, name)]));
        return Bun.deepEquals(seen, wanted);
      };
      await until(look, `the figures of a ${range}`).catch(() => expect(seen).toEqual(wanted));
    }
  });
});
