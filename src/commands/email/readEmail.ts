import { ACCEPTANCE_REVISION, type EmailContent } from "../../domain/email/events.ts";
import { emailId } from "../../domain/email/idempotency.ts";
import { type Email, type EmailState, emailDecider } from "../../domain/email/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { MailOwner } from "../../kernel/liveOrTestOwner.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import type { StreamReader } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load } from "../transact.ts";
import { openContent } from "./content/storedContent.ts";
import { withReplyTexts } from "./decryptRelayReplies.ts";
import {
  contentSaltOf,
  type EmailHistory,
  emailHistoryUntil,
  type LoggedEvent,
  readEmailHistory,
} from "./emailHistory.ts";

/** Where to begin a fold that needs no content: after the content, because it may be large or gone. */
export const WITHOUT_CONTENT = { state: emailDecider.initialState, revision: ACCEPTANCE_REVISION - 1 };

/** A message's current state, without its content. Throws `StoreError`. */
export async function readEmailState(store: StreamReader, id: string): Promise<EmailState> {
  return (await load(store, emailAggregate.of(id), WITHOUT_CONTENT)).state;
}

/** The folder of the bytes that are too large for a message's events. */
export function folderOf(id: string, { workspaceId, contentEventId }: Email): ContentFolder {
  return { workspaceId, ownerId: id, folderId: contentEventId };
}

/** The content that a history begins with; null if it was erased. */
export async function contentOf(
  deps: Pick<Dependencies, "content">,
  id: string,
  history: EmailHistory,
): Promise<EmailContent | null> {
  const first = history.events[0]?.event;
  if (history.state === null || first?.type !== "EmailContentStored") return null;
  // Erased content is never shown, even while the log still holds it.
  if (history.state.contentErased) return null;
  return openContent(deps.content, folderOf(id, history.state), first.data);
}

/** Whether a message belongs to this owner. */
export function isOwnEmail(
  email: Pick<Email, "workspaceId" | "isTest">,
  { workspaceId, isTest }: MailOwner,
): boolean {
  return email.workspaceId === workspaceId && email.isTest === isTest;
}

/** The message if a command reaches it: it is in its workspace, and test or live mail if the command says which. */
export function reachedEmail(email: EmailState, { workspaceId, isTest }: CommandContext): EmailState {
  if (email === null || workspaceId === undefined) return null;
  return isOwnEmail(email, { workspaceId, isTest: isTest ?? email.isTest }) ? email : null;
}

/** A message with everything that can be shown of it. */
export interface EmailView {
  readonly id: string;
  readonly email: Email;
  readonly content: EmailContent | null;
  readonly events: readonly LoggedEvent[];
}

/**
 * One message of the owner as it was at a time in the past. Null if it was not accepted yet, does not exist, or belongs
 * to somebody else. Content erased by now is missing at every time.
 */
export async function readPastEmail(
  deps: Dependencies,
  owner: MailOwner,
  id: string,
  at: EpochMs,
): Promise<EmailView | null> {
  const now = await readEmailHistory(deps.store, id);
  const { state, events } = emailHistoryUntil(now, at);
  if (now.state === null || state === null || !isOwnEmail(state, owner)) return null;
  const { contentErased } = now.state;
  const content = contentErased ? null : await contentOf(deps, id, now);
  const decrypted = withReplyTexts(deps.keys, contentSaltOf(now), events);
  return { id, email: { ...state, contentErased }, content, events: decrypted };
}

/** One message of the owner; null if there is none, or if it belongs to somebody else. */
export async function readEmail(deps: Dependencies, owner: MailOwner, id: string): Promise<EmailView | null> {
  const history = await readEmailHistory(deps.store, id);
  if (history.state === null || !isOwnEmail(history.state, owner)) return null;
  const content = await contentOf(deps, id, history);
  const events = withReplyTexts(deps.keys, contentSaltOf(history), history.events);
  return { id, email: history.state, content, events };
}

/** The message that was accepted under this key; null if there is none. */
export function readEmailByKey(deps: Dependencies, owner: MailOwner, key: string): Promise<EmailView | null> {
  return readEmail(deps, owner, emailId(owner, key));
}
