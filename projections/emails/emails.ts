import type { Projection } from "../projection.ts";
import { apply, EVENTS } from "./apply.ts";
import { TABLES } from "./tables.ts";

/**
 * One row per message, with what lists, filters and the delivery queue need but no address; and counts by hour.
 * `workspace_id` here is the id of the mail owner. For test mail that differs from the workspace's id (`mailOwnerId`),
 * so no list or count of live mail includes it.
 */
export const emails: Projection<"emails"> = {
  name: "emails",
  version: 22,
  events: EVENTS,
  tables: TABLES,
  apply,
};
