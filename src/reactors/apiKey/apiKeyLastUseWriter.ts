import type { KeyUse } from "../../commands/apiKey/apiKeyLastUse.ts";

const WRITE_MS = 10_000;

export interface KeyUseWriterOptions {
  readonly keyUse: KeyUse;
  readonly actor: string;
  readonly onTrouble: (error: unknown) => void;
}

/** Writes down now and then when keys were used. A crash loses some seconds of it. */
export function keyUseWriter({ keyUse, actor, onTrouble }: KeyUseWriterOptions) {
  let writing = Promise.resolve();
  const write = () => {
    writing = writing.then(() => keyUse.write(actor)).catch(onTrouble);
    return writing;
  };
  let timer: Timer | undefined;
  return {
    start(): void {
      timer = setInterval(() => void write(), WRITE_MS);
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await write();
    },
  };
}
