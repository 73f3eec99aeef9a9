import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { unreadableUpload } from "../../support/files/unreadableUpload.ts";
import { direct, pdf } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import { rawCall } from "../../support/servers/rawRequest.ts";
import type { Answer } from "../../support/service.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";

/** A dozen workspaces are made before the first test, where the cores are shared. */
setDefaultTimeout(60_000);

const BODY_BYTES_MAX = 16_000_000;

/** A send that is right in every respect; faults spoil it one by one. */
interface Send {
  authorization: string | null;
  idempotencyKey: string | null;
  contentType: string;
  body: Record<string, unknown>;
  attachments: unknown[];
  /** As the headers announce it, where that is not the body's own length: then no body is sent. */
  bytes: number | null;
}

interface Fault {
  readonly code: string;
  readonly status: number;
  readonly name: string;
  /** RowPage in the answer's detail, where the code alone does not tell which check it was. */
  readonly detail?: RegExp;
  /** Where the fault is in the workspace's state and not in the request: brings that state about, before any request. */
  readonly impose?: (service: TestService, tenants: Tenants) => Promise<void>;
  readonly apply: (send: Send, tenants: Tenants) => void;
}

/** One workspace in two keys: all scopes, and all but the one that sending needs. `usedKey` has its message. */
interface Tenants {
  readonly sender: Tenant;
  readonly reader: Tenant;
  readonly usedKey: string;
  /** A published template that cannot do without a variable. */
  readonly templateId: string;
  /** Uploads that cannot be sent: one is not checked yet, the other one's time is over. */
  readonly pendingId: string;
  readonly expiredId: string;
}

const FILE = direct(pdf());
const TAGS_TOO_MANY = 11;

function limit(changes: Parameters<typeof setLimits>[2]): NonNullable<Fault["impose"]> {
  return (service, { sender }) => setLimits(service.log, sender.workspaceId, changes);
}

/** The first request of each second is let through. */
const RATE_LIMITED: Fault = {
  code: "RATE_LIMITED",
  status: 429,
  name: "a workspace over its rate limit",
  impose: limit({ workspaceRequestsPerSecond: 1 }),
  apply: () => {},
};
/** Of so many at once most are over the limit. */
const BURST = 6;

