import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { WebhookPayload } from "../../commands/webhookDelivery/webhookPayload.ts";
import { replyCodes } from "../../domain/email/delivery/encryptRelayReply.ts";
import { mayReadContent } from "../email/redactEmail.ts";
import { mayInclude } from "../webhook/includeScopes.ts";

/**
 * The payload of a delivery for whoever looks at it. The endpoint is sent all of it; a key without `email:read` sees what
 * became of the message, but not what it says, as in the message itself. `shownAnswer` takes the beginning of the
 * endpoint's answer, which may repeat what it was sent: null where any of that is withheld.
 */
export function redactPayload(payload: WebhookPayload, principal: Pick<Principal, "scopes">) {
  const { data } = payload;
  if (data.object !== "email" || mayReadContent(principal))
    return { payload, shownAnswer: (answer: string | null) => answer };
  const reply = typeof data.reply === "string" ? data.reply : "";
  const shown: Readonly<Record<string, unknown>> = {
    metadata: null,
    subject: null,
    ...(mayInclude(principal, "from") ? {} : { from: null }),
    ...(mayInclude(principal, "to") ? {} : { to: null }),
    ...(reply === "" ? {} : { reply: replyCodes(reply) }),
  };
  const members = Object.entries(data).map(([name, value]) => [name, name in shown ? shown[name] : value]);
  return { payload: { ...payload, data: Object.fromEntries(members) }, shownAnswer: () => null };
}
