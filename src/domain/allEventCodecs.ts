import type { DomainEvent } from "../kernel/event/decider.ts";
import type { Codec } from "../kernel/event/eventCodec.ts";
import { apiKeyCodec, apiKeyStream } from "./apiKey/events.ts";
import { apiKeyUseCodec, apiKeyUseStream } from "./apiKeyUse/events.ts";
import { attachmentCodec, attachmentStream } from "./attachment/events.ts";
import { AUDIT_STREAM, auditCodec } from "./audit/events.ts";
import { emailCodec, emailStream } from "./email/events.ts";
import { erasureCodec, erasureStream } from "./erasure/events.ts";
import { INSTANCE_STREAM, instanceCodec } from "./instance/events.ts";
import { IMPORT_STREAM, logImportCodec } from "./logImport/events.ts";
import { quotaCodec } from "./quota/events.ts";
import { senderCodec, senderStream } from "./sender/events.ts";
import { SERVICES_STREAM, serviceRegistryCodec } from "./serviceRegistry/events.ts";
import { storageCodec, storageStream } from "./storage/events.ts";
import { suppressionCodec, suppressionStream } from "./suppression/events.ts";
import { templateCodec, templateStream } from "./template/events.ts";
import { verificationMailLimitCodec } from "./verificationMailLimit/events.ts";
import { webhookCodec, webhooksStream } from "./webhook/events.ts";
import { webhookDeliveryCodec, webhookDeliveryStream } from "./webhookDelivery/events.ts";
import { workspaceCodec, workspaceStream } from "./workspace/events.ts";

/** The codec of each category of streams (the name up to the first hyphen), and of each single stream. */
export const CODEC_OF_STREAMS = [
  [apiKeyStream(""), apiKeyCodec],
  [apiKeyUseStream(""), apiKeyUseCodec],
  [attachmentStream(""), attachmentCodec],
  [AUDIT_STREAM, auditCodec],
  [emailStream(""), emailCodec],
  [erasureStream(""), erasureCodec],
  [INSTANCE_STREAM, instanceCodec],
  [IMPORT_STREAM, logImportCodec],
  ["quota-", quotaCodec],
  [senderStream(""), senderCodec],
  [SERVICES_STREAM, serviceRegistryCodec],
  [storageStream(""), storageCodec],
  [suppressionStream(""), suppressionCodec],
  [templateStream(""), templateCodec],
  ["verificationallowance-", verificationMailLimitCodec],
  [webhooksStream(""), webhookCodec],
  [webhookDeliveryStream(""), webhookDeliveryCodec],
  [workspaceStream(""), workspaceCodec],
] as const satisfies readonly (readonly [string, Codec<DomainEvent>])[];

/** Every event that this program writes and reads. */
export type LogEvent = ReturnType<(typeof CODEC_OF_STREAMS)[number][1]["decode"]>;

export const codecs: readonly Codec<LogEvent>[] = CODEC_OF_STREAMS.map(([, codec]) => codec);

const codecByType: ReadonlyMap<string, Codec<LogEvent>> = new Map(
  codecs.flatMap((codec) => codec.types.map((type) => [type, codec] as const)),
);

/** The codec of an event type; undefined if this program does not know the type. */
export function codecOfType(type: string): Codec<LogEvent> | undefined {
  return codecByType.get(type);
}