/** The faults in the order in which they are answered. */
const FAULTS: readonly Fault[] = [
  {
    code: "UNAUTHORIZED",
    status: 401,
    name: "no API key",
    apply: (send) => {
      send.authorization = null;
    },
  },
  {
    code: "FORBIDDEN",
    status: 403,
    name: "a key without email:send",
    // Where there is no key at all there is none without the scope.
    apply: (send, { reader }) => {
      if (send.authorization !== null) send.authorization = `Bearer ${reader.apiKey}`;
    },
  },
  RATE_LIMITED,
  {
    code: "IDEMPOTENCY_KEY_REQUIRED",
    status: 400,
    name: "no Idempotency-Key",
    apply: (send) => {
      send.idempotencyKey = null;
    },
  },
  {
    code: "INVALID_REQUEST",
    status: 400,
    name: "Content-Type text/plain",
    detail: /Content-Type/,
    apply: (send) => {
      send.contentType = "text/plain";
    },
  },
  {
    code: "PAYLOAD_TOO_LARGE",
    status: 413,
    name: "16,000,001 bytes",
    apply: (send) => {
      send.bytes = BODY_BYTES_MAX + 1;
    },
  },
  {
    code: "INVALID_REQUEST",
    status: 400,
    name: "a recipient that is no address",
    detail: /^\/to: /,
    apply: (send) => {
      send.body.to = "nobody";
    },
  },
  {
    code: "IDEMPOTENCY_CONFLICT",
    status: 409,
    name: "a key used with other content",
    apply: (send, { usedKey }) => {
      if (send.idempotencyKey !== null) send.idempotencyKey = usedKey;
    },
  },
  {
    code: "SENDER_UNAVAILABLE",
    status: 422,
    name: "a sender that was never added",
    apply: (send) => {
      send.body.from = "nobody@example.com";
    },
  },
  {
    code: "SENDING_PAUSED",
    status: 403,
    name: "a paused workspace",
    impose: (service, { sender }) => service.pause(sender.workspaceId),
    apply: () => {},
  },
  {
    code: "TEMPLATE_UNAVAILABLE",
    status: 422,
    name: "a template that is not there",
    apply: (send) => {
      send.body.template_id = crypto.randomUUID();
    },
  },
  {
    code: "INVALID_TEMPLATE_DATA",
    status: 422,
    name: "a template without its variable",
    // A template that is not there needs none.
    apply: (send, { templateId }) => {
      send.body.template_id ??= templateId;
    },
  },
  {
    code: "ATTACHMENT_LIMIT_EXCEEDED",
    status: 413,
    name: "11 files",
    apply: (send) => {
      send.attachments.push(...Array(TAGS_TOO_MANY).fill(FILE));
    },
  },
  {
    code: "INVALID_REQUEST",
    status: 400,
    name: "an upload that is not there",
    detail: /^\/attachments\/\d+: is not an upload/,
    apply: (send) => {
      send.attachments.push(crypto.randomUUID());
    },
  },
  // Files are looked at in their order, so of these the first one in the list is answered.
  {
    code: "ATTACHMENT_NOT_READY",
    status: 409,
    name: "an upload that is not checked yet",
    apply: (send, { pendingId }) => {
      send.attachments.push(pendingId);
    },
  },
  {
    code: "ATTACHMENT_EXPIRED",
    status: 410,
    name: "an upload past its time",
    apply: (send, { expiredId }) => {
      send.attachments.push(expiredId);
    },
  },
  {
    code: "ATTACHMENT_INVALID",
    status: 422,
    name: "a file unlike its type",
    apply: (send) => {
      send.attachments.push({ ...FILE, content: "aGVsbG8=" });
    },
  },
  {
    code: "ATTACHMENT_TYPE_UNSUPPORTED",
    status: 422,
    name: "a program as a file",
    apply: (send) => {
      send.attachments.push({ ...FILE, filename: "a.exe" });
    },
  },
  {
    code: "STORAGE_LIMIT_EXCEEDED",
    status: 413,
    name: "a file without room for it",
    impose: limit({ storageBytes: 0 }),
    apply: (send) => {
      send.attachments.push(FILE);
    },
  },
  {
    code: "DAILY_LIMIT_REACHED",
    status: 429,
    name: "a workspace that has had its messages of the day",
    impose: limit({ messagesPerDay: 0 }),
    apply: () => {},
  },
];
/** What a workspace's state refuses behind the door: a replay comes before all of it. */
const WITHIN = FAULTS.filter((fault) => fault !== RATE_LIMITED);

/** Names the state that a workspace must be in to show these faults; "" for none. */
function stateOf(faults: readonly Fault[]): string {
  return faults
    .filter(({ impose }) => impose !== undefined)
    .map(({ name }) => name)
    .join(" + ");
}

/** What faults refer to. */
async function makeResources(service: TestService, store: TestStore, tenant: Tenant) {
  const ask = async (path: string, body?: Record<string, unknown>): Promise<string> => {
    const answer = await tenant.call("POST", `/api/v1/templates${path}`, body === undefined ? {} : { body });
    expect(answer.status).toBeOneOf([200, 201]);
    return answer.json.id;
  };
  const templateId = await ask("", { name: "Welcome" });
  const variables = [{ name: "name", type: "string", required: true }];
  const versionId = await ask(`/${templateId}/versions`, { subject: "{{ name }}", text: "Hello", variables });
  await ask(`/${templateId}/versions/${versionId}/publish`);
  return {
    templateId,
    pendingId: await unreadableUpload(service, store, tenant.workspaceId),
    expiredId: await unreadableUpload(service, store, tenant.workspaceId, 1),
  };
}

/** A send of which only the headers come: whatever is answered to it is answered before its body is read. */
async function announce(url: string, headers: Readonly<Record<string, string | null>>): Promise<Answer> {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null);
  const answer = await rawCall(url, ["POST", "/api/v1/emails"], Object.fromEntries(given));
  return { ...answer, json: JSON.parse(answer.text) };
}

