import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { LogImportEvent } from "./events.ts";

export interface LogImport {
  /** The export that is imported. */
  readonly exportId: string;
  /** The id of this copy, recorded with the restoration. */
  readonly copyId: string;
  readonly isFinished: boolean;
}

/** `null` in a store whose log was not imported. */
type LogImportState = LogImport | null;

function evolve(state: LogImportState, event: LogImportEvent): LogImportState {
  switch (event.type) {
    case "LogImportStarted":
      return { ...event.data, isFinished: false };
    case "LogImportFinished":
      return state && { ...state, isFinished: true };
    default:
      return never(event);
  }
}

export const logImportDecider: Decider<LogImportState, LogImportEvent> = { initialState: null, evolve };
