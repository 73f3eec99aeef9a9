import { compile } from "html-to-text";
import type { HtmlToTextResult } from "../../ports/mail/htmlToText.ts";

/** Deeper elements are left out, because each level is a nested call. */
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

function read(html: string): HtmlToTextResult {
  try {
    return { kind: "text", text: convert(html).trim() };
  } catch {
    return { kind: "unreadable" };
  }
}

self.onmessage = ({ data }: MessageEvent<string>) => self.postMessage(read(data));
