import { LRUCache } from "lru-cache";
import { sha256Of } from "../../../kernel/crypto/sha256.ts";

/** About 10 MB. With more reports than this within nine hours, a token can be used again before its time is over. */
const TOKENS_MAX = 50_000;

/** `repeated`: the same call has come before. `reused`: the token has come before, with another body. */
export type TokenUse = "first" | "repeated" | "reused";

/** Remembers the tokens of signatures that do not cover the body, so that none of them signs a second body. */
export function usedTokens() {
  const digests = new LRUCache<string, string>({ max: TOKENS_MAX });
  /** Does the work if the token is new. If that fails, the call may come again. */
  return async function use(token: string, body: string, work: () => Promise<void>): Promise<TokenUse> {
    const digest = sha256Of(body);
    const known = digests.get(token);
    if (known !== undefined) return known === digest ? "repeated" : "reused";
    digests.set(token, digest);
    try {
      await work();
      return "first";
    } catch (error) {
      digests.delete(token);
      throw error;
    }
  };
}
