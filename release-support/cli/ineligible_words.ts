import type { EndpointProblem } from "../../helpers/binding/endpoint_screen.ts";

/** Why a URL may not be disclosed, for the operator: half a sentence about the URL, which is not shown itself. */
export const INELIGIBLE_WORDS: Readonly<Record<EndpointProblem, string>> = {
  not_text: "it is no text",
  too_long: "it has more than 2,048 characters",
  whitespace_or_control: "it holds white space or a control character",
  not_ascii: "it holds a character outside of printable ASCII",
  scheme: "it begins with neither http:// nor https:// in lower case",
  backslash: "it holds a backslash",
  query: "it holds a question mark: a query may be a credential",
  fragment: "it holds a number sign (#)",
  user_info: "it holds an @ before the host, or ends in one: a user name or password",
  empty_port: "it holds a colon without a port",
  percent_in_authority: "it holds a percent sign before the path",
  not_a_url: "it is no URL",
  not_as_serialised:
    "it is not in normal form: dot segments, an unusual way to write an address, or the like",
  port_zero: "its port is 0",
  host_name: "its host is no DNS name or address",
  host_not_public: "its host is not public; allow_private_hosts lifts that",
};
