import { Elysia } from "elysia";
import type { Dependencies } from "../../commands/dependencies.ts";
import { type SesContext, sesNotifications } from "../../commands/email/feedback/receiveSesNotification.ts";
import { readBytes, requireIdentity } from "../body/bodyBytes.ts";
import { requireBoundedShape } from "../body/jsonLimits.ts";
import { Problem } from "../server/problem.ts";
import { bodyWithoutKey, requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";

interface SesOptions extends Pick<SesContext, "sns" | "topicArns" | "bounceDomains" | "onUnmatched"> {
  readonly deps: Dependencies;
}

/** Owner of these bodies in the memory limit, because they come without a key. */
const BODIES_OF = "amazon-sns";

/** Reports of Amazon SES through Amazon SNS, which has no key but signs its messages. */
export function sesController({ deps, ...options }: SesOptions) {
  const { store, content, keys } = deps;
  const take = sesNotifications({ store, content, keys, ...options });
  return new Elysia({ normalize: false }).post(
    routes.takeSesNotification.path,
    async ({ body, request, set }) => {
      const { requestId } = requestContextOf(request);
      const origin = { at: deps.clock.now(), actor: "amazon-sns", correlationId: requestId };
      const outcome = await take(String(body), origin);
      if (outcome === "unavailable") throw new Problem("INTERNAL_ERROR", { unavailable: true });
      if (outcome === "refused") throw new Problem("INVALID_REQUEST", { detail: REFUSED });
      set.status = 204;
    },
    {
      async parse({ request }) {
        if (options.topicArns.size === 0) throw new Problem("NOT_FOUND");
        requireIdentity(request.headers);
        const incoming = bodyWithoutKey(request, BODIES_OF);
        const bytes = await readBytes(request, incoming, routes.takeSesNotification.bodyBytesMax);
        requireBoundedShape(bytes);
        return new TextDecoder().decode(bytes);
      },
    },
  );
}

const REFUSED = "the body is not an Amazon SNS message, signed by Amazon, about a topic in SES_TOPIC_ARNS";
