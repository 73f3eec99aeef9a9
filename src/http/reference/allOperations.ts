import { apiKeyOperations } from "../apiKey/apiKeyOperations.ts";
import { attachmentOperations } from "../attachment/attachmentOperations.ts";
import { auditLogOperations } from "../audit/auditLogOperations.ts";
import { emailOperations } from "../email/emailOperations.ts";
import { erasureOperations } from "../erasure/erasureOperations.ts";
import { feedbackOperations } from "../feedback/feedbackOperations.ts";
import { healthOperations } from "../health/healthOperations.ts";
import { senderOperations } from "../sender/senderOperations.ts";
import type { Operations } from "../server/operation.ts";
import { suppressionOperations } from "../suppression/suppressionOperations.ts";
import { templateOperations } from "../template/templateOperations.ts";
import { usageOperations } from "../usage/usageOperations.ts";
import { webhookEndpointOperations } from "../webhook/webhookEndpointOperations.ts";
import { webhookDeliveryOperations } from "../webhookDelivery/webhookDeliveryOperations.ts";
import { workspaceOperations } from "../workspace/workspaceOperations.ts";
import { referenceOperations } from "./referenceOperations.ts";

/** Every operation that the service describes, in the order of the reference page. */
export const operations: Operations = {
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
