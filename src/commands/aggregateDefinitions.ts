import { apiKeyCodec } from "../domain/apiKey/events.ts";
import { apiKeyDecider } from "../domain/apiKey/state.ts";
import { attachmentCodec } from "../domain/attachment/events.ts";
import { attachmentDecider } from "../domain/attachment/state.ts";
import { emailCodec } from "../domain/email/events.ts";
import { emailDecider } from "../domain/email/state.ts";
import { erasureCodec } from "../domain/erasure/events.ts";
import { erasureDecider } from "../domain/erasure/state.ts";
import { instanceCodec } from "../domain/instance/events.ts";
import { instanceDecider } from "../domain/instance/state.ts";
import { logImportCodec } from "../domain/logImport/events.ts";
import { logImportDecider } from "../domain/logImport/state.ts";
import { senderCodec } from "../domain/sender/events.ts";
import { senderDecider } from "../domain/sender/state.ts";
import { suppressionCodec } from "../domain/suppression/events.ts";
import { suppressionDecider } from "../domain/suppression/state.ts";
import { type TemplateEvent, templateCodec } from "../domain/template/events.ts";
import { templateDecider } from "../domain/template/state.ts";
import { verificationAllowanceCodec } from "../domain/verificationAllowance/events.ts";
import { verificationAllowanceDecider } from "../domain/verificationAllowance/state.ts";
import { webhookCodec } from "../domain/webhook/events.ts";
import { webhookDecider } from "../domain/webhook/state.ts";
import { webhookDeliveryCodec } from "../domain/webhookDelivery/events.ts";
import { webhookDeliveryDecider } from "../domain/webhookDelivery/state.ts";
import { workspaceCodec } from "../domain/workspace/events.ts";
import { workspaceDecider } from "../domain/workspace/state.ts";
import { encodeData } from "../kernel/event/codec.ts";

export const apiKeyAggregate = { decider: apiKeyDecider, codec: apiKeyCodec };
export const attachmentAggregate = { decider: attachmentDecider, codec: attachmentCodec };
export const emailAggregate = { decider: emailDecider, codec: emailCodec };
export const erasureAggregate = { decider: erasureDecider, codec: erasureCodec };
export const instanceAggregate = { decider: instanceDecider, codec: instanceCodec };
/** How far the import of a log into this store has come. */
export const logImportAggregate = { decider: logImportDecider, codec: logImportCodec };
export const senderAggregate = { decider: senderDecider, codec: senderCodec };
export const suppressionAggregate = { decider: suppressionDecider, codec: suppressionCodec };
export const verificationAllowanceAggregate = {
  decider: verificationAllowanceDecider,
  codec: verificationAllowanceCodec,
};
export const templateAggregate = {
  decider: templateDecider,
  codec: templateCodec,
  encode: encodeTemplateEvent,
};
export const webhookAggregate = { decider: webhookDecider, codec: webhookCodec };
export const webhookDeliveryAggregate = { decider: webhookDeliveryDecider, codec: webhookDeliveryCodec };
export const workspaceAggregate = { decider: workspaceDecider, codec: workspaceCodec };

function encodeTemplateEvent(event: TemplateEvent): object {
  const { type, data } = event;
  return type === "TemplateVersionDrafted" ? encodeData(data, Buffer.byteLength(JSON.stringify(data))) : data;
}
