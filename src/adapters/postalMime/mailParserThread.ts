import { parseMail } from "./parseMail.ts";

declare const self: Worker;

/** The thread that reads large mails, one after another: whoever began it ends it when one takes too long. */
self.onmessage = async ({ data }: MessageEvent<Uint8Array>) => {
  postMessage(await parseMail(data));
};
