import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { WorkerSource } from '../../../packages/audit/events/open-source.ts';
import { readAnyPolicyFiles, type WrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import type { Problem } from '../../../packages/policy/file/yaml-document.ts';
import { selectorText } from '../../../packages/policy/selector-text.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { DAY_MS, HOUR_MS } from '../../../packages/process/durations.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { nodesUnder } from '../../../packages/read-model/nodes.ts';
import { nodeKey, SubjectKind } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { type SelectableNode, selects } from '../../../schemas/policy/policy-selection.ts';
import type { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import type {
  DashboardPolicies,
  DashboardPolicy,
  DashboardPolicyCheck,
} from '../../../schemas/reports/dashboard-policies.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';
import { type Access, type Asking, type Identified, mayDo, personKey } from '../access/access.ts';
import type { PersonBound } from '../bounds.ts';
import type { Simulations } from '../simulation/simulations.ts';
import { type Answer, jsonAnswer, readBody, refusal, tooMuch } from './answer.ts';
import { none, type Route, route } from './route.ts';

const MOST_NODES = 50;

type Listed = DashboardPolicies['policies'][number];

/** Every policy in force, and for how many nodes it holds. */
function readPolicies(projection: Projection): DashboardPolicies {
  // Once for all policies: the list of nodes is made anew each second.
  const { nodes } = projection.nodes();
  return {
    policies: [
      ...projection.policies.policies.map((record) => nodePolicy(record, nodes)),
      ...projection.standing.clusterPolicies.map(clusterPolicy),
    ].toSorted((a, b) => compareText(a.subject, b.subject) * -1 || compareText(a.name, b.name)),
  };
}

/** One of them with its text; `null` where there is none of this name. */
function readPolicy(
  projection: Projection,
  { subject, name }: { readonly subject: SubjectKind; readonly name: string },
): DashboardPolicy | null {
  if (subject === 'cluster') {
    const record = projection.standing.clusterPolicies.find(({ policy }) => policy.name === name);
    return record === undefined ? null : { ...clusterPolicy(record), source: record.source, someNodes: [] };
  }
  const record = projection.policies.policies.find(({ policy }) => policy.name === name);
  if (record === undefined) return null;
  const { nodes } = projection.nodes();
  const someNodes = nodesUnder(name, nodes).slice(0, MOST_NODES).map(nodeKey);
  return { ...nodePolicy(record, nodes), source: record.source, someNodes };
}

const nodePolicy = (
  { policy: { name, mode }, policyVersion, hash }: PolicyRecord,
  nodes: readonly FleetNode[],
): Listed => ({ subject: 'node', name, policyVersion, hash, mode, nodes: nodesUnder(name, nodes).length });

const clusterPolicy = ({ policy: { name, mode }, policyVersion, hash }: ClusterPolicyRecord): Listed => ({
  subject: 'cluster',
  name,
  policyVersion,
  hash,
  mode,
  nodes: null,
});

/** The pauses that stand on the log, or of them those that hold one node; those that were begun last first. */
export const readPauses = (
  pauses: StoredPolicies['pauses'],
  node: SelectableNode | null,
): DashboardPauses => ({
  pauses: [...pauses.values()]
    .filter(({ selector }) => node === null || selects(selector, node))
    .toSorted((a, b) => b.appliedAtMs - a.appliedAtMs)
    .map(({ selector, reason, by = null, appliedAtMs }) => ({
      selector,
      text: selectorText(selector),
      reason,
      by,
      sinceMs: appliedAtMs,
    })),
});

/** Files of policies are a few kilobytes; reading them takes the time of everybody who looks. */
const MOST_BODY_BYTES = 32 * 1024;
/** Whoever mends these sees the others then. */
const MOST_PROBLEMS = 50;
/** A page asks once somebody stops typing. */
export const POLICY_QUESTIONS = { atOnce: 2, inAMinute: 120 } as const;
/** @limit Days of one simulation of the dashboard. */
const MOST_DAYS = 14;
const REGRET_WINDOW_MS = 24 * HOUR_MS;
/** The name under which problems of a text are told. */
const FILE = 'policy.yaml';

export const POLICY_PATHS = '/api/policies/';

export interface PolicyNeeds {
  readonly access: Access;
  readonly projection: Projection;
  readonly simulations: Simulations;
  readonly policyQuestions: PersonBound;
  /** Where a simulation reads; `null` where there is no other way to the log than this process. */
  readonly simulationSource: WorkerSource | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

interface Given {
  readonly needs: PolicyNeeds;
  readonly person: Identified;
  readonly text: string;
  readonly query: URLSearchParams;
}

interface PolicyRequest {
  /**
   * A simulation has brokers read up to two weeks, beside the collection that they are there for, and others wait for it: who may
   * look alone may not ask for one.
   */
  readonly role: 'viewer' | 'operator';
  readonly answer: (given: Given) => Answer;
}

const REQUESTS: Readonly<Record<string, PolicyRequest>> = {
  check: { role: 'viewer', answer: ({ text }) => jsonAnswer(200, checked(text)) },
  simulate: { role: 'operator', answer: simulate },
  cancel: { role: 'operator', answer: cancel },
};

/** Answers what is asked about a text of policies. Nothing of it is applied, and nothing is written. */
export async function askAboutPolicies(
  request: IncomingMessage,
  asking: Asking,
  { url, needs }: { readonly url: URL; readonly needs: PolicyNeeds },
): Promise<Answer> {
  if (asking.method !== 'POST') return refusal(405, 'only POST');
  const objection = needs.access.objectionToActing(asking);
  if (objection !== null) return refusal(403, objection);
  const person = needs.access.identify(asking, needs.now());
  if (person === null) return refusal(401, 'sign in first');
  const name = url.pathname.slice(POLICY_PATHS.length);
  const asked = Object.hasOwn(REQUESTS, name) ? REQUESTS[name] : undefined;
  if (asked === undefined) return refusal(404, 'there is nothing of this address');
  if (!mayDo(person.role, asked.role)) return refusal(403, `this needs the role ${asked.role}`);
  using begun = needs.policyQuestions.begin(personKey(person), needs.now());
  if (begun.waitMs > 0)
    return tooMuch('you ask too much about policies at once: wait, and try again', begun.waitMs);
  if (!/^text\/plain\b/.test(request.headers['content-type'] ?? ''))
    return refusal(415, 'it has to be sent as text/plain');
  const text = await readBody(request, MOST_BODY_BYTES);
  if (text === null) return refusal(413, `more than ${MOST_BODY_BYTES} bytes are not read`);
  return asked.answer({ needs, person, text, query: url.searchParams });
}

/** As `fleetgc policy validate` reads it; of many problems it tells some. */
function checked(text: string): DashboardPolicyCheck {
  const files = readAnyPolicyFiles([{ file: FILE, text }], { mostProblems: MOST_PROBLEMS + 1 });
  const found = files.valid ? files.warnings : files.problems;
  const told = found.slice(0, MOST_PROBLEMS);
  const isMore = found.length > told.length;
  if (!files.valid)
    return { valid: false, policies: [], problems: told.map(withItsLines), warnings: [], isMore };
  return {
    valid: true,
    policies: files.policies.map(({ subject, policy: { name } }) => ({ subject, name })),
    problems: [],
    warnings: told,
    isMore,
  };
}

const withItsLines = ({
  lines = [],
  message,
  ...problem
}: Problem): DashboardPolicyCheck['problems'][number] => ({
  ...problem,
  message: [message, ...lines].join('\n'),
});

const Days = z
  .string()
  .regex(/^[0-9]{1,2}$/)
  .transform(Number)
  .refine((days) => days >= 1 && days <= MOST_DAYS);

function simulate({ needs, person, text, query }: Given): Answer {
  const { projection, simulations, simulationSource: source } = needs;
  const days = Days.safeParse(query.get('days'));
  if (!days.success) return refusal(400, `days has to be from 1 to ${MOST_DAYS}`);
  if (source === null) return refusal(503, 'this dashboard cannot simulate: use fleetgc audit simulate');
  const written = nodePoliciesIn(text);
  if ('problem' in written) return refusal(400, written.problem);
  const { nowMs: toMs } = projection.source;
  const against = projection.policies.policies.map(({ policy, source: text }) => ({ policy, source: text }));
  const names = written.policies.map(({ policy }) => policy.name);
  const id = simulations.ask({
    by: person.name,
    days: days.data,
    names,
    task: {
      source,
      range: { fromMs: toMs - days.data * DAY_MS, toMs },
      regretWindowMs: REGRET_WINDOW_MS,
      policy: [...against.filter(({ policy }) => !names.includes(policy.name)), ...written.policies],
      against,
    },
  });
  if (id === null) return refusal(503, 'too many simulations wait already: try again when one is done');
  return jsonAnswer(202, { id });
}

function nodePoliciesIn(
  text: string,
): { readonly policies: readonly WrittenPolicy[] } | { readonly problem: string } {
  const files = readAnyPolicyFiles([{ file: FILE, text }], { mostProblems: 1 });
  if (!files.valid) return { problem: 'the text is no valid policy: see its problems' };
  const policies = files.policies.flatMap((each) => (each.subject === 'node' ? [each] : []));
  if (policies.length < files.policies.length)
    return { problem: 'policies for clusters are tried with fleetgc audit simulate' };
  return policies.length === 0 ? { problem: 'there is no policy in the text' } : { policies };
}

function cancel({ needs, query }: Given): Answer {
  return needs.simulations.cancel(query.get('id') ?? '')
    ? jsonAnswer(200, {})
    : refusal(404, 'there is no such simulation under way');
}

/** What is asked about policies, and about what they would have done. */
export const POLICY_ROUTES: readonly Route[] = [
  route('/api/policies', none, (_, { projection }) => readPolicies(projection)),
  route(
    '/api/policy',
    z.strictObject({ subject: SubjectKind.default('node'), name: z.string().min(1).max(253) }),
    (named, { projection }) => readPolicy(projection, named),
  ),
  route('/api/simulations', none, (_, { simulations }) => simulations.told()),
  route('/api/simulation', z.strictObject({ id: z.string().min(1).max(100) }), ({ id }, { simulations }) =>
    simulations.find(id),
  ),
];
