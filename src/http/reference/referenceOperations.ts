import { Type } from "@sinclair/typebox";
import { HealthStatus } from "../health/healthOperations.ts";
import type { Operations } from "../server/operation.ts";

const Cached = Type.Object({ ETag: Type.String(), "Cache-Control": Type.String(), Vary: Type.String() });
const Conditional = Type.Object({ "If-None-Match": Type.Optional(Type.String()) });
const unchanged = {
  status: 304,
  schema: null,
  description: "What If-None-Match names is still current.",
  headers: Cached,
} as const;

const Home = Type.Object(
  {
    name: Type.Literal("Postledger"),
    version: Type.String(),
    status: HealthStatus,
    links: Type.Object(
      {
        dashboard: Type.String(),
        docs: Type.String(),
        openapi: Type.String(),
        live: Type.String(),
        ready: Type.String(),
      },
      { additionalProperties: false, description: "Paths on this host." },
    ),
  },
  { $id: "Home", additionalProperties: false },
);
const Negotiated = Type.Object({ Vary: Type.String(), "Cache-Control": Type.String() });
const LedOn = Type.Object({ Location: Type.String(), Vary: Type.String() });

/** The service's description of itself. */
export const referenceOperations = {
  home: {
    summary: "Say what runs here",
    description: "JSON for whoever accepts that rather than HTML; people are led on to the dashboard.",
    tag: "Reference",
    success: { status: 200, schema: Home, headers: Negotiated },
    also: [{ status: 303, schema: null, description: "To the dashboard.", headers: LedOn }],
    problems: [],
  },
  openApi: {
    summary: "Read this document",
    tag: "Reference",
    headers: Conditional,
    success: { status: 200, schema: Type.Object({ openapi: Type.Literal("3.1.1") }), headers: Cached },
    also: [unchanged],
    problems: ["RATE_LIMITED"],
  },
  docs: {
    summary: "Read the reference as a page",
    tag: "Reference",
    headers: Conditional,
    success: { status: 200, schema: Type.String(), contentType: "text/html; charset=utf-8", headers: Cached },
    also: [unchanged],
    problems: ["RATE_LIMITED"],
  },
} satisfies Operations;
