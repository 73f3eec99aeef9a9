import { expect } from "bun:test";
import type { Visitor } from "./dashboard.ts";
import { message, newKey, type Tenant, type TestService } from "./tenants.ts";
import { until } from "./until.ts";

/** Text, an attribute, a script and a link: if one of them is not escaped, a script runs. */
export const HOSTILE = `"'><script>run()</script><img src=x onerror=run()><a href="javascript:run()">`;
/** Is wider than the columns of lists, and has no space at which a line could break. */
const LONG_NAME = "billing-and-receipts.of-the-northern-branch-and-all-others";
/** More than the pages of such a workspace. */
export const PAGES_MAX = 400;

/** Writes {@link HOSTILE} into every free-text field. */
export async function plantHostileContent(service: TestService, tenant: Tenant): Promise<void> {
  const post = async (path: string, body: unknown) => {
    const { status, json } = await tenant.call("POST", path, { body });
    expect({ path, status: status < 300 ? "accepted" : json }).toEqual({ path, status: "accepted" });
    return json;
  };
  await post("/api/v1/api-keys", { name: HOSTILE, scopes: ["email:read"] });
  await post("/api/v1/senders", { address: `${LONG_NAME}@example.org`, display_name: "<script>run()" });
  await post("/api/v1/suppressions", { address: `${LONG_NAME}@example.org`, note: HOSTILE });
  await post("/api/v1/erasures", { address: "trudy@example.org", reference: "<script>run()" });
  await post("/webhooks", { url: "https://example.com/%3Cscript%3Erun", description: HOSTILE });
  const { id: templateId } = await post("/api/v1/templates", { name: HOSTILE });
  const versions = `/api/v1/templates/${templateId}/versions`;
  for (const subject of [HOSTILE, `Other ${HOSTILE}`]) {
    const { id } = await post(versions, { subject, html: HOSTILE, text: HOSTILE });
    await post(`${versions}/${id}/publish`, undefined);
  }
  const file = {
    filename: `<img src=x onerror=run()>${LONG_NAME}.txt`,
    content_type: "text/plain",
    content: btoa(HOSTILE),
  };
  const { id: upload } = await post("/api/v1/attachments", file);
  const isReady = async () =>
    (await tenant.call("GET", `/api/v1/attachments/${upload}`)).json.status === "ready";
  await until(isReady, "the upload to be ready");
  const content = { subject: HOSTILE, html: HOSTILE, text: HOSTILE, attachments: [upload, file] };
  const sent = await tenant.send(newKey(), message({ ...content, metadata: { [HOSTILE]: HOSTILE } }));
  expect(sent.status).toBe(202);
  await service.addEmailEvents(
    sent.json.id,
    {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: HOSTILE, leaseMs: 60_000, transport: "smtp" },
    },
    {
      type: "EmailBounced",
      data: { attempt: 1, reason: HOSTILE, code: 550, reply: `550 ${HOSTILE}` },
    },
  );
}

/** Every page that a link of the dashboard leads to, with its HTML. */
export async function crawlDashboard(visitor: Visitor): Promise<ReadonlyMap<string, string>> {
  const seen = new Map<string, string>();
  const waiting = ["/"];
  for (let path = waiting.shift(); path !== undefined && seen.size < PAGES_MAX; path = waiting.shift()) {
    if (seen.has(path)) continue;
    const { html, headers } = await visitor.get(path);
    const isPage = (headers.get("content-type") ?? "").startsWith("text/html");
    // Frames that show a mail have their own policy, which lets nothing run.
    const isFrame = (headers.get("content-security-policy") ?? "").startsWith("sandbox");
    seen.set(path, isPage && !isFrame ? html : "");
    for (const [, link = ""] of html.matchAll(/ href="\/dashboard(\/[^"]*)"/g)) {
      const next = link.replaceAll("&amp;", "&").replace(/#.*$/, "");
      if (!next.startsWith("/assets/")) waiting.push(next);
    }
  }
  return seen;
}
