import { beforeAll, describe, expect, type Mock, spyOn, test } from "bun:test";
import { positionText } from "../../../src/adapters/sqlite/logPosition.ts";
import { LogReader } from "../../../src/adapters/sqlite/logReader.ts";
import { verificationTokenOf } from "../../../src/commands/sender/verificationLinkSecret.ts";
import { routes } from "../../../src/http/server/routes.ts";
import { type EventStore, LOG_START, type RecordedEvent, StoreError } from "../../../src/ports/eventStore.ts";
import { isAskedOn } from "../../gate/answerCoverage.ts";
import { type Described, described, type SeenAnswer } from "../../gate/documentedAnswers.ts";
import { problemOf } from "../../support/expectProblem.ts";
import { setLimits } from "../../support/limits.ts";
import { rawCall } from "../../support/servers/rawRequest.ts";
import type { CallerOptions } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { mailgunCall, REPORT_SECRETS, resendCall, sendgridCall } from "../../support/signedReports.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { newKey, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const BODY_BYTES_MAX = 16_000_000;

/** Whether others say what the body is, and may add to it. */
function isOpen({ operation }: Described): boolean {
  return operation.requestBody?.content["application/json"]?.schema.additionalProperties === true;
}
function takesRange({ operation }: Described): boolean {
  return operation.parameters?.some(({ name }) => name === "created_from") ?? false;
}
/** What looks at anything stored: the document says INTERNAL_ERROR of it. */
const storing = described.filter(({ operation }) => operation.responses[500] !== undefined);

/** The operation's path with ids, or an address, that nobody has. */
function pathOf({ path }: Described): string {
  return path.replace("{address}", "nobody@example.com").replace(/\{[a-z_]+\}/g, () => unknownIdIn(path));
}

/** An id that nobody has, as the path takes them. */
function unknownIdIn(path: string): string {
  if (path.startsWith("/api/v1/senders")) return "0".repeat(64);
  return path.startsWith("/api/v1/api-keys") ? "0".repeat(12) : crypto.randomUUID();
}

/** A token of a sender that there is not, made by this service: one made up by us would not be looked up at all. */
function tokenOf({ log }: TestService): string {
  const senderId = new Bun.CryptoHasher("sha256").update("nobody").digest("hex");
  return verificationTokenOf(log, senderId, crypto.randomUUID());
}

/** Calls that are signed instead of having a key. */
const SIGNED: Readonly<Record<string, () => CallerOptions>> = {
  takeResendEvent: () => resendCall({ type: "email.delivered" }),
  takeMailgunEvent: () => mailgunCall({ event: "delivered" }),
  takeSendgridEvents: () => sendgridCall([{ event: "delivered" }]),
};

function headersFor({ operation }: Described): Record<string, string> {
  const needsKey = operation.parameters?.some(({ name }) => name === "Idempotency-Key");
  return needsKey ? { "idempotency-key": newKey() } : {};
}

