import { expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { S3Client } from "bun";
import { signedUrl } from "../../../src/adapters/s3/s3Signature.ts";

const KEYS = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
};

test("a signed URL has the signature of the example in the documentation of S3", () => {
  const url = signedUrl(
    { ...KEYS, endpoint: "https://examplebucket.s3.amazonaws.com" },
    {
      method: "GET",
      path: "/test.txt",
      parameters: {},
      at: new Date("2013-05-24T00:00:00Z"),
      expiresSeconds: 86_400,
    },
  );
  expect(new URL(url).searchParams.get("X-Amz-Signature")).toBe(
    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
  );
});

test("a signed URL has the signature that Bun's client makes", () => {
  const endpoint = "http://127.0.0.1:9000";
  const client = new S3Client({ ...KEYS, endpoint, bucket: "bucket" });
  const theirs = new URL(client.presign("p/key", { method: "GET", expiresIn: 900 }));
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(theirs.searchParams.get("X-Amz-Date") ?? "") ?? [];
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const ours = new URL(
    signedUrl(
      { ...KEYS, endpoint },
      { method: "GET", path: "/bucket/p/key", parameters: {}, at, expiresSeconds: 900 },
    ),
  );
  for (const name of ["X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders"])
    expect(ours.searchParams.get(name)).toBe(theirs.searchParams.get(name));
  expect(ours.searchParams.get("X-Amz-Signature")).toBe(theirs.searchParams.get("X-Amz-Signature"));
});

test("a header that is to be signed is part of the signature, as S3 computes it", () => {
  const header = ["x-amz-server-side-encryption", "aws:kms"] as const;
  const [day, at] = ["20130524", new Date("2013-05-24T00:00:00Z")];
  const url = new URL(
    signedUrl(
      { ...KEYS, endpoint: "https://s3.example" },
      {
        method: "PUT",
        path: "/bucket/p/key",
        parameters: {},
        headers: Object.fromEntries([header]),
        at,
        expiresSeconds: 900,
      },
    ),
  );
  const signature = url.searchParams.get("X-Amz-Signature");
  expect(url.searchParams.get("X-Amz-SignedHeaders")).toBe(`host;${header[0]}`);
  const query = url.search.slice(1).replace(/&X-Amz-Signature=.*$/, "");
  const canonical = `PUT\n/bucket/p/key\n${query}\nhost:s3.example\n${header.join(":")}\n\nhost;${header[0]}\nUNSIGNED-PAYLOAD`;
  const digest = createHash("sha256").update(canonical).digest("hex");
  const text = `AWS4-HMAC-SHA256\n${day}T000000Z\n${day}/us-east-1/s3/aws4_request\n${digest}`;
  const hmac = (key: string | Buffer, part: string) => createHmac("sha256", key).update(part).digest();
  const dayKey = hmac(`AWS4${KEYS.secretAccessKey}`, day);
  const key = hmac(hmac(hmac(dayKey, "us-east-1"), "s3"), "aws4_request");
  expect(signature).toBe(hmac(key, text).toString("hex"));
});
