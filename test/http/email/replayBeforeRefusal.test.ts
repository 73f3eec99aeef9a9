import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { expireUpload } from "../../../src/commands/attachment/expireFiles.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { direct, formOf, pdf, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import type { Answer } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import {
  message,
  newKey,
  SENDER,
  startService,
  type Tenant,
  type TestService,
} from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** Each state takes up to a second to be known everywhere, where the cores are shared. */
setDefaultTimeout(120_000);

const RECIPIENT = "ana@example.com";
const FILE_BYTES = 500;

/** A workspace with what one send of it needs. */
interface World {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly templateId: string;
  readonly uploadId: string;
}

/** What happens after a send was accepted, and what the same send under a new key is told from then on. */
interface LaterChange {
  readonly what: string;
  /** The code of a refusal, or the status of an acceptance. */
  readonly answer: string;
  readonly apply: (world: World) => Promise<unknown>;
  /** Only sends with files are told. */
  readonly needsFiles?: true;
}

const LATER_CHANGES: readonly LaterChange[] = [
  {
    what: "its sender was disabled",
    answer: "SENDER_UNAVAILABLE",
    apply: ({ service, tenant }) =>
      service.addSenderEvent(tenant.workspaceId, SENDER, { type: "SenderDisabled", data: {} }),
  },
  {
    what: "sending was paused",
    answer: "SENDING_PAUSED",
    apply: ({ service, tenant }) => service.pause(tenant.workspaceId),
  },
  {
    what: "its template was archived",
    answer: "TEMPLATE_UNAVAILABLE",
    apply: ({ tenant, templateId }) => tenant.call("POST", `/api/v1/templates/${templateId}/archive`),
  },
  {
    what: "its upload was deleted",
    needsFiles: true,
    answer: "ATTACHMENT_EXPIRED",
    apply: ({ tenant, uploadId }) => tenant.call("DELETE", `/api/v1/attachments/${uploadId}`),
  },
  {
    what: "its upload expired",
    needsFiles: true,
    answer: "ATTACHMENT_EXPIRED",
    apply: ({ service, tenant, uploadId }) => {
      const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
      return expireUpload(service.log, uploadId, { ...context, at: Date.now() + 25 * HOUR_MS });
    },
  },
  {
    what: "the storage quota was used up",
    needsFiles: true,
    answer: "STORAGE_LIMIT_EXCEEDED",
    apply: ({ service, tenant }) => setLimits(service.log, tenant.workspaceId, { storageBytes: FILE_BYTES }),
  },
  {
    what: "the day's messages were used up",
    answer: "DAILY_LIMIT_REACHED",
    apply: ({ service, tenant }) => setLimits(service.log, tenant.workspaceId, { messagesPerDay: 1 }),
  },
  {
    what: "its recipient was suppressed",
    answer: "suppressed",
    apply: ({ service, tenant }) => service.suppress(tenant.workspaceId, RECIPIENT),
  },
];

const ALL_CHANGES: LaterChange = {
  what: "all of this happened",
  answer: "SENDER_UNAVAILABLE",
  async apply(world) {
    for (const { apply } of LATER_CHANGES) await apply(world);
  },
};

/** A repeat of a send with files is looked for before its files are, one of a send without only before a refusal. */
const CASES = [...LATER_CHANGES, ALL_CHANGES].flatMap((change) => [
  { ...change, files: "with files", hasFiles: true },
  ...(change.needsFiles ? [] : [{ ...change, files: "without files", hasFiles: false }]),
]);

describe.each(await testStores())("a send that was accepted, repeated on $name after", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const makeWorld = async (): Promise<World> => {
    const tenant = await service.tenant();
    const create = async (path: string, options: Parameters<Tenant["call"]>[2] = {}): Promise<string> => {
      const answer = await tenant.call("POST", `/api/v1${path}`, options);
      expect(answer.status).toBeOneOf([200, 201]);
      return answer.json.id;
    };
    const templateId = await create("/templates", { body: { name: "Welcome" } });
    const source = {
      subject: "Hello {{ name }}",
      text: "Hello",
      variables: [{ name: "name", type: "string" }],
    };
    const versionId = await create(`/templates/${templateId}/versions`, { body: source });
    await create(`/templates/${templateId}/versions/${versionId}/publish`);
    const uploadId = await create("/attachments", formOf(pdf()));
    await until(
      async () => (await tenant.call("GET", `/api/v1/attachments/${uploadId}`)).json.status === "ready",
      "the upload to be ready",
    );
    return { service, tenant, templateId, uploadId };
  };
  const codeOrStatus = ({ json }: Answer): string => json.code ?? json.status;

  test.each(CASES)("$what is answered as at first, $files", async ({ answer, apply, hasFiles }) => {
    const world = await makeWorld();
    const { tenant, templateId, uploadId } = world;
    const attachments = hasFiles ? [uploadId, direct(txt(FILE_BYTES))] : [];
    const sendOf = (name: string) =>
      message({ to: RECIPIENT, template_id: templateId, variables: { name }, attachments });
    const key = newKey();
    const first = await tenant.send(key, sendOf("Ana"));
    expect({ status: first.status, answer: codeOrStatus(first) }).toEqual({ status: 202, answer: "queued" });

    await apply(world);
    await until(
      async () => codeOrStatus(await tenant.send(newKey(), sendOf("Ana"))) === answer,
      `new sends to be told ${answer}`,
    );
    for (const _ of [1, 2]) {
      const repeat = await tenant.send(key, sendOf("Ana"));
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 202, text: first.text });
      expect(repeat.headers.get("idempotent-replayed")).toBe("true");
      expect(repeat.headers.get("location")).toBe(first.headers.get("location"));
      const changed = await tenant.send(key, sendOf("Bea"));
      expect({ status: changed.status, code: changed.json.code }).toEqual({
        status: 409,
        code: "IDEMPOTENCY_CONFLICT",
      });
    }
    expect((await tenant.call("GET", `/api/v1/emails/${first.json.id}`)).json.status).toBe("queued");
  });
});
