import { SECOND_MS } from "../../kernel/time.ts";
import type { HtmlToText, HtmlToTextResult } from "../../ports/mail/htmlToText.ts";
import type { ConversionAnswer, ConversionRequest } from "./htmlToTextThread.ts";

/** The longest html that a message can have takes some tens of ms. */
const CONVERSION_MS_MAX = 2 * SECOND_MS;
/** One after the other; each waits in memory with its html. */
const WAITING_MAX = 256;

interface Conversion {
  readonly html: string;
  readonly answer: (reading: HtmlToTextResult) => void;
}

/**
 * Reads html with the library html-to-text on a thread of its own, which begins with the first html. A thread that
 * takes too long over one is ended, and the next html begins another: nobody else waits for longer than that.
 */
export function threadedHtmlToText(conversionMsMax = CONVERSION_MS_MAX): HtmlToText {
  const waiting: Conversion[] = [];
  let thread: Worker | null = null;
  let current: Conversion | null = null;
  let timer: Timer | undefined;
  let isClosed = false;

  function settle(reading: HtmlToTextResult): void {
    clearTimeout(timer);
    current?.answer(reading);
    current = null;
    next();
  }

  function abandon(why: "unreadable" | "busy"): void {
    thread?.terminate();
    thread = null;
    settle({ kind: why });
  }

  function begin(): Worker {
    const begun = new Worker(new URL("./htmlToTextThread.ts", import.meta.url).href, { ref: false });
    begun.onmessage = ({ data }: MessageEvent<ConversionAnswer>) => {
      if (thread !== begun) return;
      settle(data.text === null ? { kind: "unreadable" } : { kind: "text", text: data.text });
    };
    begun.onerror = () => {
      if (thread === begun) abandon("busy");
    };
    return begun;
  }

  function next(): void {
    const conversion = waiting.shift();
    if (conversion === undefined) return;
    current = conversion;
    thread ??= begin();
    timer = setTimeout(() => abandon("unreadable"), conversionMsMax);
    thread.postMessage({ html: conversion.html } satisfies ConversionRequest);
  }

  return {
    read(html) {
      if (isClosed || waiting.length >= WAITING_MAX) return Promise.resolve({ kind: "busy" });
      return new Promise((answer) => {
        waiting.push({ html, answer });
        if (current === null) next();
      });
    },
    close() {
      isClosed = true;
      for (const { answer } of waiting.splice(0)) answer({ kind: "busy" });
      abandon("busy");
    },
  };
}
