import type { TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { seededRandom } from "./httpLoad.ts";
import { mailBody } from "./mail.ts";

/** Messages of each kind that a grown log has none of. */
const ITEMS_PER_KIND = 100;
const FILE = { filename: "note.txt", content_type: "text/plain", content: btoa("A note.") };
const DAY_MS = 86_400_000;

type CallOptions = NonNullable<Parameters<TestProcess["call"]>[2]>;

/** What pages are about, by the parts of their addresses. */
export interface DashboardContents {
  readonly sent: string;
  readonly bounced: string;
  readonly scheduled: string;
  readonly endpoint: string;
  readonly delivery: string;
  readonly template: string;
  readonly versions: readonly [string, string];
  readonly sender: string;
  readonly apiKey: string;
  readonly attachment: string;
  readonly erasure: string;
  readonly suppressed: string;
}

/** Adds to a grown log what it has none of, each by the API, and finds one of everything. */
export async function fillDashboard(service: TestProcess): Promise<DashboardContents> {
  await sendOtherKinds(service);
  const create = (path: string, body: unknown) => answerOf(service, "POST", path, { body });
  const first = async (path: string) => (await answerOf(service, "GET", path)).data[0];
  const { endpoint, delivery } = await calledEndpoint(service);
  const template = (await create("/api/v1/templates", { name: "Measured" })).id;
  const draft = async (text: string) =>
    (await create(`/api/v1/templates/${template}/versions`, { subject: "Hi", text, variables: [] })).id;
  const versions = [await draft("One\nTwo"), await draft("One\nThree")] as const;
  const address = (number: number) => `suppressed-${number}@example.com`;
  for (let number = 0; number < ITEMS_PER_KIND; number += 1)
    await create("/api/v1/suppressions", { address: address(number) });
  return {
    sent: (await first("/api/v1/emails?limit=1&status=sent")).id,
    bounced: (await first("/api/v1/emails?limit=1&status=bounced")).id,
    scheduled: (await first("/api/v1/emails?limit=1&status=scheduled")).id,
    endpoint,
    delivery,
    template,
    versions,
    sender: (await first("/api/v1/senders")).id,
    apiKey: (await first("/api/v1/api-keys")).id,
    attachment: (await create("/api/v1/attachments", FILE)).id,
    erasure: (await create("/api/v1/erasures", { address: "forgotten@example.com" })).id,
    suppressed: address(0),
  };
}

/** One of the endpoints of a grown log that were called: not all of them are. */
async function calledEndpoint(service: TestProcess) {
  for (const { id } of (await answerOf(service, "GET", "/webhooks")).data) {
    const [delivery] = (await answerOf(service, "GET", `/webhooks/${id}/deliveries?limit=1`)).data;
    if (delivery !== undefined) return { endpoint: String(id), delivery: String(delivery.id) };
  }
  throw new Error("no endpoint was called");
}

/** Scheduled mail, complaints and test mail. */
async function sendOtherKinds(service: TestProcess): Promise<void> {
  const random = seededRandom(11);
  const scheduledAt = new Date(Date.now() + DAY_MS).toISOString();
  const issued = { name: "measured test mail", test: true, scopes: ["email:send"] };
  const { key } = await answerOf(service, "POST", "/api/v1/api-keys", { body: issued });
  const send = (body: object, headers: Readonly<Record<string, string>>) =>
    answerOf(service, "POST", "/api/v1/emails", { body, headers });
  for (let number = 0; number < ITEMS_PER_KIND; number += 1) {
    const body = mailBody(random, `kind-${number}@example.com`);
    const idempotencyKey = { "idempotency-key": `of-each-kind-${number}` };
    await send({ ...body, scheduled_at: scheduledAt }, idempotencyKey);
    await send(body, { ...idempotencyKey, authorization: `Bearer ${key}` });
  }
  const { data } = await answerOf(service, "GET", `/api/v1/emails?limit=${ITEMS_PER_KIND}&status=sent`);
  for (const { id } of data)
    await answerOf(service, "POST", "/api/v1/feedback", { body: { email_id: id, type: "complained" } });
  const complained = async () =>
    (await answerOf(service, "GET", "/api/v1/emails?limit=1&status=complained")).data.length > 0;
  await until(complained, "a complaint in the list");
}

/** What is answered to a request, which must be taken. */
async function answerOf(service: TestProcess, method: string, path: string, options: CallOptions = {}) {
  const { status, json } = await service.call(method, path, options);
  if (status >= 300) throw new Error(`${method} ${path} was answered by ${status}: ${json?.detail}`);
  return json;
}
