import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { apiKeyId } from "../../../src/kernel/crypto/apiKeyFormat.ts";
import { askDashboard, logIn } from "../../support/dashboard.ts";
import { dashboardFixture, logInAsOperator } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** What a figure of the overview says. */
function figureOf(html: string, name: string): string | undefined {
  const [, figures = ""] = /<ul class="figures">(.*?)<\/ul>/s.exec(html) ?? [];
  const found = figures.split("<li>").find((one) => one.includes(`>${name}<`));
  return /<strong>([^<]*)<\/strong>/.exec(found ?? "")?.[1];
}

describe("the overview in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore, { DELIVERY: "on", SMTP_URL: "outbox:" });

  test("a message with feedback after it was sent still counts as sent", async () => {
    const { tenant, visitor } = fixture;
    for (const name of ["delivered", "complained", "bounced"]) {
      const { status } = await tenant.send(newKey(), message({ to: `${name}@simulator.test` }));
      expect(status).toBe(202);
    }
    const expected = {
      accepted: "3",
      sent: "2",
      delivered: "1",
      bounced: "1",
      complained: "1",
      failed: "0",
    };
    for (const range of ["hour", "day", "month"]) {
      let seen = {};
      const readFigures = async () => {
        const { html } = await visitor.get(`/?range=${range}`);
        seen = Object.fromEntries(Object.keys(expected).map((name) => [name, figureOf(html, name)]));
        return Bun.deepEquals(seen, expected);
      };
      await until(readFigures, `the figures of a ${range}`).catch(() => expect(seen).toEqual(expected));
    }
    const { html } = await visitor.get("/");
    const [, query = ""] = /messages\?(q=status%3Asent%2Cdelivered%2Ccomplained[^"]*)"/.exec(html) ?? [];
    expect((await visitor.get(`/messages?${query}`)).html.match(/data-row=/g)).toHaveLength(2);
  });

  test("the last problems have the time at which they happened, not that of an erasure since", async () => {
    const tenant = await fixture.service.tenant();
    const visitor = await logIn(fixture.service.url, tenant.apiKey);
    const bouncedAt: string[] = [];
    const ids: string[] = [];
    for (let nth = 0; nth < 2; nth += 1) {
      const { json } = await tenant.send(newKey(), message({ to: "bounced@simulator.test" }));
      ids.push(json.id);
      await until(async () => {
        const { timeline } = (await tenant.call("GET", `/api/v1/emails/${json.id}`)).json;
        const bounce = timeline.find(({ type }: { type: string }) => type === "bounced");
        if (bounce !== undefined) bouncedAt.push(bounce.at);
        return bounce !== undefined;
      }, "the bounce");
    }
    expect((await tenant.call("DELETE", `/api/v1/emails/${ids[0]}/content`)).status).toBe(200);
    let times: (string | undefined)[] = [];
    await until(async () => {
      const problems = (await visitor.get("/")).html.split('class="problems"')[1] ?? "";
      times = [...problems.matchAll(/<time datetime="([^"]+)"/g)].map(([, at]) => at);
      return problems.includes(">erased<") && times.length > 1;
    }, "both problems, one of them erased");
    expect(times.slice(0, 2)).toEqual(bouncedAt.toReversed());
  });
});

test("a first key is shown to its own workspace and to operators, by its file's name alone, as on the log-in page of a trial", async () => {
  const service = await startService(sqliteStore, { BOOTSTRAP: "on" });
  try {
    const file = join(service.app.dataDir, "bootstrap.key");
    const key = (await readFile(file, "utf8")).trim();
    const tenant = await service.tenant();
    const owner = await logIn(service.url, key);
    const [ofOwner, ofTenant, ofOperator] = await Promise.all(
      [owner, await logIn(service.url, tenant.apiKey), await logInAsOperator(service, tenant)].map(
        async (visitor) => (await visitor.get("/")).html.split('id="health"')[1] ?? "",
      ),
    );
    for (const html of [ofOwner, ofOperator]) {
      expect(html).toContain("bootstrap.key holds a key that may do everything");
      expect(html).not.toContain(service.app.dataDir);
    }
    expect(ofTenant).not.toContain("First key");
    expect(ofTenant).toContain("Last seal");
    const logInPage = async () => (await askDashboard(service.url, "/log-in")).html;
    const shown = await logInPage();
    expect(shown).toContain("paste the key from <code>bootstrap.key</code> in the data directory");
    expect(shown).not.toContain(service.app.dataDir);
    await owner.post(`/api-keys/${apiKeyId(key)}/revoke`);
    expect(await logInPage()).not.toContain("bootstrap.key");
  } finally {
    await service.remove();
  }
});

describe("the overview of what is scheduled", () => {
  const fixture = dashboardFixture(sqliteStore);

  test("counts what is to begin later beside what waits, and leads to it", async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    for (let nth = 0; nth < 2; nth += 1)
      await fixture.tenant.send(newKey(), message({ scheduled_at: later }));
    let html = "";
    const isCounted = async () => {
      html = (await fixture.visitor.get("/")).html;
      return html.includes("2 scheduled");
    };
    await until(isCounted, "the count");
    expect(figureOf(html, "waiting")).toBe("0");
    expect(html).toContain('href="/dashboard/messages?q=status%3Ascheduled"');
    await fixture.tenant.send(newKey(), message());
    await until(
      async () => figureOf((await fixture.visitor.get("/")).html, "waiting") === "1",
      "the other message",
    );
    expect((await fixture.visitor.get("/")).html).toContain("</time>, and 2 more scheduled for later");
    for (const text of ["<dt>Content store</dt>", "nothing to report: none has run yet"])
      expect(html).toContain(text);
  });
});

