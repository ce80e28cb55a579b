import { z } from 'zod';
import { claimOf } from '../../schemas/events/claims.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { PolicyFile } from '../../schemas/policy/policy-file.ts';
import { PlanTrigger } from '../../schemas/reports/plan.ts';
import { policySet } from '../decision/policy-set.ts';
import { overridden, type PolicyOverride, readPolicyFiles } from '../policy/file/read-policy-file.ts';
import { toPolicyRecord } from '../policy/policy-changes.ts';
import { parseJson, parseValue, plainIssue } from '../records/parse/parse-record.ts';

/** What a plan is asked of, read and checked. */
interface Request {
  readonly inventory: Inventory;
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
}

type ReadRequest =
  | { readonly ok: true; readonly request: Request }
  /** A sentence each. */
  | { readonly ok: false; readonly causes: readonly string[] };

/** What holds where a request does not say it, and what holds for every request. */
export interface Asked {
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
  readonly override: PolicyOverride;
}

export interface RequestDefaults extends Omit<Asked, 'override'> {
  readonly readPolicy: PolicyReader;
}

export const defaultsOf = ({ override, ...same }: Asked): RequestDefaults => ({
  ...same,
  readPolicy: policyReader(override),
});

/** Reads bytes as a `PlanRequest`: an inventory event, or one with its own policy and trigger. Never throws. */
export function readRequest(bytes: Buffer, defaults: RequestDefaults): ReadRequest {
  const json = parseJson(TOPICS.inventory.name, bytes);
  if (!json.ok) return failure(json.rejection.message);
  const value = json.event;
  return claimOf(value) === undefined ? readQuestion(value, defaults) : readInventory(value, defaults);
}

const failure = (...causes: readonly string[]): ReadRequest => ({ ok: false, causes });

function readInventory(value: unknown, { policies, trigger }: Omit<Request, 'inventory'>): ReadRequest {
  const parsed = parseValue('inventory', value);
  if (!parsed.ok) return failure(`inventory: ${parsed.rejection.message}`);
  return { ok: true, request: { inventory: parsed.event, policies, trigger } };
}

const NO_REQUEST = 'must be an inventory event, or a map of inventory and, if need be, policy and trigger';

/** Inventory and policy are read by their own readers, which know more of what is wrong. */
const Question = z.strictObject({
  inventory: z.unknown().optional(),
  policy: z.unknown().optional(),
  trigger: PlanTrigger.optional(),
});

const AnyMap = z.looseObject({});

/** Every problem of every part is told. */
function readQuestion(value: unknown, defaults: RequestDefaults): ReadRequest {
  const parts = AnyMap.safeParse(value).data;
  if (parts === undefined) return failure(NO_REQUEST);
  const { data, error } = Question.safeParse(value, { error: plainIssue });
  const policy = readPolicyOf(parts, defaults);
  const asked = readInventory(parts.inventory, {
    policies: policy.ok ? policy.policies : defaults.policies,
    trigger: data?.trigger ?? defaults.trigger,
  });
  const causes = [
    ...(error?.issues.map(issueText) ?? []),
    ...(asked.ok ? [] : asked.causes),
    ...(policy.ok ? [] : policy.problems),
  ];
  return causes.length === 0 ? asked : failure(...causes);
}

const readPolicyOf = (
  parts: Readonly<Record<string, unknown>>,
  { policies, readPolicy }: RequestDefaults,
): ReadPolicy => ('policy' in parts ? readPolicy(parts.policy) : { ok: true, policies });

const issueText = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys'
    ? `${issue.keys.join(', ')}: is no part of a request, which has inventory, policy and trigger`
    : `${z.core.toDotPath(issue.path)}: ${issue.message}`;

/** The one policy as all the policies that there are, or every problem of it, a sentence each. */
type ReadPolicy =
  | { readonly ok: true; readonly policies: PolicySet }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a policy that is written as in a policy file, as JSON. */
type PolicyReader = (written: unknown) => ReadPolicy;

/** Whoever asks about many nodes asks about few policies. */
const MAX_CACHED = 1_000;

/** Equal texts are read once. */
export function policyReader(override: PolicyOverride): PolicyReader {
  const cached = new Map<string, ReadPolicy>();
  return (written) => {
    const text = JSON.stringify(written);
    const known = cached.get(text);
    if (known !== undefined) return known;
    const read = readPolicy(written, text, override);
    if (cached.size >= MAX_CACHED) cached.clear();
    cached.set(text, read);
    return read;
  };
}

/** Schemas pass over this key, and with it over a condition on nodes; the reader of files tells it. */
const LOST_KEY = '"__proto__"';

/** The reader of files knows best what to say of a policy that is wrong, and JSON is YAML; it takes its time. */
function readPolicy(written: unknown, text: string, override: PolicyOverride): ReadPolicy {
  const { data } = PolicyFile.safeParse(overridden(written, override));
  if (data && !text.includes(LOST_KEY)) return setOf({ policy: data, source: text });
  const files = readPolicyFiles([{ file: 'policy', text }], override);
  if (!files.valid)
    return {
      ok: false,
      problems: files.problems.map(({ path, message }) =>
        path === '' ? `policy: ${message}` : `policy.${path}: ${message}`,
      ),
    };
  const [policy] = files.policies;
  return policy === undefined ? { ok: false, problems: ['policy: there is none'] } : setOf(policy);
}

const setOf = (written: Parameters<typeof toPolicyRecord>[0]): ReadPolicy => ({
  ok: true,
  policies: policySet('node', [toPolicyRecord(written)], []),
});
