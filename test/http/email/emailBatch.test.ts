import { describe, expect, test } from "bun:test";
import { emailStream } from "../../../src/domain/email/events.ts";
import { BATCH_EMAILS_MAX } from "../../../src/http/email/emailBatch.ts";
import { DAY_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { setLimits } from "../../support/limits.ts";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER } from "../../support/tenants.ts";

const PATH = "/api/v1/emails/batch";
const RECEIPT = ["created_at", "id", "object", "status"];

describe.each(await testStores())("a batch on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const email = (parts: Record<string, unknown> = {}) => message({ idempotency_key: newKey(), ...parts });
  const send = (emails: unknown, as = tenant) => as.call("POST", PATH, { body: { emails } });
  const answersOf = ({ status, json }: Answer) => {
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(["data"]);
    return json.data;
  };

  test("of 100 is accepted, each with the four fields of a 202, in their order", async () => {
    const emails = Array.from({ length: 100 }, (_, index) => email({ subject: `Number ${index}` }));
    const answers = answersOf(await send(emails));
    expect(answers).toHaveLength(100);
    for (const answer of answers) {
      expect(Object.keys(answer).sort()).toEqual(RECEIPT);
      expect(answer).toMatchObject({ object: "email", status: "queued" });
    }
    for (const index of [0, 57, 99]) {
      const { json } = await tenant.call("GET", `/api/v1/emails/${answers[index].id}`);
      expect(json.subject).toBe(`Number ${index}`);
    }
    expect((await send([...emails, email()])).status).toBe(400);
    expect((await send([])).status).toBe(400);
  });

  test("of templates that take long lets others have their turn between any two of them", async () => {
    const { json: template } = await tenant.call("POST", "/api/v1/templates", { body: { name: "Dear" } });
    const versions = `/api/v1/templates/${template.id}/versions`;
    const text = "{% for i in (1..4000) %}{{ i }}{% endfor %}";
    const { json: version } = await tenant.call("POST", versions, { body: { subject: "Dear", text } });
    await tenant.call("POST", `${versions}/${version.id}/publish`);
    const templated = Array.from({ length: BATCH_EMAILS_MAX }, () => {
      const { subject: _, text: __, ...rest } = email();
      return { ...rest, template_id: template.id };
    });
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setTimeout(count, 0);
    };
    // A timer that is due gets to run between two renders. A few that are quick may share one turn.
    const sent = send(templated);
    setTimeout(count, 0);
    const answers = answersOf(await sent);
    isDone = true;
    expect(answers.map(({ status }: { status: string }) => status)).toEqual(templated.map(() => "queued"));
    expect(turns).toBeGreaterThan(templated.length / 6);
  });

  test("answers a repeat as before, and a send by itself with the same key and content is the same message", async () => {
    const emails = [email(), email({ to: "nobody" }), email({ html: "<p>a</p>" })];
    const first = answersOf(await send(emails));
    const repeated = answersOf(await send(emails));
    expect([repeated[0], repeated[2]]).toEqual([first[0], first[2]]);
    const { idempotency_key: key, ...body } = emails[0] as Record<string, string>;
    const single = await tenant.send(key as string, body);
    expect(single.json).toEqual(first[0]);
    expect(single.headers.get("idempotent-replayed")).toBe("true");
    expect(await service.log.store.lastRevision(emailStream(first[0].id))).toBe(1);
  });

  test("refuses one for its own fault, and accepts the others", async () => {
    await tenant.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
    const existing = email();
    await send([existing]);
    const cases: readonly (readonly [unknown, object])[] = [
      [email(), { status: "queued" }],
      [email({ to: "nobody" }), { status: 400, code: "INVALID_REQUEST", errors: [{ pointer: "/to" }] }],
      [email({ idempotency_key: undefined }), { code: "IDEMPOTENCY_KEY_REQUIRED" }],
      [email({ idempotency_key: "short" }), { code: "IDEMPOTENCY_KEY_REQUIRED" }],
      [email({ idempotency_key: "one, two, three" }), { errors: [{ pointer: "/idempotency_key" }] }],
      [email({ idempotency_key: `${newKey()}\n` }), { code: "IDEMPOTENCY_KEY_REQUIRED" }],
      [email({ idempotency_key: ` ${newKey().padEnd(200, "x")} ` }), { status: "queued" }],
      [email({ unknown: 1 }), { code: "INVALID_REQUEST", errors: [{ pointer: "/unknown" }] }],
      [
        { ...existing, subject: "Other" },
        { status: 409, code: "IDEMPOTENCY_CONFLICT" },
      ],
      [email({ from: "other@example.com" }), { status: 422, code: "SENDER_UNAVAILABLE" }],
      [email({ to: "gone@example.com" }), { status: "suppressed" }],
      [email({ scheduled_at: new Date(Date.now() + 60_000).toISOString() }), { status: "scheduled" }],
      [null, { code: "IDEMPOTENCY_KEY_REQUIRED" }],
      ["a text", { code: "IDEMPOTENCY_KEY_REQUIRED" }],
      [email(), { status: "queued" }],
    ];
    const answers = answersOf(await send(cases.map(([one]) => one)));
    expect(answers).toMatchObject(cases.map(([, wanted]) => wanted));
    const [, problem] = answers;
    expect(problem.object).toBe("problem");
    expect(Object.keys(problem).sort()).toEqual(
      ["code", "detail", "errors", "object", "request_id", "retryable", "status", "title", "type"].sort(),
    );
  });

  test("with the same key twice gives one message and its answer twice, or a conflict for other content", async () => {
    const one = email();
    const [first, same, other] = answersOf(await send([one, one, { ...one, text: "Other" }]));
    expect(same).toEqual(first);
    expect(other).toMatchObject({ status: 409, code: "IDEMPOTENCY_CONFLICT", email_id: first.id });
  });

  test("needs the scope, and a key that is bound to senders sends for those alone", async () => {
    const reader = await tenant.withKey({ scopes: ["email:read"] });
    expect((await send([email()], reader)).status).toBe(403);
    const { json: key } = await tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "bound", scopes: ["email:send"], senders: ["other@example.com"] },
    });
    const answer = await fetch(`${service.url}${PATH}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.key}`, "content-type": "application/json" },
      body: JSON.stringify({ emails: [email({ from: SENDER })] }),
    });
    expect(await answer.json()).toMatchObject({ data: [{ status: 403, code: "FORBIDDEN" }] });
  });

  test("takes no more than the daily limit", async () => {
    const limited = await service.tenant();
    await setLimits(service.log, limited.workspaceId, { messagesPerDay: 3 });
    const answers = answersOf(
      await send(
        Array.from({ length: 5 }, () => email()),
        limited,
      ),
    );
    const waits = answers.flatMap(({ retry_after: seconds = [] }) => seconds);
    expect(waits).toEqual([waits[0], waits[0]]);
    expect(waits[0]).toBeWithin(1, DAY_MS / SECOND_MS + 1);
    const codes = answers.map(({ code = "accepted" }: { code?: string }) => code);
    expect(codes.toSorted()).toEqual([
      "DAILY_LIMIT_REACHED",
      "DAILY_LIMIT_REACHED",
      "accepted",
      "accepted",
      "accepted",
    ]);
  });

  for (const [what, body] of [
    ["no list", { emails: {} }],
    ["nothing", {}],
    ["a further member", { emails: [], more: 1 }],
    ["a list alone", []],
  ] as const) {
    test(`of ${what} is INVALID_REQUEST`, async () => {
      const { status, json } = await tenant.call("POST", PATH, { body });
      expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
    });
  }

  test("with one Idempotency-Key for all is refused: each send has its own", async () => {
    const headers = { "idempotency-key": newKey() };
    const { status, json } = await tenant.call("POST", PATH, { body: { emails: [email()] }, headers });
    expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
    expect(json.errors).toEqual([
      {
        pointer: "/Idempotency-Key",
        message: "is not taken with a batch: give each send its own idempotency_key",
      },
    ]);
  });

  test("that is a bare list is answered with where the list goes, and null is no object either", async () => {
    const detailOf = async (body: unknown) => (await tenant.call("POST", PATH, { body })).json.detail;
    expect(await detailOf([message()])).toBe('the body must be an object: { "emails": [ … ] }');
    expect(await detailOf(null)).toStartWith("the body must be an object");
  });
});
