import { apiKeyCodec, apiKeyStream } from "../domain/apiKey/events.ts";
import { type ApiKeyState, apiKeyDecider } from "../domain/apiKey/state.ts";
import { attachmentCodec } from "../domain/attachment/events.ts";
import { attachmentDecider } from "../domain/attachment/state.ts";
import { emailCodec } from "../domain/email/events.ts";
import { emailDecider } from "../domain/email/state.ts";
import { erasureCodec } from "../domain/erasure/events.ts";
import { erasureDecider } from "../domain/erasure/state.ts";
import { senderCodec, senderStream } from "../domain/sender/events.ts";
import { type SenderState, senderDecider } from "../domain/sender/state.ts";
import { suppressionCodec } from "../domain/suppression/events.ts";
import { suppressionDecider } from "../domain/suppression/state.ts";
import { type TemplateEvent, templateCodec, templateStream } from "../domain/template/events.ts";
import { type TemplateState, templateDecider } from "../domain/template/state.ts";
import { verificationAllowanceCodec } from "../domain/verificationAllowance/events.ts";
import { verificationAllowanceDecider } from "../domain/verificationAllowance/state.ts";
import { webhookCodec, webhooksStream } from "../domain/webhook/events.ts";
import { type WebhooksState, webhookDecider } from "../domain/webhook/state.ts";
import { webhookDeliveryCodec } from "../domain/webhookDelivery/events.ts";
import { webhookDeliveryDecider } from "../domain/webhookDelivery/state.ts";
import { workspaceCodec, workspaceStream } from "../domain/workspace/events.ts";
import type { WorkspaceLimits } from "../domain/workspace/limits.ts";
import { type WorkspaceState, workspaceDecider } from "../domain/workspace/state.ts";
import type { InstanceKeys } from "../kernel/crypto/derivedKeys.ts";
import { encodeData } from "../kernel/event/codec.ts";
import type { AttachmentInspector } from "../ports/attachmentInspector.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import type { ContentUsage } from "../ports/contentUsage.ts";
import type { DiskSpace } from "../ports/diskSpace.ts";
import type { EventStore } from "../ports/eventStore.ts";
import type { MailOutbox } from "../ports/outboxCleanup.ts";
import type { SuppressionList } from "../ports/suppressionList.ts";
import type { TemplateEngine } from "../ports/templateEngine.ts";
import { type FoldCache, foldCache } from "./aggregateCache.ts";
import { type KeyUse, keyUse } from "./apiKey/apiKeyLastUse.ts";
import type { RecentEmails } from "./email/recentEmailCache.ts";
import type { SendFlights } from "./email/singleFlightSends.ts";
import { type StandingCache, standingCache } from "./instance/instanceStatusCache.ts";
import { type DailyQuota, dailyQuota } from "./quota/dailyQuota.ts";
import { type ContentAllowance, contentAllowance } from "./storage/contentAllowance.ts";
import { type StorageLedger, storageLedger } from "./storage/storageLedger.ts";
import { type CompiledVersions, compiledVersions } from "./template/compiledTemplateCache.ts";

export const apiKeyAggregate = { decider: apiKeyDecider, codec: apiKeyCodec };
export const attachmentAggregate = { decider: attachmentDecider, codec: attachmentCodec };
export const emailAggregate = { decider: emailDecider, codec: emailCodec };
export const erasureAggregate = { decider: erasureDecider, codec: erasureCodec };
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

/** What every command works with. */
export interface Services {
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly clock: Clock;
  readonly keys: InstanceKeys;
  readonly suppressions: SuppressionList;
  readonly inspector: AttachmentInspector;
  readonly templateEngine: TemplateEngine;
  readonly disk: DiskSpace;
  /** Below this many free bytes no send is accepted. */
  readonly diskFreeBytesMin: number;
  /** What a workspace may use unless it was set for itself. */
  readonly limitsDefault: WorkspaceLimits;
  /** Null where nothing is delivered. */
  readonly recent: RecentEmails | null;
  /** The mail that this instance has written to files; null where there is none to look after. */
  readonly outbox: MailOutbox | null;
  readonly apiKeys: FoldCache<ApiKeyState>;
  readonly keyUse: KeyUse;
  readonly senders: FoldCache<SenderState>;
  readonly workspaces: FoldCache<WorkspaceState>;
  /** The endpoints of each workspace. */
  readonly webhooks: FoldCache<WebhooksState>;
  readonly templates: FoldCache<TemplateState>;
  readonly compiled: CompiledVersions;
  readonly quota: DailyQuota;
  readonly storage: StorageLedger;
  readonly contentAllowance: ContentAllowance;
  /** The sends under way. */
  readonly sends: SendFlights;
  /** Whether the log goes on here, and what of it is held. */
  readonly standing: StandingCache;
}

type Made =
  | "apiKeys"
  | "keyUse"
  | "senders"
  | "workspaces"
  | "webhooks"
  | "templates"
  | "compiled"
  | "quota"
  | "storage"
  | "contentAllowance"
  | "sends"
  | "standing";
type Given = Omit<Services, Made | "outbox"> & {
  readonly outbox?: MailOutbox | null;
  /** Left out where nothing is stored. */
  readonly contentUsage?: ContentUsage;
};

/** Adds the caches of what decisions read, and the keepers of limits. */
export function makeServices(given: Given): Services {
  const workspaces = foldCache(given.store, workspaceAggregate, workspaceStream);
  return {
    outbox: null,
    ...given,
    apiKeys: foldCache(given.store, apiKeyAggregate, apiKeyStream),
    keyUse: keyUse(given.store),
    senders: foldCache(given.store, senderAggregate, senderStream),
    workspaces,
    webhooks: foldCache(given.store, webhookAggregate, webhooksStream),
    templates: foldCache(given.store, templateAggregate, templateStream),
    compiled: compiledVersions(given.store, given.templateEngine),
    quota: dailyQuota({ ...given, workspaces }),
    storage: storageLedger({ ...given, workspaces }),
    contentAllowance: contentAllowance(given.contentUsage ?? { bytesOf: () => null }),
    sends: new Map(),
    standing: standingCache(given.store),
  };
}
