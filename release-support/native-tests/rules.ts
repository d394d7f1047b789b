/** How many numbered rules each section of the specification has, for the sections that are implemented. */
const SECTIONS: Readonly<Record<string, number>> = {
  "P1.": 6,
  "P2.": 5,
  "P3.": 3,
  "P4.": 4,
  "P5.": 7,
  "P6.": 8,
  "P7.": 3,
  "P8.": 5,
  "P9.": 5,
  "P10.": 4,
  "P11.": 4,
  H: 12,
  G: 15,
  S: 2,
  C: 7,
  A: 4,
};

/** Rules of sections that are not whole yet. */
const SINGLE = ["C10", "D1", "D2"];

/** The ids of the rules, such as `P6.3`; every one of them must be cited by a test. */
export const RULES: readonly string[] = [
  ...Object.entries(SECTIONS).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, index) => `${section}${index + 1}`),
  ),
  ...SINGLE,
];
