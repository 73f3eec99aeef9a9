import type { ApiKeyEvent } from "../domain/apiKey/events.ts";
import type { ApiKeyState } from "../domain/apiKey/state.ts";
import type { SenderEvent } from "../domain/sender/events.ts";
import type { SenderState } from "../domain/sender/state.ts";
import type { TemplateEvent } from "../domain/template/events.ts";
import type { TemplateState } from "../domain/template/state.ts";
import type { WebhookEvent } from "../domain/webhook/events.ts";
import type { WebhooksState } from "../domain/webhook/state.ts";
import type { WorkspaceEvent } from "../domain/workspace/events.ts";
import type { WorkspaceState } from "../domain/workspace/state.ts";
import type { WorkspaceLimits } from "../domain/workspace/workspaceLimits.ts";
import type { InstanceKeys } from "../kernel/crypto/instanceKeys.ts";
import type { AttachmentInspector } from "../ports/attachmentInspector.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import type { DiskSpace } from "../ports/diskSpace.ts";
import type { EventStore } from "../ports/eventStore.ts";
import type { HtmlToText } from "../ports/mail/htmlToText.ts";
import type { OutboxErasure } from "../ports/mail/outboxErasure.ts";
import type { SuppressionList } from "../ports/suppressionList.ts";
import type { TemplateEngine } from "../ports/templateEngine.ts";
import type { AggregateCache } from "./aggregateCache.ts";
import type { ApiKeyLastUse } from "./apiKey/apiKeyLastUse.ts";
import type { DeliveryHandoffCache } from "./email/deliveryHandoffCache.ts";
import type { KnownAcceptances } from "./email/send/knownAcceptances.ts";
import type { SendsInFlight } from "./email/send/sendsInFlight.ts";
import type { InstanceStatusCache } from "./instance/instanceStatusCache.ts";
import type { DailyQuota } from "./quota/dailyQuota.ts";
import type { LimitWatch } from "./quota/limitWatch.ts";
import type { ContentQuota } from "./storage/contentQuota.ts";
import type { FileStorageQuota } from "./storage/fileStorageQuota.ts";
import type { CompiledVersions } from "./template/compiledTemplateCache.ts";
import type { TemplateAllowances } from "./template/templateAllowances.ts";
import type { TemplateScheduler } from "./template/templateScheduler.ts";

/** What a program gives; the others are made of these. */
export interface GivenDependencies {
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly clock: Clock;
  readonly keys: InstanceKeys;
  readonly suppressions: SuppressionList;
  readonly inspector: AttachmentInspector;
  readonly templateEngine: TemplateEngine;
  readonly htmlToText: HtmlToText;
  readonly disk: DiskSpace;
  /** Below this many free bytes no send is accepted. */
  readonly diskFreeBytesMin: number;
  /** The limits of a workspace that has none of its own. */
  readonly limitsDefault: WorkspaceLimits;
  /** What this instance has accepted and will deliver next; null if it delivers no mail. */
  readonly recentEmails: DeliveryHandoffCache | null;
}

export interface Dependencies extends GivenDependencies {
  /** Removes mail that this instance has written to files; null if it writes none. */
  readonly outbox: OutboxErasure | null;
  readonly apiKeys: AggregateCache<ApiKeyState, ApiKeyEvent>;
  readonly apiKeyLastUse: ApiKeyLastUse;
  readonly senders: AggregateCache<SenderState, SenderEvent>;
  readonly workspaces: AggregateCache<WorkspaceState, WorkspaceEvent>;
  /** The endpoints of each workspace. */
  readonly webhooks: AggregateCache<WebhooksState, WebhookEvent>;
  readonly templates: AggregateCache<TemplateState, TemplateEvent>;
  readonly compiled: CompiledVersions;
  readonly templateScheduler: TemplateScheduler;
  readonly templateAllowances: TemplateAllowances;
  /** Which limits are nearly used up. */
  readonly limitWatch: LimitWatch;
  readonly quota: DailyQuota;
  readonly storage: FileStorageQuota;
  readonly contentQuota: ContentQuota;
  readonly sendsInFlight: SendsInFlight;
  readonly acceptances: KnownAcceptances;
  /** Whether the log goes on here, and whether delivery is held. */
  readonly instanceStatus: InstanceStatusCache;
}
