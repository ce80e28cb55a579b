import { stringify } from 'yaml';
import { z } from 'zod';
import { type ObjectMetadata, readMetadata, wholeForm } from '../../../packages/kube-api/metadata.ts';
import { readPolicyOfKubernetes } from '../../../packages/policy/file/read-policy-file.ts';
import { type Problem, pathText } from '../../../packages/policy/file/yaml-document.ts';
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
import { PolicyObjectStatus } from '../../../schemas/policy/policy-object.ts';

/** What an object says. */
type WrittenObject =
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

/** A policy as it lies in Kubernetes. */
export interface PolicyObject extends ObjectMetadata {
  /** Changes with the spec. */
  readonly generation: number;
  /** As people wrote it; `null` where it is larger or deeper than any policy. */
  readonly spec: object | null;
  /** At least so many characters it takes to write it. */
  readonly specCharacters: number;
  /** `null` where none was told, or one that another release told. */
  readonly status: PolicyObjectStatus | null;
  /** What stands there as status, be it ours or not: all of it is replaced. Where it is larger than any of ours, its names alone. */
  readonly statusAsRead: object;
}

/** All of its members, whatever they are called: what nobody knows is to be refused, not passed over. */
const Members = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const Fields = z.object({
  metadata: z.object({ generation: z.int().nonnegative().default(0) }),
  spec: Members.optional(),
  status: Members.optional(),
});

/** Larger than any policy that people write; the text of it goes to every node of the fleet. */
const MOST_SPEC_CHARACTERS = 200_000;
/** The deepest list of a policy lies in a section of it. */
const MOST_LEVELS = 4;
/** What stands around a value: where it begins, and where it ends. */
const AROUND_A_VALUE = 2;

/** So that nothing that walks through a value walks for ever; `null` for more than is read. */
function charactersOf(value: unknown, levels = MOST_LEVELS): number | null {
  if (typeof value !== 'object' || value === null) return AROUND_A_VALUE + String(value).length;
  if (levels === 0) return null;
  const isList = Array.isArray(value);
  let characters = AROUND_A_VALUE;
  for (const [key, each] of Object.entries(value)) {
    const more = charactersOf(each, levels - 1);
    if (more === null) return null;
    characters += more + (isList ? 0 : key.length);
    if (characters > MOST_SPEC_CHARACTERS) return null;
  }
  return characters;
}

/** The next pass clears away the rest. */
const MOST_NAMES = 1_000;
const namesIn = (status: object): object =>
  Object.fromEntries(
    Object.keys(status)
      .slice(0, MOST_NAMES)
      .map((name) => [name, null]),
  );

export const POLICY_FORM = wholeForm((value): PolicyObject | null => {
  const metadata = readMetadata(value);
  const { data } = Fields.safeParse(value);
  if (metadata === null || data === undefined) return null;
  const { spec = {}, status = {} } = data;
  const characters = charactersOf(spec);
  return {
    ...metadata,
    generation: data.metadata.generation,
    spec: characters === null ? null : spec,
    specCharacters: characters ?? 0,
    status: PolicyObjectStatus.safeParse(status).data ?? null,
    statusAsRead: charactersOf(status) === null ? namesIn(status) : status,
  };
});
