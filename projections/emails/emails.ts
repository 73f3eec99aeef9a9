import type { Projection } from "../projection.ts";
import { apply, EVENTS } from "./apply.ts";
import { TABLES } from "./tables.ts";

/**
 * One row a message: what lists, filters and the queue of delivery need, and no address; and how many there were, by
 * hour. `workspace_id` is here the id of the mail's owner: of test mail it is not the workspace's own (`mailOwnerId`), so
 * that no list and no count of live mail meets it.
 */
export const emails: Projection = {
  name: "emails",
  version: 15,
  events: EVENTS,
  tables: TABLES,
  apply,
};
