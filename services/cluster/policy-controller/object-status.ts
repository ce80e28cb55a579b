import {
  type PolicyCondition,
  type PolicyObjectStatus,
  toldSentence,
  toldSentences,
} from '../../../schemas/policy/policy-object.ts';
import type { PolicyReach } from './heard-nodes.ts';
import type { Verdict } from './plan-writes.ts';

/** What stands on the log under the name of an object's policy. */
export interface Standing {
  readonly policyVersion: number;
  /** Epoch milliseconds by the log's clock; `null` where nobody looked it up. */
  readonly appliedAtMs: number | null;
}

export interface Told {
  readonly verdict: Verdict;
  /** `null`: nothing. */
  readonly standing: Standing | null;
  /** Why what is wanted could not be written, in a sentence; `null` where it stands there. */
  readonly failure: string | null;
  /** `null` where nobody has counted. */
  readonly reach: PolicyReach | null;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

type Said = Pick<PolicyCondition, 'type' | 'status' | 'reason' | 'message'>;

/** The status of an object. What did not change keeps its time, so that the same is never written twice. */
export function statusOf(told: Told): PolicyObjectStatus {
  const { verdict, standing, reach } = told;
  const { object, name } = verdict;
  const isOwn = verdict.kind !== 'taken' && standing !== null;
  const changedAtMs = isOwn ? standing.appliedAtMs : null;
  const before = isOwn && object.status?.policyVersion === standing.policyVersion ? object.status : null;
  const lastChangeTime =
    changedAtMs === null ? before?.lastChangeTime : isOfTheCalendar(changedAtMs) && timeOf(changedAtMs);
  const problems = toldSentences([...problemsOf(told)]);
  return {
    observedGeneration: object.generation,
    ...(isOwn && { policyName: name, policyVersion: standing.policyVersion }),
    ...(typeof lastChangeTime === 'string' && { lastChangeTime }),
    ...(isOwn && reach !== null && { nodesSelected: reach.selected, nodesFollowing: reach.following }),
    ...(problems.length > 0 && { problems }),
    conditions: [acceptedOf(verdict), readyOf(told)].map((said) => conditionOf(said, told)),
  };
}

/** Where writers date what they write, a record may be of any time; no API server reads a year of five digits. */
const isOfTheCalendar = (epochMs: number): boolean => epochMs >= 0 && epochMs < Date.UTC(10_000);

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d+Z$/, 'Z');

function conditionOf(said: Said, { verdict: { object }, nowMs }: Told): PolicyCondition {
  const before = object.status?.conditions.find(({ type }) => type === said.type);
  return {
    ...said,
    message: toldSentence(said.message),
    lastTransitionTime: before?.status === said.status ? before.lastTransitionTime : timeOf(nowMs),
    observedGeneration: object.generation,
  };
}

function acceptedOf(verdict: Verdict): Said {
  switch (verdict.kind) {
    case 'invalid':
      return { type: 'Accepted', status: 'False', reason: 'Invalid', message: verdict.problems.join('; ') };
    case 'taken':
      return { type: 'Accepted', status: 'False', reason: 'NameTaken', message: verdict.message };
    case 'policy':
      return { type: 'Accepted', status: 'True', reason: 'Valid', message: 'the spec is a policy' };
  }
}

function readyOf({ verdict, standing, failure }: Told): Said {
  const notReady = (reason: string, message: string): Said => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  switch (verdict.kind) {
    case 'invalid':
      return notReady('Invalid', standing === null ? NEVER_APPLIED : STILL_AS_BEFORE);
    case 'taken':
      return notReady('NameTaken', verdict.message);
    case 'policy':
      if (failure !== null) return notReady('NotWritten', failure);
      return standing === null || verdict.change.kind !== 'unchanged'
        ? notReady('NotWritten', 'it does not stand on the event log yet as it is written here')
        : {
            type: 'Ready',
            status: 'True',
            reason: 'Applied',
            message: `policy ${verdict.name}, version ${standing.policyVersion}, stands on the event log`,
          };
  }
}

const NEVER_APPLIED = 'the spec is no policy, so nothing was applied: Accepted says why';
const STILL_AS_BEFORE =
  'the spec is no policy: what was applied before stays in force, and Accepted says why';

function* problemsOf({ verdict, failure, reach }: Told): Iterable<string> {
  if (verdict.kind === 'invalid') yield* verdict.problems;
  if (verdict.kind === 'taken') yield verdict.message;
  if (failure !== null) yield failure;
  if (verdict.kind === 'policy') yield* verdict.warnings;
  if (reach === null || verdict.kind === 'taken') return;
  if (reach.selected === 0) yield 'it selects no node of this cluster that the event log has heard lately';
  for (const [other, nodes] of reach.others) yield `${other} holds for ${nodes} of the nodes it selects`;
  if (reach.paused > 0) yield `a pause holds for ${reach.paused} of the nodes it selects`;
}
