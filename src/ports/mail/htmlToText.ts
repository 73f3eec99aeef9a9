/** What came of a reading. `unreadable`: not within the bounds on time. `busy`: not now, too many others wait. */
export type HtmlToTextResult =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable" }
  | { readonly kind: "busy" };

/** Makes plain text of html. */
export interface HtmlToText {
  /**
   * What a person reads of the html, as lines of text: links with their addresses, no images. "" where there is nothing
   * to read. Never throws, and leaves the event loop free meanwhile.
   */
  read(html: string): Promise<HtmlToTextResult>;
  /** Ends its threads: whoever waits gets `busy`. */
  close(): void;
}
