import type { UploadAttachment } from "../../commands/attachment/uploadAttachment.ts";

/** The bytes of an uploaded file; its end counts only once `check` finds the key or session still usable. */
export async function* recheckKeyAfterUpload(
  chunks: UploadAttachment["chunks"],
  check: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, void> {
  yield* chunks;
  await check();
}
