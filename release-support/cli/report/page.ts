import { createHash } from "node:crypto";

import { CHECKS } from "../../../helpers/preflight/preflight_contract.ts";
import type { CheckName, CheckStatus } from "../../../helpers/preflight/preflight_contract.ts";
import { EVIDENCE_FILTERS, evidenceClass, OUTCOME_FILTERS, outcomeClass } from "./filters.ts";
import type { Filter } from "./filters.ts";
import { html, nothing } from "./markup.ts";
import type { Markup } from "./markup.ts";
import type { RequestPicture, RunPicture } from "./picture.ts";
import { endingPart, requestCard } from "./request_card.ts";
import { STYLE } from "./style.ts";

/** The checks in a word each, for the heads of narrow columns. */
const SHORT_NAMES: Readonly<Record<CheckName, string>> = {
  endpoint_reachable: "reachable",
  protocol_handshake: "handshake",
  agent_card_resolves: "card",
  agent_card_signed: "signed",
  payment_claim_holds: "payment",
  independent_evidence: "evidence",
};

/** How a status is drawn; its name stands beside it for who does not see it. */
const MARKS: Readonly<Record<CheckStatus, string>> = { proven: "✓", failed: "✕", unknown: "?" };

/**
 * Writes the picture of a run: one page that needs nothing beside itself, no network and no script, and whose policy
 * forbids it both. Whatever others wrote in it is text and marked as untrusted.
 *
 * @param picture - what to show
 * @returns the file, in HTML
 */
export function reportPage(picture: RunPicture): string {
  const { title, introduction, madeAt, requests, limits } = picture;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} - Agent Guild preflight</title>
<style>`;
  const body = html`</style>
</head>
<body>
<main>
<header class="top">
<p class="eyebrow">Agent Guild preflight</p>
<h1>${title}</h1>
<p class="lead">${introduction}</p>
<p class="made">Made <time datetime="${madeAt.toISOString()}">${madeAt.toISOString().replace("T", " ").slice(0, 19)} UTC</time></p>
${tiles(requests)}
</header>
<section aria-labelledby="grid-title">
<h2 id="grid-title">The six checks</h2>
<div class="filters">
${filterGroup("Outcome", "outcome", OUTCOME_FILTERS, requests.map(outcomeClass))}
${filterGroup("Evidence", "evidence", EVIDENCE_FILTERS, requests.map(evidenceClass))}
</div>
${overview(requests)}
<p class="legend"><span class="mark proven">✓</span> proven <span class="mark failed">✕</span> failed <span class="mark unknown">?</span> unknown: neither failure nor trust <span class="mark none">·</span> no evidence</p>
</section>
<section aria-labelledby="requests-title">
<h2 id="requests-title">The requests</h2>
${requests.map((request, index) => requestCard(request, index + 1))}
</section>
<footer>
<h2>What an observation is not</h2>
<ul>${limits.map((limit) => html`<li>${limit}</li>`)}</ul>
</footer>
</main>
</body>
</html>
`;
  return `${page.toString()}${STYLE}${body.toString()}`;
}

/** Nothing is loaded and nothing runs; the one style sheet is named by its hash. */
function contentPolicy(): string {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
}

function tiles(requests: readonly RequestPicture[]): Markup {
  const count = (wanted: (request: RequestPicture) => boolean) => requests.filter(wanted).length;
  const items: readonly (readonly [number, string, string])[] = [
    [requests.length, "requests", ""],
    [count(({ outcome }) => outcome === "ran"), "ran", "good"],
    [count(({ outcome }) => outcome === "denied"), "denied", "bad"],
    [count(({ evidence }) => evidence !== null && !evidence.cached), "asked the Guild", ""],
    [count(({ evidence }) => evidence?.cached === true), "from the cache", ""],
  ];
  return html`<dl class="tiles">
    ${items.map(
      ([number, words, tone]) =>
        html`<div class="tile ${tone}">
          <dt>${words}</dt>
          <dd>${number}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Radio buttons that filter by style sheet alone. Without a style sheet everything is shown. */
function filterGroup(
  legend: string,
  name: string,
  filters: readonly Filter[],
  present: readonly string[],
): Markup {
  const shownFilters = filters.filter(({ id }) => id === "all" || present.includes(id));
  const radios = shownFilters.map(({ id, label }) => {
    const count = id === "all" ? present.length : present.filter((one) => one === id).length;
    const checked = id === "all" ? html` checked` : nothing;
    return html`<label
      ><input type="radio" name="${name}" id="${name}-${id}" ${checked} /><span
        >${label} <b>${count}</b></span
      ></label
    >`;
  });
  return html`<fieldset>
    <legend>${legend}</legend>
    ${radios}
  </fieldset>`;
}

function overview(requests: readonly RequestPicture[]): Markup {
  const heads = CHECKS.map((check) => html`<th scope="col"><span>${SHORT_NAMES[check]}</span></th>`);
  return html`<div class="scroll">
    <table class="grid">
      <thead>
        <tr>
          <th scope="col" class="name">request</th>
          ${heads}
          <th scope="col" class="end">ended</th>
        </tr>
      </thead>
      <tbody>
        ${requests.map((request, index) => overviewRow(request, index + 1))}
      </tbody>
    </table>
  </div>`;
}

function overviewRow(request: RequestPicture, number: number): Markup {
  const { title, evidence } = request;
  const cells = CHECKS.map((check) => {
    const status = evidence?.statuses?.[check];
    if (status === undefined) return html`<td><span class="mark none">·</span><i>no evidence</i></td>`;
    return html`<td><span class="mark ${status}">${MARKS[status]}</span><i>${status}</i></td>`;
  });
  return html`<tr class="item ${outcomeClass(request)} ${evidenceClass(request)}">
    <th scope="row" class="name">
      <a href="#request-${number}"><b>${number}</b> <bdi>${title}</bdi></a>
    </th>
    ${cells}
    <td class="end">${endingPart(request)}</td>
  </tr> `;
}
