import { type Static, Type } from "@sinclair/typebox";
import { Closed, Discriminated } from "../body/commonSchemas.ts";
import { checkBy, checkedLater, withAdvice } from "../body/validation.ts";
import { problemOf } from "../server/problemOfError.ts";
import { ProblemBody, problemBody } from "../server/problemResponse.ts";
import type { RefusedPart } from "../server/requestContext.ts";
import { EmailReceipt } from "./emailResource.ts";
import { checkedIdempotencyKey } from "./idempotencyKey.ts";
import { BatchedEmail, type SendEmailBody } from "./sendEmailSchema.ts";

export const BATCH_EMAILS_MAX = 100;

export const EmailBatchBody = withAdvice(
  // Other services take the bare list as a batch.
  { "": '{ "emails": [ … ] }', messages: "did you mean emails?" },
  Closed(
    {
      emails: Type.Array(checkedLater(BatchedEmail), {
        minItems: 1,
        maxItems: BATCH_EMAILS_MAX,
        description: "Each is a send of its own.",
      }),
    },
    {
      examples: [
        {
          emails: ["ana", "bo"].map((name) => ({
            idempotency_key: `week-47-${name}`,
            from: "hello@example.com",
            to: `${name}@example.com`,
            subject: "What is new this week",
            text: "Have a look.",
          })),
        },
      ],
    },
  ),
);

const RefusedEmail = Closed(
  { object: Type.Literal("problem"), ...ProblemBody.properties },
  { $id: "RefusedEmail", description: "Why a send of a batch was refused: a problem (RFC 9457)." },
);

export const EmailBatch = Closed(
  {
    data: Type.Array(Discriminated("object", [EmailReceipt, RefusedEmail]), {
      description: "An answer to each send, in their order: what a 202 says, or why it was refused.",
    }),
  },
  { $id: "EmailBatch" },
);

type Receipt = Static<typeof EmailReceipt>;

/** Sends one message of a batch that has passed its schema. Throws as a send does. */
type Send = (body: SendEmailBody, idempotencyKey: string) => Promise<Receipt>;

const checkEmail = checkBy(BatchedEmail);

interface Batch {
  readonly requestId: string;
  readonly send: Send;
  /** Yields to others; called before each send that may hold them up. Throws if nobody waits for the answer any more. */
  readonly rest: (email: unknown) => Promise<void>;
  /** Called with each refused send, once all are answered. */
  readonly onRefused: (part: RefusedPart) => void;
}

/**
 * Answers the sends of a batch, each as if it had come alone. They run concurrently, so their appends share commits;
 * sends with the same key run one after the other. Throws if the service itself fails all of them, or as `rest` does.
 */
export async function sendBatch(
  emails: readonly unknown[],
  { requestId, send, rest, onRefused }: Batch,
): Promise<Static<typeof EmailBatch>> {
  const lastOfKey = new Map<string, Promise<unknown>>();
  const answers: Promise<Receipt | RefusedPart>[] = [];
  for (const email of emails) {
    await rest(email);
    const answer = answerOf(email, lastOfKey, send);
    // A failure before all have begun is reported by the wait for all of them.
    answer.catch(() => {});
    answers.push(answer);
  }
  const settled = await Promise.all(answers);
  const refused = settled.filter((answer) => "problem" in answer);
  const outages = refused.filter(({ problem }) => problem.status >= 500);
  if (outages[0] !== undefined && outages.length === settled.length) throw outages[0].problem;
  refused.forEach(onRefused);
  return {
    data: settled.map((answer) =>
      "problem" in answer ? { object: "problem", ...problemBody(answer.problem, requestId) } : answer,
    ),
  };
}

async function answerOf(
  email: unknown,
  lastOfKey: Map<string, Promise<unknown>>,
  send: Send,
): Promise<Receipt | RefusedPart> {
  try {
    const given = (email as { readonly idempotency_key?: unknown } | null)?.idempotency_key;
    const key = checkedIdempotencyKey(given, "/idempotency_key");
    const keyed = { ...(email as BatchedEmail), idempotency_key: key };
    checkEmail(keyed);
    const { idempotency_key: _, ...body } = keyed;
    const before = lastOfKey.get(key);
    const answer = before === undefined ? send(body, key) : before.then(() => send(body, key));
    lastOfKey.set(
      key,
      answer.catch(() => {}),
    );
    return await answer;
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    return { problem, error };
  }
}
