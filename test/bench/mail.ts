const WORDS =
  `account action amount answer basket before button change client closed coffee corner credit custom
  decide detail direct double effort either enough entire expect family figure finish follow friend garden ground
  handle happen height hidden import indeed invoice island journal kitchen language ledger letter listen manage market
  member minute moment mother motion nature notice number office orange origin packet parcel people period person
  planet please policy prefer profit public purpose quality quick reason record repeat report rescue result return
  sample screen search second secure select settle shadow signal silver simple single socket source spring square
  status stream street summer supply switch system tablet target thread ticket travel unique update vendor volume
  weekly window winter wonder worker yellow`.split(/\s+/);

/** How long the html of a measured message is, in characters. */
export const HTML_CHARACTERS = 2_000;

/** Text of words with numbers between them: compresses like a real message, not to nothing. */
export function wordsOf(characters: number, random: () => number): string {
  let text = "";
  while (text.length < characters) {
    const word = WORDS[Math.floor(random() * WORDS.length)];
    text += random() < 0.15 ? `${Math.floor(random() * 10_000)} ` : `${word} `;
  }
  return text.slice(0, characters);
}

/** The request that every measurement sends. */
export function mailBody(random: () => number, to = "you@example.com") {
  return {
    from: "hello@example.com",
    to,
    subject: wordsOf(40, random),
    html: `<p>${wordsOf(HTML_CHARACTERS - 7, random)}</p>`,
  };
}

/** A template as most are: a greeting, words of its own, a link and a date. */
export function templateVersion(random: () => number) {
  return {
    subject: "{{ name }}, your order {{ order }} is on its way",
    html: `<p>Hello {{ name | default: "there" }},</p><p>${wordsOf(HTML_CHARACTERS - 200, random)}</p>
      {% if url %}<p><a href="{{ url }}">Follow your order {{ order }}</a></p>{% endif %}<p>{{ at | date: "%B %-d, %Y" }}</p>`,
    variables: [
      { name: "name", type: "string", required: true },
      { name: "order", type: "number", required: true },
      { name: "url", type: "string" },
      { name: "at", type: "date", default: "2030-01-31" },
    ],
  };
}

/** A send by that template: what comes out is about as long as the message of {@link mailBody}. */
export function templateMailBody(random: () => number, template: string, to = "you@example.com") {
  const order = Math.floor(random() * 100_000);
  const variables = {
    name: wordsOf(8, random),
    order,
    url: `https://example.com/orders/${order}?from=mail&by=link`,
  };
  return { from: "hello@example.com", to, template_id: template, variables };
}
