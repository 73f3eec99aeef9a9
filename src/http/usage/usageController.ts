import type { Static } from "@sinclair/typebox";
import { listBounces, listUsage } from "../../../projections/usage/queries.ts";
import type { UsageCursor, UsagePage, UsageRange } from "../../../projections/usage/usageBuckets.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { definedMembers } from "../../kernel/definedMembers.ts";
import { mailOwnerId } from "../../kernel/mail/liveAndTestWorkspaceIds.ts";
import { parseDomain } from "../../kernel/text/emailAddress.ts";
import { DAY_MS, type EpochMs, epochMs, HOUR_MS, parseDateTime, rfc3339 } from "../../kernel/time.ts";
import { dateTime } from "../body/dateTimeText.ts";
import { type ListSource, readInSteps, whenCaughtUp } from "../lists/caughtUpReads.ts";
import {
  decodeCursor,
  encodeCursor,
  notACursor,
  type Page,
  pageItems,
  pageJson,
} from "../lists/cursorPaging.ts";
import { operationController } from "../server/operationController.ts";
import { invalid } from "../server/problem.ts";
import { principalOf } from "../server/requestContext.ts";
import { tagNamesByHash } from "./tagNamesByHash.ts";
import { RANGE_DAYS_DEFAULT, RANGE_DAYS_MAX, type RangeQuery, usageOperations } from "./usageOperations.ts";
import { bouncesJson, usageJson } from "./usageResource.ts";

/** How many messages there were, and their outcomes. */
export function usageController(source: ListSource) {
  const { deps } = source;
  const emails = source.readModel("emails");
  const now = () => deps.clock.now();
  return operationController(deps, usageOperations, {
    showUsage: async ({ query, request }) => {
      const ownerId = mailOwnerId(principalOf(request));
      const wanted = { ...rangeOf(ownerId, query, now()), ...usageFilters(deps, ownerId, query) };
      await whenCaughtUp(emails);
      const page = await readInSteps(emails, (db) => listUsage(db, wanted));
      const { group_by: groupBy } = query;
      const names = groupBy === "tag" ? await tagNamesByHash(source, ownerId, page.rows) : undefined;
      return pageJson(pageOfUsage(page), (row) => usageJson(row, groupBy, names));
    },
    showBounces: async ({ query, request }) => {
      const domain = query.domain === undefined ? undefined : domainOf(query.domain);
      const range = rangeOf(mailOwnerId(principalOf(request)), query, now());
      const wanted = { ...range, ...definedMembers({ domain }) };
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
  return definedMembers({ senderId, templateId: templateId?.toLowerCase(), tag, groupBy });
}

function domainOf(text: string): string {
  const domain = parseDomain(text);
  if (domain === null) throw invalid("/domain", "is not a fully qualified name");
  return domain;
}

/** The first bucket start that is not before `at`. Adjacent ranges therefore share no bucket. */
function nextStart(at: EpochMs, by: "hour" | "day"): string {
  const sizeMs = by === "hour" ? HOUR_MS : DAY_MS;
  return rfc3339(Math.ceil(at / sizeMs) * sizeMs);
}

/** The range that a query asks for. */
function rangeOf(ownerId: string, query: RangeQuery, now: EpochMs): UsageRange {
  const { by = "day", cursor } = query;
  const to = query.to === undefined ? now : epochMs(dateTime("/to", query.to));
  const from =
    query.from === undefined ? to - RANGE_DAYS_DEFAULT[by] * DAY_MS : epochMs(dateTime("/from", query.from));
  if (to < from) throw invalid("/to", "lies before from");
  if (to - from > RANGE_DAYS_MAX[by] * DAY_MS) {
    throw invalid("/to", `lies more than ${RANGE_DAYS_MAX[by]} days after from`);
  }
  const limit = pageItems(query.limit);
  return {
    ownerId,
    from: nextStart(from, by),
    before: nextStart(to, by),
    by,
    limit,
    ...(cursor === undefined ? {} : { after: usageCursorOf(cursor) }),
  };
}

/** A cursor of these lists holds a row's start and group. */
function usageCursorOf(cursor: string): UsageCursor {
  const { createdAt: start, id: group } = decodeCursor(cursor, () => true);
  if (parseDateTime(start) === null) throw notACursor();
  return { start, group };
}

function pageOfUsage<Row>({ rows, next }: UsagePage<Row>): Page<Row> {
  return { shown: rows, nextCursor: next && encodeCursor({ createdAt: next.start, id: next.group }) };
}
