import { compile } from "html-to-text";

/** To the thread: html to read. */
export interface ConversionRequest {
  readonly html: string;
}

/** From the thread: its text, or null where it cannot be read. */
export interface ConversionAnswer {
  readonly text: string | null;
}

/** Deeper elements are left out: each level is a call within a call. */
const DEPTH_MAX = 128;

declare const self: Worker;

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: DEPTH_MAX },
  selectors: [
    { selector: "img", format: "skip" },
    { selector: "[hidden]", format: "skip" },
    { selector: '[style*="display:none"]', format: "skip" },
    { selector: '[style*="display: none"]', format: "skip" },
    { selector: "a", options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

function textOf(html: string): string | null {
  try {
    return convert(html).trim();
  } catch {
    return null;
  }
}

self.onmessage = ({ data }: MessageEvent<ConversionRequest>) =>
  self.postMessage({ text: textOf(data.html) } satisfies ConversionAnswer);
