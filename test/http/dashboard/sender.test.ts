import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { senderStream } from "../../../src/domain/sender/events.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { type NameServer, startNameServer } from "../../support/servers/nameServer.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import {
  message,
  newKey,
  SENDER,
  startService,
  type Tenant,
  type TestService,
} from "../../support/tenants.ts";

const CODE = /class="code-to-compare">([2-9B-Z]{4}-[2-9B-Z]{4})</;

describe("senders in the dashboard", () => {
  let service: TestService;
  let names: NameServer;
  let tenant: Tenant;
  let visitor: Visitor;
  const records = new Map<string, string>();
  beforeAll(async () => {
    names = await startNameServer((name, type) => {
      const text = type === "TXT" ? records.get(name) : undefined;
      if (text === "refused") return text;
      return text === undefined ? "nxdomain" : [text];
    });
    service = await startService(sqliteStore, {
      VERIFICATION_FROM: "postmaster@mail.example.net",
      DNS_SERVERS: names.address,
    });
    tenant = await service.tenant();
    visitor = await logIn(service.url, tenant.apiKey);
  });
  afterAll(async () => {
    await service.remove();
    names.stop();
  });

  /** Adds a sender by the form; its page's path. */
  const add = async (name: string, displayName = "") => {
    const { status, location } = await visitor.post("/senders", { name, display_name: displayName });
    expect(status).toBe(303);
    return location?.replace("/dashboard", "") ?? "";
  };
  const idOf = (path: string) => path.slice("/senders/".length);

  test("the list shows each sender with its state", async () => {
    await add("example.net");
    const { html } = await visitor.get("/senders");
    expect(html).toContain(SENDER);
    expect(html).toContain('<span class="status good">verified</span>');
    expect(html).toContain("example.net");
    expect(html).toContain('<span class="status waiting">unverified</span>');
  });

  test("what receivers look up of a domain is looked up, and said in words", async () => {
    const domain = `d${crypto.randomUUID()}.example`;
    const path = await add(domain);
    records.set(domain, "v=spf1 include:relay.example ~all");
    expect((await visitor.get(path)).html).toContain(`hx-get="/dashboard${path}/records"`);
    const { html } = await visitor.get(`${path}/records`);
    expect(html).toContain("v=spf1 include:relay.example ~all");
    expect(html).toContain(`>_dmarc.${domain}</code>`);
    expect(html).toContain('<span class="status waiting">missing</span>');
    expect(html).toContain("DKIM was not looked up");
    const other = await service.tenant();
    const otherVisitor = await logIn(service.url, other.apiKey);
    expect((await otherVisitor.get(`${path}/records`)).status).toBe(404);
  });

  test("an address gets a link by mail, and its code is shown to be compared", async () => {
    const path = await add(`box-${crypto.randomUUID()}@example.org`, "Example billing");
    const added = (await visitor.get(path)).html;
    expect(added).toContain("Mail a link");
    expect(added).toContain('value="Example billing"');
    expect((await visitor.post(`${path}/verify`)).location).toBe(`/dashboard${path}`);
    const { html } = await visitor.get(path);
    const sender = (await tenant.call("GET", `/api/v1${path}`)).json;
    expect(CODE.exec(html)?.[1]).toBe(sender.verification.code);
    const secondVerify = await visitor.post(`${path}/verify`);
    expect(secondVerify.status).toBe(429);
    expect(secondVerify.html).toMatch(
      /There were too many verification mails; try again later\. You can in \d+ /,
    );
  });

  test("a domain is verified by the record that its page shows, which also shows what was found before", async () => {
    const path = await add("verified.example");
    const { dns_record: record } = (await tenant.call("GET", `/api/v1${path}`)).json;
    const { html } = await visitor.get(path);
    for (const text of [record.name, record.value]) expect(html).toContain(`data-copy="${text}"`);
    records.set(record.name, "<b>another</b>");
    const missing = await visitor.post(`${path}/verify`);
    expect(missing.status).toBe(422);
    expect(missing.html).toContain("&lt;b&gt;another&lt;/b&gt;");
    records.set(record.name, "refused");
    const unanswered = await visitor.post(`${path}/verify`);
    expect(unanswered.status).toBe(503);
    expect(unanswered.html).toContain("DNS gave no answer (EREFUSED)");
    records.set(record.name, record.value);
    expect((await visitor.post(`${path}/verify`)).status).toBe(303);
    expect((await visitor.get(path)).html).toContain("The record was found.");
  });

  test("a display name is changed, refused with what is wrong, and taken away", async () => {
    const path = await add("named@example.com");
    await visitor.post(`${path}/display-name`, { display_name: "<i>Shop</i>" });
    expect((await visitor.get(path)).html).toContain('value="&lt;i&gt;Shop&lt;/i&gt;"');
    const refused = await visitor.post(`${path}/display-name`, { display_name: "n".repeat(201) });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain("It must have 1 to 200 characters.");
    await visitor.post(`${path}/display-name`, { display_name: "" });
    expect((await tenant.call("GET", `/api/v1${path}`)).json.display_name).toBeNull();
  });

  test("a domain is given a display name too", async () => {
    const path = await add("named.example.org", "Shop");
    expect((await visitor.get(path)).html).toContain('value="Shop"');
    await visitor.post(`${path}/display-name`, { display_name: "Store" });
    expect((await tenant.call("GET", `/api/v1${path}`)).json.display_name).toBe("Store");
  });

  test("a sender is disabled after one question, and enabled again, by the key that asked", async () => {
    const [sender] = (await tenant.call("GET", "/api/v1/senders?limit=100")).json.data.filter(
      ({ address }: { address: string }) => address === SENDER,
    );
    const path = `/senders/${sender.id}`;
    expect((await visitor.get(`${path}/disable`)).html).toContain(`Disable ${SENDER}?`);
    expect((await visitor.post(`${path}/disable`)).location).toBe(`/dashboard${path}`);
    expect((await tenant.send(newKey(), message())).json.code).toBe("SENDER_UNAVAILABLE");
    expect((await visitor.get(path)).html).toContain("disabled");
    await visitor.post(`${path}/enable`);
    expect((await tenant.send(newKey(), message())).status).toBe(202);
    const events = await service.log.store.read(senderStream(sender.id), 0, 100);
    const last = events.filter(({ type }) => type === "SenderDisabled" || type === "SenderEnabled");
    expect(last.map(({ metadata }) => metadata.actor)).toEqual(
      [tenant.keyId, tenant.keyId].map((id) => `api-key:${id}`),
    );
  });

  test("what is neither address nor domain is shown again with what is wrong", async () => {
    const { status, html } = await visitor.post("/senders", { name: "ana at example" });
    expect(status).toBe(400);
    expect(html).toContain('value="ana at example"');
    expect(html).toContain("It must be a fully qualified name");
    expect(html).toContain('aria-invalid="true"');
  });

  test("nobody sees or changes another workspace's sender", async () => {
    const path = await add("secret.example");
    const other = await logIn(service.url, (await service.tenant()).apiKey);
    expect((await other.get("/senders")).html).not.toContain("secret.example");
    for (const page of ["", "/disable"]) expect((await other.get(path + page)).status).toBe(404);
    for (const action of ["/verify", "/display-name", "/disable", "/enable"])
      expect((await other.post(path + action)).status).toBe(404);
    expect((await tenant.call("GET", `/api/v1/senders/${idOf(path)}`)).json.status).toBe("unverified");
  });
});
