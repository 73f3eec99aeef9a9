import { compile } from "html-to-text";
import { serveJobs } from "../../kernel/concurrency/serveJobs.ts";
import { threadProcessorMs } from "../../kernel/processorTime.ts";
import type { HtmlReading } from "../../ports/mail/htmlToText.ts";

/** Deeper elements are left out, because each level is a nested call. */
const DEPTH_MAX = 128;

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

function read(html: string): HtmlReading {
  const before = threadProcessorMs();
  const text = textOf(html);
  const processorMs = threadProcessorMs() - before;
  return text === null ? { kind: "unreadable", processorMs } : { kind: "text", text, processorMs };
}

/** Null if the library cannot read it. */
function textOf(html: string): string | null {
  try {
    return convert(html).trim();
  } catch {
    return null;
  }
}

serveJobs(read);
