import { expect, test } from "bun:test";
import { logIn, visitorOf } from "../../support/dashboard.ts";
import { startTestApp } from "../../support/service.ts";

test("the outbox is in the side bar only while mail is written to files, and promises none that goes to a relay or is test mail", async () => {
  for (const [env, isThere] of [
    [{}, true],
    [{ SMTP_URL: "smtp://127.0.0.1:1", DELIVERY: "off" }, false],
  ] as const) {
    const app = await startTestApp({ env });
    try {
      const visitor = await logIn(app.url, app.apiKey);
      const { html } = await visitor.get("/outbox");
      expect(html.includes("it appears here")).toBe(isThere);
      expect((await visitor.get("/")).html.includes('href="/dashboard/outbox"')).toBe(isThere);
      const { headers } = await visitor.post("/mail", { show: "test" });
      const tester = visitorOf(app.url, headers.get("set-cookie")?.split(";")[0] ?? "");
      const testPage = (await tester.get("/outbox")).html;
      expect(testPage).toContain("Test mail is not written to files");
      for (const text of ["appears here", "goes to the relay"]) expect(testPage).not.toContain(text);
      expect((await tester.get("/")).html).not.toContain('href="/dashboard/outbox"');
    } finally {
      await app.remove();
    }
  }
});
