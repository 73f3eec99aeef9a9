import type { TObject, TSchema } from "@sinclair/typebox";
import type { ProblemCode } from "./problem.ts";
import type { RouteName } from "./routes.ts";

/** What an operation takes and answers, for the OpenAPI document: the same schemas that requests are checked by. */
export interface Operation {
  /** What it does, as a short sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Groups operations on the reference page. */
  readonly tag: string;
  /** Header parameters of its own; Authorization is said once for all. */
  readonly headers?: TObject;
  readonly query?: TObject;
  /** The JSON body. */
  readonly body?: TSchema;
  /** The body as multipart/form-data, where that is taken too. */
  readonly multipart?: TSchema;
  /** The answer when all is well. `schema` is null where it has no body; `contentType` is JSON unless given. */
  readonly success: {
    readonly status: 200 | 201 | 202 | 204;
    readonly schema: TSchema | null;
    readonly contentType?: string;
    readonly description?: string;
    /** The status of a repeat that made nothing new; the body is the same. */
    readonly repeatStatus?: 200;
  };
  /** Refusals that are answered as a page for people, in the content type of the success. */
  readonly pages?: readonly (404 | 410)[];
  /**
   * Codes of its own. What every operation of its kind can answer is added by the document: UNAUTHORIZED,
   * FORBIDDEN and RATE_LIMITED with a scope; INVALID_REQUEST and PAYLOAD_TOO_LARGE with a body; INTERNAL_ERROR.
   */
  readonly problems: readonly ProblemCode[];
}

/** Operations by the name of their route. */
export type Operations = { readonly [Name in RouteName]?: Operation };
