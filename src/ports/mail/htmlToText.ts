/** `unreadable`: it would take longer than the time limit. `busy`: too many others are waiting now. */
export type HtmlToTextResult =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable" }
  | { readonly kind: "busy" };

/** Turns html into plain text. */
export interface HtmlToText {
  /**
   * The html as a person reads it, in lines of text: links with their addresses, no images. "" if there is nothing to
   * read. Never throws, and does not block the event loop.
   */
  read(html: string): Promise<HtmlToTextResult>;
  /** Ends its threads; waiting callers get `busy`. */
  close(): void;
}
