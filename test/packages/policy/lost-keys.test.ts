import { expect, test } from 'vitest';
import { lossProblem } from '../../../packages/policy/policy-knowledge.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { EVERY_NODE } from '../../fixtures/policy.ts';

const ofOne = pauseKey({ ...EVERY_NODE, clusters: ['trial'], nodeNames: ['n3', 'db-*'] });

test('what is lost is told in words, with the commands that end it', () => {
  expect(lossProblem(['web', 'db', ofOne, pauseKey(EVERY_NODE)], false)).toBe(
    'gc.policies no longer holds "web", "db", the pause of cluster trial, node db-* or n3, the pause of all nodes although nobody deleted it: ' +
      'the topic was recreated or cut off. Apply "web", "db" again, or write the deletion: fleetgc policy delete web db. ' +
      "End the pause of cluster trial, node db-* or n3: fleetgc resume --cluster trial --node-name 'db-*,n3'. " +
      'End the pause of all nodes: fleetgc resume. Or restart this process to go on with what the topic holds now',
  );
});

test('no command is told that would end another pause', () => {
  const byLabel = pauseKey({ ...EVERY_NODE, nodeLabels: { zone: 'a' } });
  expect(lossProblem([byLabel, '!pauses'], false)).toBe(
    'gc.policies no longer holds the pause of label zone=a, the pause "!pauses" although nobody deleted it: ' +
      'the topic was recreated or cut off. Or restart this process to go on with what the topic holds now',
  );
});

test('what is remembered beyond a restart is not told to go by one', () => {
  expect(lossProblem(['web'], true)).toBe(
    'gc.policies no longer holds "web" although nobody deleted it: the topic was recreated or cut off. Apply "web" again, or write the deletion: fleetgc policy delete web',
  );
});
