// Shared with the plugin: the names and meanings of checks, statuses and verdicts. Not shared: the policy itself. The
// plugin names what must hold; the guarded agent names what may be amiss, and denies everything else.
import { CHECKS, STATUSES, VERDICTS, verdictOf } from "../../helpers/preflight/preflight_contract.ts";
import type {
  CheckName,
  CheckStatus,
  Statuses,
  Verdict,
} from "../../helpers/preflight/preflight_contract.ts";
import { readRecord } from "./arguments.ts";

/** A verdict that a policy may allow. `do_not_delegate` always denies (SPEC G4). */
export type AllowableVerdict = Exclude<Verdict, "do_not_delegate">;

/** What a policy is made from. What is left out has its default, which is the strictest. */
export interface PreflightPolicyFields {
  /** Checks that must be `proven`. Default: none by name, but see the other lists. */
  readonly requiredProven?: readonly CheckName[] | undefined;
  /** Verdicts that a call may go on under. Default: `no_failed_checks` alone. */
  readonly allowedVerdicts?: readonly AllowableVerdict[] | undefined;
  /** Checks that may be `unknown`. Default: none. */
  readonly allowedUnknowns?: readonly CheckName[] | undefined;
  /** Checks that may be `failed`. Default: none. */
  readonly allowedFailedChecks?: readonly CheckName[] | undefined;
}

/** Why a policy denies, the first that applies in this order. */
const POLICY_DENIALS = [
  "do_not_delegate",
  "malformed_evidence",
  "verdict_not_allowed",
  "required_not_proven",
  "failed_not_allowed",
  "unknown_not_allowed",
] as const;

/** The reason code of a denial by policy. */
export type PolicyDenial = (typeof POLICY_DENIALS)[number];

/** What a policy makes of a preflight. `allowed` is no approval: nothing in the policy denies the call. */
export type PolicyDecision =
  | { readonly kind: "allowed" }
  | {
      readonly kind: "denied";
      readonly reason: PolicyDenial;
      /** The checks that the reason is about; empty when it is about the verdict. */
      readonly checks: readonly CheckName[];
    };

const FIELDS = ["requiredProven", "allowedVerdicts", "allowedUnknowns", "allowedFailedChecks"] as const;
const ALLOWABLE: readonly AllowableVerdict[] = VERDICTS.filter((verdict) => verdict !== "do_not_delegate");

/** Which preflights a call may go on under. Checked when it is made, and never changed afterwards (SPEC G4, G8). */
export class PreflightPolicy {
  readonly #required: ReadonlySet<CheckName>;
  readonly #verdicts: ReadonlySet<Verdict>;
  readonly #unknowns: ReadonlySet<CheckName>;
  readonly #failed: ReadonlySet<CheckName>;

