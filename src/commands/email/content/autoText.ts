import { TEXT_CHARACTERS_MAX } from "../../../domain/email/contentLimits.ts";
import type { EmailContent } from "../../../domain/email/events.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/commandContext.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../../kernel/text/textLength.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { FREE_MS } from "../../template/templateAllowances.ts";

/** The fault of a send whose text cannot be made. */
export const NO_AUTO_TEXT = {
  pointer: "/auto_text",
  message: `cannot be made of this html: it takes too long to read, or has more than ${grouped(TEXT_CHARACTERS_MAX)} characters of text; give text`,
};

/** `unreadable`: no text can be made. `tooMany`: the workspace has too many made at once. */
type AutoTextOutcome =
  | { readonly kind: "read"; readonly content: EmailContent }
  | { readonly kind: "unreadable" }
  | { readonly kind: "tooMany" };

/**
 * Adds a text made of the html to content without one. Html without readable text stays without. The time that it takes
 * is charged to the workspace's allowance for templates. Throws `TemplateRateError` if that is used up, `StoreError` if
 * too many texts are being made for all workspaces together.
 */
export async function withAutoText(
  { htmlToText, templateAllowances }: Pick<Dependencies, "htmlToText" | "templateAllowances">,
  content: EmailContent,
  { workspaceId, isAbandoned }: WorkspaceCommandContext,
): Promise<AutoTextOutcome> {
  if (content.html === undefined || content.text !== undefined) return { kind: "read", content };
  templateAllowances.requireSome(workspaceId);
  // The time of those before it is known only when its turn comes.
  const isUnwanted = () => isAbandoned?.() === true || templateAllowances.isUsedUp(workspaceId);
  const reading = await htmlToText.read(content.html, { id: workspaceId, isAbandoned: isUnwanted });
  if ("processorMs" in reading && reading.processorMs > FREE_MS)
    templateAllowances.charge(workspaceId, reading.processorMs);
  switch (reading.kind) {
    case "busy":
      templateAllowances.requireSome(workspaceId);
      throw new StoreError("unavailable", "too many texts are being made of html");
    case "ownerBusy":
      return { kind: "tooMany" };
    case "unreadable":
      return { kind: "unreadable" };
    default:
      if (codePoints(reading.text) > TEXT_CHARACTERS_MAX) return { kind: "unreadable" };
      return { kind: "read", content: reading.text === "" ? content : { ...content, text: reading.text } };
  }
}
