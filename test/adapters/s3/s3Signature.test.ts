import { expect, test } from "bun:test";
import { S3Client } from "bun";
import { signedGetUrl } from "../../../src/adapters/s3/s3Signature.ts";

const KEYS = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
};

test("a signed URL has the signature of the example in the documentation of S3", () => {
  const url = signedGetUrl(
    { ...KEYS, endpoint: "https://examplebucket.s3.amazonaws.com" },
    { path: "/test.txt", parameters: {}, at: new Date("2013-05-24T00:00:00Z"), expiresSeconds: 86_400 },
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
    signedGetUrl({ ...KEYS, endpoint }, { path: "/bucket/p/key", parameters: {}, at, expiresSeconds: 900 }),
  );
  for (const name of ["X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders"])
    expect(ours.searchParams.get(name)).toBe(theirs.searchParams.get(name));
  expect(ours.searchParams.get("X-Amz-Signature")).toBe(theirs.searchParams.get("X-Amz-Signature"));
});
