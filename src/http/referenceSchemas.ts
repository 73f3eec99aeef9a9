import { Type } from "@sinclair/typebox";
import type { Operations } from "./operation.ts";

const Cached = Type.Object({ ETag: Type.String(), "Cache-Control": Type.String() });
const Conditional = Type.Object({ "If-None-Match": Type.Optional(Type.String()) });
const unchanged = {
  status: 304,
  schema: null,
  description: "What If-None-Match names is still current.",
  headers: Cached,
} as const;

/** The service's description of itself. */
export const referenceOperations = {
  openApi: {
    summary: "Read this document",
    tag: "Reference",
    headers: Conditional,
    success: { status: 200, schema: Type.Object({ openapi: Type.Literal("3.1.1") }), headers: Cached },
    also: [unchanged],
    problems: [],
  },
  docs: {
    summary: "Read the reference as a page",
    tag: "Reference",
    headers: Conditional,
    success: { status: 200, schema: Type.String(), contentType: "text/html; charset=utf-8", headers: Cached },
    also: [unchanged],
    problems: [],
  },
} satisfies Operations;
