import type { RequestContext } from "../server/requestContext.ts";
import { FairShareBudget } from "./fairShareBudget.ts";

/** An answer up to this size, in bytes, goes to the system whole and then leaves our memory. */
const SMALL_BYTES_MAX = 65_536;
/** Bytes of larger answers that may wait for their readers. */
const UNREAD_BYTES_MAX = 128 * 1_024 * 1_024;
/** The size of pieces in which a large answer is handed over. */
const PIECE_BYTES = 65_536;

/** Holds unread answers to callers with a key: a message with its files takes 14 MB, and nobody has to read it. */
export class UnreadResponses {
  private readonly share = new FairShareBudget(UNREAD_BYTES_MAX);

  /** The answer, in pieces if it is large; cut off when others need the room more. */
  async hold(response: Response, { principal, isStreamed }: RequestContext): Promise<Response> {
    if (principal === null || isStreamed || response.body === null) return response;
    const { status, headers } = response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.byteLength <= SMALL_BYTES_MAX) return new Response(bytes, { status, headers });
    return new Response(this.inPieces(bytes, principal.workspaceId), { status, headers });
  }

  private inPieces(bytes: Uint8Array<ArrayBuffer>, workspaceId: string): ReadableStream<Uint8Array> {
    let at = 0;
    let giveBack = () => {};
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        giveBack = this.share.take(workspaceId, bytes.byteLength, () =>
          controller.error(new Error("the answer was not read while others needed the room")),
        );
      },
      pull(controller) {
        controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
        if (at < bytes.byteLength) return;
        giveBack();
        controller.close();
      },
      cancel: () => giveBack(),
    });
  }
}
