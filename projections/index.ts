import { due } from "./due.ts";
import { emails } from "./emails.ts";
import type { Projection } from "./projection.ts";
import { suppressions } from "./suppressions.ts";
import { templates } from "./templates.ts";
import { webhookEndpoints } from "./webhookEndpoints.ts";

/** Every read model of Postledger. */
export const projections: readonly Projection[] = [emails, webhookEndpoints, suppressions, due, templates];
