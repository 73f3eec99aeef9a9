import { derivedId } from "../../kernel/ids.ts";
import { canonicalJson, type JsonObject } from "../../kernel/text/json.ts";
import type { VariableDefinition } from "./variables.ts";

/** What a version says, apart from when it was drafted. */
export interface VersionContent {
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  readonly variables: readonly VariableDefinition[];
}

/** The text with plain line feeds and without a byte order mark: editors and version control change these by themselves. */
export function plainText(text: string): string {
  return text.replace(/^\uFEFF+/, "").replaceAll(/\r\n?/g, "\n");
}

/** Equal for versions of the same content. */
export function comparableContent({ subject, html, text, variables }: VersionContent): string {
  // "" counts as absent, as in a draft.
  const plain = (part: string | null) => plainText(part ?? "") || null;
  const content = { subject, html: plain(html), text: plain(text), variables };
  return canonicalJson(content as unknown as JsonObject);
}

/** The id of the version that a push of this content drafts: the same push again finds it. */
export function versionIdOfContent(templateId: string, content: VersionContent): string {
  return derivedId(templateId, comparableContent(content));
}
