import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import { NoQuery, Uuid } from "../body/commonSchemas.ts";
import type { ProblemCode } from "./problemCodes.ts";
import type { Route, RouteName } from "./routes.ts";

/** An answer that is not a problem. `schema` is null without a body; `contentType` is JSON by default. */
export interface OperationResponse {
  readonly status: 200 | 201 | 202 | 204 | 303 | 304 | 404 | 410 | 503;
  readonly schema: TSchema | null;
  readonly contentType?: string;
  readonly description?: string;
  /** Its own response headers; common ones like X-Request-Id and Location are described once for all. */
  readonly headers?: TObject;
}

/** What an operation takes and answers. The OpenAPI document shows the same schemas that check requests. */
export interface Operation {
  /** What it does, as a short sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Groups operations on the reference page. */
  readonly tag: Tag;
  /** Path parameters by name, if they differ from the default: `id` and `…_id` are UUIDs, others text. */
  readonly params?: TObject;
  /** Its own header parameters; Authorization is described once for all. */
  readonly headers?: TObject;
  /** Checks its own headers, before the body is read. */
  readonly checkHeaders?: (headers: Headers) => void;
  readonly query?: TObject;
  /** The JSON body. */
  readonly body?: TSchema;
  /** Whether the body may be left out, which equals an empty object. */
  readonly isBodyOptional?: true;
  /** The body as multipart/form-data, if that is accepted too. */
  readonly multipart?: TSchema;
  readonly success: OperationResponse;
  /** Further answers: 304 to a conditional request, 200 to a repeat, a page for people instead of a problem. */
  readonly also?: readonly OperationResponse[];
  /**
   * Its own codes. The document adds those of every operation of its kind: INVALID_REQUEST, if only for the framing
   * of the request; UNAUTHORIZED, FORBIDDEN and RATE_LIMITED with a scope; PAYLOAD_TOO_LARGE with a body;
   * INTERNAL_ERROR with a scope or a path parameter, because it then reads what is stored.
   */
  readonly problems: readonly ProblemCode[];
}

export function paramsOf({ path }: Route, { params }: Pick<Operation, "params">): TObject {
  if (params !== undefined) return params;
  const names = [...path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
  const schemaOf = (name: string) => (/(^|_)id$/.test(name) ? Uuid : Type.String({ minLength: 1 }));
  return Type.Object(Object.fromEntries(names.map((name) => [name, schemaOf(name)])));
}

export type Operations = { readonly [Name in RouteName]?: Operation };

/** The headings of the reference page, which are the document's tags, and what is below each. */
export const TAGS = {
  Emails: "Send messages, read what happened to them, cancel or reschedule them.",
  Usage: "Counts of messages by hour or day, and of bounces by the recipient's domain.",
  Templates:
    "Messages with variables, in Liquid: draft a version, preview it, publish it, and send by `template_id` or `template_alias`.",
  Attachments: "Files that are uploaded once and sent in any number of messages.",
  Suppressions: "Addresses that get no mail from this workspace.",
  Feedback: "Reports about messages that the relay has taken: deliveries, bounces and complaints.",
  Senders: "Addresses and domains that messages may be sent from, and their verification.",
  Workspace: "State, limits and usage of the key's workspace, its pause, and who did what in it.",
  "API keys": "Keys with scopes: issue, rotate and revoke them.",
  Erasure: "Erases everything that was sent to a person, and reports what remains.",
  Webhooks: "Your endpoints, which the service calls when something happens to a message.",
  "Webhook deliveries": "What went to an endpoint, attempt by attempt, and repeats on request.",
  Health: "Whether the service runs, and whether it can work: for load balancers and monitoring.",
  Reference: "What runs here, and this document.",
} as const;

type Tag = keyof typeof TAGS;

/** The operations under one heading of the reference page. */
export function operationsOf<const All extends { readonly [Name in RouteName]?: Omit<Operation, "tag"> }>(
  tag: Tag,
  operations: All & Record<Exclude<keyof All, RouteName>, never>,
) {
  const tagged = Object.entries(operations).map(([name, operation]) => [name, { ...operation, tag }]);
  return Object.fromEntries(tagged) as { readonly [Name in keyof All]: All[Name] & { readonly tag: Tag } };
}

/** What most operations share: one success status, and no query parameters by default. */
function answering<const Status extends OperationResponse["status"]>(status: Status) {
  return <Schema extends TSchema>(schema: Schema, ...problems: readonly ProblemCode[]) => {
    return { query: NoQuery, success: { status, schema }, problems };
  };
}

export const answersOk = answering(200);
export const answersCreated = answering(201);
export const answersAccepted = answering(202);

/** For an operation that answers without a body. */
export function answersNoContent(...problems: readonly ProblemCode[]) {
  return { query: NoQuery, success: { status: 204, schema: null }, problems } as const;
}
