import { due } from "./due.ts";
import { emails } from "./emails.ts";
import type { Projection } from "./projection.ts";
import { storage } from "./storage.ts";
import { suppressions } from "./suppressions.ts";
import { webhookEndpoints } from "./webhookEndpoints.ts";

/** Every read model of Postledger. */
export const projections: readonly Projection[] = [emails, webhookEndpoints, suppressions, due, storage];
