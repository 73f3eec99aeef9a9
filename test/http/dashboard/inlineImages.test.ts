import { expect, test } from "bun:test";
import { referredImages, withInlineImages } from "../../../src/http/dashboard/email/inlineImages.ts";

const PNG = { contentType: "image/png", bytes: new Uint8Array([137, 80, 78, 71]) };
const DATA = "data:image/png;base64,iVBORw==";

test.each([
  ['<img src="cid:logo">', `<img src="${DATA}">`],
  ["<img src='cid:logo'>", `<img src='${DATA}'>`],
  ["<IMG SRC = cid:logo width=1>", `<IMG SRC = ${DATA} width=1>`],
  ['<td background="CID:logo">', `<td background="${DATA}">`],
  ["<p style=\"background:url('cid:logo')\">", `<p style="background:url('${DATA}')">`],
  ['<p style="background:url(cid:logo);color:red">', `<p style="background:url(${DATA});color:red">`],
  ['<p style="background:url(&quot;cid:logo&quot;)">', `<p style="background:url(&quot;${DATA}&quot;)">`],
  ['<img src="cid:a%26b@x"><img src="cid:a&amp;b@x">', `<img src="${DATA}"><img src="${DATA}">`],
] as const)("%s shows the image that came with the mail", (html, shown) => {
  const images = new Map([
    ["logo", PNG],
    ["a&b@x", PNG],
  ]);
  expect(withInlineImages(html, images)).toBe(shown);
});

test("what is no image, not there, or only text stays as it is", () => {
  const files = new Map([["page", { contentType: "text/html", bytes: PNG.bytes }]]);
  for (const html of ['<img src="cid:page">', '<img src="cid:gone">', "<p>Write cid:page to see it.</p>"])
    expect(withInlineImages(html, files)).toBe(html);
  expect(withInlineImages('<img src="cid:%zz">', files)).toBe('<img src="cid:%zz">');
});

test("an image that stands in it again and again does not make the page endless", () => {
  const large = new Map([["logo", { contentType: "image/png", bytes: new Uint8Array(3_000_000) }]]);
  const html = '<img src="cid:logo">'.repeat(1_000);
  expect(referredImages(html)).toEqual(["logo"]);
  expect(withInlineImages(html, large).length).toBeLessThan(17_000_000);
});
