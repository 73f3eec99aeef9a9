import { parseTagList } from "./parseTagList.ts";

const POLICY = /^(?:none|quarantine|reject)$/i;

/** Why a DMARC record does not say what to do with mail, and what to do; null if it does (RFC 7489 §6.6.3). */
export function dmarcFault(record: string): string | null {
  const tags = parseTagList(record);
  const policy = tags.get("p");
  const ofSubdomains = tags.get("sp") ?? "none";
  if (policy !== undefined && POLICY.test(policy) && POLICY.test(ofSubdomains)) return null;
  const what =
    policy === undefined
      ? "there is no p="
      : `${POLICY.test(policy) ? `sp=${ofSubdomains}` : `p=${policy}`} is no policy`;
  const hasReports = (tags.get("rua") ?? "").split(",").some((uri) => /^\s*[a-z][a-z0-9+.-]*:\S+/i.test(uri));
  const effect = hasReports ? "the record counts as p=none" : "receivers ignore the record";
  return `${what}, so ${effect}: publish p=none, p=quarantine or p=reject`;
}
