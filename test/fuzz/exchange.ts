import type { SeenAnswer } from "../gate/documentedAnswers.ts";
import { parseAnswer, rawRequest } from "../support/servers/rawRequest.ts";
import type { FuzzRequest } from "./request.ts";

/** No answer takes longer; the service's own deadline is half of it. */
const ANSWER_MS_MAX = 30_000;

async function overSocket(url: string, request: FuzzRequest): Promise<SeenAnswer> {
  const { method, target, headers, body } = request;
  const bytes = Buffer.from(body ?? "");
  const fields = Object.entries({ host: new URL(url).host, ...headers, connection: "close" });
  if (body !== null && headers["content-length"] === undefined)
    fields.push(["content-length", String(bytes.length)]);
  const head = [`${method} ${target} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`), ""];
  const overdue = Bun.sleep(ANSWER_MS_MAX).then(() => {
    throw new Error("no answer");
  });
  return parseAnswer(await Promise.race([rawRequest(url, [...head, bytes]), overdue]));
}

/** Sends one request and gives its answer. Throws when there is none. */
export async function exchange(url: string, request: FuzzRequest): Promise<SeenAnswer> {
  if (request.isRaw) return overSocket(url, request);
  const { method, target, headers, body } = request;
  const response = await fetch(url + target, {
    method,
    headers: { ...headers },
    ...(body === null ? {} : { body: body as string }),
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
