import { Elysia } from "elysia";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { recordEmailFeedback, type ToldOfEmail } from "../../commands/email/recordEmailFeedback.ts";
import { bounceReason } from "../../domain/email/feedback/bounceReason.ts";
import { readPostmarkEvent } from "../../domain/email/feedback/postmarkEvent.ts";
import type { FeedbackSource } from "../../domain/email/feedback/recordFeedback.ts";
import { isUuid } from "../../kernel/ids.ts";
import { checkRules } from "../body/validation.ts";
import { requireSender } from "../server/authorization.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { feedbackOperations, type TellFeedback, TellFeedbackBody } from "./feedbackOperations.ts";

interface FeedbackOptions extends Dependencies {
  /** Whether a bounce says for good at which domain it was. */
  readonly bounceDomains: boolean;
}

/** What others tell of messages. */
export function feedbackController(deps: FeedbackOptions) {
  const hooks = hooksOf(deps, feedbackOperations);
  return new Elysia({ normalize: false })
    .post(
      routes.tellFeedback.path,
      async ({ body, request }) => {
        checkRules(TellFeedbackBody, body);
        const id = messageIdOf(body);
        if (id === null) throw new Problem("NOT_FOUND");
        const outcome = await record(deps, request, { id, told: toldBy(body), source: "api" });
        if (outcome === "notFound") throw new Problem("NOT_FOUND");
        return { object: "feedback", email_id: id, outcome } as const;
      },
      hooks("tellFeedback"),
    )
    .post(
      routes.takePostmarkEvent.path,
      async ({ body, request, set }) => {
        const { emailId: id, told } = readPostmarkEvent(body);
        if (id !== null && told !== null) await record(deps, request, { id, told, source: "postmark" });
        set.status = 204;
      },
      hooks("takePostmarkEvent"),
    );
}

interface Told {
  readonly id: string;
  readonly told: ToldOfEmail;
  readonly source: FeedbackSource;
}

/** Records it of a message of the key's workspace, and of its senders where it is bound to some. */
async function record(deps: FeedbackOptions, request: Request, { id, told, source }: Told) {
  const { workspaceId, senders } = principalOf(request);
  if (senders !== null) {
    const email = await readEmail(deps, workspaceId, id);
    if (email === null) return "notFound" as const;
    requireSender(request, email.content?.from ?? null);
  }
  return recordEmailFeedback(deps, id, told, { ...commandContextOf(request, deps), source });
}

/** Our id of the message; null when the Message-ID is none of ours. */
function messageIdOf({ email_id: emailId, message_id: messageId = "" }: TellFeedback): string | null {
  const id = emailId ?? /^<?([^<>@]+)@/.exec(messageId)?.[1] ?? "";
  return isUuid(id) ? id.toLowerCase() : null;
}

function toldBy({
  type,
  status = "",
  reply = "",
  feedback_type: feedbackType = "abuse",
}: TellFeedback): ToldOfEmail {
  if (type === "delivered") return { kind: "delivered" };
  if (type === "complained") return { kind: "complained", feedbackType };
  return { kind: "bounced", bounce: bounceReason({ status, diagnostic: reply }), diagnostic: reply };
}
