import type { Decision } from "../../kernel/event/decider.ts";
import type { InstanceEvent } from "./events.ts";
import type { InstanceState } from "./state.ts";

/** Says that events of this format are about to be written. A log that is at it already, or past it, stays as it is. */
export function raiseLogFormat(state: InstanceState, format: number): Decision<null, InstanceEvent> {
  const isRaised = state !== null && state.format < format;
  return { outcome: null, events: isRaised ? [{ type: "LogFormatRaised", data: { format } }] : [] };
}
