import { apiKeyCodec, apiKeyStream } from "../domain/apiKey/events.ts";
import { apiKeyDecider } from "../domain/apiKey/state.ts";
import { attachmentCodec, attachmentStream } from "../domain/attachment/events.ts";
import { attachmentDecider } from "../domain/attachment/state.ts";
import { emailCodec, emailStream } from "../domain/email/events.ts";
import { emailDecider } from "../domain/email/state.ts";
import { erasureCodec, erasureStream } from "../domain/erasure/events.ts";
import { erasureDecider } from "../domain/erasure/state.ts";
import { INSTANCE_STREAM, instanceCodec } from "../domain/instance/events.ts";
import { instanceDecider } from "../domain/instance/state.ts";
import { IMPORT_STREAM, logImportCodec } from "../domain/logImport/events.ts";
import { logImportDecider } from "../domain/logImport/state.ts";
import { senderCodec, senderStream } from "../domain/sender/events.ts";
import { senderDecider } from "../domain/sender/state.ts";
import { suppressionCodec, suppressionStream } from "../domain/suppression/events.ts";
import { suppressionDecider } from "../domain/suppression/state.ts";
import { type TemplateEvent, templateCodec, templateStream } from "../domain/template/events.ts";
import { templateDecider } from "../domain/template/state.ts";
import { verificationMailLimitCodec } from "../domain/verificationMailLimit/events.ts";
import { verificationMailLimitDecider } from "../domain/verificationMailLimit/state.ts";
import { webhookCodec, webhooksStream } from "../domain/webhook/events.ts";
import { webhookDecider } from "../domain/webhook/state.ts";
import { webhookDeliveryCodec, webhookDeliveryStream } from "../domain/webhookDelivery/events.ts";
import { webhookDeliveryDecider } from "../domain/webhookDelivery/state.ts";
import { workspaceCodec, workspaceStream } from "../domain/workspace/events.ts";
import { workspaceDecider } from "../domain/workspace/state.ts";
import type { Decider, DomainEvent } from "../kernel/event/decider.ts";
import { type Codec, encodeData } from "../kernel/event/eventCodec.ts";
import type { AggregateKind } from "./transact.ts";

/** What all aggregates of a kind share, and `of(id)`, the one with this id. */
function aggregateOf<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  codec: Codec<Event>,
  streamOf: (id: string) => string,
  encode?: (event: Event) => object,
): AggregateKind<State, Event> {
  const shared = { decider, codec, ...(encode && { encode }) };
  return { ...shared, of: (id) => ({ ...shared, stream: streamOf(id) }) };
}

export const apiKeyAggregate = aggregateOf(apiKeyDecider, apiKeyCodec, apiKeyStream);
export const attachmentAggregate = aggregateOf(attachmentDecider, attachmentCodec, attachmentStream);
export const emailAggregate = aggregateOf(emailDecider, emailCodec, emailStream);
export const erasureAggregate = aggregateOf(erasureDecider, erasureCodec, erasureStream);
export const instanceAggregate = { decider: instanceDecider, codec: instanceCodec, stream: INSTANCE_STREAM };
/** The progress of a log import into this store. */
export const logImportAggregate = { decider: logImportDecider, codec: logImportCodec, stream: IMPORT_STREAM };
export const senderAggregate = aggregateOf(senderDecider, senderCodec, senderStream);
export const suppressionAggregate = aggregateOf(suppressionDecider, suppressionCodec, suppressionStream);
/** Named by their streams, because there are some for senders, for addresses and for workspaces. */
export const verificationMailLimitAggregate = aggregateOf(
  verificationMailLimitDecider,
  verificationMailLimitCodec,
  (stream) => stream,
);
export const templateAggregate = aggregateOf(
  templateDecider,
  templateCodec,
  templateStream,
  encodeTemplateEvent,
);
export const webhookAggregate = aggregateOf(webhookDecider, webhookCodec, webhooksStream);
export const webhookDeliveryAggregate = aggregateOf(
  webhookDeliveryDecider,
  webhookDeliveryCodec,
  webhookDeliveryStream,
);
export const workspaceAggregate = aggregateOf(workspaceDecider, workspaceCodec, workspaceStream);

function encodeTemplateEvent(event: TemplateEvent): object {
  const { type, data } = event;
  return type === "TemplateVersionDrafted" ? encodeData(data) : data;
}
