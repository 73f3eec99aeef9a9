/** What became of html, and how much processor time reading it took, in ms. `unreadable`: it takes too long. */
export type HtmlReading =
  | { readonly kind: "text"; readonly text: string; readonly processorMs: number }
  | { readonly kind: "unreadable"; readonly processorMs: number };

/** If it was not read: `busy`: too many others are waiting now. `ownerBusy`: too many of the same owner are. */
export type HtmlToTextResult = HtmlReading | { readonly kind: "busy" } | { readonly kind: "ownerBusy" };

/** For whom html is read. */
export interface HtmlOwner {
  readonly id: string;
  /** Whether nobody waits for the text any more. */
  readonly isAbandoned: (() => boolean) | undefined;
}

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
