import type { Dependencies } from "../../commands/dependencies.ts";
import { withReplyTexts } from "../../commands/email/decryptRelayReplies.ts";
import { contentSaltOf, readEmailHistory, sendingKeyId } from "../../commands/email/emailHistory.ts";
import { contentOf } from "../../commands/email/readEmail.ts";
import type { Waiting } from "../../domain/email/waitingReason.ts";
import { keyNames } from "../../http/dashboard/apiKey/keyNames.ts";
import { emailJson } from "../../http/email/emailResource.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { type Command, notFound } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { askRunningService } from "../service/askRunningService.ts";
import { EMAIL_OPERAND, emailIdOperand } from "./emailIdOperand.ts";

/** How long the service may take to say why a message waits. */
const ASK_MS_MAX = 5_000;

/** When each member is shown. Without `content` nothing is that its sender wrote, and no address. */
const SHOWN: Readonly<Record<keyof ReturnType<typeof emailJson>, "always" | "content" | "never">> = {
  id: "always",
  object: "never",
  status: "always",
  reason: "always",
  created_at: "always",
  updated_at: "always",
  from: "content",
  to: "content",
  subject: "content",
  message_id: "content",
  tags: "content",
  template_id: "always",
  api_key_id: "always",
  scheduled_at: "always",
  next_attempt_at: "always",
  attempts: "always",
  from_name: "content",
  to_name: "content",
  reply_to: "content",
  reply_to_name: "content",
  html: "content",
  text: "content",
  template_version_id: "always",
  attachments: "content",
  headers: "content",
  metadata: "content",
  deliver_before: "always",
  content_retention: "always",
  waiting: "always",
  content_erased: "always",
  timeline: "always",
};

type Shown = ReturnType<typeof emailJson> & {
  readonly workspace_id: string;
  readonly test: boolean;
  /** Of the key with which it was sent. */
  readonly api_key_name: string | null;
  /** Why content that was asked for is not shown; only then a member. */
  readonly content_fault?: string;
};

/** Why a message waits, as the service sees it; null if it has ended, or no service answers. */
async function askWaiting(dataDir: string, id: string): Promise<Waiting | null> {
  const asked = await askRunningService(dataDir, `/waiting?email=${encodeURIComponent(id)}`, ASK_MS_MAX);
  return asked.kind === "answered" ? (asked.body as { readonly waiting: Waiting | null }).waiting : null;
}

interface ShowOptions {
  readonly withContent: boolean;
  readonly waiting: Waiting | null;
}

/** A message as the API answers it; null if there is none. Without its content, replies are reduced to their codes. */
async function readShown(
  deps: Dependencies,
  id: string,
  { withContent, waiting }: ShowOptions,
): Promise<Shown | null> {
  const history = await readEmailHistory(deps.store, id);
  const { state: email } = history;
  if (email === null) return null;
  const found = withContent ? await contentOf(deps, id, history).catch(contentStoreErrorIn) : null;
  const [content, fault] = found instanceof ContentStoreError ? [null, found] : [found, null];
  const events = withReplyTexts(deps.keys, withContent ? contentSaltOf(history) : null, history.events);
  const answer = emailJson({ id, email, content, events, isContentShown: withContent }, waiting);
  const { workspaceId: workspace_id, isTest: test } = email;
  const shown = withContent ? ["always", "content"] : ["always"];
  const members = Object.entries(answer).filter(([name]) =>
    shown.includes(SHOWN[name as keyof typeof SHOWN]),
  );
  const missing = fault === null ? {} : { content_fault: `it cannot be read now: ${fault.message}` };
  const keyId = sendingKeyId(history);
  const api_key_name = (await keyNames(deps, [keyId])).get(keyId ?? "") ?? null;
  return { workspace_id, test, ...missing, ...Object.fromEntries(members), api_key_name } as Shown;
}

function contentStoreErrorIn(error: unknown): ContentStoreError {
  if (error instanceof ContentStoreError) return error;
  throw error;
}

function linesOf(shown: Shown): readonly string[] {
  const { id, workspace_id, test, timeline, waiting, ...members } = shown;
  const known = Object.entries(members).filter(([, value]) => value !== null);
  return [
    `${id}  workspace ${workspace_id}${test ? "  test" : ""}`,
    ...known.map(([name, value]) => `${name}  ${textOf(value)}`),
    ...(waiting === null ? [] : [`waiting  ${waitingText(waiting)}`]),
    ...timeline.map(({ type, at, sequence: _, ...facts }) =>
      [at, type, ...Object.entries(facts).map(([name, value]) => `${name} ${textOf(value)}`)].join("  "),
    ),
  ];
}

function waitingText({ reason, until, detail }: NonNullable<Shown["waiting"]>): string {
  return `${reason}${until === null ? "" : ` until ${until}`}: ${detail}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const emailShow: Command = {
  name: "email show",
  operands: [EMAIL_OPERAND],
  summary: "Show what happened to a message",
  description:
    "Status, reason, attempts, why it waits (if the service on DATA_DIR answers), and the timeline with the codes of the relay's replies. It shows no address and no content, unless --content asks for them. Exit status 1 if content that was asked for cannot be read now.",
  options: [
    {
      name: "content",
      value: null,
      help: "also show addresses, content and the words of the relay's replies",
    },
  ],
  examples: ["postledger email show <id>", "postledger email show <id> --json --content"],
  async run({ config, operand, option, print }) {
    const id = emailIdOperand(operand("id"));
    const withContent = option("content") !== undefined;
    const shown = await withLog(config, async ({ deps }) =>
      readShown(deps, id, { withContent, waiting: await askWaiting(config.dataDir, id) }),
    );
    if (shown === null) notFound(`there is no message ${id}`);
    print(shown, linesOf(shown));
    return shown.content_fault === undefined ? 0 : 1;
  },
};
