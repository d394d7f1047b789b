import { CHECKS } from "../../../helpers/preflight/preflight_contract.ts";
import { ERROR_WORDS } from "../../../helpers/decision/denial.ts";
import type { EvidenceDocument, PolicyDocument } from "../output_schemas.ts";
import { evidenceClass, outcomeClass } from "./filters.ts";
import { html, nothing } from "./markup.ts";
import type { Markup } from "./markup.ts";
import type { RequestPicture, UntrustedText } from "./picture.ts";
import type { Stage } from "./stages.ts";

/** How wide a time line is, in units of its own. */
const UNITS = 1000;
/** What takes no time shows all the same. */
const LEAST_UNITS = 4;

/** One request: how it ended and why, its way through the stages, what was known. */
export function requestCard(request: RequestPicture, number: number): Markup {
  const { title, story, tool, path, why, details, synthetic, stages, evidence, policy } = request;
  return html`<article
    class="request item ${outcomeClass(request)} ${evidenceClass(request)}"
    id="request-${number}"
  >
    <header>
      <h3><span class="number">${number}</span> <bdi>${title}</bdi></h3>
      <p class="end">${endingPart(request)}</p>
    </header>
    ${story === "" ? nothing : html`<p class="story">${story}</p>`}
    <p class="why">${sentence(why)}</p>
    ${
      details.length === 0
        ? nothing
        : html`<ul class="details">
            ${details.map((detail) => html`<li>${detail}</li>`)}
          </ul>`
    }
    <dl class="facts">
      <div>
        <dt>tool, as asked for</dt>
        <dd>
          <code class="untrusted"><bdi>${tool}</bdi></code>
        </dd>
      </div>
      <div>
        <dt>path</dt>
        <dd>${path}${synthetic ? html` <span class="tag">synthetic Guild</span>` : nothing}</dd>
      </div>
      ${
        request.endpoint === null
          ? nothing
          : html`<div>
              <dt>approved endpoint</dt>
              <dd><code>${request.endpoint}</code></dd>
            </div>`
      }
    </dl>
    ${stages.length === 0 ? nothing : timeLine(stages)}
    ${evidence === null ? nothing : evidencePart(evidence, policy)}
    ${request.untrusted.length === 0 ? nothing : untrustedPart(request.untrusted)}
  </article> `;
}

/** How a request ended, and its reason code where it has one. */
export function endingPart(request: RequestPicture): Markup {
  const { outcome, reason } = request;
  const code = reason === outcome ? nothing : html` <code>${reason}</code>`;
  return html`<span class="pill ${outcomeClass(request)}">${outcome.replaceAll("_", " ")}</span>${code}`;
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function timeLine(stages: readonly Stage[]): Markup {
  const total = Math.max(...stages.map(({ span }) => span?.to ?? 0), 0.001);
  const rects = stages.flatMap(({ state, span }) => {
    if (span === null) return [];
    const width = Math.max(((span.to - span.from) / total) * UNITS, LEAST_UNITS);
    const x = Math.min((span.from / total) * UNITS, UNITS - width);
    return [
      html`<rect class="${state}" x="${x.toFixed(1)}" y="0" width="${width.toFixed(1)}" height="10" />`,
    ];
  });
  return html`<div class="line">
      <svg viewBox="0 0 ${UNITS} 10" preserveAspectRatio="none" aria-hidden="true">${rects}</svg>
      <span>${milliseconds(total)}</span>
    </div>
    <ol class="stages">
      ${stages.map(stageItem)}
    </ol>`;
}

function stageItem({ name, state, words, span }: Stage): Markup {
  const time = span === null ? nothing : html`<span class="ms">${milliseconds(span.to - span.from)}</span>`;
  return html`<li class="${state}"><b>${name}</b><span class="words">${words}</span>${time}</li> `;
}

function milliseconds(ms: number): string {
  if (ms < 0.05) return "0 ms";
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

function evidencePart(evidence: EvidenceDocument, policy: PolicyDocument | null): Markup {
  const { verdict, error, observed_at: observedAt, guild_origin: origin, cached } = evidence;
  if (verdict === null) {
    const words = error === null ? "nothing" : `${ERROR_WORDS[error]} (${error})`;
    return html`<p class="verdict">No evidence: ${words}. Asked: <code>${origin}</code></p>`;
  }
  const age = cached ? `, from the cache, ${Math.floor(evidence.age_seconds ?? 0)} s old` : "";
  return html`<ul class="checks">
      ${CHECKS.map((check) => {
        const status = evidence.statuses?.[check] ?? "unknown";
        const required = policy?.required_proven.includes(check) === true;
        return html`<li class="${status}">
          <code>${check}</code><span>${status}${required ? html` <em>required</em>` : nothing}</span>
        </li> `;
      })}
    </ul>
    <p class="verdict">
      Verdict <b>${verdict}</b>, observed ${observedAt ?? ""}${age}, by <code>${origin}</code>${
        evidence.unlisted === 0 ? nothing : html`; +${evidence.unlisted} unlisted checks`
      }
    </p>`;
}

function untrustedPart(texts: readonly UntrustedText[]): Markup {
  return html`<details class="untrusted">
    <summary>Untrusted words of the Guild</summary>
    ${texts.map(
      ({ what, text }) =>
        html`<h4>${what}</h4>
          <pre><bdi>${text}</bdi></pre>`,
    )}
  </details>`;
}
