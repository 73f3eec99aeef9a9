import type { UploadAttachment } from "../../commands/attachment/uploadAttachment.ts";

/** The bytes of a file; its end counts only once `check` has passed. */
export async function* checkAtEnd(
  chunks: UploadAttachment["chunks"],
  check: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, void> {
  yield* chunks;
  await check();
}
