import { fullGC, heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readBytes } from "../../src/http/body/bodyBytes.ts";
import { ByteBuffer } from "../../src/kernel/byteBuffer.ts";
import { readMailBytes } from "../../src/smtp/readMailBytes.ts";

/** Accepts everything. */
const BODY = {
  admit() {},
  pass() {},
  next: <Part>(part: Promise<Part>) => part,
  waitedMs: () => 0,
  release() {},
};

describe("a byte buffer", () => {
  test("of any length (property) are the bytes in their order", () => {
    const part = fc.uint8Array({ maxLength: 40_000 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (given) => {
        const parts = new ByteBuffer();
        for (const one of given) parts.add(one);
        expect(parts.join().equals(Buffer.concat(given))).toBe(true);
        parts.clear();
        expect(parts.join().byteLength).toBe(0);
      }),
    );
  });

  test("can be followed by zeros", () => {
    const parts = new ByteBuffer();
    parts.add(Buffer.from("ab"));
    expect([...parts.join(4)]).toEqual([97, 98, 0, 0]);
  });
});

describe("a sender that ends a part after every byte", () => {
  const BYTES = 40_000;
  const arrays = () => {
    fullGC();
    return heapStats().objectTypeCounts.Uint8Array ?? 0;
  };
  /** One byte at a time; at the end, how many arrays more than at first the reader makes the heap hold. */
  async function* bytes(kept: (arrays: number) => void) {
    const before = arrays();
    for (let sent = 0; sent < BYTES; sent += 1) yield new Uint8Array([120]);
    kept(arrays() - before);
  }

  /** A request whose parts are all there at once. */
  function requestOf(content: AsyncGenerator<Uint8Array>) {
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await content.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return new Request("http://localhost/", { method: "POST", body });
  }

  test("does not multiply a mail in memory", async () => {
    let kept = BYTES;
    const content = bytes((count) => {
      kept = count;
    });
    const read = await readMailBytes(content, BODY);
    expect(read.kind === "content" && read.bytes.byteLength).toBe(BYTES);
    expect(kept).toBeLessThan(BYTES / 10);
  });

  test("does not keep others waiting until its body ends", async () => {
    let turns = 0;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    await readBytes(requestOf(bytes(() => {})), BODY, BYTES);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(1);
  });

  test("does not multiply a body in memory", async () => {
    let kept = BYTES;
    const content = bytes((count) => {
      kept = count;
    });
    expect((await readBytes(requestOf(content), BODY, BYTES)).byteLength).toBe(BYTES);
    expect(kept).toBeLessThan(BYTES / 10);
  });
});
