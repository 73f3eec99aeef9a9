import { Type } from "@sinclair/typebox";
import { apiKeyOperations } from "../apiKey/apiKeyOperations.ts";
import { attachmentOperations } from "../attachment/attachmentOperations.ts";
import { auditLogOperations } from "../audit/auditLogOperations.ts";
import { Closed } from "../body/commonSchemas.ts";
import { emailOperations } from "../email/emailOperations.ts";
import { erasureOperations } from "../erasure/erasureOperations.ts";
import { feedbackOperations } from "../feedback/feedbackOperations.ts";
import { HealthStatus, healthOperations } from "../health/healthOperations.ts";
import { senderOperations } from "../sender/senderOperations.ts";
import { type Operations, operationsOf } from "../server/operation.ts";
import { suppressionOperations } from "../suppression/suppressionOperations.ts";
import { templateOperations } from "../template/templateOperations.ts";
import { usageOperations } from "../usage/usageOperations.ts";
import { webhookEndpointOperations } from "../webhook/webhookEndpointOperations.ts";
import { webhookDeliveryOperations } from "../webhookDelivery/webhookDeliveryOperations.ts";
import { workspaceOperations } from "../workspace/workspaceOperations.ts";

const Cached = Type.Object({ ETag: Type.String(), "Cache-Control": Type.String(), Vary: Type.String() });
const Conditional = Type.Object({ "If-None-Match": Type.Optional(Type.String()) });
const unchanged = {
  status: 304,
  schema: null,
  description: "What If-None-Match names is still current.",
  headers: Cached,
} as const;

const Path = Type.String();
const Home = Closed(
  {
    name: Type.Literal("Postledger"),
    version: Type.String(),
    status: HealthStatus,
    links: Closed(
      { dashboard: Path, docs: Path, openapi: Path, live: Path, ready: Path },
      { description: "Paths on this host." },
    ),
  },
  { $id: "Home" },
);
const Negotiated = Type.Object({ Vary: Type.String(), "Cache-Control": Type.String() });
const LedOn = Type.Object({ Location: Type.String(), Vary: Type.String() });

/** The standard says what else is in it. */
const OpenApi = Type.Object({ openapi: Type.Literal("3.1.1") }, { additionalProperties: true });

/** The operations that describe the service itself. */
const referenceOperations = operationsOf("Reference", {
  home: {
    summary: "Say what runs here",
    description: "JSON for whoever accepts that rather than HTML; people are led on to the dashboard.",
    success: { status: 200, schema: Home, headers: Negotiated },
    also: [{ status: 303, schema: null, description: "To the dashboard.", headers: LedOn }],
    problems: [],
  },
  openApi: {
    summary: "Read this document",
    headers: Conditional,
    success: { status: 200, schema: OpenApi, headers: Cached },
    also: [unchanged],
    problems: ["RATE_LIMITED"],
  },
  docs: {
    summary: "Read the reference as a page",
    headers: Conditional,
    success: { status: 200, schema: Type.String(), contentType: "text/html; charset=utf-8", headers: Cached },
    also: [unchanged],
    problems: ["RATE_LIMITED"],
  },
});

/** The operation of every route, in the order of the reference page. */
export const operations: Required<Operations> = {
  ...emailOperations,
  ...usageOperations,
  ...templateOperations,
  ...attachmentOperations,
  ...suppressionOperations,
  ...feedbackOperations,
  ...senderOperations,
  ...workspaceOperations,
  ...auditLogOperations,
  ...erasureOperations,
  ...apiKeyOperations,
  ...webhookEndpointOperations,
  ...webhookDeliveryOperations,
  ...healthOperations,
  ...referenceOperations,
};
