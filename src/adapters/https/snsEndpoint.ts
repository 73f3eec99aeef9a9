import { readAtMost } from "../../kernel/byteBuffer.ts";
import type { SnsEndpoint } from "../../ports/snsEndpoint.ts";

const TIMEOUT_MS = 5_000;
/** A certificate, or the answer to a confirmation. */
const ANSWER_BYTES_MAX = 65_536;

/** Requests to Amazon SNS over HTTPS. The caller has checked that the URL is Amazon's. */
export const snsEndpoint: SnsEndpoint = {
  async get(url) {
    try {
      const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!response.ok || response.body === null) return null;
      const body = response.body as unknown as AsyncIterable<Uint8Array>;
      return (await readAtMost(ANSWER_BYTES_MAX, body))?.toString("utf8") ?? null;
    } catch {
      return null;
    }
  },
};
