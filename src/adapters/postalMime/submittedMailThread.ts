import { parseSubmittedMail } from "./parseSubmittedMail.ts";

declare const self: Worker;

/** The thread that reads large submitted mails one after another. Its owner terminates it when one takes too long. */
self.onmessage = async ({ data }: MessageEvent<Uint8Array>) => {
  postMessage(await parseSubmittedMail(data));
};
