import type { VerificationToken } from "../../kernel/crypto/verificationToken.ts";
import type { Dependencies } from "../dependencies.ts";

/** Who asks to use an address, as the verification mail and the page behind its link show it. */
export interface VerificationRequester {
  readonly workspaceId: string;
  /** The operator's name for the workspace, without anything that could form a link; may be empty. */
  readonly workspaceName: string;
  /** The requester sees the same one. */
  readonly code: string;
}

const WORKSPACE_NAME_CHARACTERS_MAX = 60;

export async function verificationRequester(
  { workspaces, keys }: Pick<Dependencies, "workspaces" | "keys">,
  workspaceId: string,
  { senderId, requestId }: Pick<VerificationToken, "senderId" | "requestId">,
): Promise<VerificationRequester> {
  const name = (await workspaces.get(workspaceId))?.name ?? "";
  return {
    workspaceId,
    workspaceName: nameWithoutLinks(name),
    code: keys.verificationCode(senderId, requestId),
  };
}

/**
 * A name that is safe to show to strangers: letters, digits and a few characters between them, so it cannot hold a link,
 * an address or a line break. Empty if nothing is left.
 */
function nameWithoutLinks(name: string): string {
  const plain = name.replace(/[^\p{L}\p{M}\p{N}&'-]+/gu, " ").trim();
  return [...plain].slice(0, WORKSPACE_NAME_CHARACTERS_MAX).join("").trim();
}
