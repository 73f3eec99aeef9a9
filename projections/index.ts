import { apiKeys } from "./apiKeys.ts";
import { attachments } from "./attachments.ts";
import { attachmentUse } from "./attachmentUse.ts";
import { auditLog } from "./auditLog/auditLog.ts";
import { emails } from "./emails/emails.ts";
import { erasures } from "./erasures.ts";
import type { Projection } from "./projection.ts";
import { senders } from "./senders.ts";
import { stopAtNewerFormat } from "./stopAtNewerFormat.ts";
import { storageReservations } from "./storageReservations.ts";
import { suppressions } from "./suppressions.ts";
import { templates } from "./templates.ts";
import { webhookDeliveries } from "./webhookDeliveries/webhookDeliveries.ts";
import { webhookEndpoints } from "./webhookEndpoints.ts";

const all = [
  emails,
  webhookEndpoints,
  suppressions,
  senders,
  webhookDeliveries,
  attachments,
  attachmentUse,
  apiKeys,
  templates,
  storageReservations,
  erasures,
  auditLog,
] as const;

type Named = (typeof all)[number]["name"];
/** The names. One that is declared without its own, as `Projection` alone, would let any name pass: then there are none. */
type Name = string extends Named ? never : Named;

/** Every read model of Postledger. */
export const projections: readonly Projection<Name>[] = all.map((projection) =>
  stopAtNewerFormat(projection),
);
