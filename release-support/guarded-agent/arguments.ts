/**
 * Reads a caller's options object once, so that later changes to it, and getters that change their mind, have no
 * effect.
 *
 * @param what - how the message names it
 * @param value - what the caller gave
 * @param known - the members that it may have; a misspelt one must not be ignored
 * @returns a copy of its known members
 * @throws TypeError for anything but an object with known members. The message names no unknown member.
 */
export function readRecord<Name extends string>(
  what: string,
  value: unknown,
  known: readonly Name[],
): Readonly<Partial<Record<Name, unknown>>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${what}: expected an object`);
  }
  const members = Object.entries({ ...value });
  if (members.some(([name]) => !known.some((word) => word === name))) {
    throw new TypeError(`${what}: expected only the members ${known.join(", ")}`);
  }
  // Without a prototype: a member that was left out is not looked for anywhere else.
  return Object.assign(Object.create(null), Object.fromEntries(members)) as Partial<Record<Name, unknown>>;
}

/**
 * Reads a number from a caller's options.
 *
 * @throws TypeError for anything but a number above 0 and up to `max`, and whole if it has to be
 */
export function readNumber(
  what: string,
  value: unknown,
  { max, whole = false }: { readonly max: number; readonly whole?: boolean },
): number {
  if (typeof value !== "number" || !(value > 0 && value <= max) || (whole && !Number.isInteger(value))) {
    throw new TypeError(`${what}: expected a${whole ? " whole" : ""} number above 0, up to ${max}`);
  }
  return value;
}
