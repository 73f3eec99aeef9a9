import { Elysia } from "elysia";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { recordEmailFeedback, type ToldOfEmail } from "../../commands/email/recordEmailFeedback.ts";
import { bounceReason } from "../../domain/email/feedback/bounceReason.ts";
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
  return new Elysia({ normalize: false }).post(
    routes.tellFeedback.path,
    async ({ body, request }) => {
      checkRules(TellFeedbackBody, body);
      const id = messageIdOf(body);
      if (id === null) throw new Problem("NOT_FOUND");
      const { workspaceId, senders } = principalOf(request);
      if (senders !== null) {
        const email = await readEmail(deps, workspaceId, id);
        if (email === null) throw new Problem("NOT_FOUND");
        requireSender(request, email.content?.from ?? null);
      }
      const origin = { ...commandContextOf(request, deps), source: "api" } as const;
      const outcome = await recordEmailFeedback(deps, id, toldBy(body), origin);
      if (outcome === "notFound") throw new Problem("NOT_FOUND");
      return { object: "feedback", email_id: id, outcome } as const;
    },
    hooks("tellFeedback"),
  );
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
