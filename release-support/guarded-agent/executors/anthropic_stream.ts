import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";

import { isObject, readArguments } from "./texts.ts";

/** A content block as the provider has it: remote data. */
export type Block = Readonly<Record<string, unknown>>;

/** The content blocks of a streamed message, put together as their pieces come. */
export class BlocksInPieces {
  readonly #blocks = new Map<number, Record<string, unknown>>();
  /** The input of tools, which comes as pieces of JSON. */
  readonly #inputs = new Map<number, string>();

  /** Takes an event. @returns the piece of the answer's text that it brings, or an empty text */
  take(event: RawMessageStreamEvent): string {
    if (event.type === "content_block_start") this.#blocks.set(event.index, { ...event.content_block });
    if (event.type !== "content_block_delta") return "";
    const block = this.#blocks.get(event.index);
    if (block === undefined) return "";
    const { delta } = event;
    switch (delta.type) {
      case "text_delta":
        add(block, "text", delta.text);
        return delta.text;
      case "thinking_delta":
        add(block, "thinking", delta.thinking);
        return "";
      case "signature_delta":
        block["signature"] = delta.signature;
        return "";
      case "citations_delta":
        block["citations"] = [block["citations"] ?? [], delta.citation].flat();
        return "";
      case "input_json_delta":
        this.#inputs.set(event.index, (this.#inputs.get(event.index) ?? "") + delta.partial_json);
        return "";
      default:
        return "";
    }
  }

  /** All blocks in their order; input that is no JSON object stays the text that it was. */
  get whole(): readonly Block[] {
    return [...this.#blocks].map(([index, block]) => {
      const input = this.#inputs.get(index);
      if (input === undefined || (input === "" && isObject(block["input"]))) return block;
      return { ...block, input: readArguments(input) ?? input };
    });
  }
}

function add(block: Record<string, unknown>, member: string, piece: string): void {
  const before = block[member];
  block[member] = (typeof before === "string" ? before : "") + piece;
}
