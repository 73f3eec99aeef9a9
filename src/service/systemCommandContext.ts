import { systemClock } from "../adapters/system/systemClock.ts";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import { newRequestId } from "../kernel/ids.ts";

/** Something that the operator or the system does, not a caller. */
export function systemCommandContext(actor: string): CommandContext {
  return { at: systemClock.now(), correlationId: newRequestId(), actor };
}
