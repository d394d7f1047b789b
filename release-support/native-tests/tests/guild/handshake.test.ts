import { expect } from "chai";

import { messageEvents } from "../../../guild/event_stream.ts";
import { INITIALIZE_REQUEST, isInitializeAnswered, readInitializeAnswer } from "../../../guild/handshake.ts";
import type { InitializeReading } from "../../../guild/handshake.ts";
import type { ProbeAnswer } from "../../../guild/probe_request.ts";
import { event, initializeResponse } from "./live_support.ts";

type Ending = "complete" | "capped" | "cut" | "left";

function answered(
  body: string | Uint8Array,
  {
    status = 200,
    contentType = "application/json",
    ending = "complete",
  }: { readonly status?: number; readonly contentType?: string; readonly ending?: Ending } = {},
): ProbeAnswer {
  return { kind: "answer", status, contentType, body: Buffer.from(body), ending };
}

function readJson(value: unknown): InitializeReading {
  return readInitializeAnswer(answered(JSON.stringify(value)));
}

function readStream(text: string, ending: Ending = "complete"): InitializeReading {
  return readInitializeAnswer(answered(text, { contentType: "text/event-stream; charset=utf-8", ending }));
}

const GOOD = initializeResponse();
const NOTIFICATION = { jsonrpc: "2.0", method: "notifications/message", params: { data: "starting" } };

describe("reading an answer to initialize", () => {
  it("asks by JSON-RPC 2.0 with id 1 for protocol version 2025-03-26 [S2]", () => {
    const request = JSON.parse(INITIALIZE_REQUEST) as { params: { clientInfo: object } };
    expect(request).to.include({ jsonrpc: "2.0", id: 1, method: "initialize" });
    expect(request.params).to.include({ protocolVersion: "2025-03-26" });
    expect(request.params.clientInfo).to.have.all.keys("name", "version");
  });

  it("takes an InitializeResult in plain JSON for a handshake [S2]", () => {
    expect(readJson(GOOD)).to.equal("handshake");
  });

  it("takes one from any 2xx answer, whatever JSON calls itself [S2]", () => {
    const options = { status: 201, contentType: "" };
    expect(readInitializeAnswer(answered(JSON.stringify(GOOD), options))).to.equal("handshake");
  });

  it("takes a calendar date with a leap day [S2]", () => {
    expect(readJson(initializeResponse({ result: { protocolVersion: "2024-02-29" } }))).to.equal("handshake");
  });

  const others: readonly (readonly [title: string, value: unknown])[] = [
    ["another id", initializeResponse({ response: { id: 2 } })],
    ["its id as a text", initializeResponse({ response: { id: "1" } })],
    ["no id", initializeResponse({ response: { id: null } })],
    ["another JSON-RPC version", initializeResponse({ response: { jsonrpc: "1.0" } })],
    ["an error", { jsonrpc: "2.0", id: 1, error: { code: -32_600, message: "no" } }],
    ["a result that is a list", initializeResponse({ response: { result: [] } })],
    ["a batch", [GOOD]],
    ["no JSON object", "pong"],
    ["null", null],
    ["a date of no calendar", initializeResponse({ result: { protocolVersion: "2025-02-29" } })],
    ["month 13", initializeResponse({ result: { protocolVersion: "2025-13-01" } })],
    ["day 0", initializeResponse({ result: { protocolVersion: "2025-01-00" } })],
    ["year 0", initializeResponse({ result: { protocolVersion: "0000-01-01" } })],
    ["a date with a line end", initializeResponse({ result: { protocolVersion: "2025-03-26\n" } })],
    ["a date in another form", initializeResponse({ result: { protocolVersion: "2025-3-26" } })],
    ["a date in other digits", initializeResponse({ result: { protocolVersion: "\u0662025-03-26" } })],
    ["a date that is a number", initializeResponse({ result: { protocolVersion: 20_250_326 } })],
    ["capabilities that are a list", initializeResponse({ result: { capabilities: [] } })],
    ["no capabilities", initializeResponse({ result: { capabilities: null } })],
    ["no server", initializeResponse({ result: { serverInfo: null } })],
    ["a server without a version", initializeResponse({ result: { serverInfo: { name: "a" } } })],
    ["a blank server name", initializeResponse({ result: { serverInfo: { name: " ", version: "1" } } })],
    [
      "a server version that is a number",
      initializeResponse({ result: { serverInfo: { name: "a", version: 1 } } }),
    ],
  ];
  for (const [title, value] of others) {
    it(`takes ${title} for something else [S2]`, () => {
      expect(readJson(value)).to.equal("something_else");
    });
  }

  it("takes text that is no JSON, bytes that are no UTF-8 and an empty answer for something else [S2]", () => {
    const broken = Buffer.concat([Buffer.from(JSON.stringify(GOOD).slice(0, -1)), Buffer.from([0xff, 0x7d])]);
    for (const body of ["<html>", "", broken]) {
      expect(readInitializeAnswer(answered(body))).to.equal("something_else");
    }
  });

  it("takes members of a prototype for nothing [S2]", () => {
    expect(readJson({ jsonrpc: "2.0", id: 1, ["__proto__"]: { result: {} } })).to.equal("something_else");
  });

  for (const ending of ["cut", "capped"] as const) {
    it(`leaves a plain answer open that was ${ending}, even if it reads well so far [S2]`, () => {
      expect(readInitializeAnswer(answered(JSON.stringify(GOOD), { ending }))).to.equal("inconclusive");
    });
  }

  for (const status of [401, 402, 403]) {
    it(`takes ${status} for authorization that is required, whatever the body says [S2]`, () => {
      expect(readInitializeAnswer(answered(JSON.stringify(GOOD), { status }))).to.equal(
        "authorization_required",
      );
    });
  }

  for (const status of [400, 404, 405, 406, 500, 501, 503]) {
    it(`takes ${status} for a refusal [S2]`, () => {
      expect(readInitializeAnswer(answered(JSON.stringify(GOOD), { status }))).to.equal("refused");
    });
  }

  it("takes a redirect for no answer, like none at all [S2]", () => {
    expect(readInitializeAnswer(answered(JSON.stringify(GOOD), { status: 307 }))).to.equal("unanswered");
    expect(readInitializeAnswer({ kind: "no_answer" })).to.equal("unanswered");
  });
});

