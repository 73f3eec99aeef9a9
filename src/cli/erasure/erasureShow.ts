import { readErasure } from "../../commands/erasure/erasureRequests.ts";
import type { Erasure } from "../../domain/erasure/state.ts";
import { type Command, notFound } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

type Counts = NonNullable<Erasure["counts"]>;

const COUNT_WORDS = {
  messagesErased: "messages erased",
  messagesCanceled: "of them canceled while they waited",
  messagesErasedBefore: "messages erased before",
  messagesWithFiles: "erased messages with files",
  outboxMessages: "files removed from the outbox",
  uploadsErased: "uploads erased",
  uploadsKept: "uploads kept, which others were sent too",
  suppressionsErased: "suppressed addresses erased",
} as const satisfies Readonly<Record<keyof Counts, string>>;

function countLines(counts: Counts | null): readonly string[] {
  if (counts === null) return [];
  return Object.entries(COUNT_WORDS).map(([name, words]) => {
    const value = counts[name as keyof Counts];
    return `${words}  ${typeof value === "number" ? value : value.join(" ") || "none"}`;
  });
}

/** Null before the request is completed. */
function remainsLines(remains: readonly string[] | null): readonly string[] {
  if (remains === null) return [];
  return remains.length === 0 ? ["remains  nothing"] : remains.map((one) => `remains  ${one}`);
}

export const erasureShow: Command = {
  name: "erasure show",
  operands: [{ name: "id", help: "id that `erasure request` printed" }],
  summary: "Show what became of a request",
  description:
    "What was erased, what remains, and which copies of the log still hold it. Exit status 1 while it is not completed.",
  examples: ["postledger erasure show <id>"],
  async run({ config, operand, print }) {
    const id = operand("id");
    const view = await withLog(config, ({ deps }) => readErasure(deps.store, id));
    if (view === null) notFound(`there is no request ${id}`);
    const { erasure, requestedAt, completedAt } = view;
    const { status, workspaceId, counts, remains, copies } = erasure;
    const lines = [
      `${status}  requested ${requestedAt}  completed ${completedAt ?? "-"}  workspace ${workspaceId}`,
      ...countLines(counts),
      ...remainsLines(remains),
      ...(copies ?? []).map(({ kind, at, place }) =>
        `not reached  ${kind} of ${at}  ${place ?? ""}`.trimEnd(),
      ),
    ];
    print({ id, status, workspaceId, requestedAt, completedAt, ...counts, remains, copies }, lines);
    return status === "completed" ? 0 : 1;
  },
};
