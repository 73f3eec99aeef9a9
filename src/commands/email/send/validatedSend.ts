import type { EmailContent, UNTIL_FINAL_STATUS } from "../../../domain/email/events.ts";
import { simulatedEndOf } from "../../../domain/email/simulator.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/commandContext.ts";
import type { MailOwner } from "../../../kernel/liveOrTestOwner.ts";
import type { Address } from "../../../kernel/text/emailAddress.ts";
import type { JsonObject } from "../../../kernel/text/json.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { AuthorizingSender } from "../../sender/authorizingSender.ts";
import type { RequestedTemplate } from "../../template/renderForSend.ts";
import type { RequestedAttachment, ResolvedAttachment } from "./resolveAttachments.ts";
import type { SendRefusal, SendRefusalCode } from "./sendOutcome.ts";

/** A request that has passed every check that does not depend on state. */
export interface ValidatedSend {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  /** The form of the request by which retries are compared: its fingerprint is made from this and nothing else. */
  readonly comparable: JsonObject;
  readonly from: Address;
  readonly to: Address;
  /** The request's own content; the output of a template replaces subject, html and text. */
  readonly content: EmailContent;
  /** When to deliver it; absent: at once. */
  readonly scheduledAt?: EpochMs;
  /** No attempt to deliver it begins from then on; absent: it has the whole lifetime. */
  readonly deliverBefore?: EpochMs;
  /** How long to keep the content; absent: as long as the workspace keeps it. */
  readonly contentRetention?: typeof UNTIL_FINAL_STATUS;
  /** Whether to make a text of html that comes without one. */
  readonly autoText?: boolean;
  readonly template: RequestedTemplate | null;
  readonly attachments: readonly RequestedAttachment[];
  /** The message whose content it is, and what that was made from; absent unless it is sent again. */
  readonly again?: { readonly id: string; readonly template: UsedTemplate | null };
  readonly context: WorkspaceCommandContext;
}

interface UsedTemplate {
  readonly id: string;
  readonly versionId: string;
}

/** The ids of a request and its message. */
export interface SendIdentity {
  readonly id: string;
  readonly fingerprint: string;
  /** The event id of the content, if this request is the one that is accepted. */
  readonly contentEventId: string;
}

/** A send that has passed every check except the limits. */
export interface Prepared {
  readonly kind: "prepared";
  readonly sender: AuthorizingSender;
  readonly content: EmailContent;
  /** Null without a template. */
  readonly template: UsedTemplate | null;
  readonly resolved: readonly ResolvedAttachment[];
}

/** A send with its ids, and with everything that its preparation found. */
export type PreparedSend = Omit<ValidatedSend, "content" | "template"> & SendIdentity & Prepared;

/** Whose mail it is: the workspace's, or its test keys'. */
export function ownerOf({ workspaceId, context }: Pick<ValidatedSend, "workspaceId" | "context">): MailOwner {
  return { workspaceId, isTest: context.isTest === true };
}

/** Whether the simulator delivers it: then it does not count against the daily limit. */
export function isSimulated({ context, to }: Pick<ValidatedSend, "context" | "to">): boolean {
  return simulatedEndOf(to.canonical, context.isTest === true) !== null;
}

/** A refusal; `faults` say what is wrong where. */
export function refused(code: SendRefusalCode, faults: SendRefusal["faults"] = []): SendRefusal {
  return { kind: "refused", code, faults };
}
