import type { S3Requests } from "./s3Requests.ts";

/** The smallest part that S3 accepts; only the last one may be smaller. */
export const PART_BYTES = 5 * 1_024 * 1_024;

/** An object being uploaded part by part. */
export interface S3MultipartUpload {
  write(chunk: Uint8Array): Promise<void>;
  /** Creates the object from what was written. */
  end(): Promise<void>;
}

/**
 * A multipart upload by Bun's client, which keeps one part in memory at a time. Its writer reports a failure once and
 * then behaves as if nothing were wrong, so we remember the first failure. It cannot abort an upload: to give one up,
 * end it and remove the object.
 */
export function s3MultipartUpload(
  { client, within }: S3Requests,
  key: string,
  stepDeadline: () => number,
): S3MultipartUpload {
  const sink = client.file(key).writer({ partSize: PART_BYTES, queueSize: 1, retry: 3 });
  let failure: unknown = null;
  const step = async (work: () => Promise<unknown>) => {
    if (failure !== null) throw failure;
    try {
      await within(stepDeadline(), work());
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  return {
    write: (chunk) =>
      step(async () => {
        await sink.write(chunk);
        await sink.flush();
      }),
    end: () => step(async () => sink.end()),
  };
}
