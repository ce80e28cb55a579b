import { expect, test } from 'vitest';
import { tooLongForCommand } from '../../../packages/decision/inventory-checks.ts';
import { MAX_OBJECT_ID_BYTES, MAX_OBJECT_ID_LENGTH } from '../../../schemas/events/command.ts';

/** With its quotes it takes so many bytes in JSON, most of them for characters of six. */
const ofBytes = (bytes: number): string => {
  const inside = bytes - 2;
  return '\u0001'.repeat(Math.floor(inside / 6)) + 'a'.repeat(inside % 6);
};

test.each([
  ['as long as a command takes', 'a'.repeat(MAX_OBJECT_ID_LENGTH)],
  ['of as many bytes as a command takes', ofBytes(MAX_OBJECT_ID_BYTES)],
])('[P8] an id %s may go', (_, id) => {
  expect(id.length).toBeLessThanOrEqual(MAX_OBJECT_ID_LENGTH);
  expect(tooLongForCommand(id)).toBeUndefined();
});

test.each([
  ['longer by one', 'a'.repeat(MAX_OBJECT_ID_LENGTH + 1), MAX_OBJECT_ID_LENGTH + 3],
  ['of one byte more', ofBytes(MAX_OBJECT_ID_BYTES + 1), MAX_OBJECT_ID_BYTES + 1],
])('[P8] an id %s stays, and the record says how long it is', (_, id, idBytes) => {
  expect(tooLongForCommand(id)).toEqual({ rule: 'P8', facts: { idBytes, idLength: id.length } });
});
