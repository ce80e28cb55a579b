import { expect, test } from 'vitest';
import { createActivityReader, MOST_NAMES } from '../../../packages/documents/activity.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { decision } from '../../fixtures/outputs.ts';
import { objectResult } from '../../fixtures/results.ts';
import { verdictsOf } from '../../fixtures/verdicts.ts';

const keep = (position: number, rule: string) => ({ position, action: 'keep', rule, facts: {} }) as const;
const remove = (position: number) => ({ position, action: 'remove', rule: 'G7', facts: {} }) as const;
const activitiesOf = (over: Partial<Decision>) => createActivityReader().activitiesIn(decision(over));

test('a decision of container-gc tells what it kept of containers and of sandboxes, and why', () => {
  const verdicts = verdictsOf({
    container: [keep(0, 'G7'), remove(1), keep(2, 'G7')],
    sandbox: [keep(0, 'H1')],
  });

  expect(activitiesOf({ decider: { name: 'container-gc', version: '1' }, verdicts })).toMatchObject([
    { kind: 'kept', object: 'container', byReason: new Map([['kept for looking at its logs', 2]]) },
    { kind: 'kept', object: 'sandbox', byReason: new Map([['in use by its pod', 1]]) },
  ]);
});

test.each<{ outcome: Decision['outcome']; reason: string }>([
  { outcome: 'waits-for-containers', reason: 'containers go first' },
  { outcome: 'nothing-to-do', reason: 'no room had to be made' },
])('[P6] images that stay, where the outcome is $outcome: $reason', ({ outcome, reason }) => {
  const verdicts = verdictsOf({ image: [keep(0, 'P6')] });

  expect(activitiesOf({ outcome, verdicts })).toMatchObject([
    { kind: 'kept', object: 'image', byReason: new Map([[reason, 1]]) },
  ]);
});

test('[M11] images that stay as last versions are counted together, whatever their repository', () => {
  const images = ['a', 'b'].map((repository, position) => ({
    ...keep(position, 'M11'),
    facts: { keptVersionOf: repository },
  }));

  expect(activitiesOf({ verdicts: verdictsOf({ image: images }) })).toMatchObject([
    { byReason: new Map([['one of the last versions of a repository', 2]]) },
  ]);
});

test('a decision that judged nothing tells nothing', () => {
  expect(activitiesOf({ outcome: 'not-believed' })).toEqual([]);
});

test('objects have the names by which plans and audit know them', () => {
  const { activitiesIn } = createActivityReader();
  const images = [image('sha256:0123456789abcdef', { repoTags: [], repoDigests: [] })];
  activitiesIn(inventory({ containers: [container('c1', { attempt: 3 })], images }));
  const object = (kind: 'container' | 'image', id: string) =>
    activitiesIn(objectResult({ object: { kind, id } }));

  expect(object('container', 'c1')).toMatchObject([{ name: 'default/web/main#3' }]);
  expect(object('image', 'sha256:0123456789abcdef')).toMatchObject([{ name: '0123456789ab' }]);
});

test('names are kept of what was listed last, and of no more than a bounded number', () => {
  const { activitiesIn } = createActivityReader();
  const list = (...ids: readonly string[]) =>
    activitiesIn(inventory({ containers: ids.map((id) => container(id)), images: [] }));
  const nameOf = (id: string) =>
    activitiesIn(objectResult({ object: { kind: 'container', id } })).map(
      (told) => 'name' in told && told.name,
    );
  const many = Array.from({ length: MOST_NAMES - 1 }, (_, index) => `c${index}`);

  list('listed-once', 'listed-again');
  list(...many.slice(1));
  list('listed-again');
  expect(nameOf('listed-once')).toEqual(['default/web/main#0']);
  list(...many.slice(0, 1));

  expect(nameOf('listed-once')).toEqual(['listed-once'.slice(0, 12)]);
  expect(['listed-again', 'c0', 'c1'].flatMap(nameOf)).toEqual(Array(3).fill('default/web/main#0'));
});