describe.each(await testStores())("every operation on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});
  const asked = described.filter(({ name }) => isAskedOn(store, name));
  const guarded = asked.filter(({ operation }) => operation.security.length > 0);
  const reading = asked.filter(({ operation }) => operation.requestBody !== undefined);
  /** What takes no body at all. */
  const bodiless = guarded.filter(({ operation }) => operation.requestBody === undefined);

  test.each(asked)("$name refuses a request whose Host names no host, before all else", async (one) => {
    for (const Host of ["", "a b", "a.example, b.example"]) {
      const answer = await rawCall(service.url, [one.method, pathOf(one)], { Host });
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toMatchObject({ code: "INVALID_REQUEST" });
      expect(answer.text).toContain("Host");
    }
  });

  test.each(guarded.filter((one) => !isOpen(one)))(
    "$name refuses what it does not know by name",
    async (one) => {
      const hasBody = one.operation.requestBody !== undefined;
      const answer = await tenant.call(one.method, hasBody ? pathOf(one) : `${pathOf(one)}?nonsense=1`, {
        ...(hasBody ? { body: { nonsense: 1 } } : {}),
        headers: headersFor(one),
      });
      expect(problemOf(answer)).toEqual({ status: 400, code: "INVALID_REQUEST" });
      expect(answer.text).toContain("nonsense");
    },
  );

  test.each(guarded.filter(({ path }) => /id\}/.test(path)))(
    "$name refuses what cannot be an id",
    async (one) => {
      for (const id of ["main", `${crypto.randomUUID()}0`, "..%2F..%2Fhealth", "%00", "x".repeat(2_000)]) {
        const body = one.operation.requestBody === undefined ? {} : { body: {} };
        const answer = await tenant.call(one.method, one.path.replace(/\{[a-z_]*id\}/g, id), {
          ...body,
          headers: headersFor(one),
        });
        expect(problemOf(answer)).toEqual({ status: 400, code: "INVALID_REQUEST" });
        expect(answer.json.errors[0]).toEqual({
          pointer: "/id",
          message: expect.stringMatching(/^must be /),
        });
      }
    },
  );

  const withAsOf = guarded.filter(takesRange);
  test.each(withAsOf)("$name refuses a range of time that ends before it begins", async (one) => {
    const range = "created_from=2026-02-01T00:00:00Z&created_before=2026-02-01T00:00:00";
    const refused = await tenant.call(one.method, `${pathOf(one)}?${range}%2B01:00`);
    expect(problemOf(refused)).toEqual({ status: 400, code: "INVALID_REQUEST" });
    expect(refused.json.errors).toEqual([
      { pointer: "/created_before", message: "lies before created_from" },
    ]);
    const empty = await tenant.call(one.method, `${pathOf(one)}?${range}Z`);
    expect(empty.status).not.toBe(400);
  });

  test.each(reading.filter((one) => guarded.includes(one)))(
    "$name refuses a query parameter that it does not know",
    async (one) => {
      const answer = await tenant.call(one.method, `${pathOf(one)}?dry_run=1`, {
        body: {},
        headers: headersFor(one),
      });
      expect(problemOf(answer)).toEqual({ status: 400, code: "INVALID_REQUEST" });
      expect(answer.json.errors).toMatchObject([{ pointer: "/dry_run", message: "is not known here" }]);
    },
  );

  describe("that takes no body", () => {
    const withBody = async (one: Described, body: string, headers: Record<string, string>) => {
      const answer = await rawCall(
        service.url,
        [one.method, pathOf(one)],
        { Authorization: `Bearer ${tenant.apiKey}`, ...headersFor(one), ...headers },
        body,
      );
      return { ...answer, json: answer.text === "" ? null : JSON.parse(answer.text) };
    };
    const JSON_TYPE = { "Content-Type": "application/json" };
    const sized = (body: string) => ({ ...JSON_TYPE, "Content-Length": String(body.length) });
    const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

    test.each(bodiless)("$name refuses one by the names of its members", async (one) => {
      const body = '{"overlap_seconds":0,"a/b":1}';
      const pointers = one.method === "GET" ? [""] : ["/overlap_seconds", "/a~1b"];
      for (const [headers, bytes] of [
        [sized(body), body],
        [{ ...JSON_TYPE, "Transfer-Encoding": "chunked" }, chunked(body)],
      ] as const) {
        const answer = await withBody(one, bytes, headers);
        expect(problemOf(answer)).toEqual({ status: 400, code: "INVALID_REQUEST" });
        expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
      }
    });

    test.each(bodiless)("$name refuses one that is no object, or too long to look at", async (one) => {
      for (const body of ["overlap_seconds=0", "[1]", `{${" ".repeat(5_000)}}`]) {
        const answer = await withBody(one, body, sized(body));
        expect(problemOf(answer)).toEqual({ status: 400, code: "INVALID_REQUEST" });
        expect(answer.json.errors).toMatchObject([{ pointer: "" }]);
      }
    });

    // Without a filter, which this has not, `cancelEmails` is refused whatever its body.
    const complete = bodiless.filter(({ name }) => name !== "cancelEmails");
    test.each(complete)("$name lets an empty one pass", async (one) => {
      for (const body of ["", "{}"]) {
        const { status } = await withBody(one, body, sized(body));
        expect(status).not.toBe(400);
        expect(status).toBeLessThan(500);
      }
    });
  });

  test.each(reading)("$name refuses a body of more than any takes by its length alone", async (one) => {
    const answer = await rawCall(service.url, [one.method, pathOf(one)], {
      Authorization: `Bearer ${tenant.apiKey}`,
      ...headersFor(one),
      "Content-Type": "application/json",
      "Content-Length": String(BODY_BYTES_MAX + 1),
    });
    expect(problemOf({ ...answer, json: JSON.parse(answer.text) })).toEqual({
      status: 413,
      code: "PAYLOAD_TOO_LARGE",
    });
  });

  describe("of a key that comes too often", () => {
    let limited: Tenant;
    beforeAll(async () => {
      limited = await service.tenant();
      await setLimits(service.log, limited.workspaceId, { keyRequestsPerSecond: 1 });
    });

    test.each(guarded)("$name is RATE_LIMITED, whatever its body, which is not waited for", async (one) => {
      const hasBody = one.operation.requestBody !== undefined;
      // Announced and never sent: without the limit it is refused by its length, so that we do not wait either.
      const announcedBody = { "Content-Type": "text/plain", "Content-Length": String(BODY_BYTES_MAX + 1) };
      let answer: SeenAnswer = { status: 0, headers: new Headers(), text: "" };
      // The first request of each second is let through.
      await until(async () => {
        answer = await rawCall(service.url, [one.method, pathOf(one)], {
          Authorization: `Bearer ${limited.apiKey}`,
          ...(hasBody ? announcedBody : {}),
        });
        return answer.status === 429;
      }, "a request beyond the limit");
      expect(JSON.parse(answer.text)).toMatchObject({ code: "RATE_LIMITED", retryable: true });
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("ratelimit")).toBe('"key";r=0;t=1');
      expect(answer.headers.get("ratelimit-policy")).toBe('"key";q=1;w=1');
    });
  });
});

