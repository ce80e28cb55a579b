import { describe, expect, test } from 'vitest';
import {
  type ClusterAnswer,
  commandedBy,
  disagreement,
  isDistrust,
  isOfBystander,
  steadyClusterContent,
} from '../../../../packages/audit/verify/cluster-commands.ts';
import {
  clusterCommandResultId,
  clusterObjectResultsId,
  clusterRejectedResultId,
} from '../../../../packages/decision/result-ids.ts';
import type {
  ClusterCommandResult,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import {
  CLUSTER,
  clusterCommand,
  clusterCommandResult,
  clusterItem,
  clusterObject,
  clusterObjectResults,
} from '../../../fixtures/cluster.ts';

const COMMAND = commandedBy(
  clusterCommand({ items: ['x', 'y'].map((uid) => clusterItem({ object: clusterObject({ uid }) })) }),
);
const AS_COMMANDED = { ...CLUSTER, commandId: COMMAND.id };
const [TOLD] = clusterObjectResults().objects;
if (TOLD === undefined) throw new Error('the fixture tells of an object');
const told = { ...TOLD, object: { ...TOLD.object, uid: 'x' } };

function objects(over: Partial<ClusterObjectResults> = {}): ClusterObjectResults {
  const event = clusterObjectResults({ objects: [told], ...over });
  return { ...event, id: over.id ?? clusterObjectResultsId(event, event.objects) };
}
function whole(over: Partial<ClusterCommandResult> = {}): ClusterCommandResult {
  const event = clusterCommandResult({ result: { outcome: 'done', counts: { removed: 2 } }, ...over });
  return { ...event, id: over.id ?? clusterCommandResultId(event) };
}
const refused = (reason: 'expired' | 'not-trusted' | 'other-instance') =>
  ({ outcome: 'refused', reason, message: 'why' }) as const;

describe('an answer agrees with its command', () => {
  test.each<{ name: string; answer: ClusterAnswer }>([
    { name: 'about one of its objects', answer: objects() },
    { name: 'about all of it', answer: whole() },
    {
      name: 'about all of it, by outcome',
      answer: whole({ result: { outcome: 'done', counts: { removed: 1, 'not-found': 1 } } }),
    },
    { name: 'that refuses it', answer: whole({ result: refused('expired') }) },
    {
      name: 'that refuses what was not read',
      answer: whole({
        result: refused('not-trusted'),
        id: clusterRejectedResultId(AS_COMMANDED, refused('not-trusted')),
      }),
    },
    {
      name: 'of another cluster of the name, which it is not for',
      answer: whole({ clusterInstance: 'another', result: refused('other-instance') }),
    },
  ])('$name', ({ answer }) => {
    expect(disagreement(COMMAND, answer)).toBeNull();
  });
});

describe('an answer does not agree with its command', () => {
  const differs = (message: string) => ({ kind: 'result-differs', message });
  test.each<{ name: string; answer: ClusterAnswer; problem: object }>([
    {
      name: 'whose decision is another',
      answer: objects({ decisionId: 'another' }),
      problem: differs('it names another decision than the command'),
    },
    {
      name: 'of another cluster of the name, with what became of objects',
      answer: objects({ clusterInstance: 'another' }),
      problem: differs('it is of another cluster of that name than the command'),
    },
    {
      name: 'of another cluster of the name, which refuses it for another reason',
      answer: whole({ clusterInstance: 'another', result: refused('expired') }),
      problem: differs('it is of another cluster of that name than the command'),
    },
    {
      name: 'of another cluster of the name, which carried it out',
      answer: whole({ clusterInstance: 'another' }),
      problem: differs('it is of another cluster of that name than the command'),
    },
    {
      name: 'about objects, with an id that is made up',
      answer: objects({ id: 'another' }),
      problem: differs('its id does not follow from its command'),
    },
    {
      name: 'about objects, with the id of an answer about all of it',
      answer: objects({ id: clusterCommandResultId(AS_COMMANDED) }),
      problem: differs('its id does not follow from its command'),
    },
    {
      name: 'about all of it, with the id of a refusal',
      answer: whole({ id: clusterRejectedResultId(AS_COMMANDED, refused('not-trusted')) }),
      problem: differs('its id does not follow from its command'),
    },
    {
      name: 'about an object that it does not name',
      answer: objects({ objects: [told, { ...told, object: { ...told.object, uid: 'z' } }] }),
      problem: { kind: 'not-commanded', message: 'ConfigMap z: removed, and the command does not name it' },
    },
    {
      name: 'by another rule',
      answer: objects({ objects: [{ ...told, rule: 'D11' }] }),
      problem: differs('it gives delete by rule D11 for ConfigMap x, and the command delete by rule D14'),
    },
    {
      name: 'by another action',
      answer: objects({ objects: [{ ...told, action: 'finish' }] }),
      problem: differs('it gives finish by rule D14 for ConfigMap x, and the command delete by rule D14'),
    },
    {
      name: 'that counts fewer',
      answer: whole({ result: { outcome: 'done', counts: { removed: 1 } } }),
      problem: differs('it counts 1 objects, and the command names 2'),
    },
    {
      name: 'that counts more',
      answer: whole({ result: { outcome: 'done', counts: { removed: 2, failed: 1 } } }),
      problem: differs('it counts 3 objects, and the command names 2'),
    },
  ])('$name', ({ answer, problem }) => {
    expect(disagreement(COMMAND, answer)).toEqual(problem);
  });
});

test('two records of one result agree in what was commanded, and in nothing else', () => {
  const gone = { ...told, attempts: 2, result: { outcome: 'not-found' } as const };
  expect(steadyClusterContent(objects({ objects: [gone] }))).toBe(steadyClusterContent(objects()));
  expect(steadyClusterContent(whole({ result: refused('expired') }))).toBe(steadyClusterContent(whole()));
  const others: readonly ClusterAnswer[] = [
    objects(),
    objects({ commandId: 'another' }),
    objects({ decisionId: 'another' }),
    objects({ objects: [{ ...told, rule: 'D11' }] }),
    objects({ objects: [{ ...told, action: 'finish' }] }),
    objects({ objects: [{ ...told, object: { ...told.object, uid: 'y' } }] }),
    whole(),
    whole({ commandId: 'another' }),
    whole({ decisionId: 'another' }),
  ];
  expect(new Set(others.map(steadyClusterContent)).size).toBe(others.length);
});

test('a refusal is told apart by its reason', () => {
  const answers: readonly ClusterAnswer[] = [
    objects({ clusterInstance: 'another' }),
    whole({ clusterInstance: 'another' }),
    ...(['expired', 'not-trusted', 'other-instance'] as const).flatMap((reason) => [
      whole({ result: refused(reason) }),
      whole({ result: refused(reason), clusterInstance: 'another' }),
    ]),
  ];
  expect(answers.map(isDistrust)).toEqual([false, false, false, false, true, true, false, false]);
  expect(answers.map((answer) => isOfBystander(answer, COMMAND))).toEqual([
    ...Array.from({ length: 7 }, () => false),
    true,
  ]);
});
