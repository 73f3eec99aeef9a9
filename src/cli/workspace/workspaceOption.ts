import type { Dependencies } from "../../commands/dependencies.ts";
import { loadAllOfKind } from "../../commands/loadAllOfKind.ts";
import type { AggregateKind } from "../../commands/transact.ts";
import {
  firstWorkspaces,
  type NamedWorkspace,
  workspacesCalled,
} from "../../commands/workspace/readWorkspace.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { DomainEvent } from "../../kernel/event/decider.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { OpenLogOptions } from "../../service/openInstanceFromConfig.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { CommandFailure, type Invocation, type Operand, type Option } from "../program/command.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";

export const WORKSPACE_OPTION: Option = {
  name: "workspace",
  value: "<id>",
  help: "id or name of the workspace it belongs to: see `workspace list` (default: the only one)",
};

/** The id of a command's workspace. Throws {@link CommandFailure} if it does not exist or is ambiguous. */
export async function workspaceOf(store: EventStore, invocation: Invocation): Promise<string> {
  const id = invocation.option(WORKSPACE_OPTION.name);
  if (id === undefined) return (await onlyWorkspace(store, "add --workspace <id>")).id;
  return existingWorkspace(store, id);
}

/** The id of a workspace as an operand, for commands about the workspace itself. */
export const WORKSPACE_OPERAND: Operand = {
  name: "id",
  help: "id or name of the workspace: see `workspace list` (default: the only one)",
  count: "optional",
};

/** The id of the workspace that {@link WORKSPACE_OPERAND} names. Throws as {@link workspaceOf} does. */
export async function workspaceOfOperand(store: EventStore, { args: [id] }: Invocation): Promise<string> {
  return id === undefined ? (await onlyWorkspace(store, "add its id")).id : existingWorkspace(store, id);
}

/** Runs `work` in the workspace that a command is about. Throws as {@link workspaceOf} does. */
export function inWorkspace<Result>(
  invocation: Invocation,
  work: (deps: Dependencies, context: WorkspaceCommandContext) => Promise<Result>,
  use: OpenLogOptions = {},
): Promise<Result> {
  const inOne = async ({ deps }: OpenForCommand) => {
    const workspaceId = await workspaceOf(deps.store, invocation);
    return work(deps, { ...systemCommandContext("cli"), workspaceId });
  };
  return withLog(invocation.config, inOne, use);
}

/** The aggregates of a kind in that workspace, each with its id. Throws as {@link workspaceOf} does. */
export async function loadOfWorkspace<
  State extends { readonly workspaceId: string },
  Event extends DomainEvent,
>(
  store: EventStore,
  invocation: Invocation,
  kind: AggregateKind<State | null, Event>,
): Promise<readonly (readonly [id: string, state: State])[]> {
  const workspaceId = await workspaceOf(store, invocation);
  return [...(await loadAllOfKind(store, kind))].filter(([, own]) => own.workspaceId === workspaceId);
}

/** The id of the workspace that is meant by its id or its name. Throws {@link CommandFailure} unless there is one. */
export async function existingWorkspace(store: EventStore, text: string): Promise<string> {
  const meant = await workspacesCalled(store, text);
  const [first, ...others] = meant;
  if (first === undefined) throw unknownWorkspace(text);
  if (others.length > 0) throw severalWorkspaces(meant, "give an id: several have this name");
  return first.id;
}

/** The failure of a command for a workspace that there is not. */
export function unknownWorkspace(text: string): CommandFailure {
  const hint = `\`${POSTLEDGER} workspace list\` lists them with their ids`;
  return new CommandFailure("not_found", `there is no workspace ${text}`, hint);
}

/** The only workspace of a log. Throws {@link CommandFailure}, with `hint` if there are several. */
async function onlyWorkspace(store: EventStore, hint: string): Promise<NamedWorkspace> {
  const [first, ...others] = await firstWorkspaces(store);
  if (first === undefined) throw noWorkspace();
  if (others.length > 0) throw severalWorkspaces([first, ...others], hint);
  return first;
}

export function noWorkspace(): CommandFailure {
  const hint = `make one: \`${POSTLEDGER} workspace create <name>\``;
  return new CommandFailure("not_found", "there is no workspace yet", hint);
}

/** The failure of a command that cannot tell which workspace is meant. */
export function severalWorkspaces(workspaces: readonly NamedWorkspace[], hint: string): CommandFailure {
  const listed = workspaces.map(({ id, name }) => `  ${id}  ${name}`).join("\n");
  return new CommandFailure("refused", `name one of the workspaces:\n${listed}`, hint);
}
