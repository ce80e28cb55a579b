import { expect, test } from 'vitest';
import { signs } from '../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { KeyRole } from '../../schemas/keys/key-statement.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => id in TOPICS);
const rows = tableRows(textOf('docs/operating/keys.md'), 'role | signs');

test('every role of a key is told', () => {
  expect([...new Set(rows.map(([role]) => role))].toSorted()).toEqual([...KeyRole.options].toSorted());
});

test.each(KeyRole.options)('the topics on which a key of role %s signs are those of the code', (role) => {
  const told = rows.flatMap(([name, , topics = '']) => (name === role ? [topics] : [])).join(' ');
  const topics = TOPIC_IDS.filter((id) => signs(role, id)).map((id) => TOPICS[id].name);
  expect([...told.matchAll(/`([^`]+)`|^([a-z.-]+)$/g)].map(([, a, b]) => a ?? b).toSorted()).toEqual(
    topics.toSorted(),
  );
});
