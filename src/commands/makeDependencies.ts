import { apiKeyStream } from "../domain/apiKey/events.ts";
import { senderStream } from "../domain/sender/events.ts";
import { templateStream } from "../domain/template/events.ts";
import { webhooksStream } from "../domain/webhook/events.ts";
import { workspaceStream } from "../domain/workspace/events.ts";
import type { ContentUsage } from "../ports/contentUsage.ts";
import type { MailOutbox } from "../ports/outboxCleanup.ts";
import { foldCache } from "./aggregateCache.ts";
import {
  apiKeyAggregate,
  senderAggregate,
  templateAggregate,
  webhookAggregate,
  workspaceAggregate,
} from "./aggregates.ts";
import { keyUse } from "./apiKey/apiKeyLastUse.ts";
import type { Dependencies } from "./dependencies.ts";
import { standingCache } from "./instance/instanceStatusCache.ts";
import { dailyQuota } from "./quota/dailyQuota.ts";
import { contentAllowance } from "./storage/contentAllowance.ts";
import { storageLedger } from "./storage/storageLedger.ts";
import { compiledVersions } from "./template/compiledTemplateCache.ts";

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
type Given = Omit<Dependencies, Made | "outbox"> & {
  readonly outbox?: MailOutbox | null;
  /** Left out where nothing is stored. */
  readonly contentUsage?: ContentUsage;
};

/** Adds the caches of what decisions read, and the keepers of limits. */
export function makeDependencies(given: Given): Dependencies {
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
