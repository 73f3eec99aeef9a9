import { describe, expect, test } from "bun:test";
import { emailStream } from "../../../src/domain/email/events.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { rawCall } from "../../support/servers/rawRequest.ts";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, startService, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RFC_3339_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const REPLAYED = "idempotent-replayed";

describe.each(await testStores())("sending on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const storedEvents = async (id: string) =>
    (await service.log.store.read(emailStream(id), 0, 100)).map(({ type }) => type);

  const expectReplay = (answer: Answer, first: Answer) => {
    expect(answer.status).toBe(202);
    expect(answer.headers.get(REPLAYED)).toBe("true");
    expect(answer.text).toBe(first.text);
    expect(answer.headers.get("location")).toBe(first.headers.get("location"));
  };

  describe("accepting", () => {
    test("answers 202 with exactly the four fields of the contract", async () => {
      const answer = await tenant.send(newKey(), message());
      expect(answer.status).toBe(202);
      expect(Object.keys(answer.json).sort()).toEqual(["created_at", "id", "object", "status"]);
      expect(answer.json).toMatchObject({ object: "email", status: "queued" });
      expect(answer.json.id).toMatch(UUID_V5);
      expect(answer.headers.get("content-type")).toStartWith("application/json");
    });

    test("links to the message in Location", async () => {
      const answer = await tenant.send(newKey(), message());
      const location = answer.headers.get("location");
      expect(location).toBe(`/api/v1/emails/${answer.json.id}`);
      expect((await tenant.call("GET", location ?? "")).json.id).toBe(answer.json.id);
    });

    test("shows the time of acceptance in RFC 3339, UTC", async () => {
      const before = Date.now();
      const { json } = await tenant.send(newKey(), message());
      expect(json.created_at).toMatch(RFC_3339_UTC);
      expect(Date.parse(json.created_at)).toBeWithin(before, Date.now() + 1);
    });

    test("does not mark a first answer as a replay", async () => {
      expect((await tenant.send(newKey(), message())).headers.get(REPLAYED)).toBeNull();
    });

    test("writes the content and the acceptance in one append", async () => {
      const { json } = await tenant.send(newKey(), message());
      expect(await storedEvents(json.id)).toEqual(["EmailContentStored", "EmailQueued"]);
    });
  });

  describe("a repeated Idempotency-Key", () => {
    test("with the same content gets the first answer again", async () => {
      const key = newKey();
      const first = await tenant.send(key, message());
      expectReplay(await tenant.send(key, message()), first);
    });

    test("with another order of members and other white space is the same content", async () => {
      const key = newKey();
      const metadata = { a: 1, b: { ...message() }.to };
      const first = await tenant.send(key, JSON.stringify(message({ metadata })));
      const reversed = Object.fromEntries(
        Object.entries(message({ metadata: { b: metadata.b, a: 1 } })).reverse(),
      );
      expectReplay(await tenant.send(key, `\n ${JSON.stringify(reversed, null, 3)}\t`), first);
    });

    test.each([
      ["attachments", []],
      ["headers", {}],
      ["tags", []],
      ["auto_text", false],
      ["html", ""],
      ["metadata", {}],
      ["variables", {}],
    ])("with empty %s is the same content as without", async (member, empty) => {
      const key = newKey();
      const first = await tenant.send(key, message());
      expectReplay(await tenant.send(key, message({ [member]: empty })), first);
    });

    test("with a template's ids in another letter case is the same content", async () => {
      const call = async (path: string, body?: unknown) =>
        (await tenant.call("POST", `/api/v1/templates${path}`, body === undefined ? {} : { body })).json;
      const template = await call("", { name: "Welcome" });
      const version = await call(`/${template.id}/versions`, { subject: "Hi", text: "Hello" });
      await call(`/${template.id}/versions/${version.id}/publish`);
      const { from, to } = message();
      const ids = { template_id: template.id, template_version_id: version.id };
      const key = newKey();
      const first = await tenant.send(key, { from, to, ...ids });
      const capitals = {
        template_id: template.id.toUpperCase(),
        template_version_id: version.id.toUpperCase(),
      };
      expectReplay(await tenant.send(key, { from, to, ...capitals }), first);
    });

    test("with the same text in other JSON escapes is the same content", async () => {
      const key = newKey();
      const first = await tenant.send(key, JSON.stringify(message({ text: "ü€" })));
      const escaped = JSON.stringify(message({ text: "X" })).replace('"X"', '"\\u00fc\\u20AC"');
      expectReplay(await tenant.send(key, escaped), first);
    });

    for (const [what, parts] of [
      ["another subject", { subject: "Hello!" }],
      ["another recipient", { to: "bob@example.com" }],
      ["the recipient in another letter case", { to: "Ana@example.com" }],
      ["a further field", { html: "<p>It works.</p>" }],
      ["metadata", { metadata: { a: 1 } }],
    ] as const) {
      test(`with ${what} is a conflict`, async () => {
        const key = newKey();
        const first = await tenant.send(key, message());
        expectProblem(await tenant.send(key, message(parts)), 409, "IDEMPOTENCY_CONFLICT");
        // The conflict leaves the first request as it is.
        expectReplay(await tenant.send(key, message()), first);
        expect(await storedEvents(first.json.id)).toHaveLength(2);
      });
    }

    test("is another key in another letter case", async () => {
      const key = newKey();
      const lower = await tenant.send(`${key}-abc`, message());
      const upper = await tenant.send(`${key}-ABC`, message());
      expect(upper.status).toBe(202);
      expect(upper.headers.get(REPLAYED)).toBeNull();
      expect(upper.json.id).not.toBe(lower.json.id);
    });

    test("is the same key with white space around it", async () => {
      const key = newKey();
      const first = await tenant.send(key, message());
      const body = JSON.stringify(message());
      const answer = await rawCall(
        service.url,
        ["POST", "/api/v1/emails"],
        {
          Authorization: `Bearer ${tenant.apiKey}`,
          "Idempotency-Key": `\t  ${key}  `,
          "Content-Type": "application/json",
          "Content-Length": String(body.length),
        },
        body,
      );
      expect({ status: answer.status, replayed: answer.headers.get(REPLAYED) }).toEqual({
        status: 202,
        replayed: "true",
      });
      expect(answer.text).toBe(first.text);
    });

    test("belongs to its workspace alone", async () => {
      const key = newKey();
      const other = await service.tenant();
      const first = await tenant.send(key, message());
      const otherTenantSend = await other.send(key, message({ subject: "Quite another thing" }));
      expect(otherTenantSend.status).toBe(202);
      expect(otherTenantSend.headers.get(REPLAYED)).toBeNull();
      expect(otherTenantSend.json.id).not.toBe(first.json.id);
    });

    test("is shared by the API keys of a workspace", async () => {
      const key = newKey();
      const first = await tenant.send(key, message());
      expectReplay(await (await tenant.withKey({})).send(key, message()), first);
    });

    test("is not used up by a refusal", async () => {
      const key = newKey();
      expectProblem(await tenant.send(key, message({ to: "nobody" })), 400, "INVALID_REQUEST");
      expectProblem(
        await tenant.send(key, message({ from: "other@example.com" })),
        422,
        "SENDER_UNAVAILABLE",
      );
      const answer = await tenant.send(key, message());
      expect(answer.status).toBe(202);
      expect(answer.headers.get(REPLAYED)).toBeNull();
    });

    test("is remembered across a restart of the service", async () => {
      const own = await startService(store);
      try {
        const ownTenant = await own.tenant();
        const key = newKey();
        const first = await ownTenant.send(key, message());
        await own.restart();
        expectReplay(await ownTenant.send(key, message()), first);
        expectProblem(await ownTenant.send(key, message({ text: "Other" })), 409, "IDEMPOTENCY_CONFLICT");
      } finally {
        await own.remove();
      }
    });
  });

  describe("racing requests with one key", () => {
    const RACERS = 50;

    test("all get one answer, and one of them alone made the message", async () => {
      const own = await service.tenant();
      const key = newKey();
      const answers = await Promise.all(Array.from({ length: RACERS }, () => own.send(key, message())));
      expect(answers.map(({ status }) => status)).toEqual(Array(RACERS).fill(202));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers.get(REPLAYED) === "true")).toHaveLength(RACERS - 1);
      expect(await storedEvents(answers[0]?.json.id)).toEqual(["EmailContentStored", "EmailQueued"]);
      await until(async () => (await own.call("GET", "/api/v1/emails")).json.data.length > 0, "the list");
      expect((await own.call("GET", "/api/v1/emails")).json.data).toHaveLength(1);
    });

    test("and different contents have one winner; the others conflict", async () => {
      const key = newKey();
      const subjects = Array.from({ length: RACERS }, (_, index) => `Subject ${index}`);
      const answers = await Promise.all(subjects.map((subject) => tenant.send(key, message({ subject }))));
      const winners = answers.filter(({ status }) => status === 202);
      const refused = answers.filter(({ status }) => status !== 202);
      expect(winners).toHaveLength(1);
      expect(winners[0]?.headers.get(REPLAYED)).toBeNull();
      for (const answer of refused) expectProblem(answer, 409, "IDEMPOTENCY_CONFLICT");
      const { subject } = (await tenant.call("GET", `/api/v1/emails/${winners[0]?.json.id}`)).json;
      expect(answers.findIndex(({ status }) => status === 202)).toBe(subjects.indexOf(subject));
    });
  });

  describe("state that refuses a new send", () => {
    /** A refusal that says why its sender cannot send. */
    const expectSenderFault = (answer: Answer, pattern: RegExp) => {
      expectProblem(answer, 422, "SENDER_UNAVAILABLE");
      expect(answer.json.errors).toEqual([{ pointer: "/from", message: expect.stringMatching(pattern) }]);
    };

    test("an address that was never added is SENDER_UNAVAILABLE", async () => {
      const answer = await tenant.send(newKey(), message({ from: "nobody@example.com" }));
      expectSenderFault(answer, /^is not a sending address of this workspace: add it/);
    });

    test("an address that was disabled is SENDER_UNAVAILABLE, whatever its domain is", async () => {
      const own = await service.tenant();
      await service.addSenderEvent(own.workspaceId, SENDER, { type: "SenderDisabled", data: {} });
      expectSenderFault(await own.send(newKey(), message()), /^is disabled: enable it again/);
    });

    test("an address of a domain that is not verified, or was disabled, is SENDER_UNAVAILABLE", async () => {
      const own = await service.tenant({ sender: null });
      const { json } = await own.call("POST", "/api/v1/senders", { body: { domain: "fault.example" } });
      const from = "anybody@fault.example";
      expectSenderFault(
        await own.send(newKey(), message({ from })),
        /^is of a domain that is not verified yet/,
      );
      await own.call("POST", `/api/v1/senders/${json.id}/disable`);
      expectSenderFault(await own.send(newKey(), message({ from })), /^is of a domain that is disabled/);
    });

    test("an address that was not verified is SENDER_UNAVAILABLE", async () => {
      const own = await service.tenant({ sender: null });
      const added = { workspaceId: own.workspaceId, address: SENDER };
      await service.addSenderEvent(own.workspaceId, SENDER, { type: "SenderAdded", data: added });
      expectSenderFault(await own.send(newKey(), message()), /^is not verified yet/);
    });

    test("another workspace's sender is SENDER_UNAVAILABLE", async () => {
      const own = await service.tenant({ sender: "own@example.com" });
      expectSenderFault(await own.send(newKey(), message()), /^is not a sending address of this workspace/);
    });

    test("a verified sender is known in any letter case", async () => {
      const answer = await tenant.send(newKey(), message({ from: SENDER.toUpperCase() }));
      expect(answer.status).toBe(202);
    });

    test("a pause is SENDING_PAUSED, and its end lets mail in again", async () => {
      const own = await service.tenant();
      await service.pause(own.workspaceId);
      const refused = await own.send(newKey(), message());
      expectProblem(refused, 403, "SENDING_PAUSED");
      expect(refused.json.retryable).toBe(true);
      expect(refused.headers.get("retry-after")).toBe("60");
      expect(refused.json.retry_after).toBe(60);
      await service.resume(own.workspaceId);
      await until(async () => (await own.send(newKey(), message())).status === 202, "the pause to end");
    });
  });

  test("a suppressed recipient's mail is accepted as suppressed, and a replay says the same", async () => {
    const own = await service.tenant();
    const before = newKey();
    const queued = await own.send(before, message());
    await service.suppress(own.workspaceId, "Ana@example.com");
    let key = newKey();
    await until(async () => {
      key = newKey();
      return (await own.send(key, message())).json.status === "suppressed";
    }, "the suppression to take effect");
    const suppressed = await own.send(key, message());
    expect(Object.keys(suppressed.json).sort()).toEqual(["created_at", "id", "object", "status"]);
    expect(suppressed.json.status).toBe("suppressed");
    expect(suppressed.headers.get(REPLAYED)).toBe("true");
    expect(await storedEvents(suppressed.json.id)).toEqual(["EmailContentStored", "EmailSuppressed"]);
    expectReplay(await own.send(before, message()), queued);
    expect((await own.send(newKey(), message({ to: "bob@example.com" }))).json.status).toBe("queued");
  });

  describe("a retry of what was accepted is answered as at first", () => {
    const laterRefusals: readonly [string, number, string, (tenant: Tenant) => Promise<void>][] = [
      [
        "when its sender was disabled since",
        422,
        "SENDER_UNAVAILABLE",
        ({ workspaceId }) =>
          service.addSenderEvent(workspaceId, SENDER, { type: "SenderDisabled", data: {} }),
      ],
      [
        "when sending was paused since",
        403,
        "SENDING_PAUSED",
        ({ workspaceId }) => service.pause(workspaceId),
      ],
    ];
    for (const [when, status, code, change] of laterRefusals) {
      test(when, async () => {
        const own = await service.tenant();
        const key = newKey();
        const first = await own.send(key, message());
        await change(own);
        // The service may know what it read for up to a second.
        await until(async () => (await own.send(newKey(), message())).status === status, code);
        expectProblem(await own.send(newKey(), message()), status, code);
        expectReplay(await own.send(key, message()), first);
        expectProblem(await own.send(key, message({ text: "Other" })), 409, "IDEMPOTENCY_CONFLICT");
      });
    }

    test("when it was canceled since", async () => {
      const key = newKey();
      const first = await tenant.send(key, message());
      const canceled = await tenant.call("POST", `/api/v1/emails/${first.json.id}/cancel`);
      expect(canceled.json.status).toBe("canceled");
      expectReplay(await tenant.send(key, message()), first);
    });

    test("when its content was erased since", async () => {
      const key = newKey();
      const first = await tenant.send(key, message());
      const { id } = first.json;
      await service.addEmailEvents(id, { type: "EmailContentErased", data: { reason: "operator" } });
      await service.log.store.truncateBefore(emailStream(id), 1);
      expect(await storedEvents(id)).toEqual(["EmailQueued", "EmailContentErased"]);
      expectReplay(await tenant.send(key, message()), first);
      expectProblem(await tenant.send(key, message({ text: "Other" })), 409, "IDEMPOTENCY_CONFLICT");
    });
  });
});
