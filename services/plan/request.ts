import { z } from 'zod';
import type { Inventory } from '../../schemas/inventory.ts';
import { PlanTrigger } from '../../schemas/plan.ts';
import type { PolicySet } from '../../schemas/policy.ts';
import { claimOf } from '../shared/event-schemas.ts';
import { parseJson, parseValue } from '../shared/parse-record.ts';
import type { PolicyReader } from './policy-reader.ts';

/** What a plan is asked of, read and checked. */
export interface Request {
  readonly inventory: Inventory;
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
}

export type ReadRequest =
  | { readonly ok: true; readonly request: Request }
  /** A sentence each. */
  | { readonly ok: false; readonly causes: readonly string[] };

/** What holds where a request does not say it. */
export interface RequestDefaults {
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
  readonly readPolicy: PolicyReader;
}

/** Reads bytes as a `PlanRequest`: an inventory event, or one with its own policy and trigger. Never throws. */
export function readRequest(bytes: Buffer, defaults: RequestDefaults): ReadRequest {
  const json = parseJson(bytes);
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

/** The parts are read by their own readers, which know more of what is wrong. */
const Question = z.strictObject(
  { inventory: z.unknown(), policy: z.unknown().optional(), trigger: PlanTrigger.optional() },
  { error: 'must be an inventory event, or a map of inventory and, if need be, policy and trigger' },
);

function readQuestion(value: unknown, defaults: RequestDefaults): ReadRequest {
  const { data, error } = Question.safeParse(value);
  if (error) return failure(...error.issues.map(issueText));
  const { inventory, policy, trigger = defaults.trigger } = data;
  const read =
    policy === undefined ? { ok: true as const, policies: defaults.policies } : defaults.readPolicy(policy);
  const asked = readInventory(inventory, { policies: defaults.policies, trigger });
  if (asked.ok && read.ok) return { ok: true, request: { ...asked.request, policies: read.policies } };
  return failure(...(asked.ok ? [] : asked.causes), ...(read.ok ? [] : read.problems));
}

const issueText = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`;