/** What reading a stream gives in place of what is there. */
type Fault = (stream: string) => readonly RecordedEvent[];

/** Both stores are in the test's own process as far as a client of theirs is, so that they can be made to fail at will. */
const FAILING: Readonly<
  Record<TestStore["name"], (store: EventStore, fault: Fault) => readonly Mock<never>[]>
> = {
  SQLite: (_, fault) => [
    spyOn(LogReader.prototype, "stream").mockImplementation(fault) as Mock<never>,
    spyOn(LogReader.prototype, "head").mockImplementation(() => fault("").length) as Mock<never>,
  ],
  EventStoreDB: (store, fault) => {
    const client = Object.getPrototypeOf(store) as EventStore;
    const failing = async (stream: string) => {
      try {
        return fault(stream);
      } catch (error) {
        throw new StoreError("unavailable", (error as Error).message);
      }
    };
    const last = async () => (await failing("")).length;
    return [
      spyOn(client, "read").mockImplementation(failing) as Mock<never>,
      spyOn(client, "lastRevision").mockImplementation(last) as Mock<never>,
      spyOn(client, "head").mockImplementation(() => last().then(() => LOG_START)) as Mock<never>,
    ];
  },
};

describe.each(await testStores())("every operation while the log on $name", (store) => {
  const { service, tenant } = serviceFixture(store, REPORT_SECRETS);

  /** Asks with a key that the service has not seen, so that it has to read. */
  const answerDuring = async (one: Described, fault: Fault) => {
    const fresh = await tenant.withKey({});
    const path = pathOf({ ...one, path: one.path.replace("{token}", tokenOf(service)) });
    const body = one.operation.requestBody === undefined ? {} : { body: {} };
    const spies = FAILING[store.name](service.log.store, fault);
    try {
      const signed = SIGNED[one.name]?.();
      return await fresh.call(one.method, path, signed ?? { ...body, headers: headersFor(one) });
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
  };

  test.each(storing)("cannot be read: $name is unavailable and says when to come back", async (one) => {
    const answer = await answerDuring(one, () => {
      throw new Error("disk I/O error");
    });
    expect(answer).toMatchObject({ status: 503, json: { code: "INTERNAL_ERROR", retryable: true } });
    expect(answer.text).not.toContain("disk");
  });

  test.each(storing)("holds what cannot be understood: $name says only that it failed", async (one) => {
    const answer = await answerDuring(one, (stream) => [
      {
        stream,
        revision: 0,
        position: positionText(1),
        id: crypto.randomUUID(),
        type: "Gibberish",
        data: {},
        metadata: {},
      },
    ]);
    expect(answer).toMatchObject({ status: 500, json: { code: "INTERNAL_ERROR", errors: [] } });
    expect(answer.text).not.toContain("Gibberish");
  });
});

test("what lists or cancels can be asked for a range of time", () => {
  const names = described.filter(takesRange).map(({ name }) => name);
  expect(names.sort()).toEqual([
    "cancelEmails",
    "listAuditLog",
    "listEmails",
    "listSuppressions",
    "listWebhookDeliveries",
  ]);
});

test("every route is in the document", () => {
  expect(described.map(({ name }) => String(name)).sort()).toEqual(Object.keys(routes).sort());
});