  private constructor(fields: PreflightPolicyFields) {
    const record = readRecord("policy", fields, FIELDS);
    this.#required = readNames("requiredProven", record.requiredProven, CHECKS, []);
    this.#verdicts = readNames("allowedVerdicts", record.allowedVerdicts, ALLOWABLE, ["no_failed_checks"]);
    this.#unknowns = readNames("allowedUnknowns", record.allowedUnknowns, CHECKS, []);
    this.#failed = readNames("allowedFailedChecks", record.allowedFailedChecks, CHECKS, []);
    for (const check of this.#required) {
      if (!this.#unknowns.has(check) && !this.#failed.has(check)) continue;
      throw new TypeError(`policy: ${check} is both required and tolerated; keep it in one list`);
    }
    Object.freeze(this);
  }

  /**
   * Makes a policy; the lists are copied.
   *
   * @param fields - the lists; without any, every failed and every unknown check denies
   * @throws TypeError for an unknown field, check or verdict, for `do_not_delegate`, for a repetition, and for a check
   * that is both required and tolerated
   */
  static of(fields: PreflightPolicyFields = {}): PreflightPolicy {
    return new PreflightPolicy(fields);
  }

  /** Whether a value is a policy made by `of`. */
  static is(value: unknown): value is PreflightPolicy {
    return typeof value === "object" && value !== null && #required in value;
  }

  /**
   * Decides what a preflight leads to (SPEC G4, G13; vectors `guarded_decision`). Whatever is not proven and not
   * tolerated denies: a status that is absent, odd, inherited or made by a getter, and a verdict that does not follow
   * from the statuses, are `malformed_evidence`.
   *
   * @param found - a verdict and the statuses that it follows from
   * @returns the decision. Never throws, whatever it is given.
   */
  decide(found: { readonly verdict: Verdict; readonly statuses: Statuses }): PolicyDecision {
    const { verdict, statuses, malformed } = readEvidence(found);
    if (verdict === "do_not_delegate" || verdictOf(statuses) === "do_not_delegate") {
      return deny("do_not_delegate");
    }
    if (verdict === undefined || malformed.length > 0 || verdict !== verdictOf(statuses)) {
      return deny("malformed_evidence", malformed);
    }
    return this.#judge(verdict, statuses);
  }

  #judge(verdict: Verdict, statuses: ReadonlyMap<CheckName, CheckStatus>): PolicyDecision {
    if (!this.#verdicts.has(verdict)) return deny("verdict_not_allowed");
    const unproven = CHECKS.filter((check) => this.#required.has(check) && statuses.get(check) !== "proven");
    if (unproven.length > 0) return deny("required_not_proven", unproven);
    const failed = CHECKS.filter((check) => statuses.get(check) === "failed" && !this.#failed.has(check));
    if (failed.length > 0) return deny("failed_not_allowed", failed);
    const unknown = CHECKS.filter((check) => statuses.get(check) === "unknown" && !this.#unknowns.has(check));
    if (unknown.length > 0) return deny("unknown_not_allowed", unknown);
    return { kind: "allowed" };
  }
}

/** What evidence says: of the six checks each one's status, and those that have none. */
interface Evidence {
  readonly verdict: Verdict | undefined;
  readonly statuses: ReadonlyMap<CheckName, CheckStatus>;
  readonly malformed: readonly CheckName[];
}

/** Reads evidence of any form, each member once. */
function readEvidence(found: unknown): Evidence {
  const verdict = VERDICTS.find(is(ownValue(found, "verdict")));
  const given = ownValue(found, "statuses");
  const statuses = new Map<CheckName, CheckStatus>();
  for (const check of CHECKS) {
    const status = STATUSES.find(is(ownValue(given, check)));
    if (status !== undefined) statuses.set(check, status);
  }
  return { verdict, statuses, malformed: CHECKS.filter((check) => !statuses.has(check)) };
}

function is(value: unknown): (word: string) => boolean {
  return (word) => word === value;
}

/** The value of a member of the object itself: nothing that a prototype lends, nothing that a getter makes up. */
function ownValue(object: unknown, name: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  try {
    const member = Object.getOwnPropertyDescriptor(object, name);
    return member !== undefined && Object.hasOwn(member, "value") ? member.value : undefined;
  } catch {
    // A proxy that does not answer has no such member.
    return undefined;
  }
}

function deny(reason: PolicyDenial, checks: readonly CheckName[] = []): PolicyDecision {
  return { kind: "denied", reason, checks };
}

function readNames<Name extends string>(
  field: string,
  value: unknown,
  known: readonly Name[],
  fallback: readonly Name[],
): ReadonlySet<Name> {
  if (value === undefined) return new Set(fallback);
  if (!Array.isArray(value)) throw new TypeError(`policy.${field}: expected a list of names`);
  const names = new Set<Name>();
  for (const item of value as readonly unknown[]) {
    const name = known.find((word) => word === item);
    if (name === undefined) throw new TypeError(`policy.${field}: expected only ${known.join(", ")}`);
    if (names.has(name)) throw new TypeError(`policy.${field}: ${name} is listed twice`);
    names.add(name);
  }
  return names;
}
