import { describe, expect, test } from "bun:test";
import { deliveredId, emailOf } from "../../support/mail/sentEmail.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";

/** What the examples in Postmark's documentation have in common. */
const OF_ALL = {
  MessageStream: "outbound",
  MessageID: "883953f4-6105-42a2-a16a-77a8eac79483",
  Metadata: { a_key: "a_value", b_key: "b_value" },
  ServerID: 23,
  Tag: "welcome-email",
};
const OF_BOUNCES = {
  ...OF_ALL,
  TypeCode: 1,
  Description: "The server was unable to deliver your message.",
  Details: "Test bounce details",
  Email: "john@example.com",
  From: "sender@example.com",
  BouncedAt: "2019-11-05T16:33:54.9070259Z",
  DumpAvailable: true,
  Inactive: true,
  CanActivate: true,
  Subject: "Test subject",
  Content: "<Full dump of bounce>",
};
const OF_READERS = {
  ...OF_ALL,
  Recipient: "john@example.com",
  UserAgent: "Mozilla/5.0",
  Platform: "Desktop",
  OS: { Company: "Microsoft Corporation", Family: "Windows", Name: "Windows 10" },
  Client: { Company: "Google", Family: "Chrome", Name: "Chrome 35.0.1916.153" },
  Geo: { City: "Novi Sad", Coords: "45.2517,19.8369", CountryISOCode: "RS", RegionISOCode: "VO" },
  ReceivedAt: "2019-11-05T16:33:54.9070259Z",
};
const EXAMPLES = [
  { RecordType: "Bounce", Type: "HardBounce", Name: "Hard bounce", ...OF_BOUNCES },
  { RecordType: "SpamComplaint", Type: "SpamComplaint", Name: "Spam complaint", ...OF_BOUNCES },
  {
    RecordType: "Delivery",
    ...OF_ALL,
    Recipient: "john@example.com",
    Details: "",
    DeliveredAt: "2019-11-05",
  },
  { RecordType: "Open", ...OF_READERS, FirstOpen: true, ReadSeconds: 5 },
  { RecordType: "Click", ...OF_READERS, ClickLocation: "HTML", OriginalLink: "https://example.com" },
  { RecordType: "SubscriptionChange", ...OF_ALL, SuppressSending: true, SuppressionReason: null },
];