describe("reading an event stream that answers initialize", () => {
  it("takes an InitializeResult in it for a handshake [S2]", () => {
    expect(readStream(event(GOOD))).to.equal("handshake");
  });

  it("passes over other messages before it [S2]", () => {
    const other = initializeResponse({ response: { id: 7 } });
    expect(
      readStream(`: ping\n\n${event(NOTIFICATION)}data: no JSON\n\n${event(other)}${event(GOOD)}`),
    ).to.equal("handshake");
  });

  it("needs no end of the stream once the event is complete [S2]", () => {
    expect(readStream(event(GOOD), "cut")).to.equal("handshake");
    expect(readStream(event(GOOD), "capped")).to.equal("handshake");
    expect(readStream(event(GOOD), "left")).to.equal("handshake");
  });

  it("leaves a stream open that was cut within the event or before it [S2]", () => {
    expect(readStream(event(GOOD).slice(0, -1), "cut")).to.equal("inconclusive");
    expect(readStream(event(NOTIFICATION), "capped")).to.equal("inconclusive");
  });

  it("takes a complete stream without it for something else [S2]", () => {
    expect(readStream("")).to.equal("something_else");
    expect(readStream(event(NOTIFICATION))).to.equal("something_else");
    expect(readStream(event(GOOD).slice(0, -1))).to.equal("something_else");
  });

  it("does not read plain JSON as a stream, nor a stream as plain JSON [S2]", () => {
    expect(readStream(JSON.stringify(GOOD))).to.equal("something_else");
    expect(readInitializeAnswer(answered(event(GOOD)))).to.equal("something_else");
  });

  it("tells at the first complete matching event that the rest does not matter [S2]", () => {
    const head = { status: 200, contentType: "text/event-stream" };
    const stream = event(NOTIFICATION) + event(GOOD);
    const enough = (length: number) =>
      isInitializeAnswered({ ...head, body: Buffer.from(stream.slice(0, length)) });
    expect(enough(stream.length)).to.equal(true);
    expect(enough(stream.length - 1)).to.equal(false);
  });
});

describe("the event stream reader", () => {
  const cases: readonly (readonly [title: string, text: string, expected: readonly string[]])[] = [
    ["reads every kind of line end", "data: a\n\ndata: b\r\n\r\ndata: c\r\r", ["a", "b", "c"]],
    ["joins the data lines of an event", "data: a\ndata: b\ndata\ndata:c\n\n", ["a\nb\n\nc"]],
    ["takes away one space only", "data:  a\n\n", [" a"]],
    ["passes over comments and other fields", ": note\nid: 1\nretry: 5\ndata: a\n\n", ["a"]],
    ["passes over events of another type", "event: endpoint\ndata: /m\n\nevent: message\ndata: a\n\n", ["a"]],
    ["passes over events without data", "event: message\n\n\n\ndata: a\n\n", ["a"]],
    ["leaves out what is not complete", "data: a\n\ndata: b\n", ["a"]],
    ["does not take a field's name for a prefix", "database: a\n\n", []],
    ["keeps colons and line separators of the data", "data: a:b\u2028c\n\n", ["a:b\u2028c"]],
  ];
  for (const [title, text, expected] of cases) {
    it(`${title} [S2]`, () => {
      expect(messageEvents(text)).to.deep.equal(expected);
    });
  }
});
