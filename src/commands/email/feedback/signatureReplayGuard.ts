import { LRUCache } from "lru-cache";

/** About 20 MB. With more calls than this while a signature is valid, a token can be used again before its time is over. */
const TOKENS_MAX = 50_000;

/** A call with a signature that is valid for hours. */
interface TokenCall {
  /** Tells the call from others. The signature may cover this instead of the body. */
  readonly token: string;
  /** SHA-256 of the body. */
  readonly digest: string;
  /** The workspace that it reports to: the same call may come to several. */
  readonly workspaceId: string;
}

/** `repeated`: the same call was taken before. `reused`: the token has come before, with another body. */
export type TokenUse = "taken" | "repeated" | "reused";

/** Remembers the tokens of signed calls, so that each call is taken once, and no token signs a second body. */
export function signatureReplayGuard() {
  const digests = new LRUCache<string, string>({ max: TOKENS_MAX });
  const taken = new LRUCache<string, true>({ max: TOKENS_MAX });
  /**
   * Does the work unless it was done for the workspace before: somebody may have taken back since what it did. Until it
   * is done once, each repeat does it, as the call under way may still fail.
   */
  return async function use(
    { token, digest, workspaceId }: TokenCall,
    work: () => Promise<void>,
  ): Promise<TokenUse> {
    if ((digests.get(token) ?? digest) !== digest) return "reused";
    digests.set(token, digest);
    const call = `${workspaceId} ${token}`;
    if (taken.has(call)) return "repeated";
    await work();
    taken.set(call, true);
    return "taken";
  };
}