describe.each(await testStores())("webhook calls of Postmark on $name", (store: TestStore) => {
  const fixture = serviceWithRelay(store, {
    query: "?provider=postmark&return_path=off&message_stream=receipts",
  });

  /** A message, and the metadata that Postmark would give back. */
  async function sent(to: string): Promise<{ readonly id: string; readonly Metadata: object }> {
    const id = await deliveredId(fixture.tenant, to);
    const raw = fixture.sink.record.messages.find((one) => one.to.includes(to))?.raw.toString() ?? "";
    const [, name = "", value = ""] = /^X-PM-Metadata-([^:]+): (.+)\r$/m.exec(raw) ?? [];
    return { id, Metadata: { [name]: value } };
  }

  async function call(body: object, caller = fixture.tenant): Promise<number> {
    return (await caller.call("POST", "/api/v1/feedback/postmark", { body })).status;
  }

  test("the relay is told the message stream, once, before the message", async () => {
    await sent("stream@example.net");
    const raw = fixture.sink.record.messages
      .find(({ to }) => to.includes("stream@example.net"))
      ?.raw.toString();
    const fields = (raw ?? "").split("\r\n");
    expect(fields.slice(0, 3).filter((line) => /^X-PM-/.test(line))).toHaveLength(3);
    expect(fields.filter((line) => /^x-pm-message-stream:/i.test(line))).toEqual([
      "X-PM-Message-Stream: receipts",
    ]);
  });

  test.each<[string, object, string]>([
    ["a delivery", { RecordType: "Delivery", MessageID: "theirs" }, "delivered"],
    [
      "a hard bounce",
      { RecordType: "Bounce", Type: "HardBounce", Details: "smtp;550 5.1.1 unknown" },
      "bounced",
    ],
    ["a block", { RecordType: "Bounce", Type: "Blocked", Details: "smtp;554 5.7.1 listed" }, "bounced"],
    ["a complaint", { RecordType: "SpamComplaint" }, "complained"],
    ["a message that is still tried", { RecordType: "Bounce", Type: "Transient" }, "sent"],
    ["a person out of office", { RecordType: "Bounce", Type: "AutoResponder" }, "sent"],
    ["an opened message", { RecordType: "Open" }, "sent"],
  ])("%s", async (_, event, status) => {
    const to = `${crypto.randomUUID()}@example.net`;
    const { id, Metadata } = await sent(to);
    expect(await call({ ...event, Metadata })).toBe(204);
    expect((await emailOf(fixture.tenant, id)).status).toBe(status);
    const isSuppressed = (await fixture.tenant.call("GET", `/api/v1/suppressions/${to}`)).status === 200;
    const { Type = "" } = event as { Type?: string };
    expect(isSuppressed).toBe(status === "complained" || Type === "HardBounce");
  });

  test.each(EXAMPLES)(
    "its own example of $RecordType, with an ID that no number holds exactly",
    async (event) => {
      const body = JSON.stringify(event).replace("{", '{"ID":4323372036854775807,');
      expect((await fixture.tenant.call("POST", "/api/v1/feedback/postmark", { body })).status).toBe(204);
      const { status, json } = await fixture.tenant.call("POST", "/api/v1/feedback/postmark", {
        body: { ...event, Email: "\ud800" },
      });
      expect({ status, errors: json.errors }).toMatchObject({ status: 400, errors: [{ pointer: "/Email" }] });
    },
  );

  test("changes nothing of another workspace, nor of what it does not name", async () => {
    const { id, Metadata } = await sent("other@example.net");
    const other = await fixture.service.tenant();
    expect(await call({ RecordType: "SpamComplaint", Metadata }, other)).toBe(204);
    expect(await call({ RecordType: "SpamComplaint" })).toBe(204);
    expect(await call({ RecordType: "SpamComplaint", Metadata: { postledger_id: "x" } })).toBe(204);
    expect((await emailOf(fixture.tenant, id)).status).toBe("sent");
    const reader = await fixture.tenant.withKey({ scopes: ["email:read"] });
    expect(await call({ RecordType: "SpamComplaint", Metadata }, reader)).toBe(403);
    expect(await call({ Type: "HardBounce" })).toBe(400);
  });

  describe("about mail that was sent past the service", () => {
    const SUPPRESSING = "/api/v1/feedback/postmark?suppress_unmatched=true";
    const HARD = { RecordType: "Bounce", Type: "HardBounce", Details: "smtp;550 5.1.1 unknown" };

    async function reasonAfter(path: string, event: object): Promise<string | null> {
      const Email = `${crypto.randomUUID()}@example.net`;
      const { tenant } = fixture;
      expect((await tenant.call("POST", path, { body: { ...event, Email } })).status).toBe(204);
      const found = await tenant.call("GET", `/api/v1/suppressions/${Email}`);
      return found.status === 200 ? found.json.reason : null;
    }

    test.each<[string, object, string | null]>([
      ["a hard bounce that deactivated the address", { ...HARD, Inactive: true }, "bounce"],
      ["a hard bounce that did not", { ...HARD, Inactive: false }, null],
      ["a block", { RecordType: "Bounce", Type: "Blocked", Inactive: true }, null],
      ["a complaint", { RecordType: "SpamComplaint", Type: "SpamComplaint", Inactive: true }, "complaint"],
      ["a delivery", { RecordType: "Delivery" }, null],
    ])("%s suppresses as the URL says", async (_, event, reason) => {
      expect(await reasonAfter(SUPPRESSING, event)).toBe(reason);
      expect(await reasonAfter("/api/v1/feedback/postmark", event)).toBeNull();
      expect(await reasonAfter(SUPPRESSING.replace("true", "false"), event)).toBeNull();
    });

    test("suppresses nothing if a message of another workspace is named, or for a key that may not", async () => {
      const { Metadata } = await sent("elsewhere@example.net");
      const other = await fixture.service.tenant();
      const body = { RecordType: "SpamComplaint", Metadata, Email: "elsewhere@example.net" };
      expect((await other.call("POST", SUPPRESSING, { body })).status).toBe(204);
      expect((await other.call("GET", "/api/v1/suppressions/elsewhere@example.net")).status).toBe(404);
      const reporter = await other.withKey({ scopes: ["feedback:write"] });
      expect((await reporter.call("POST", SUPPRESSING, { body })).status).toBe(403);
    });
  });
});
