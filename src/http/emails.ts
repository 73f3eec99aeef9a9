import { Elysia } from "elysia";
import { type EmailQuery, listEmails } from "../../projections/emails.ts";
import { cancelEmail } from "../commands/cancelEmail.ts";
import { type EmailView, readEmail, readEmailByKey } from "../commands/readEmail.ts";
import { type Receipt, type SendRefusal, sendEmail } from "../commands/sendEmail.ts";
import type { Services } from "../commands/services.ts";
import { parseAddress } from "../kernel/address.ts";
import { isUuid } from "../kernel/ids.ts";
import { DAY_MS, type EpochMs, epochMs, rfc3339, SECOND_MS } from "../kernel/time.ts";
import type { ReadDatabase } from "../ports/readDatabase.ts";
import { emailJson, emailSummaryJson } from "./emailJson.ts";
import {
  authorize,
  authorizeThenRead,
  authorizeUnread,
  idempotencyKeyOf,
  occasionOf,
  principalOf,
} from "./frontDoor.ts";
import { decodeCursor, PAGE_ITEMS_DEFAULT, pageOf } from "./paging.ts";
import { invalid, Problem } from "./problem.ts";
import { routes } from "./routes.ts";
import { ListEmailsQuery, NoQuery, SendEmailBody } from "./schemas.ts";
import { sendRequest } from "./sendRequest.ts";

interface EmailsOptions {
  readonly services: Services;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `emails`. */
  readonly emails: ReadDatabase;
}

/** Sending, reading back, listing and cancelling messages. */
export function emailsController({ services, basePath, emails }: EmailsOptions) {
  const send = authorizeThenRead(services, routes.sendEmail, idempotencyKeyOf);
  return new Elysia({ normalize: false })
    .post(
      routes.sendEmail.path,
      async ({ body, request, set }) => {
        const idempotencyKey = idempotencyKeyOf(request.headers);
        const occasion = occasionOf(request, services);
        const { workspaceId } = principalOf(request);
        const outcome = await sendEmail(services, {
          ...sendRequest(body),
          workspaceId,
          idempotencyKey,
          occasion,
        });
        if (outcome.kind === "conflict") throw new Problem("IDEMPOTENCY_CONFLICT");
        if (outcome.kind === "refused") throw refusal(outcome, occasion.at);
        set.status = 202;
        set.headers.location = `${basePath}/api/v1/emails/${outcome.receipt.id}`;
        if (outcome.replayed) set.headers["idempotent-replayed"] = "true";
        return receiptJson(outcome.receipt);
      },
      { parse: send, body: SendEmailBody },
    )
    .get(
      routes.listEmails.path,
      // Async, as every handler that can fail later: Elysia lets the rejection of any other escape.
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const { idempotency_key: key } = query;
        return key === undefined
          ? listPage(services, emails, workspaceId, query)
          : lookUpByKey(services, workspaceId, key);
      },
      { transform: authorize(services, routes.listEmails), query: ListEmailsQuery },
    )
    .get(
      routes.getEmail.path,
      async ({ params, request }) => emailJson(await existing(services, request, params.id)),
      { transform: authorize(services, routes.getEmail), query: NoQuery },
    )
    .post(
      routes.cancelEmail.path,
      async ({ params, request }) => {
        const outcome = await cancelEmail(services, messageId(params.id), occasionOf(request, services));
        if (outcome === "notFound") throw new Problem("NOT_FOUND");
        if (outcome === "notCancelable") throw new Problem("EMAIL_NOT_CANCELABLE");
        return emailJson(await existing(services, request, params.id));
      },
      { parse: authorizeUnread(services, routes.cancelEmail), query: NoQuery },
    );
}

function refusal({ code, faults }: SendRefusal, at: EpochMs): Problem {
  if (code === "DAILY_LIMIT_REACHED") {
    const nextDaySeconds = Math.ceil((DAY_MS - (at % DAY_MS)) / SECOND_MS);
    return new Problem(code, { headers: { "retry-after": String(nextDaySeconds) } });
  }
  const [first] = faults;
  if (first === undefined) return new Problem(code);
  return new Problem(code, { detail: `${first.pointer}: ${first.message}`, errors: faults });
}

function receiptJson({ id, status, acceptedAt }: Receipt) {
  return { id, object: "email", status, created_at: acceptedAt };
}

/** The id as streams know it; what is no uuid is nobody's message. */
function messageId(text: string): string {
  if (!isUuid(text)) throw new Problem("NOT_FOUND");
  return text.toLowerCase();
}

async function existing(services: Services, request: Request, id: string): Promise<EmailView> {
  const view = await readEmail(services, principalOf(request).workspaceId, messageId(id));
  if (view === null) throw new Problem("NOT_FOUND");
  return view;
}

async function lookUpByKey(services: Services, workspaceId: string, key: string) {
  const view = await readEmailByKey(services, workspaceId, key.trim());
  return { data: view === null ? [] : [emailSummaryJson(view)], next_cursor: null };
}

async function listPage(services: Services, db: ReadDatabase, workspaceId: string, query: ListEmailsQuery) {
  const limit = query.limit === undefined ? PAGE_ITEMS_DEFAULT : Number(query.limit);
  const rows = listEmails(db, emailQuery(services, workspaceId, query, limit + 1));
  const { shown, nextCursor } = pageOf(rows, limit);
  // Addresses and subjects are in the messages' own streams only, so that erasing one place is enough.
  const views = await Promise.all(shown.map(({ id }) => readEmail(services, workspaceId, id)));
  const data = views.filter((view) => view !== null).map(emailSummaryJson);
  return { data, next_cursor: nextCursor };
}

function emailQuery(
  services: Services,
  workspaceId: string,
  query: ListEmailsQuery,
  limit: number,
): EmailQuery {
  const { status, from, to, created_from: since, created_before: before, cursor } = query;
  return {
    workspaceId,
    limit,
    ...(status === undefined ? {} : { status }),
    ...(from === undefined ? {} : { senderId: addressHash(services, workspaceId, "/from", from) }),
    ...(to === undefined ? {} : { recipientHash: addressHash(services, workspaceId, "/to", to) }),
    ...(since === undefined ? {} : { createdFrom: time("/created_from", since) }),
    ...(before === undefined ? {} : { createdBefore: time("/created_before", before) }),
    ...(cursor === undefined ? {} : { after: decodeCursor(cursor) }),
  };
}

function addressHash(services: Services, workspaceId: string, pointer: string, text: string): string {
  const parsed = parseAddress(text);
  if ("invalid" in parsed) throw invalid(pointer, parsed.invalid);
  return services.keys.hashAddress(workspaceId, parsed.canonical);
}

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;
/** Times are compared as text, which orders years of four digits only. */
const YEAR_9999_END = Date.UTC(10_000, 0, 1) - 1;

function time(pointer: string, text: string): string {
  const day = DATE_TIME.exec(text)?.[1];
  const at = day === undefined ? Number.NaN : epochMs(text);
  // The engine turns 30 February into 2 March.
  const isDay = day !== undefined && rfc3339(epochMs(`${day}T00:00:00Z`) || 0).startsWith(day);
  if (!isDay || Number.isNaN(at) || at > YEAR_9999_END) {
    throw invalid(pointer, "is not an RFC 3339 date-time");
  }
  return rfc3339(at);
}
