import { workspaceAggregate } from "../../commands/aggregateDefinitions.ts";
import {
  type ErasureView,
  readErasure,
  readErasures,
  requestPersonErasure,
} from "../../commands/erasure/erasureRequests.ts";
import { loadAllOfKind } from "../../commands/loadAllOfKind.ts";
import { REFERENCE_CHARACTERS_MAX, referenceFault } from "../../domain/erasure/referenceFault.ts";
import type { Erasure } from "../../domain/erasure/state.ts";
import { erasureJson } from "../../http/erasure/erasureResource.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, type Invocation, notFound, type Option, UsageError } from "../program/command.ts";
import { changeLog, withLog } from "../program/openStoreForCommand.ts";
import { addressOf } from "../suppression/suppressionArguments.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";

const ALL_WORKSPACES: Option = {
  name: "all-workspaces",
  value: null,
  help: "erase in every workspace",
};

const REFERENCE: Option = {
  name: "reference",
  value: "<text>",
  help: `what to file it under, such as a ticket number, of up to ${REFERENCE_CHARACTERS_MAX} characters; it is kept for good, so it must not name the person (default: none)`,
};

function referenceOf({ option }: Pick<Invocation, "option">): string | null {
  const reference = option(REFERENCE.name);
  if (reference === undefined) return null;
  const fault = referenceFault(reference);
  if (fault !== null) throw new UsageError(`--${REFERENCE.name} ${fault}`);
  return reference;
}

/** The ids of all workspaces if that is asked for, else of the one that {@link workspaceOf} finds. */
async function workspacesOf(store: EventStore, invocation: Invocation): Promise<readonly string[]> {
  if (invocation.option(ALL_WORKSPACES.name) === undefined) return [await workspaceOf(store, invocation)];
  if (invocation.option(WORKSPACE_OPTION.name) !== undefined)
    throw new UsageError("--workspace and --all-workspaces exclude each other");
  return [...(await loadAllOfKind(store, workspaceAggregate)).keys()];
}

export const erasureRequest: Command = {
  name: "erasure request",
  operands: [{ name: "address", help: "the person's email address" }],
  summary: "Request the erasure of everything sent to a person",
  description:
    "Prints the id of a request for each workspace. The running service does the work, or the next one that starts; `erasure show` shows what became of it.",
  examples: [
    "postledger erasure request ana@example.com --reference SUP-4711",
    "postledger erasure request ana@example.com --workspace <id>",
    "postledger erasure request ana@example.com --all-workspaces # Whoever sent it",
  ],
  options: [WORKSPACE_OPTION, ALL_WORKSPACES, REFERENCE],
  async run(invocation) {
    const { config, print } = invocation;
    const address = addressOf(invocation);
    const reference = referenceOf(invocation);
    const requests = await changeLog(config, async (deps) => {
      const workspaces = await workspacesOf(deps.store, invocation);
      return Array.fromAsync(workspaces, async (workspace_id) => {
        const context = { ...systemCommandContext("cli"), workspaceId: workspace_id };
        return { id: await requestPersonErasure(deps, address, context, reference), workspace_id };
      });
    });
    const lines = requests.map(({ id, workspace_id }) => `${id}  workspace ${workspace_id}`);
    print(requests, lines);
  },
};

type Counts = NonNullable<Erasure["counts"]>;

const COUNT_WORDS = {
  messagesErased: "messages erased",
  messagesCanceled: "of them canceled while they waited",
  messagesErasedBefore: "messages erased before",
  messagesWithFiles: "erased messages with files",
  outboxMessages: "erased messages written to an outbox",
  uploadsErased: "uploads erased",
  uploadsKept: "uploads kept because other recipients got them too",
  suppressionsErased: "suppressed addresses erased",
} as const satisfies Readonly<Record<keyof Counts, string>>;

function countLines(counts: Counts | null): readonly string[] {
  if (counts === null) return [];
  return Object.entries(COUNT_WORDS).map(([name, words]) => {
    const value = counts[name as keyof Counts];
    return `${words}  ${typeof value === "number" ? value : value.join(" ") || "none"}`;
  });
}

/** `remains` is null before the request is completed. */
function remainsLines(remains: readonly string[] | null): readonly string[] {
  if (remains === null) return [];
  return remains.length === 0 ? ["remains  nothing"] : remains.map((one) => `remains  ${one}`);
}

/** The API's answer, and what is only for the operator: the workspace, and the places of copies. */
function shownJson(view: ErasureView) {
  const { report, ...answer } = erasureJson(view);
  const { workspaceId, copies } = view.erasure;
  const placed = copies?.map(({ kind, at, place = null }) => ({ kind, taken_at: at, place })) ?? null;
  return { ...answer, workspace_id: workspaceId, report: report && { ...report, copies: placed } };
}

export const erasureShow: Command = {
  name: "erasure show",
  operands: [{ name: "id", help: "id that `erasure request` printed" }],
  summary: "Show the state of a request",
  description:
    "What was erased, what remains, and which copies of the log still hold it. Exit status 1 while it is not completed.",
  examples: ["postledger erasure show <id>"],
  async run({ config, operand, print }) {
    const id = operand("id");
    const view = await withLog(config, ({ deps }) => readErasure(deps.store, id));
    if (view === null)
      notFound(`there is no request ${id}`, `\`${POSTLEDGER} erasure list\` lists them with their ids`);
    const { erasure, requestedAt, completedAt } = view;
    const { status, workspaceId, reference, counts, remains, copies } = erasure;
    const json = shownJson(view);
    const lines = [
      `${status}  requested ${requestedAt}  completed ${completedAt ?? "-"}  workspace ${workspaceId}`,
      ...(reference === null ? [] : [`reference  ${reference}`]),
      ...countLines(counts),
      ...remainsLines(remains),
      ...(copies ?? []).map(({ kind, at, place }) =>
        `not reached  ${kind} of ${at}  ${place ?? ""}`.trimEnd(),
      ),
      ...(json.report?.not_reached ?? []).map(({ what, detail }) => `not reached  ${what}: ${detail}`),
    ];
    print(json, lines);
    return status === "completed" ? 0 : 1;
  },
};

export const erasureList: Command = {
  name: "erasure list",
  summary: "List all requests",
  description: "Reads the log from its start.",
  examples: ["postledger erasure list"],
  async run({ config, print }) {
    const views = await withLog(config, ({ deps }) => readErasures(deps.store));
    const rows = views.map(({ id, erasure, requestedAt: created_at, completedAt: completed_at }) => {
      const { status, reference, workspaceId: workspace_id } = erasure;
      return { id, status, workspace_id, reference, created_at, completed_at };
    });
    const lines = rows.map(({ id, status, workspace_id, reference, created_at }) =>
      [id, status, created_at, `workspace ${workspace_id}`, reference].filter(Boolean).join("  "),
    );
    print(rows, lines);
  },
};
