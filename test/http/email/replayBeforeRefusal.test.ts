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
setDefaultTimeout(30_000);

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
interface Since {
  readonly what: string;
  /** The code of a refusal, or the status of an acceptance. */
  readonly told: string;
  readonly happen: (world: World) => Promise<unknown>;
  /** Only sends with files are told. */
  readonly isOfFiles?: true;
}

const SINCE: readonly Since[] = [
  {
    what: "its sender was disabled",
    told: "SENDER_UNAVAILABLE",
    happen: ({ service, tenant }) =>
      service.addSenderEvent(tenant.workspaceId, SENDER, { type: "SenderDisabled", data: {} }),
  },
  {
    what: "sending was paused",
    told: "SENDING_PAUSED",
    happen: ({ service, tenant }) => service.pause(tenant.workspaceId),
  },
  {
    what: "its template was archived",
    told: "TEMPLATE_UNAVAILABLE",
    happen: ({ tenant, templateId }) => tenant.call("POST", `/api/v1/templates/${templateId}/archive`),
  },
  {
    what: "its upload was deleted",
    isOfFiles: true,
    told: "ATTACHMENT_EXPIRED",
    happen: ({ tenant, uploadId }) => tenant.call("DELETE", `/api/v1/attachments/${uploadId}`),
  },
  {
    what: "its upload expired",
    isOfFiles: true,
    told: "ATTACHMENT_EXPIRED",
    happen: ({ service, tenant, uploadId }) => {
      const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
      return expireUpload(service.log, uploadId, { ...context, at: Date.now() + 25 * HOUR_MS });
    },
  },
  {
    what: "the storage quota was used up",
    isOfFiles: true,
    told: "STORAGE_LIMIT_EXCEEDED",
    happen: ({ service, tenant }) => setLimits(service.log, tenant.workspaceId, { storageBytes: FILE_BYTES }),
  },
  {
    what: "the day's messages were used up",
    told: "DAILY_LIMIT_REACHED",
    happen: ({ service, tenant }) => setLimits(service.log, tenant.workspaceId, { messagesPerDay: 1 }),
  },
  {
    what: "its recipient was suppressed",
    told: "suppressed",
    happen: ({ service, tenant }) => service.suppress(tenant.workspaceId, RECIPIENT),
  },
];

const EVERYTHING: Since = {
  what: "all of this happened",
  told: "SENDER_UNAVAILABLE",
  async happen(world) {
    for (const { happen } of SINCE) await happen(world);
  },
};

/** A repeat of a send with files is looked for before its files are, one of a send without only before a refusal. */
const CASES = [...SINCE, EVERYTHING].flatMap((since) => [
  { ...since, files: "with files", hasFiles: true },
  ...(since.isOfFiles ? [] : [{ ...since, files: "without files", hasFiles: false }]),
]);

describe.each(await testStores())("a send that was accepted, repeated on $name after", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const makeWorld = async (): Promise<World> => {
    const tenant = await service.tenant();
    const made = async (path: string, options: Parameters<Tenant["call"]>[2] = {}): Promise<string> => {
      const answer = await tenant.call("POST", `/api/v1${path}`, options);
      expect(answer.status).toBeOneOf([200, 201]);
      return answer.json.id;
    };
    const templateId = await made("/templates", { body: { name: "Welcome" } });
    const source = {
      subject: "Hello {{ name }}",
      text: "Hello",
      variables: [{ name: "name", type: "string" }],
    };
    const versionId = await made(`/templates/${templateId}/versions`, { body: source });
    await made(`/templates/${templateId}/versions/${versionId}/publish`);
    const uploadId = await made("/attachments", formOf(pdf()));
    await until(
      async () => (await tenant.call("GET", `/api/v1/attachments/${uploadId}`)).json.status === "ready",
      "the upload to be ready",
    );
    return { service, tenant, templateId, uploadId };
  };
  const toldBy = ({ json }: Answer): string => json.code ?? json.status;

  test.each(CASES)("$what is answered as at first, $files", async ({ told, happen, hasFiles }) => {
    const world = await makeWorld();
    const { tenant, templateId, uploadId } = world;
    const attachments = hasFiles ? [uploadId, direct(txt(FILE_BYTES))] : [];
    const sendOf = (name: string) =>
      message({ to: RECIPIENT, template_id: templateId, variables: { name }, attachments });
    const key = newKey();
    const first = await tenant.send(key, sendOf("Ana"));
    expect({ status: first.status, told: toldBy(first) }).toEqual({ status: 202, told: "queued" });

    await happen(world);
    await until(
      async () => toldBy(await tenant.send(newKey(), sendOf("Ana"))) === told,
      `new sends to be told ${told}`,
    );
    for (const _ of [1, 2]) {
      const again = await tenant.send(key, sendOf("Ana"));
      expect({ status: again.status, text: again.text }).toEqual({ status: 202, text: first.text });
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(again.headers.get("location")).toBe(first.headers.get("location"));
      const changed = await tenant.send(key, sendOf("Bea"));
      expect({ status: changed.status, code: changed.json.code }).toEqual({
        status: 409,
        code: "IDEMPOTENCY_CONFLICT",
      });
    }
    expect((await tenant.call("GET", `/api/v1/emails/${first.json.id}`)).json.status).toBe("queued");
  });
});
