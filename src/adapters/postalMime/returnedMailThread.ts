import { parseReturnedMail } from "./parseReturnedMail.ts";

declare const self: Worker;

/** The thread that reads returned mails one after another. */
self.onmessage = async ({ data }: MessageEvent<Uint8Array>) => {
  postMessage(await parseReturnedMail(data));
};