/** Which of two checks comes first is up to the program, whatever store it is on. */
const PAIRS = FAULTS.flatMap((first, index) => FAULTS.slice(index + 1).map((second) => ({ first, second })));

describe.each(await testStores())("the order of answers to a send on $name", (store) => {
  let service: TestService;
  /** One workspace for each state that a test needs. */
  const tenantsByState = new Map<string, Tenants>();
  const rows: string[] = [];
  const pairs = store.isShared ? [] : PAIRS;

  const makeTenants = async (): Promise<Tenants> => {
    const sender = await service.tenant();
    const reader = await sender.withKey({ scopes: ["email:read", "webhook:manage"] });
    const usedKey = newKey();
    const first = await sender.send(usedKey, message({ subject: "The first" }));
    expect(first.status).toBe(202);
    return { sender, reader, usedKey, ...(await makeResources(service, store, sender)) };
  };

  beforeAll(async () => {
    service = await startService(store);
    const singles = FAULTS.map((fault) => [fault]);
    const combinations = [[], ...singles, ...pairs.map(Object.values<Fault>), WITHIN, FAULTS];
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
    if (!tenants) throw new Error(`no workspace was prepared for: ${stateOf(faults)}`);
    return tenants;
  };

  const ask = async (faults: readonly Fault[]): Promise<Answer> => {
    const tenants = tenantsIn(faults);
    const send: Send = {
      authorization: `Bearer ${tenants.sender.apiKey}`,
      idempotencyKey: newKey(),
      contentType: "application/json",
      body: message(),
      attachments: [],
      bytes: null,
    };
    for (const fault of faults) fault.apply(send, tenants);
    const headers = {
      authorization: send.authorization,
      "idempotency-key": send.idempotencyKey,
      "content-type": send.contentType,
    };
    if (send.bytes !== null) return announce(service.url, { ...headers, "content-length": `${send.bytes}` });
    const body = { ...send.body, attachments: send.attachments };
    return tenants.sender.call("POST", "/api/v1/emails", { body, headers });
  };

  const answerFor = async (faults: readonly Fault[]): Promise<Answer> => {
    const count = faults.includes(RATE_LIMITED) ? BURST : 1;
    const answers = await Promise.all(Array.from({ length: count }, () => ask(faults)));
    const limited = answers.find(({ json }) => json?.code === RATE_LIMITED.code);
    const answer = limited ?? (answers[0] as Answer);
    const all = faults.length === FAULTS.length ? "everything wrong" : null;
    const request = all ?? (faults.map(({ name }) => name).join(" + ") || "nothing wrong");
    rows.push(`  ${answer.status} ${(answer.json?.code ?? "").padEnd(28)} ${request}`);
    return answer;
  };

  const expectFault = (answer: Answer, { status, code, detail }: Fault) => {
    expect({ status: answer.status, code: answer.json?.code }).toEqual({ status, code });
    if (detail) expect(answer.json.detail).toMatch(detail);
  };

  test("a request with nothing wrong is accepted", async () => {
    expect((await answerFor([])).status).toBe(202);
  });

  test.each([...FAULTS])("$name alone is $code", async (fault) => {
    expectFault(await answerFor([fault]), fault);
  });

  for (const { first, second } of pairs) {
    test(`${first.name} comes before ${second.name}`, async () => {
      expectFault(await answerFor([first, second]), first);
    });
  }

  test("all faults together are answered by the first", async () => {
    expectFault(await answerFor(FAULTS), FAULTS[0] as Fault);
  });

  test("a replay comes before every refusal that depends on state", async () => {
    const content = { subject: "The first" };
    const { sender, usedKey } = tenantsIn(WITHIN);
    const answer = await sender.send(usedKey, message(content));
    expect({ status: answer.status, replayed: answer.headers.get("idempotent-replayed") }).toEqual({
      status: 202,
      replayed: "true",
    });
  });
});
