import { addSuppression, removeSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { listSuppressions, type Suppression } from "../../commands/suppression/readSuppression.ts";
import { type Command, notFound } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { ADDRESS_OPERAND, addressOf, NOTE_OPTION, noteOf } from "./suppressionArguments.ts";

export const suppressionAdd: Command = {
  name: "suppression add",
  operands: [ADDRESS_OPERAND],
  summary: "Suppress an address: it gets no more mail",
  description: "If it is suppressed already, its first reason and note stay.",
  options: [WORKSPACE_OPTION, NOTE_OPTION],
  examples: ["postledger suppression add ana@example.com --note 'asked us to stop'"],
  async run(invocation) {
    const address = addressOf(invocation);
    const note = noteOf(invocation);
    const { isNew } = await inWorkspace(
      invocation,
      (deps, context) => addSuppression(deps, { address, note }, context),
      { writes: true },
    );
    invocation.print({ outcome: isNew ? "added" : "already_suppressed" }, [
      isNew ? "suppressed" : "was suppressed already",
    ]);
  },
};

export const suppressionRemove: Command = {
  name: "suppression remove",
  operands: [ADDRESS_OPERAND],
  summary: "Allow mail to an address again",
  description: "Messages suppressed so far stay suppressed: only new mail is delivered.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger suppression remove ana@example.com"],
  async run(invocation) {
    const address = addressOf(invocation);
    const outcome = await inWorkspace(
      invocation,
      (deps, context) => removeSuppression(deps, address, context),
      { writes: true },
    );
    if (outcome === "notSuppressed") notFound("this address is not suppressed");
    invocation.print({ outcome: "removed" }, ["removed: new mail to it is delivered"]);
  },
};

export const suppressionList: Command = {
  name: "suppression list",
  summary: "List the addresses that get no mail, with the reasons",
  description: "Reads the log from its start. `suppression import` takes what it prints with --json.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger suppression list", "postledger suppression list --json > suppressions.json"],
  async run(invocation) {
    const suppressions = await inWorkspace(invocation, ({ store }, { workspaceId }) =>
      listSuppressions(store, workspaceId),
    );
    invocation.print(suppressions.map(suppressionJson), suppressions.map(suppressionLine));
  },
};

function suppressionJson({ id, address, reason, note, emailId, createdAt }: Suppression) {
  return { id, address, reason, note, email_id: emailId, created_at: createdAt };
}

function suppressionLine({ address, reason, note, createdAt }: Suppression): string {
  const why = note === null ? "" : `  "${note}"`;
  return `${createdAt}  ${reason.padEnd("complaint".length)}  ${address ?? "(address erased)"}${why}`;
}
