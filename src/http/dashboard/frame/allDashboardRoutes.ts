import { apiKeyRoutes } from "../apiKey/apiKeyRoutes.tsx";
import { attachmentRoutes } from "../attachment/attachmentRoutes.tsx";
import { auditLogRoutes } from "../audit/auditLogRoutes.tsx";
import { backupAndExportRoutes } from "../audit/backupAndExportRoutes.tsx";
import { emailActionRoutes } from "../email/emailActionRoutes.tsx";
import { emailListRoutes } from "../email/emailListRoutes.tsx";
import { emailRoutes } from "../email/emailRoutes.tsx";
import { matchingEmailsRoutes } from "../email/matchingEmailsRoutes.tsx";
import { rescheduleRoutes } from "../email/rescheduleRoutes.tsx";
import { erasureRoutes } from "../erasure/erasureRoutes.tsx";
import { buildAndSessionPolls } from "../live/buildAndSessionPolls.tsx";
import { liveRoutes } from "../live/liveRoutes.ts";
import type { LiveStreams } from "../live/liveStreams.ts";
import { maintenanceRoutes } from "../maintenance/maintenanceRoutes.tsx";
import { newEmailRoutes } from "../newEmail/newEmailRoutes.tsx";
import { outboxRoutes } from "../outbox/outboxRoutes.tsx";
import { overviewRoutes } from "../overview/overviewRoutes.tsx";
import { senderRoutes } from "../sender/senderRoutes.tsx";
import { suppressionRoutes } from "../suppression/suppressionRoutes.tsx";
import { draftRoutes } from "../template/draftRoutes.tsx";
import { templateRoutes } from "../template/templateRoutes.tsx";
import { testSendRoutes } from "../template/testSendRoutes.tsx";
import { versionRoutes } from "../template/versionRoutes.tsx";
import { deliveryRoutes } from "../webhook/deliveryRoutes.tsx";
import { endpointActionRoutes } from "../webhook/endpointActionRoutes.tsx";
import { endpointListRoutes } from "../webhook/endpointListRoutes.tsx";
import { endpointRoutes } from "../webhook/endpointRoutes.tsx";
import { workspaceRoutes } from "../workspace/workspaceRoutes.tsx";
import type { DashboardOptions } from "./dashboardOptions.ts";
import type { DashboardRoute } from "./dashboardRoute.ts";

/**
 * Every page and action of the dashboard. What is not listed here does not exist. If two match a path the first one
 * counts: `/messages/new` comes before `/messages/:id`, and `/webhooks/new` before `/webhooks/:id`.
 */
export function allDashboardRoutes(
  options: DashboardOptions,
  streams: LiveStreams,
): readonly DashboardRoute[] {
  return [
    ...overviewRoutes(options),
    ...emailListRoutes(options),
    ...matchingEmailsRoutes(options),
    ...newEmailRoutes(options),
    ...emailRoutes(options),
    ...emailActionRoutes(options),
    ...rescheduleRoutes(options),
    ...outboxRoutes(options),
    ...templateRoutes(options),
    ...versionRoutes(options),
    ...draftRoutes(options),
    ...testSendRoutes(options),
    ...attachmentRoutes(options),
    ...suppressionRoutes(options),
    ...senderRoutes(options),
    ...apiKeyRoutes(options),
    ...workspaceRoutes(options),
    ...endpointListRoutes(options),
    ...endpointRoutes(options),
    ...endpointActionRoutes(options),
    ...deliveryRoutes(options),
    ...auditLogRoutes(options),
    ...maintenanceRoutes(options),
    ...backupAndExportRoutes(options),
    ...erasureRoutes(options),
    ...liveRoutes(options, streams),
    ...buildAndSessionPolls(),
  ];
}
