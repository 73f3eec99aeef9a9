import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FILE_BYTES_MAX } from "../../../src/domain/attachment/fileSizeLimit.ts";
import { BodyAdmissionControl } from "../../../src/http/body/bodyAdmission.ts";
import { BODY_BYTES_IN_FLIGHT_MIN } from "../../../src/http/body/bodyLimits.ts";
import { openFilePart } from "../../../src/http/body/multipartFile.ts";
import { Problem } from "../../../src/http/server/problem.ts";

const HEAD = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain';
const BOUNDARY = "x-b";
const part = (head: string, body: Uint8Array | string) =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`),
    Buffer.from(body as string),
    Buffer.from("\r\n"),
  ]);
const form = (...parts: readonly Uint8Array[]) =>
  Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

/** A body in pieces, and how many of them were asked for. */
function sourceOf(bodies: Iterable<Uint8Array>) {
  const state = { pieces: 0 };
  const left = bodies[Symbol.iterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = left.next();
        if (done) return controller.close();
        state.pieces += 1;
        controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
  return {
    request: new Request("http://localhost/", { method: "POST", headers, body: stream }),
    state,
  };
}

function split(body: Uint8Array, size: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < body.length; start += size) chunks.push(body.subarray(start, start + size));
  return chunks;
}

function incoming() {
  return new BodyAdmissionControl(BODY_BYTES_IN_FLIGHT_MIN).open("workspace");
}

async function readFile(bodies: Iterable<Uint8Array>) {
  const file = await openFilePart(sourceOf(bodies).request, incoming());
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.chunks) chunks.push(Uint8Array.from(chunk));
  const { filename, contentType } = file;
  return { filename, contentType, bytes: Buffer.concat(chunks) };
}

async function fileFaultOf(bodies: Iterable<Uint8Array>): Promise<Problem> {
  try {
    await readFile(bodies);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("the file of a multipart body", () => {
  test("comes as it was sent, however the body is cut and whatever is in it", async () => {
    const content = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 3_000 }),
      // What looks like the end of a part and is not.
      fc
        .array(fc.constantFrom("\r\n", "--", BOUNDARY, "\r\n--x-", "-", "\r"))
        .map((texts) => `.${texts.join("")}.`)
        .filter((text) => !text.includes(`\r\n--${BOUNDARY}`))
        .map((text) => new Uint8Array(Buffer.from(text))),
    );
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 500 }), async (bytes, size) => {
        const file = await readFile(split(form(part(HEAD, bytes)), size));
        expect(file).toEqual({ filename: "a.txt", contentType: null, bytes: Buffer.from(bytes) });
      }),
      { numRuns: 300 },
    );
  });

  test("is refused when the body ends anywhere before its own end", async () => {
    const complete = form(part(HEAD, "hello"));
    const end = complete.length - "\r\n".length;
    for (let length = 0; length < end; length += 1) {
      expect((await fileFaultOf([complete.subarray(0, length)])).code).toBe("INVALID_REQUEST");
    }
    expect((await readFile([complete.subarray(0, end)])).bytes.toString()).toBe("hello");
  });

  test("is not read ahead of its consumer", async () => {
    const chunk = new Uint8Array(10_000).fill(0x61);
    const bodies = [Buffer.from(`--${BOUNDARY}\r\n${HEAD}\r\n\r\n`), ...Array<Uint8Array>(100).fill(chunk)];
    const { request, state } = sourceOf([...bodies, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    const file = await openFilePart(request, incoming());
    let bytesRead = 0;
    for await (const bytes of file.chunks) {
      bytesRead += bytes.length;
      expect(state.pieces * chunk.length).toBeLessThan(bytesRead + 3 * chunk.length);
    }
    expect(bytesRead).toBe(100 * chunk.length);
  });

  test("that is too large is let go at once", async () => {
    const chunk = new Uint8Array(100_000);
    function* endless() {
      yield Buffer.from(`--${BOUNDARY}\r\n${HEAD}\r\n\r\n`);
      for (;;) yield chunk;
    }
    const { request, state } = sourceOf(endless());
    const file = await openFilePart(request, incoming());
    let bytesRead = 0;
    const take = async () => {
      for await (const bytes of file.chunks) bytesRead += bytes.length;
    };
    await expect(take()).rejects.toMatchObject({ code: "ATTACHMENT_LIMIT_EXCEEDED" });
    expect(bytesRead).toBeLessThanOrEqual(FILE_BYTES_MAX);
    expect(state.pieces * chunk.length).toBeLessThan(FILE_BYTES_MAX + 3 * chunk.length);
    expect(request.body?.locked).toBeFalse();
  });

  test("that nobody wants is let go", async () => {
    const { request } = sourceOf(split(form(part(HEAD, "a".repeat(1_000))), 300));
    const file = await openFilePart(request, incoming());
    await file.close();
    expect(request.body?.locked).toBeFalse();
  });

  test.each([
    ["a field", form(part('Content-Disposition: form-data; name="file"', "hello")), "/file"],
    [
      "another field before",
      form(part('Content-Disposition: form-data; name="x"', ""), part(HEAD, "a")),
      "/x",
    ],
    [
      "another field behind",
      form(part(HEAD, "a"), part('Content-Disposition: form-data; name="x"', "")),
      "/x",
    ],
    ["another name", form(part(HEAD.replace("file", "files"), "a")), "/files"],
    ["no name", form(part(HEAD.replace('name="file"; ', ""), "a")), "/"],
    ["an empty file name", form(part(HEAD.replace("a.txt", ""), "a")), "/file"],
    ["a file name of 256 characters", form(part(HEAD.replace("a.txt", "é".repeat(256)), "a")), "/file"],
    ["another encoding", form(part(`${HEAD}\r\nContent-Transfer-Encoding: base64`, "aGk=")), "/file"],
  ])("with %s is refused", async (_, body, pointer) => {
    const problem = await fileFaultOf([body]);
    expect(problem.code).toBe("INVALID_REQUEST");
    expect(problem.options.errors).toMatchObject([{ pointer }]);
  });

  test.each([
    ["two files", form(part(HEAD, "a"), part(HEAD, "b")), "more than one"],
    ["no part", form(), "no file"],
    ["another name", form(part(HEAD.replace("file", "upload"), "a")), "the file goes into a part named file"],
    ["a part that says nothing of itself", form(part("X-A: b", "a")), "no file"],
    ["a header that is none", form(part("no header", "a")), "malformed"],
    ["no body", new Uint8Array(), "malformed"],
  ])("with %s is refused", async (_, body, detail) => {
    const problem = await fileFaultOf([body]);
    expect(problem.code).toBe("INVALID_REQUEST");
    expect(problem.message).toContain(detail);
  });

  test("may have a name of 255 characters in UTF-8", async () => {
    const filename = `${"é".repeat(251)}.txt`;
    const file = await readFile([form(part(HEAD.replace("a.txt", filename), "a"))]);
    expect(file.filename).toBe(filename);
  });
});
