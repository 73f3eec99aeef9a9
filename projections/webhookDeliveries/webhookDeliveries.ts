import type { Projection } from "../projection.ts";
import { apply, EVENTS } from "./apply.ts";
import { TABLES } from "./tables.ts";

/** The deliveries of each event to each subscribed endpoint, including missed ones, with their status. */
export const webhookDeliveries: Projection<"webhook-deliveries"> = {
  name: "webhook-deliveries",
  version: 8,
  events: EVENTS,
  tables: TABLES,
  apply,
};
