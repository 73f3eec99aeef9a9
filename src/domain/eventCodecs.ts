import type { Codec } from "../kernel/event/codec.ts";
import type { DomainEvent } from "../kernel/event/decider.ts";
import { apiKeyCodec } from "./apiKey/events.ts";
import { apiKeyUseCodec } from "./apiKeyUse/events.ts";
import { attachmentCodec } from "./attachment/events.ts";
import { auditCodec } from "./audit/events.ts";
import { emailCodec } from "./email/events.ts";
import { erasureCodec } from "./erasure/events.ts";
import { instanceCodec } from "./instance/events.ts";
import { logImportCodec } from "./log/events.ts";
import { quotaCodec } from "./quota/events.ts";
import { senderCodec } from "./sender/events.ts";
import { serviceRegisterCodec } from "./serviceRegister/events.ts";
import { storageCodec } from "./storage/events.ts";
import { suppressionCodec } from "./suppression/events.ts";
import { templateCodec } from "./template/events.ts";
import { verificationAllowanceCodec } from "./verificationAllowance/events.ts";
import { webhookCodec } from "./webhook/events.ts";
import { webhookDeliveryCodec } from "./webhookDelivery/events.ts";
import { workspaceCodec } from "./workspace/events.ts";

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
