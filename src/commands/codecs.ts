import { apiKeyCodec } from "../domain/apiKey/events.ts";
import { apiKeyUseCodec } from "../domain/apiKeyUse/events.ts";
import { attachmentCodec } from "../domain/attachment/events.ts";
import { auditCodec } from "../domain/audit/events.ts";
import { emailCodec } from "../domain/email/events.ts";
import { erasureCodec } from "../domain/erasure/events.ts";
import { instanceCodec } from "../domain/instance/events.ts";
import { logImportCodec } from "../domain/logImport/events.ts";
import { quotaCodec } from "../domain/quota/events.ts";
import { senderCodec } from "../domain/sender/events.ts";
import { serviceRegisterCodec } from "../domain/serviceRegister/events.ts";
import { storageCodec } from "../domain/storage/events.ts";
import { suppressionCodec } from "../domain/suppression/events.ts";
import { templateCodec } from "../domain/template/events.ts";
import { verificationAllowanceCodec } from "../domain/verificationAllowance/events.ts";
import { webhookCodec } from "../domain/webhook/events.ts";
import { webhookDeliveryCodec } from "../domain/webhookDelivery/events.ts";
import { workspaceCodec } from "../domain/workspace/events.ts";
import type { Codec } from "../kernel/codec.ts";
import type { DomainEvent } from "../kernel/decider.ts";

/** The codecs of all nouns: every event type that this program writes and reads. */
export const codecs: readonly Codec<DomainEvent>[] = [
  apiKeyCodec,
  apiKeyUseCodec,
  attachmentCodec,
  auditCodec,
  emailCodec,
  erasureCodec,
  instanceCodec,
  logImportCodec,
  quotaCodec,
  senderCodec,
  serviceRegisterCodec,
  storageCodec,
  suppressionCodec,
  templateCodec,
  verificationAllowanceCodec,
  webhookCodec,
  webhookDeliveryCodec,
  workspaceCodec,
];
