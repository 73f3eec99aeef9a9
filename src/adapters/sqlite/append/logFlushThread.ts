import type { ToThread } from "./logThreadSupervisor.ts";
import { WriteAheadLogFlush } from "./writeAheadLogFlush.ts";

/** First the log, then one task at a time: flush its write-ahead log, or rewrite and flush all of it. */
export type FlushTask = { readonly path: string } | { readonly flush: "written" | "rewritten" };

/** Whether everything written to the write-ahead log before the task is on disk. */
export type IsFlushed = boolean;

declare const self: Worker;

let log: WriteAheadLogFlush | null = null;

function flush(what: "written" | "rewritten"): IsFlushed {
  if (log === null) return false;
  return what === "rewritten" ? log.rewrite() : log.flush();
}

self.onmessage = ({ data }: MessageEvent<ToThread<FlushTask>>) => {
  if ("path" in data) log = new WriteAheadLogFlush(data.path);
  else if ("flush" in data) self.postMessage(flush(data.flush));
  else {
    log?.close();
    process.exit();
  }
};
