import type { Logger } from "pino";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { FollowEvent } from "../../readModels/follow/followerThreadMessages.ts";

export const LOG_CUT_SHORT = `the newest events of the log are gone: the read models had already seen later ones. What was accepted last is lost. Earlier mail that is not finished may have been sent, so it is held until \`${POSTLEDGER} delivery resume\`. Was the log replaced by an older copy, or the file events.db-wal removed?`;

const THREAD_FAILED =
  "the read models' thread failed: lists show nothing new, and what is not delivered at once waits. It is restarted until it works";

const DISCARDED =
  "a rebuilt read model was given up, because it could not be brought up to date; lists use the one from before";

/** Trouble that comes and goes for one reason is logged at most this often. */
const REPEAT_MS_MIN = 60_000;

interface Trouble {
  readonly reason: string;
  readonly state: "told" | "untold" | "over";
  readonly toldAt: number;
}

/** Decides whether to log that trouble began, also for another reason, and that it is over. */
class Troubles {
  private readonly troubles = new Map<string, Trouble>();

  begins(what: string, reason: string): boolean {
    const last = this.troubles.get(what);
    const now = performance.now();
    const isSame = last?.reason === reason;
    if (isSame && last.state !== "over") return false;
    const isTold = !isSame || now - last.toldAt >= REPEAT_MS_MIN;
    this.troubles.set(what, isTold ? { reason, state: "told", toldAt: now } : { ...last, state: "untold" });
    return isTold;
  }

  ends(what: string): boolean {
    const last = this.troubles.get(what);
    if (last === undefined) return false;
    this.troubles.set(what, { ...last, state: "over" });
    return last.state === "told";
  }
}

/** Stands for the thread, where others have a read model's name. */
const THREAD = "";

/** Logs what an operator should know about the read models: a line when something changes. */
export function readModelLog(logger: Logger): (event: FollowEvent) => void {
  const troubles = new Troubles();
  return (event) => {
    switch (event.type) {
      case "renewed":
        return logger.warn({ reason: event.reason }, "the read models are being rebuilt");
      case "logCutShort":
        return logger.error(
          `${LOG_CUT_SHORT} Start the service again: what it remembers is of the log as it was`,
        );
      case "interrupted":
        if (!troubles.begins(THREAD, event.reason)) return;
        return logger.error({ reason: event.reason }, THREAD_FAILED);
      case "progress":
        if (troubles.ends(THREAD)) logger.info("the read models' thread works again");
        return;
      case "failed":
        if (!troubles.begins(event.name, event.reason)) return;
        return logger.error({ readModel: event.name, reason: event.reason }, "read model stopped");
      case "joined":
        if (troubles.ends(event.name)) logger.info({ readModel: event.name }, "the read model goes on");
        return;
      case "discarded":
        return logger.error({ readModel: event.name, reason: event.reason }, DISCARDED);
    }
  };
}
