import { type DomainRecord, domainRecordOf } from "../../commands/sender/domainRecord.ts";
import { type MailRecord, mailRecords } from "../../commands/sender/mailDnsRecords.ts";
import { newSender } from "../../commands/sender/manageSender.ts";
import { invariant } from "../../kernel/assert.ts";
import { dkimKeysFor } from "../../kernel/crypto/dkimKeys.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { Config } from "../../service/config/config.ts";
import type { Command } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";
import { SENDER_OPERAND, senderNameOf } from "./senderOperand.ts";
import { NAME_OPTION } from "./senderRename.ts";

export const senderAdd: Command = {
  name: "sender add",
  operands: [SENDER_OPERAND],
  summary: "Add an address or a domain to send from",
  description: "It cannot send before it is verified.",
  examples: [
    "postledger sender add billing@acme.example --workspace <id>",
    "postledger sender add billing@acme.example --name Acme",
    "postledger sender add acme.example --workspace <id> # Every address at the domain",
  ],
  options: [WORKSPACE_OPTION, NAME_OPTION],
  async run(invocation) {
    const name = senderNameOf(invocation);
    const text = invocation.option(NAME_OPTION.name);
    const named = text === undefined ? {} : { displayName: displayNameArgument("the display name", text) };
    const { workspaceId, added, record } = await changeLog(invocation.config, async (deps, context) => {
      const workspaceId = await workspaceOf(deps.store, invocation);
      return {
        workspaceId,
        added: await newSender(deps, { workspaceId, name, ...named }, context),
        record: name.kind === "domain" ? domainRecordOf(deps.keys, workspaceId, name.domain) : null,
      };
    });
    invariant(added, "a workspace is never removed");
    const { outcome } = added;
    const shown = name.kind === "domain" ? recordsOf(invocation.config, name.domain) : [];
    const mailRecords = shown.map(({ kind, name, value }) => ({ for: kind, type: "TXT", name, value }));
    const dnsRecord = record && { dns_record: { type: "TXT", ...record }, mail_records: mailRecords };
    const json = { outcome, ...dnsRecord };
    const sender = invocation.operand(SENDER_OPERAND.name);
    const verify = `${POSTLEDGER} sender verify ${sender} --workspace ${workspaceId}`;
    const lines =
      outcome === "renamed" ? [] : [...nextLines(outcome === "added", record, verify), ...recordLines(shown)];
    invocation.print(json, [`${sender} ${DONE[outcome]}`, ...lines]);
  },
};

const DONE = {
  added: "added",
  alreadyAdded: "was there already",
  renamed: "was there already, and has the new name",
} as const;

/** The records the domain should publish so that receivers can authenticate its mail. */
function recordsOf({ dkimKeys, returnPathDomain }: Config, domain: string): readonly MailRecord[] {
  const keys = dkimKeysFor(dkimKeys, domain);
  return mailRecords({ domain, envelopeDomain: returnPathDomain ?? domain, keys });
}

function recordLines(records: readonly MailRecord[]): readonly string[] {
  if (records.length === 0) return [];
  const isSigned = records.some(({ kind }) => kind === "DKIM");
  return [
    `Receivers authenticate its mail by these TXT records, which \`${POSTLEDGER} sender check <domain>\` looks for:`,
    ...records.map(({ name, value }) => `  ${name}  ${value}`),
    ...(isSigned ? [] : ["and by a DKIM key: your relay's, or one of DKIM_KEYS"]),
  ];
}

/** What is left to do before the sender can send. */
function nextLines(isNew: boolean, record: DomainRecord | null, verify: string): readonly string[] {
  const shown = record === null ? [] : [`  ${record.name}  ${record.value}`];
  if (!isNew) return record === null ? [] : ["Its TXT record:", ...shown];
  const wants = "It can send once it is verified.";
  return record === null
    ? [`${wants} On your word: \`${verify}\``]
    : [
        `${wants} Publish this TXT record, then have it looked up: \`${verify} --dns\``,
        ...shown,
        `On your word, without it: \`${verify}\``,
      ];
}
