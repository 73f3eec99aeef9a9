import type { WatchedLimit } from "../../commands/quota/limitWatch.ts";
import type { WorkspaceNearLimit } from "../../commands/quota/nearLimits.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { bytesText, counted, grouped, listedUpTo } from "../../kernel/text/readableNumbers.ts";

/** Limits that a warning names; it counts as many more. */
const NAMED_MAX = 20;

interface LimitWords {
  readonly name: string;
  /** What is refused at the limit, and how. */
  readonly atLimit: string;
  /** The option of `workspace limits`. */
  readonly option: string;
  amount(used: number): string;
}

/** What operators read about each limit. */
export const LIMIT_WORDS: Readonly<Record<WatchedLimit, LimitWords>> = {
  daily: {
    name: "daily limit",
    atLimit: "sends get 429",
    option: "--messages-per-day <n>",
    amount: (messages) => counted(messages, "message"),
  },
  storage: {
    name: "quota for temporary files",
    atLimit: "uploads and sends with files get 413",
    option: "--storage-bytes <n>",
    amount: bytesText,
  },
  content: {
    name: "quota for content",
    atLimit: "sends and drafts get 413",
    option: "--content-bytes <n>",
    amount: bytesText,
  },
};

/** What to do about them. */
export const LIMIT_REMEDY = `\`${POSTLEDGER} workspace limits <id> --help\` says how to raise a limit; room for files and content also returns as their retention ends`;

/** A sentence about limits that are nearly used up, each of the workspace that `nameOf` names. */
export function nearLimitDetail(
  near: readonly WorkspaceNearLimit[],
  nameOf: (one: WorkspaceNearLimit) => string,
): string {
  const each = near.map((one) => {
    const { name, amount } = LIMIT_WORDS[one.limit];
    const mail = one.isTest ? " of test mail" : "";
    return `${nameOf(one)}${name}${mail}, ${percentOf(one)} of ${amount(one.of)}`;
  });
  return `${counted(near.length, "limit")} nearly or wholly used up: ${listedUpTo(NAMED_MAX, each)}`;
}

function percentOf({ used, of }: WorkspaceNearLimit): string {
  return of === 0 ? "more than all" : `${grouped(Math.floor((used / of) * 100))} %`;
}
