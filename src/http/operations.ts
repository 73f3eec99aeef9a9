import { apiKeyOperations } from "./apiKeySchemas.ts";
import { attachmentOperations } from "./attachmentSchemas.ts";
import { auditLogOperations } from "./auditLogSchemas.ts";
import { emailOperations } from "./emailSchemas.ts";
import { erasureOperations } from "./erasureSchemas.ts";
import { healthOperations } from "./healthSchemas.ts";
import type { Operations } from "./operation.ts";
import { referenceOperations } from "./referenceSchemas.ts";
import { senderOperations } from "./senderSchemas.ts";
import { suppressionOperations } from "./suppressionSchemas.ts";
import { templateOperations } from "./templateSchemas.ts";
import { usageOperations } from "./usageSchemas.ts";
import { webhookDeliveryOperations } from "./webhookDeliverySchemas.ts";
import { webhookOperations } from "./webhookSchemas.ts";
import { workspaceOperations } from "./workspaceSchemas.ts";

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
