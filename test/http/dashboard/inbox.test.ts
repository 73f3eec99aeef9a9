import { expect, test } from "bun:test";
import { logIn } from "../../support/dashboard.ts";
import { startTestApp } from "../../support/service.ts";

test("the inbox is in the side bar only while mail is written to files, and promises none that goes to a relay", async () => {
  for (const [env, isThere] of [
    [{}, true],
    [{ SMTP_URL: "smtp://127.0.0.1:1", DELIVERY: "off" }, false],
  ] as const) {
    const app = await startTestApp({ env });
    try {
      const visitor = await logIn(app.url, app.apiKey);
      const { html } = await visitor.get("/inbox");
      expect(html.includes("it appears here")).toBe(isThere);
      expect((await visitor.get("/")).html.includes('href="/dashboard/inbox"')).toBe(isThere);
    } finally {
      await app.remove();
    }
  }
});
