/** Counted beside the owners of that kind. No uid has a space. */
export const kindKey = (kind: string): string => `kind ${kind}`;

/** Of what goes by a rule of a policy. */
export const ruleKey = (name: string): string => `rule ${name}`;
