import type { Static } from "@sinclair/typebox";
import { listBounces, listUsage } from "../../../projections/emails/usage/queries.ts";
import type { UsagePage } from "../../../projections/emails/usage/usageBuckets.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { mailOwnerId } from "../../kernel/liveOrTestOwner.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { parseDomain } from "../../kernel/text/emailAddress.ts";
import { type ListSource, readInSteps, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { encodeCursor, type Page, pageJson } from "../lists/cursorPaging.ts";
import { operationController } from "../server/operationController.ts";
import { invalid } from "../server/problem.ts";
import { tagNamesByHash } from "./tagNamesByHash.ts";
import { usageOperations } from "./usageOperations.ts";
import { usageRange } from "./usageRange.ts";
import { bouncesJson, usageJson } from "./usageResource.ts";

/** How many messages there were, and their outcomes. */
export function usageController(source: ListSource) {
  const { deps } = source;
  const emails = source.readModel("emails");
  const now = () => deps.clock.now();
  return operationController(deps, usageOperations, {
    showUsage: async ({ query, caller }) => {
      const ownerId = mailOwnerId(caller.principal);
      const wanted = { ...usageRange(ownerId, query, now()), ...usageFilters(deps, ownerId, query) };
      await whenCaughtUp(emails);
      const page = await readInSteps(emails, (db) => listUsage(db, wanted));
      const { group_by: groupBy } = query;
      const names = groupBy === "tag" ? await tagNamesByHash(source, ownerId, page.rows) : undefined;
      return pageJson(pageOfUsage(page), (row) => usageJson(row, groupBy, names));
    },
    showBounces: async ({ query, caller }) => {
      const domain = query.domain === undefined ? undefined : domainOf(query.domain);
      const range = usageRange(mailOwnerId(caller.principal), query, now());
      const wanted = { ...range, ...omitUndefined({ domain }) };
      await whenCaughtUp(emails);
      const page = await readInSteps(emails, (db) => listBounces(db, wanted));
      return pageJson(pageOfUsage(page), bouncesJson);
    },
  });
}

type UsageFilters = Static<typeof usageOperations.showUsage.query>;

function usageFilters({ keys }: Dependencies, ownerId: string, query: UsageFilters) {
  const { sender_id: senderId, template_id: templateId, tag: name, group_by: groupBy } = query;
  const isByTag = name !== undefined || groupBy === "tag";
  const others = [senderId, templateId, groupBy === "tag" ? undefined : groupBy];
  if (isByTag && others.some((other) => other !== undefined))
    throw invalid("/tag", "goes with no other filter, and with group_by=tag alone");
  const tag = name === undefined ? undefined : keys.hashTag(ownerId, name);
  return omitUndefined({ senderId, templateId: templateId?.toLowerCase(), tag, groupBy });
}

function domainOf(text: string): string {
  const domain = parseDomain(text);
  if (domain === null) throw invalid("/domain", "is not a fully qualified name");
  return domain;
}

function pageOfUsage<Row>({ rows, next }: UsagePage<Row>): Page<Row> {
  return { shown: rows, nextCursor: next && encodeCursor({ createdAt: next.start, id: next.group }) };
}
