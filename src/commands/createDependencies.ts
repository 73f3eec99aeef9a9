import { InFlightMap } from "../kernel/shortLivedCollections.ts";
import type { ContentBytesUsed } from "../ports/contentBytesUsed.ts";
import type { OutboxErasure } from "../ports/mail/outboxErasure.ts";
import { aggregateCache } from "./aggregateCache.ts";
import {
  apiKeyAggregate,
  senderAggregate,
  templateAggregate,
  webhookAggregate,
  workspaceAggregate,
} from "./aggregateDefinitions.ts";
import { apiKeyLastUse } from "./apiKey/apiKeyLastUse.ts";
import type { Dependencies, GivenDependencies } from "./dependencies.ts";
import { knownAcceptances, type ListedAcceptance } from "./email/send/knownAcceptances.ts";
import { instanceStatusCache } from "./instance/instanceStatusCache.ts";
import { dailyQuota } from "./quota/dailyQuota.ts";
import { limitWatch, type NearLimit } from "./quota/limitWatch.ts";
import { contentQuota } from "./storage/contentQuota.ts";
import { fileStorageQuota } from "./storage/fileStorageQuota.ts";
import { compiledVersions } from "./template/compiledTemplateCache.ts";
import { templateAllowances } from "./template/templateAllowances.ts";
import { templateScheduler } from "./template/templateScheduler.ts";

interface Given extends GivenDependencies {
  readonly outbox?: OutboxErasure | null;
  /** Left out where a lost append costs hardly more than a query of the read model. */
  readonly listedAcceptance?: ListedAcceptance;
  /** Left out if nothing is stored. */
  readonly contentUsage?: ContentBytesUsed;
  /** Left out if nobody is to be warned of limits that are nearly used up. */
  readonly onNearLimit?: (near: NearLimit) => void;
}

/** Adds the caches that decisions read, and the quotas. */
export function createDependencies(given: Given): Dependencies {
  const workspaces = aggregateCache(given.store, workspaceAggregate);
  const allowances = templateAllowances(given.clock);
  const watch = limitWatch(given);
  const tools = { ...given, templateScheduler: templateScheduler(given.clock, allowances) };
  return {
    outbox: null,
    ...given,
    apiKeys: aggregateCache(given.store, apiKeyAggregate),
    apiKeyLastUse: apiKeyLastUse(given.store),
    senders: aggregateCache(given.store, senderAggregate),
    workspaces,
    webhooks: aggregateCache(given.store, webhookAggregate),
    templates: aggregateCache(given.store, templateAggregate),
    compiled: compiledVersions(given.store, tools),
    templateScheduler: tools.templateScheduler,
    templateAllowances: allowances,
    limitWatch: watch,
    quota: dailyQuota({ ...given, workspaces, limitWatch: watch }),
    storage: fileStorageQuota({ ...given, workspaces, limitWatch: watch }),
    contentQuota: contentQuota(given.contentUsage ?? { bytesOf: () => null }, watch),
    sendsInFlight: new InFlightMap(),
    acceptances: knownAcceptances(given.listedAcceptance ?? (() => null)),
    instanceStatus: instanceStatusCache(given.store),
  };
}
