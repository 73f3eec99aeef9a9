import type { TObject, TSchema } from "@sinclair/typebox";
import { NoQuery } from "../body/commonSchemas.ts";
import type { ProblemCode } from "./problemCodes.ts";
import type { RouteName } from "./routes.ts";

/** An answer other than the problems. `schema` is null where it has no body; `contentType` is JSON unless given. */
export interface OperationResponse {
  readonly status: 200 | 201 | 202 | 204 | 303 | 304 | 404 | 410 | 503;
  readonly schema: TSchema | null;
  readonly contentType?: string;
  readonly description?: string;
  /** Response headers of its own; X-Request-Id, Location and the like are said once for all. */
  readonly headers?: TObject;
}

/** What an operation takes and answers, for the OpenAPI document: the same schemas that requests are checked by. */
export interface Operation {
  /** What it does, as a short sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Groups operations on the reference page. */
  readonly tag: string;
  /** Path parameters by name, where they are not what the document supposes: `id` and `…_id` are UUIDs, others text. */
  readonly params?: TObject;
  /** Header parameters of its own; Authorization is said once for all. */
  readonly headers?: TObject;
  readonly query?: TObject;
  /** The JSON body. */
  readonly body?: TSchema;
  /** Whether the body may be left out, which is the same as an empty object. */
  readonly isBodyOptional?: true;
  /** The body as multipart/form-data, where that is taken too. */
  readonly multipart?: TSchema;
  /** The answer when all is well. */
  readonly success: OperationResponse;
  /** Further answers: 304 to a conditional request, 200 to a repeat, a page for people instead of a problem. */
  readonly also?: readonly OperationResponse[];
  /**
   * Codes of its own. What every operation of its kind can answer is added by the document: INVALID_REQUEST, be it for
   * the framing of the request; UNAUTHORIZED, FORBIDDEN and RATE_LIMITED with a scope; PAYLOAD_TOO_LARGE with a body;
   * INTERNAL_ERROR with a scope or a path parameter, because it then reads what is stored.
   */
  readonly problems: readonly ProblemCode[];
}

/** Operations by the name of their route. */
export type Operations = { readonly [Name in RouteName]?: Operation };

/** What most operations have in common: they answer one status, and take no query parameters unless they say so. */
function answering<const Status extends OperationResponse["status"]>(status: Status) {
  return <Schema extends TSchema>(schema: Schema, ...problems: readonly ProblemCode[]) => {
    return { query: NoQuery, success: { status, schema }, problems };
  };
}

export const answersOk = answering(200);
export const answersCreated = answering(201);
export const answersAccepted = answering(202);

/** Of an operation that has nothing to say when all is well. */
export function answersNoContent(...problems: readonly ProblemCode[]) {
  return { query: NoQuery, success: { status: 204, schema: null }, problems } as const;
}
