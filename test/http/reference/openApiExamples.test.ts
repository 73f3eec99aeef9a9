import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { EMAIL_REASONS } from "../../../src/domain/email/emailReasons.ts";
import { sample } from "../../../src/http/reference/schemaFields.ts";
import type { JsonSchema } from "../../../src/http/reference/typeboxToJsonSchema.ts";
import { type Described, described, document, exampleFault } from "../../gate/documentedAnswers.ts";
import { objectsIn } from "../../support/objectsIn.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { keyHeaderFor, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const JSON_TYPE = "application/json";

/** The example of an operation's JSON body: its schema has it. */
function requestExample({ operation }: Described): unknown {
  const schema: JsonSchema | undefined = operation.requestBody?.content[JSON_TYPE]?.schema;
  return (schema?.examples as readonly unknown[] | undefined)?.[0];
}

/** What a first request is answered: 201 where a repeat gets 200. */
function successOf({ operation }: Described): number {
  const statuses = Object.keys(operation.responses).map(Number);
  return Math.max(...statuses.filter((status) => status < 300));
}

const withBody = described.filter(({ operation }) => operation.requestBody?.content[JSON_TYPE] !== undefined);

describe("every example of a request is accepted by a service as it is started for the first time:", () => {
  let app: TestApp;
  /** Ids of what the paths speak of, by the operation. */
  const ids = new Map<string, string>();
  beforeAll(async () => {
    // Links are mailed from an address that the operator names; all else is as it comes.
    app = await startTestApp({ env: { VERIFICATION_FROM: "hello@example.com", DELIVERY: "on" } });
    const create = async (path: string, body: unknown): Promise<string> =>
      (await app.call("POST", path, { body })).json.id;
    const template = await create("/api/v1/templates", { name: "Order" });
    const draft = withBody.find(({ name }) => name === "draftTemplateVersion");
    const version = await create(`/api/v1/templates/${template}/versions`, draft && requestExample(draft));
    const endpoint = await create("/webhooks", { url: "https://other.example.com/" });
    const sender = await create("/api/v1/senders", { address: "orders@example.com" });
    for (const name of ["updateWebhook", "rotateWebhookSecret", "recoverWebhook"]) ids.set(name, endpoint);
    for (const name of ["renameTemplate", "draftTemplateVersion", "previewTemplateVersion"])
      ids.set(name, template);
    ids.set("requestSenderVerification", sender);
    for (const name of ["renameApiKey", "revokeApiKey", "rotateApiKey"]) {
      ids.set(name, await create("/api/v1/api-keys", { name, scopes: ["email:send"] }));
    }
    ids.set("version_id", version);
    const [{ address }] = (await app.call("GET", "/api/v1/senders?limit=100")).json.data.slice(-1);
    const mail = { from: address, to: "ana@example.com", subject: "a", text: "a" };
    const send = async (body: object): Promise<string> =>
      (await app.call("POST", "/api/v1/emails", { body, headers: { "idempotency-key": newKey() } })).json.id;
    ids.set("rescheduleEmail", await send({ ...mail, scheduled_at: TOMORROW }));
    const email = await send(mail);
    const sent = async () => (await app.call("GET", `/api/v1/emails/${email}`)).json.status === "sent";
    await until(sent, "a message that accepts feedback");
    ids.set("email", email);
    ids.set("sendEmailAgain", email);
  });
  afterAll(() => app.remove());

  /** The example, about what is there. */
  const bodyOf = (one: Described): unknown => {
    const example = requestExample(one) as object;
    return one.name === "tellFeedback"
      ? { ...example, message_id: `<${ids.get("email")}@example.com>` }
      : example;
  };

  test.each(withBody)("$name", async (one) => {
    const body = bodyOf(one);
    expect(body).toBeDefined();
    const path = one.path
      .replace("{id}", () => ids.get(one.name) ?? "the test makes none")
      .replace("{version_id}", () => ids.get("version_id") ?? "");
    const headers = keyHeaderFor(path);
    const { status, text } = await app.call(one.method, path, { body, headers });
    // A refusal says what is wrong with the example.
    expect({ status, text }).toEqual({ status: successOf(one), text });
  });
});

describe("every example of an answer is as its schema says:", () => {
  const answers = described.flatMap((one) =>
    Object.entries(one.operation.responses).flatMap(([status, { content = {} }]) =>
      Object.entries(content)
        .filter(([type]) => type.endsWith("json"))
        .map(([type, media]) => ({ name: one.name, one, status, type, media })),
    ),
  );

  test.each(answers)("$name $status", ({ one, status, type, media }) => {
    const examples = media.examples
      ? Object.values(media.examples).map(({ value }) => value)
      : [media.example];
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(example).toBeDefined();
      expect(exampleFault(one, status, type, example)).toBeNull();
    }
  });
});

type Members = Readonly<Record<string, unknown>>;

const isNull = (value: unknown) => value === null || value === undefined;
const HAS_REASON = ["deferred", "bounced", "failed", "suppressed"];
/** The status of a message in its webhook event, where the event's name is another word. */
const STATUS_OF_EVENT: Readonly<Record<string, string>> = { "email.delivery_delayed": "deferred" };

