import { z } from 'zod';
import type { ClusterDecision } from '../../../../schemas/events/cluster-decision.ts';
import { DECISIONS, type Decision } from '../../../../schemas/events/decision.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { answerTo, type CorpusCase, questionOf } from './corpus.ts';
import { SOURCE_DECIDERS, type SourceDecider } from './source-deciders.ts';

/** What the deciders make of one case, as short texts: outcomes, rules by what they led to, doubts, and what follows. */
export const findingsOf = (recorded: CorpusCase): ReadonlySet<string> =>
  new Set(
    SOURCE_DECIDERS.filter(({ topic }) => topic === recorded.topic).flatMap((decider) =>
      ofDecider(decider, recorded).map((finding) => `${decider.name} ${finding}`),
    ),
  );

function ofDecider(decider: SourceDecider, recorded: CorpusCase): readonly string[] {
  const [record, ...others] = z
    .array(z.looseObject({ type: z.string() }))
    .parse(JSON.parse(answerTo(questionOf(recorded), decider)));
  const decided = z.discriminatedUnion('type', [DECISIONS.node, DECISIONS.cluster]).parse(record);
  const what = decided.type === 'fleetgc.node.decision' ? ofNode(decided) : ofCluster(decided);
  return [...what, ...others.map(({ type }) => `gives ${type}`)];
}

const ofCluster = ({ outcome, verdicts }: ClusterDecision): readonly string[] => [
  outcome,
  ...verdicts.map(({ action, rule }) => `${outcome} ${action} ${rule}`),
  ...verdicts.map(({ action, rule, facts }) => `${action} ${rule} ${Object.keys(facts).join(' ')}`),
];

function ofNode({ outcome, reason, reclaim, notBelieved, notes, verdicts }: Decision): readonly string[] {
  return [
    outcome,
    ...(reclaim === null ? [] : ofReclaim(reclaim).map((finding) => `${outcome} ${finding}`)),
    // The rest of the sentence has the amounts in it.
    `because ${reason.split(/[;:,(]/)[0]?.replaceAll(/[\d.]+/g, '#')}`,
    ...notBelieved.map(({ rule }) => `doubts ${rule}`),
    ...notes.map(({ rule }) => `notes ${rule}`),
    ...verdicts.map(({ kind, action, rule }) => `${action} ${kind} ${rule}`),
  ];
}

const ofReclaim = ({ step, cause, actions, target }: Reclaim): readonly string[] => [
  `at ${step} for ${cause.signal}`,
  `by ${actions.join(' and ')} in ${target.filesystem} ${target.resource}`,
];