describe("the overview with a single relay", () => {
  const fixture = dashboardFixture(sqliteStore, { DELIVERY: "on", SMTP_URL: "smtp://127.0.0.1:1" });

  test("shows the operator why it takes no mail, and for how long", async () => {
    const operator = await logInAsOperator(fixture.service, fixture.tenant);
    expect((await operator.get("/")).html).not.toContain("127.0.0.1:1");
    for (let nth = 0; nth < 3; nth += 1) await fixture.tenant.send(newKey(), message());
    const shown = /127\.0\.0\.1:1<\/dt><dd>.*in trouble<\/span> <span class="soft">for .*ECONNREFUSED/;
    await until(async () => shown.test((await operator.get("/")).html), "the trouble");
    expect((await fixture.visitor.get("/")).html).not.toContain("127.0.0.1:1");
  });
});

describe("the overview with several relays", () => {
  // Nobody listens on ports 1 and 2.
  const fixture = dashboardFixture(sqliteStore, {
    DELIVERY: "on",
    SMTP_URL: "smtp://127.0.0.1:1 smtp://127.0.0.1:2?order=2",
  });

  test("shows the operator whether each relay accepts mail", async () => {
    const operator = await logInAsOperator(fixture.service, fixture.tenant);
    expect((await operator.get("/")).html).toContain(
      '<dt>127.0.0.1:1</dt><dd><span class="status good">taking mail</span></dd>',
    );
    await fixture.tenant.send(newKey(), message());
    const isInTrouble = async () =>
      /127\.0\.0\.1:1<\/dt><dd><span class="status waiting">in trouble/.test((await operator.get("/")).html);
    await until(isInTrouble, "the relay's circuit breaker to open");
    expect((await fixture.visitor.get("/")).html).not.toContain("127.0.0.1:1");
  });

  test("says nothing of them to whoever has not logged in", async () => {
    const { url } = fixture.service;
    const isDegraded = async () =>
      (await (await fetch(`${url}/health/ready`)).text()).includes('"status":"degraded"');
    await until(isDegraded, "the relays to be down");
    const { html } = await askDashboard(url, "/log-in");
    expect(html).toContain('<span class="status good">The service is running</span>');
  });
});