/** What holds of every object of a kind that the service answers, in words. */
const COHERENT: Readonly<Record<string, Readonly<Record<string, (one: Members) => boolean>>>> = {
  email: {
    "a reason goes with the statuses in HAS_REASON": (one) =>
      !("reason" in one) || HAS_REASON.includes(String(one.status)) === !isNull(one.reason),
    "its reason is one of EMAIL_REASONS": (one) =>
      isNull(one.reason) || (EMAIL_REASONS as readonly unknown[]).includes(one.reason),
    "only a deferred one has a next attempt": (one) =>
      one.status === "deferred" || !("timeline" in one) || isNull(one.next_attempt_at),
    "one that has ended waits for nothing": (one) =>
      !["sent", "bounced", "failed"].includes(String(one.status)) || isNull(one.waiting),
  },
  attachment: {
    "only a rejected one has a rejection_reason": (one) =>
      (one.status === "rejected") !== isNull(one.rejection_reason),
  },
  template_version: {
    "all but drafts have a published_at": (one) => (one.status === "draft") === isNull(one.published_at),
  },
  template: {
    "a draft has no current version": (one) => one.status !== "draft" || isNull(one.current_version_id),
  },
  sender: {
    "only a domain has no address": (one) => isNull(one.address) === (one.kind === "domain"),
    "only an address has no domain": (one) => isNull(one.domain) === (one.kind === "address"),
    "only an unverified one has no verified_by": (one) =>
      isNull(one.verified_by) === (one.status === "unverified"),
  },
  suppression: {
    "only a manual one has a note": (one) => one.reason === "manual" || isNull(one.note),
  },
  webhook_endpoint: {
    "an active one has no disabled_reason": (one) => one.status !== "active" || isNull(one.disabled_reason),
  },
  webhook_delivery: {
    "only a skipped one has a skipped_reason": (one) =>
      one.status === "skipped" || isNull(one.skipped_reason),
    "only a pending one has a next attempt": (one) =>
      (one.status === "pending") !== isNull(one.next_attempt_at),
    "its payload has its event type": (one) =>
      !("payload" in one) || (one.payload as Members).type === one.event_type,
  },
  workspace: {
    "an active one has no paused_at": (one) => one.sending !== "active" || isNull(one.paused_at),
  },
  erasure: {
    "one that is only requested has neither completed_at nor report": (one) =>
      one.status !== "requested" || (isNull(one.completed_at) && isNull(one.report)),
  },
};

/** What an object of an example breaks, in words. */
function incoherencesOf(one: Members): readonly string[] {
  const named = Object.entries(one).flatMap(([name, value]) =>
    name === value ? [`a value is not its name: ${name}`] : [],
  );
  const rules = Object.entries(COHERENT[String(one.object)] ?? {});
  const broken = rules.flatMap(([rule, holds]) => (holds(one) ? [] : [`${one.object}: ${rule}`]));
  return [...named, ...attemptFault(one), ...eventFault(one), ...broken];
}

function attemptFault(one: Members): readonly string[] {
  if (typeof one.outcome !== "string" || !("attempt" in one)) return [];
  const isDelivered = one.outcome === "delivered" && one.status_code === 204 && isNull(one.reason);
  return isDelivered ? [] : ["an attempt is delivered, by a 204, without a reason"];
}

function eventFault({ type, data }: Members): readonly string[] {
  if (typeof type !== "string" || !type.startsWith("email.")) return [];
  const expected = STATUS_OF_EVENT[type] ?? type.slice("email.".length);
  const { status } = (data ?? {}) as Members;
  return status === expected
    ? []
    : [`${type} has the status ${status}, not ${expected}: name its status in STATUS_OF_EVENT`];
}

describe("every example shows what the service can answer:", () => {
  const answers = described.flatMap(({ name, operation }) =>
    Object.values(operation.responses).flatMap(({ content = {} }) =>
      Object.values(content).map(({ example }) => ({ name: String(name), example })),
    ),
  );
  const { schemas } = document.components;
  const events = Object.values(document.webhooks).map(({ post }) => {
    const schema = post.requestBody.content[JSON_TYPE]?.schema ?? {};
    return { name: post.operationId, example: sample(schema, schemas) };
  });

  test.each([...answers, ...events].filter(({ example }) => example !== undefined))("$name", ({ example }) =>
    expect(objectsIn(example).flatMap(incoherencesOf)).toEqual([]),
  );

  test("a conflict names the message", () => {
    const problems = described.flatMap(({ operation }) =>
      Object.values(operation.responses[409]?.content ?? {}).flatMap(({ examples = {} }) =>
        Object.entries(examples).filter(([code]) => code === "IDEMPOTENCY_CONFLICT"),
      ),
    );
    expect(problems.length).toBeGreaterThan(0);
    for (const [, { value }] of problems) expect(value).toHaveProperty("email_id");
  });
});
