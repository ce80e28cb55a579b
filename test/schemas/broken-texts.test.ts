import { expect, test } from 'vitest';
import { brokenTexts } from '../../schemas/events/broken-texts.ts';

test('half a character is found in texts and in keys, with where it is', () => {
  expect(brokenTexts([{ 'a\ud83d': 1, b: ['x', '\udc00'] }, '\ud83d\ude00'])).toEqual([
    { path: [0], text: 'a\ufffd' },
    { path: [0, 'b', 1], text: '\ufffd' },
  ]);
});

test('however deep it is', () => {
  const depth = 20_000;
  expect(brokenTexts(JSON.parse(`${'['.repeat(depth)}"\\ud800"${']'.repeat(depth)}`))).toHaveLength(1);
});
