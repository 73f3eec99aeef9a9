import { limitWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { LIMIT_RANGES, limitsOf, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { limitsJson } from "../../http/workspace/workspaceResource.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { LIMIT_SETTINGS } from "../../service/config/workspaceLimitsDefault.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, type Invocation, notFound, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPERAND, workspaceOfOperand } from "./workspaceOption.ts";

type NumberName = keyof typeof LIMIT_RANGES;
type Changes = Parameters<typeof limitWorkspace>[2];

const NUMBERS: Readonly<Record<NumberName, readonly [option: string, help: string]>> = {
  messagesPerDay: ["messages-per-day", "messages accepted in a UTC day"],
  storageBytes: ["storage-bytes", "bytes of uploads and direct files"],
  contentBytes: ["content-bytes", "bytes of messages' content and templates' sources"],
  keyRequestsPerSecond: [
    "key-requests-per-second",
    "requests with one key in a second, on each instance; 0: no limit",
  ],
  workspaceRequestsPerSecond: [
    "workspace-requests-per-second",
    "requests with all its keys in a second, on each instance; 0: no limit",
  ],
  attachmentRetentionHours: ["attachment-retention-hours", "hours that uploads are kept"],
  contentRetentionDays: ["content-retention-days", "days that the content of messages is kept"],
};
const NAMES = Object.keys(NUMBERS) as NumberName[];

const ARCHIVES = "archive-attachments";

function numberOf(option: string, text: string, name: NumberName): number | null {
  if (text === "default") return null;
  const { min, max } = LIMIT_RANGES[name];
  const value = wholeNumber(text, { min, max });
  if (value !== null) return value;
  throw new UsageError(`--${option} takes default or a whole number from ${min} to ${max}`);
}

function archivesOf(text: string): boolean | null {
  if (text === "default") return null;
  if (text === "on" || text === "off") return text === "on";
  throw new UsageError(`--${ARCHIVES} takes on, off or default`);
}

function changesOf(invocation: Invocation): Changes {
  const numbers = NAMES.flatMap((name) => {
    const [option] = NUMBERS[name];
    const text = invocation.option(option);
    return text === undefined ? [] : [[name, numberOf(option, text, name)] as const];
  });
  const archives = invocation.option(ARCHIVES);
  return {
    ...Object.fromEntries(numbers),
    ...(archives === undefined ? {} : { archiveAttachments: archivesOf(archives) }),
  };
}

/** Marks what the workspace has no limit of its own for: a service with other settings may use another value. */
function linesOf(limits: WorkspaceLimits, own: Partial<WorkspaceLimits>): readonly string[] {
  const line = (name: keyof WorkspaceLimits, option: string, value: number | string) =>
    `${option}  ${value}${own[name] === undefined ? "  (default of this environment)" : ""}`;
  const archives = limits.archiveAttachments ? "on" : "off";
  return [
    ...NAMES.map((name) => line(name, NUMBERS[name][0], limits[name])),
    line("archiveAttachments", ARCHIVES, archives),
  ];
}

export const workspaceLimits: Command = {
  name: "workspace limits",
  operands: [WORKSPACE_OPERAND],
  summary: "Set what a workspace may use, and print all its limits",
  description:
    "Limits that are not given stay as they are. The value `default` goes back to the setting of the installation. Limits that are marked as defaults are those of the environment in which the command runs: a service with other settings uses its own.",
  options: [
    ...NAMES.map((limit) => {
      const [name, help] = NUMBERS[limit];
      return { name, value: "<n>", help: `${help} (default: ${LIMIT_SETTINGS[limit][0]})` };
    }),
    {
      name: ARCHIVES,
      value: "<on|off>",
      help: "whether zip, eml, p7s and pkpass files are taken (default: off)",
    },
  ],
  examples: [
    "postledger workspace limits # Change nothing, print all",
    "postledger workspace limits <id> --messages-per-day 50000",
  ],
  async run(invocation) {
    const changes = changesOf(invocation);
    const { id, name, own, limits } = await withLog(
      invocation.config,
      async ({ deps }) => {
        const id = await workspaceOfOperand(deps.store, invocation);
        const outcome = await limitWorkspace(deps, id, changes, systemCommandContext("cli"));
        const workspace = await deps.workspaces.get(id);
        if (outcome === "notFound" || workspace === null) notFound(`there is no workspace ${id}`);
        const limits = limitsOf(workspace, deps.limitsDefault);
        return { id, name: workspace.name, own: workspace.limits, limits };
      },
      { writes: Object.keys(changes).length > 0 },
    );
    invocation.print({ id, ...limitsJson(limits) }, [`${id}  ${name}`, ...linesOf(limits, own)]);
  },
};
