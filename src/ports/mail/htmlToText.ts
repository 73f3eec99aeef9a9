/**
 * `unreadable`: it would take longer than the time limit. `busy`: too many others are waiting now. `ownerBusy`: too many
 * of the same owner are.
 */
export type HtmlToTextResult =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable" }
  | { readonly kind: "busy" }
  | { readonly kind: "ownerBusy" };

/** For whom html is read. */
export interface HtmlOwner {
  readonly id: string;
  /** Whether nobody waits for the text any more. */
  readonly isAbandoned: (() => boolean) | undefined;
}

/** Turns html into plain text. */
export interface HtmlToText {
  /**
   * The html as a person reads it, in lines of text: links with their addresses, no images. "" if there is nothing to
   * read. Owners take turns. Html that is abandoned before its turn is not read; the result is then `busy`. Never
   * throws, and does not block the event loop.
   */
  read(html: string, owner: HtmlOwner): Promise<HtmlToTextResult>;
  /** Ends its threads; waiting callers get `busy`. */
  close(): void;
}
