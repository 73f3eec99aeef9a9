import { apiKeyOperations } from "../apiKey/apiKeySchemas.ts";
import { attachmentOperations } from "../attachment/attachmentSchemas.ts";
import { auditLogOperations } from "../audit/auditLogSchemas.ts";
import { emailOperations } from "../email/emailSchemas.ts";
import { erasureOperations } from "../erasure/erasureSchemas.ts";
import { healthOperations } from "../health/healthSchemas.ts";
import { senderOperations } from "../sender/senderSchemas.ts";
import type { Operations } from "../server/operation.ts";
import { suppressionOperations } from "../suppression/suppressionSchemas.ts";
import { templateOperations } from "../template/templateSchemas.ts";
import { usageOperations } from "../usage/usageSchemas.ts";
import { webhookOperations } from "../webhook/webhookEndpointSchemas.ts";
import { webhookDeliveryOperations } from "../webhookDelivery/webhookDeliverySchemas.ts";
import { workspaceOperations } from "../workspace/workspaceSchemas.ts";
import { referenceOperations } from "./referenceSchemas.ts";

/** Every operation that the service describes, in the order of the reference page. */
export const operations: Operations = {
  ...emailOperations,
  ...usageOperations,
  ...templateOperations,
  ...attachmentOperations,
  ...suppressionOperations,
  ...senderOperations,
  ...workspaceOperations,
  ...auditLogOperations,
  ...erasureOperations,
  ...apiKeyOperations,
  ...webhookOperations,
  ...webhookDeliveryOperations,
  ...healthOperations,
  ...referenceOperations,
};
