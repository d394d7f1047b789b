/**
 * Shows a value that a model sent as text: a text as it is, everything else as JSON, in which a big integer is a text of
 * its digits.
 *
 * @param value - any value
 * @returns the text; for a value that JSON cannot hold a sentence that says so. Never throws.
 */
export function shownAsText(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return (
      JSON.stringify(value, (_, member: unknown) => (typeof member === "bigint" ? String(member) : member)) ??
      NOT_SHOWN
    );
  } catch {
    return NOT_SHOWN;
  }
}

const NOT_SHOWN = "(a value that cannot be shown)";
