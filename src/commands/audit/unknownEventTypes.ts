import { apiKeyCodec, apiKeyStream } from "../../domain/apiKey/events.ts";
import { apiKeyUseCodec, apiKeyUseStream } from "../../domain/apiKeyUse/events.ts";
import { attachmentCodec, attachmentStream } from "../../domain/attachment/events.ts";
import { AUDIT_STREAM, auditCodec } from "../../domain/audit/events.ts";
import { emailCodec, emailStream } from "../../domain/email/events.ts";
import { erasureCodec, erasureStream } from "../../domain/erasure/events.ts";
import { INSTANCE_STREAM, instanceCodec } from "../../domain/instance/events.ts";
import { logImportCodec } from "../../domain/log/events.ts";
import { quotaCodec } from "../../domain/quota/events.ts";
import { senderCodec, senderStream } from "../../domain/sender/events.ts";
import { serviceRegisterCodec } from "../../domain/serviceRegister/events.ts";
import { storageCodec, storageStream } from "../../domain/storage/events.ts";
import { suppressionCodec, suppressionStream } from "../../domain/suppression/events.ts";
import { templateCodec, templateStream } from "../../domain/template/events.ts";
import { verificationAllowanceCodec } from "../../domain/verificationAllowance/events.ts";
import { webhookCodec, webhooksStream } from "../../domain/webhook/events.ts";
import { webhookDeliveryCodec, webhookDeliveryStream } from "../../domain/webhookDelivery/events.ts";
import { workspaceCodec, workspaceStream } from "../../domain/workspace/events.ts";
import { IMPORT_STREAM, SERVICES_STREAM } from "../../kernel/event/systemEvents.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";

/** Ids and keyed hashes, and nothing that looks like one of their characters and is another. */
const NAME = /^([a-z]+)(?:-[A-Za-z0-9_-]{1,200})?$/;

const SINGLE_STREAMS = [
  [INSTANCE_STREAM, instanceCodec],
  [AUDIT_STREAM, auditCodec],
  [IMPORT_STREAM, logImportCodec],
  [SERVICES_STREAM, serviceRegisterCodec],
] as const;
/** By what stands before the first hyphen. */
const CATEGORIES = [
  [apiKeyStream(""), apiKeyCodec],
  [apiKeyUseStream(""), apiKeyUseCodec],
  [attachmentStream(""), attachmentCodec],
  [emailStream(""), emailCodec],
  [erasureStream(""), erasureCodec],
  ["quota-", quotaCodec],
  [senderStream(""), senderCodec],
  [storageStream(""), storageCodec],
  [suppressionStream(""), suppressionCodec],
  [templateStream(""), templateCodec],
  ["verificationallowance-", verificationAllowanceCodec],
  [webhookDeliveryStream(""), webhookDeliveryCodec],
  [webhooksStream(""), webhookCodec],
  [workspaceStream(""), workspaceCodec],
] as const;

const TYPES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...SINGLE_STREAMS, ...CATEGORIES].map(([name, { types }]) => [name, new Set(types)]),
);

/** Why an event is none that Postledger writes, as far as its stream's name and its type say; null when it may be. */
export function unknownEvent({ stream, type }: Pick<RecordedEvent, "stream" | "type">): string | null {
  const category = NAME.exec(stream)?.[1];
  const types = TYPES.get(category === stream ? stream : `${category}-`);
  if (types === undefined) return "Postledger writes no stream of such a name, as far as this release knows";
  return types.has(type) ? null : `this release writes no ${JSON.stringify(type)} in such a stream`;
}
