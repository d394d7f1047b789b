/**
 * Reads the complete message events of an event stream (WHATWG HTML, section "Server-sent events"): an event counts
 * once the blank line behind it has arrived. Events of another type than `message` and those without data are left out.
 *
 * @param text - the stream as far as it was read
 * @returns the data of each event, in order
 */
export function messageEvents(text: string): readonly string[] {
  const messages: string[] = [];
  let event = newEvent();
  // The last piece has no line end behind it: that line may go on.
  for (const line of text.split(/\r\n|\n|\r/).slice(0, -1)) {
    if (line !== "") {
      addField(event, line);
      continue;
    }
    if (event.data.length > 0 && isMessage(event.type)) messages.push(event.data.join("\n"));
    event = newEvent();
  }
  return messages;
}

interface StreamEvent {
  type: string;
  readonly data: string[];
}

function newEvent(): StreamEvent {
  return { type: "", data: [] };
}

function addField(event: StreamEvent, line: string): void {
  const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (name === "data") event.data.push(value);
  if (name === "event") event.type = value;
}

function isMessage(type: string): boolean {
  return type === "" || type === "message";
}
