import { stringify } from 'yaml';
import { type Problem, pathText } from '../../../packages/policy/file/problem.ts';
import { readPolicyOfKubernetes } from '../../../packages/policy/file/read-policy-file.ts';
import { toPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import {
  clusterOfKubernetesPolicy,
  isOfKubernetes,
  kubernetesPolicyName,
  MOST_PRIORITY_OF_KUBERNETES,
} from '../../../schemas/policy/kubernetes-policies.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { PolicyName } from '../../../schemas/policy/policy-file.ts';
import { MOST_SPEC_CHARACTERS, type PolicyObject } from './policy-object.ts';

/** What an object says. */
export type WrittenObject =
  | { readonly kind: 'policy'; readonly record: PolicyRecord; readonly warnings: readonly string[] }
  /** It is no policy, and why, a sentence each. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/** Blocks would lose blanks before the end of a line: a pattern or a label would then keep something else. */
const AS_WRITTEN = { lineWidth: 0, aliasDuplicateObjects: false, blockQuote: false } as const;

/** More of them no status has room for, and each takes its time. */
const MOST_PROBLEMS = 20;

const invalid = (...problems: readonly string[]): WrittenObject => ({ kind: 'invalid', problems });

/** The policy of an object: in its own name, for its own cluster alone. */
export function writtenPolicy(object: PolicyObject, identity: ClusterIdentity): WrittenObject {
  const { cluster } = identity;
  const name = kubernetesPolicyName(cluster, object.name);
  if (!isPolicyName(name, cluster)) return invalid(nameProblem(name));
  if (object.spec === null) return invalid('the spec is larger or deeper than any policy; make it smaller');
  const spec = new Map<string, unknown>(Object.entries(object.spec));
  const own = [...ownSettings(spec)];
  if (own.length > 0) return invalid(...own);
  const { selector = {}, priority = MOST_PRIORITY_OF_KUBERNETES, ...settings } = Object.fromEntries(spec);
  const written = { name, priority, selector: { ...Object(selector), clusters: [cluster] }, ...settings };
  const text = stringify(written, AS_WRITTEN);
  if (text.length > MOST_SPEC_CHARACTERS)
    return invalid(`the spec has more than ${MOST_SPEC_CHARACTERS} characters; make it smaller`);
  return readText(text, object, identity);
}

function readText(text: string, object: PolicyObject, identity: ClusterIdentity): WrittenObject {
  const read = readPolicyOfKubernetes({ file: object.name, text }, MOST_PROBLEMS);
  if (!read.valid) return invalid(...read.problems.map(told));
  const [written, ...more] = read.policies;
  if (written === undefined || more.length > 0) return invalid('the spec is not one policy');
  if (!isOfKubernetes(written.policy)) return invalid(PRIORITY_TOO_HIGH);
  const source = `${markOf(object.name, identity)}\n${text}`;
  return {
    kind: 'policy',
    record: toPolicyRecord({ policy: written.policy, source }),
    warnings: read.warnings.map(told),
  };
}

const told = ({ path, message }: Pick<Problem, 'path' | 'message'>): string =>
  `${path === '' ? 'the policy' : path} ${message}`;

/** What the object says already, and nobody may say otherwise. */
function* ownSettings(spec: ReadonlyMap<string, unknown>): Iterable<string> {
  for (const setting of ['name', 'kind'])
    if (spec.has(setting)) yield `${setting} is said by the object itself; leave it out of the spec`;
  const selector = spec.has('selector') ? spec.get('selector') : {};
  if (typeof selector !== 'object' || selector === null || Array.isArray(selector))
    yield 'selector must be a map of conditions';
  else if (Object.hasOwn(selector, 'clusters'))
    yield `${pathText(['selector', 'clusters'])} is this cluster, and no other can be selected; leave it out`;
}

const isPolicyName = (name: string, cluster: string): boolean =>
  clusterOfKubernetesPolicy(name) === cluster && PolicyName.safeParse(name).success;

/** Whether any policy of this cluster can have a name. */
export const canNamePolicies = (cluster: string): boolean =>
  isPolicyName(kubernetesPolicyName(cluster, 'a'), cluster);

const nameProblem = (name: string): string =>
  `${name} would be the name of the policy: it must have at most 63 lower-case letters, digits and dashes, dots in the name of the cluster alone. Give the object a shorter or a simpler name`;

const PRIORITY_TOO_HIGH = `priority must be ${MOST_PRIORITY_OF_KUBERNETES} or less: what the operators of the fleet apply comes first`;

/** The first line of the text that stands on the log says who brought it: names of clusters are not identities. */
const markOf = (name: string, { clusterInstance }: Pick<ClusterIdentity, 'clusterInstance'>): string =>
  `${MARK}${name} of the cluster instance ${encodeURIComponent(clusterInstance)}`;
const MARK = '# GarbageCollectionPolicy ';
const MARKED = new RegExp(`^${MARK}\\S+ of the cluster instance (\\S+)\n`);

/** Which cluster brought a policy; `null` for one that came another way. */
export function broughtBy({ source }: Pick<PolicyRecord, 'source'>): string | null {
  const [, instance] = MARKED.exec(source) ?? [];
  return instance === undefined ? null : decoded(instance);
}

function decoded(instance: string): string | null {
  try {
    return decodeURIComponent(instance);
  } catch {
    return null;
  }
}
