// The code points that Python's str.strip() takes away: it knows U+001C to U+001F and U+0085, which String#trim
// does not, and leaves U+FEFF, which String#trim takes.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/**
 * Trims a text as the emulated framework does (Python's `str.strip()`; vectors `normalize_name`).
 *
 * @param text - any text
 * @returns the text without white space at either end
 */
export function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start += 1;
  while (end > start && SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
