/** Parts up to this size are copied together, in bytes. */
const BLOCK_BYTES = 16_384;

/**
 * Collects bytes that arrive in parts. Short parts are copied together, because each one that is kept takes hundreds of
 * bytes of memory besides its own: a sender that ends a part after every byte could fill the memory.
 */
export class ByteBuffer {
  private readonly parts: Uint8Array[] = [];
  private block = new Uint8Array(0);
  private blockBytes = 0;

  add(part: Uint8Array): void {
    if (this.blockBytes + part.byteLength > this.block.byteLength) this.endBlock();
    if (part.byteLength >= BLOCK_BYTES) {
      this.parts.push(part);
      return;
    }
    if (this.block.byteLength === 0) this.block = new Uint8Array(BLOCK_BYTES);
    this.block.set(part, this.blockBytes);
    this.blockBytes += part.byteLength;
  }

  /** Drops everything. */
  clear(): void {
    this.endBlock();
    this.parts.length = 0;
  }

  /** Everything so far in one piece, with zeros up to `bytes` if it is given. */
  join(bytes?: number): Buffer {
    this.endBlock();
    return Buffer.concat(this.parts, bytes);
  }

  private endBlock(): void {
    if (this.blockBytes > 0) this.parts.push(this.block.subarray(0, this.blockBytes));
    this.block = new Uint8Array(0);
    this.blockBytes = 0;
  }
}

/** Everything that a stream holds; null, without reading on, if that is more than `bytesMax`. */
export async function readAtMost(
  bytesMax: number,
  stream: AsyncIterable<Uint8Array>,
): Promise<Buffer | null> {
  const buffer = new ByteBuffer();
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.byteLength;
    if (bytes > bytesMax) return null;
    buffer.add(part);
  }
  return buffer.join();
}
