import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer } from "../support/service.ts";
import { testStores } from "../support/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../support/tenants.ts";

const BODY_BYTES_MAX = 16_000_000;

/** A send that is right in every respect; faults spoil it one by one. */
interface Send {
  authorization: string | null;
  idempotencyKey: string | null;
  contentType: string;
  body: Record<string, unknown>;
  bytes: number;
}

interface Fault {
  readonly code: string;
  readonly status: number;
  readonly what: string;
  /** Found in the answer's detail, where the code alone does not tell which check it was. */
  readonly detail?: RegExp;
  /** Where the fault is in the workspace's state and not in the request: brings that state about, before any request. */
  readonly impose?: (service: TestService, tenants: Tenants) => Promise<void>;
  readonly spoil: (send: Send, tenants: Tenants) => void;
}

/** One workspace in two keys: all scopes, and all but the one that sending needs. `usedKey` has its message. */
interface Tenants {
  readonly sender: Tenant;
  readonly reader: Tenant;
  readonly usedKey: string;
}

/** The faults in the order in which they are answered (design: Order of answers to a send). */
const FAULTS: readonly Fault[] = [
  {
    code: "UNAUTHORIZED",
    status: 401,
    what: "no API key",
    spoil: (send) => {
      send.authorization = null;
    },
  },
  {
    code: "FORBIDDEN",
    status: 403,
    what: "a key without email:send",
    // Where there is no key at all there is none without the scope.
    spoil: (send, { reader }) => {
      if (send.authorization !== null) send.authorization = `Bearer ${reader.apiKey}`;
    },
  },
  {
    code: "IDEMPOTENCY_KEY_REQUIRED",
    status: 400,
    what: "no Idempotency-Key",
    spoil: (send) => {
      send.idempotencyKey = null;
    },
  },
  {
    code: "INVALID_REQUEST",
    status: 400,
    what: "Content-Type text/plain",
    detail: /Content-Type/,
    spoil: (send) => {
      send.contentType = "text/plain";
    },
  },
  {
    code: "PAYLOAD_TOO_LARGE",
    status: 413,
    what: "16,000,001 bytes",
    spoil: (send) => {
      send.bytes = BODY_BYTES_MAX + 1;
    },
  },
  {
    code: "INVALID_REQUEST",
    status: 400,
    what: "a recipient that is no address",
    detail: /^\/to /,
    spoil: (send) => {
      send.body.to = "nobody";
    },
  },
  {
    code: "IDEMPOTENCY_CONFLICT",
    status: 409,
    what: "a key used with other content",
    spoil: (send, { usedKey }) => {
      if (send.idempotencyKey !== null) send.idempotencyKey = usedKey;
    },
  },
  {
    code: "SENDER_UNAVAILABLE",
    status: 422,
    what: "a sender that was never added",
    spoil: (send) => {
      send.body.from = "nobody@example.com";
    },
  },
  {
    code: "SENDING_PAUSED",
    status: 403,
    what: "a paused workspace",
    impose: (service, { sender }) => service.pause(sender.workspaceId),
    spoil: () => {},
  },
  {
    code: "TEMPLATE_UNAVAILABLE",
    status: 422,
    what: "a template",
    spoil: (send) => {
      send.body.template_id = crypto.randomUUID();
    },
  },
  {
    code: "ATTACHMENT_TYPE_UNSUPPORTED",
    status: 422,
    what: "a program as an attachment",
    spoil: (send) => {
      send.body.attachments = [{ filename: "a.exe", content_type: "application/pdf", content: "JVBERi0=" }];
    },
  },
];

/** Names the state that a workspace must be in to show these faults; "" for none. */
function stateOf(faults: readonly Fault[]): string {
  return faults
    .filter(({ impose }) => impose !== undefined)
    .map(({ what }) => what)
    .join(" + ");
}

const PAIRS = FAULTS.flatMap((first, index) => FAULTS.slice(index + 1).map((second) => ({ first, second })));

describe.each(await testStores())("the order of answers to a send on $name", (store) => {
  let service: TestService;
  /** One workspace for each state that a test needs. */
  const tenantsByState = new Map<string, Tenants>();
  const rows: string[] = [];

  const makeTenants = async (): Promise<Tenants> => {
    const sender = await service.tenant();
    const reader = await sender.withKey({ scopes: ["email:read", "webhook:manage"] });
    const usedKey = newKey();
    const first = await sender.send(usedKey, message({ subject: "The first" }));
    expect(first.status).toBe(202);
    return { sender, reader, usedKey };
  };

  beforeAll(async () => {
    service = await startService(store);
    const combinations = [[], ...FAULTS.map((fault) => [fault]), ...PAIRS.map(Object.values<Fault>), FAULTS];
    for (const faults of combinations) {
      if (tenantsByState.has(stateOf(faults))) continue;
      const tenants = await makeTenants();
      for (const { impose } of faults) await impose?.(service, tenants);
      tenantsByState.set(stateOf(faults), tenants);
    }
    // What the service read of a workspace before that it may go by for a second; a new one knows nothing.
    await service.restart();
  });
  afterAll(async () => {
    console.log([`Order of answers on ${store.name}: code, request`, ...rows].join("\n"));
    await service.remove();
  });

  const tenantsIn = (faults: readonly Fault[]): Tenants => {
    const tenants = tenantsByState.get(stateOf(faults));
    if (!tenants) throw new Error(`no workspace was made for: ${stateOf(faults)}`);
    return tenants;
  };

  const answerTo = async (faults: readonly Fault[]): Promise<Answer> => {
    const tenants = tenantsIn(faults);
    const send: Send = {
      authorization: `Bearer ${tenants.sender.apiKey}`,
      idempotencyKey: newKey(),
      contentType: "application/json",
      body: message(),
      bytes: 0,
    };
    for (const fault of faults) fault.spoil(send, tenants);
    const answer = await tenants.sender.call("POST", "/api/v1/emails", {
      body: JSON.stringify(send.body).padEnd(send.bytes),
      headers: {
        authorization: send.authorization,
        "idempotency-key": send.idempotencyKey,
        "content-type": send.contentType,
      },
    });
    const all = faults.length === FAULTS.length ? "everything wrong" : null;
    const request = all ?? (faults.map(({ what }) => what).join(" + ") || "nothing wrong");
    rows.push(`  ${answer.status} ${(answer.json?.code ?? "").padEnd(28)} ${request}`);
    return answer;
  };

  const expectFault = (answer: Answer, { status, code, detail }: Fault) => {
    expect({ status: answer.status, code: answer.json?.code }).toEqual({ status, code });
    if (detail) expect(answer.json.detail).toMatch(detail);
  };

  test("a request with nothing wrong is accepted", async () => {
    expect((await answerTo([])).status).toBe(202);
  });

  test.each([...FAULTS])("$what alone is $code", async (fault) => {
    expectFault(await answerTo([fault]), fault);
  });

  test.each(PAIRS)("$first.what comes before $second.what", async ({ first, second }) => {
    expectFault(await answerTo([first, second]), first);
  });

  test("all faults together are answered by the first", async () => {
    expectFault(await answerTo(FAULTS), FAULTS[0] as Fault);
  });

  test("a replay comes before every refusal that depends on state", async () => {
    const content = { subject: "The first" };
    const { sender, usedKey } = tenantsIn(FAULTS);
    const answer = await sender.send(usedKey, message(content));
    expect({ status: answer.status, replayed: answer.headers.get("idempotent-replayed") }).toEqual({
      status: 202,
      replayed: "true",
    });
  });
});
