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
      const pieces: Uint8Array[] = [];
      let bytes = 0;
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        bytes += piece.byteLength;
        if (bytes > ANSWER_BYTES_MAX) return null;
        pieces.push(piece);
      }
      return Buffer.concat(pieces).toString("utf8");
    } catch {
      return null;
    }
  },
};
